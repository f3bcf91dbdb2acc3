//! The options by which client subcommands speak TLS.
//!
//! In:  flags and environment. Out: what connections go by.

use anyhow::bail;
use brickyard_tls::{Dialer, DialerFiles, IdentityFiles};
use clap::Args;
use std::path::PathBuf;

/// Whom a connection believes, and what it shows.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TlsArguments {
    /// Speak TLS, and believe servers whose certificate is of an authority in this PEM file
    #[arg(long, value_name = "FILE", env = "BRICKYARD_CA", global = true)]
    ca: Option<PathBuf>,
    /// Show this certificate (PEM), where the server asks for one
    #[arg(long, value_name = "FILE", env = "BRICKYARD_CERT", global = true)]
    cert: Option<PathBuf>,
    /// Key to the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "BRICKYARD_CERT_KEY", global = true)]
    cert_key: Option<PathBuf>,
}

impl TlsArguments {
    /// What connections go by; none: they are in the clear.
    pub(crate) fn dialer(&self) -> anyhow::Result<Option<Dialer>> {
        let identity = match (self.cert.clone(), self.cert_key.clone()) {
            (Some(certificate), Some(key)) => Some(IdentityFiles { certificate, key }),
            (None, None) => None,
            _ => {
                bail!("of --cert and --cert-key one is given; give both, a certificate and its key")
            }
        };
        let authority = match self.ca.clone() {
            Some(authority) => authority,
            None if identity.is_none() => return Ok(None),
            None => bail!("--cert is shown under TLS alone; name with --ca whom to believe"),
        };
        let files = DialerFiles {
            authority,
            identity,
        };
        Ok(Some(Dialer::read(files)?))
    }
}
