//! The client's end: whom it believes, and what it shows if it is asked.
//!
//! In:  files, addresses. Out: connections.
//!
//! Invariant: files that changed count from the next connection on, if they can be used; else what they said before does.

use crate::files::{authorities, fingerprint};
use crate::{IdentityFiles, TlsError, provider};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Files are looked at again no earlier than so long after the last time: many connections may be made at once.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// What a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialerFiles {
    /// The authorities that it believes, as PEM.
    pub authority: PathBuf,
    /// What it shows.
    pub identity: Option<IdentityFiles>,
}

/// Makes connections by TLS; clones share what was read.
#[derive(Clone, Debug)]
pub struct Dialer {
    files: Arc<DialerFiles>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug)]
struct Seen {
    config: Arc<ClientConfig>,
    fingerprint: u64,
    at: Instant,
}

impl Dialer {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or is not what it should be.
    pub fn read(files: DialerFiles) -> Result<Self, TlsError> {
        let seen = Seen {
            fingerprint: fingerprint(files.paths()),
            config: files.config()?,
            at: Instant::now(),
        };
        Ok(Self {
            files: Arc::new(files),
            seen: Arc::new(Mutex::new(seen)),
        })
    }

    /// The client's end of a connection to `address`, a `host:port` or a host, by whose name the other end is known.
    ///
    /// # Errors
    /// The host is not a name.
    pub fn connection(&self, address: &str) -> Result<ClientConnection, TlsError> {
        let name = server_name(address)?;
        ClientConnection::new(self.config(), name)
            .map_err(|error| TlsError::Setup(error.to_string()))
    }

    /// The same for callers who have a connection's loop of their own: what it goes by, and the name of the other end.
    ///
    /// # Errors
    /// The host is not a name.
    pub fn side(
        &self,
        address: &str,
    ) -> Result<(Arc<ClientConfig>, ServerName<'static>), TlsError> {
        Ok((self.config(), server_name(address)?))
    }

    fn config(&self) -> Arc<ClientConfig> {
        let mut seen = self.seen();
        if seen.at.elapsed() >= LOOK_AFTER {
            seen.look(&self.files);
        }
        Arc::clone(&seen.config)
    }

    /// Looks at the files again, however short a time ago that was done.
    #[cfg(test)]
    pub(crate) fn look_now(&self) {
        self.seen().look(&self.files);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn look(&mut self, files: &DialerFiles) {
        self.at = Instant::now();
        let now = fingerprint(files.paths());
        // A pair of which one file is not written yet cannot be used; the next look sees both.
        if now != self.fingerprint
            && let Ok(config) = files.config()
        {
            self.config = config;
            self.fingerprint = now;
        }
    }
}

impl DialerFiles {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let identity = self.identity.iter().flat_map(IdentityFiles::paths);
        identity.chain([self.authority.as_path()])
    }

    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let roots = authorities(&self.authority)?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let identity = files.read()?;
                let config = builder.with_client_auth_cert(identity.chain, identity.key);
                config.map_err(|error| files.refused(error))?
            }
        };
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }
}

/// The name that a certificate has to have for `address`, a `host:port` or a host.
fn server_name(address: &str) -> Result<ServerName<'static>, TlsError> {
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
