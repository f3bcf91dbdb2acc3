//! Where the cluster is, who a service is there, and its table.
//!
//! In:  flags and environment. Out: a [`Table`], which is made if there is none of that name.

use anyhow::Context as _;
use brickyard_client::{Client, Error, IdentityFiles, Options, Table, Tls, TlsFiles};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The part of a service's command line that says which cluster it works on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The cluster")]
pub struct ClusterArguments {
    /// Nodes of the cluster, HOST:PORT,...; one that runs has to be among them
    #[arg(
        long,
        value_name = "HOST:PORT,...",
        value_delimiter = ',',
        default_value = "127.0.0.1:6379",
        env = "BRICKYARD_CLUSTER"
    )]
    cluster: Vec<String>,
    /// User to sign in as; the password comes from BRICKYARD_PASSWORD
    #[arg(long, value_name = "NAME", env = "BRICKYARD_USER")]
    user: Option<String>,
    // No flag: a command line is seen by everybody on the machine.
    #[arg(skip = std::env::var("BRICKYARD_PASSWORD").ok())]
    password: Option<String>,
    /// Speak TLS, and believe servers whose certificate is of an authority in this PEM file
    #[arg(long, value_name = "FILE", env = "BRICKYARD_CA")]
    ca: Option<PathBuf>,
    /// Show this certificate (PEM), where the cluster asks for one
    #[arg(long, value_name = "FILE", env = "BRICKYARD_CERT", requires_all = ["ca", "cert_key"])]
    cert: Option<PathBuf>,
    /// Key to the certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        env = "BRICKYARD_CERT_KEY",
        requires = "cert"
    )]
    cert_key: Option<PathBuf>,
    /// Table to work on [default: the service's name]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// How long the cluster may take over a call; one that fails over needs some 3,000
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    deadline: u64,
}

impl ClusterArguments {
    /// The table, of the service's own name unless another was asked for. It is made if there is none.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses; with what to do.
    pub async fn open(&self, service: &str) -> anyhow::Result<Table> {
        let places = self.cluster.join(", ");
        let client = Client::connect(self.options()?).await.with_context(|| {
            format!(
                "no cluster at {places}; `brickyard dev` starts one on this machine, --cluster names another"
            )
        })?;
        let name = self.table.as_deref().unwrap_or(service);
        make(&client, name).await.with_context(|| {
            format!(
                "table '{name}' cannot be made; an administrator can: brickyard table create {name}"
            )
        })?;
        Ok(client.table(name))
    }

    fn options(&self) -> anyhow::Result<Options> {
        let tls = match self.ca.clone() {
            Some(authority) => {
                let pair = self.cert.clone().zip(self.cert_key.clone());
                let identity = pair.map(|(certificate, key)| IdentityFiles { certificate, key });
                Some(Tls::read(TlsFiles {
                    authority,
                    identity,
                })?)
            }
            None => None,
        };
        Ok(Options {
            user: self.user.clone(),
            password: self.password.clone(),
            tls,
            deadline: Duration::from_millis(self.deadline),
            ..Options::new(self.cluster.clone())
        })
    }
}

/// Makes the table, with the attributes that the cluster gives to new ones. One that is there stays as it is, and a user who may
/// not make tables needs no right to.
async fn make(client: &Client, name: &str) -> Result<(), Error> {
    if is_there(client, name).await? {
        return Ok(());
    }
    let made = client
        .home_table()
        .command(&["TABLE", "CREATE", name])
        .await;
    match made {
        // Another instance may have been faster.
        Err(_) if is_there(client, name).await? => Ok(()),
        other => other.map(drop),
    }
}

async fn is_there(client: &Client, name: &str) -> Result<bool, Error> {
    let tables = client.home_table().command(&["TABLE", "LIST"]).await?;
    let names = tables.elements().unwrap_or_default();
    Ok(names.iter().any(|it| it.bytes() == Some(name.as_bytes())))
}

#[cfg(test)]
#[path = "cluster_test.rs"]
mod cluster_test;
