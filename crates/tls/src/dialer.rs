//! The client's end: whom it believes, and what it shows if it is asked.

use crate::files::authorities;
use crate::{IdentityFiles, TlsError, provider};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::path::PathBuf;
use std::sync::Arc;

/// What a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialerFiles {
    /// The authorities that it believes.
    pub authority: PathBuf,
    /// What it shows.
    pub identity: Option<IdentityFiles>,
}

/// Makes connections by TLS.
#[derive(Clone, Debug)]
pub struct Dialer {
    config: Arc<ClientConfig>,
}

impl Dialer {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or is not what it should be.
    pub fn read(files: &DialerFiles) -> Result<Self, TlsError> {
        let roots = authorities(&files.authority)?;
        let builder = ClientConfig::builder_with_provider(provider());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.to_string()))?
            .with_root_certificates(roots);
        let config = match &files.identity {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let identity = files.read()?;
                let config = builder.with_client_auth_cert(identity.chain, identity.key);
                config.map_err(|error| files.refused(error))?
            }
        };
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// The client's end of a connection to `address`, a `host:port` or a host.
    ///
    /// # Errors
    /// The host is not a name.
    pub fn connection(&self, address: &str) -> Result<ClientConnection, TlsError> {
        let name = server_name(address)?;
        ClientConnection::new(Arc::clone(&self.config), name)
            .map_err(|error| TlsError::Setup(error.to_string()))
    }
}

/// The name that a certificate has to have for `address`, a `host:port` or a host.
///
/// # Errors
/// It is not a name.
pub fn server_name(address: &str) -> Result<ServerName<'static>, TlsError> {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() && !host.ends_with(':') => {
            // `fe80::1` has no port; `[fe80::1]:6379` has.
            let is_bare = host.contains(':') && !host.starts_with('[');
            if is_bare { address } else { host }
        }
        _ => address,
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    ServerName::try_from(host).map_err(|_| TlsError::Name(address.to_owned()))
}
