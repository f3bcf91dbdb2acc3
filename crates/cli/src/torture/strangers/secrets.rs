//! Certificates, users and tokens: the cluster's own, and those of people who should not be let in.
//!
//! In:  a directory. Out: what nodes are started with, what the cluster's own clients show, and what strangers do.

use crate::http::Access;
use anyhow::Context as _;
use brickyard_bench::Target;
use brickyard_server::config::hash_password;
use brickyard_tls::{
    Authority, CertificateRequest, CertificateRole, Dialer, DialerFiles, IdentityFiles, Issued,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long certificates are valid: longer than any run.
const VALID: Duration = Duration::from_secs(30 * 86_400);

/// The one that may do everything, and its password. The cluster ends with the run.
const USER: &str = "operator";
const PASSWORD: &str = "not-a-stranger";

/// What HTTP asks for.
const TOKEN: &str = "c0ffee00c0ffee00c0ffee00";

/// What somebody shows under TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Identity {
    /// No certificate.
    Nobody,
    /// One of another authority.
    Foreign,
    /// One of the cluster's authority that is not valid any more.
    Expired,
    /// A client's, of the cluster's authority.
    Client,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Secrets {
    dir: PathBuf,
}

impl Secrets {
    /// Makes all of it below a directory.
    pub(super) fn make(dir: &Path) -> anyhow::Result<Self> {
        let dir = dir.join("secrets");
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let this = Self { dir };
        let (authority, own) = Authority::new("strangers are tried here", VALID)?;
        let (foreign, _) = Authority::new("another authority", VALID)?;
        this.put("ca.crt", &own.certificate)?;
        let client = CertificateRole::Client;
        this.issue(&authority, "node", CertificateRole::Node, VALID)?;
        this.issue(&authority, "client", client, VALID)?;
        this.issue(&authority, "expired", client, Duration::ZERO)?;
        this.issue(&foreign, "foreign", CertificateRole::Node, VALID)?;
        let hash = hash_password(PASSWORD.as_bytes()).map_err(anyhow::Error::msg)?;
        let user = format!(
            "[[user]]\nname = \"{USER}\"\npassword_hash = \"{hash}\"\nread = [\"*\"]\nwrite = [\"*\"]\nadmin = [\"*\"]\n"
        );
        this.put("users.toml", &user)?;
        this.put("tokens", TOKEN)?;
        Ok(this)
    }

    fn issue(
        &self,
        authority: &Authority,
        name: &str,
        role: CertificateRole,
        validity: Duration,
    ) -> anyhow::Result<()> {
        let Issued { certificate, key } = authority.issue(&CertificateRequest {
            name,
            role,
            hosts: &[],
            validity,
        })?;
        self.put(&format!("{name}.crt"), &certificate)?;
        self.put(&format!("{name}.key"), &key)
    }

    fn put(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What a node is started with.
    pub(super) fn settings(&self) -> Vec<String> {
        let at = |name: &str| self.dir.join(name).display().to_string();
        let mut settings = vec!["--config".to_owned(), at("users.toml")];
        for port in ["peer", "client"] {
            settings.push(format!("--{port}-cert={}", at("node.crt")));
            settings.push(format!("--{port}-key={}", at("node.key")));
            settings.push(format!("--{port}-ca={}", at("ca.crt")));
        }
        settings.push(format!("--http-tokens={}", at("tokens")));
        settings
    }

    /// What somebody connects with who shows this.
    pub(super) fn dialer(&self, identity: Identity) -> anyhow::Result<Dialer> {
        let name = match identity {
            Identity::Nobody => None,
            Identity::Foreign => Some("foreign"),
            Identity::Expired => Some("expired"),
            Identity::Client => Some("client"),
        };
        let identity = name.map(|name| IdentityFiles {
            certificate: self.dir.join(format!("{name}.crt")),
            key: self.dir.join(format!("{name}.key")),
        });
        Ok(Dialer::read(DialerFiles {
            authority: self.dir.join("ca.crt"),
            identity,
        })?)
    }

    /// How the cluster's own people ask HTTP.
    pub(super) fn access(&self) -> anyhow::Result<Access> {
        Ok(Access {
            tls: Some(self.dialer(Identity::Client)?),
            token: Some(TOKEN.to_owned()),
        })
    }

    /// How they connect to a node.
    pub(super) fn target(&self, address: String) -> anyhow::Result<Target> {
        Ok(Target {
            user: Some(USER.to_owned()),
            password: Some(PASSWORD.to_owned()),
            tls: Some(self.dialer(Identity::Client)?),
            ..Target::resp(address)
        })
    }
}
