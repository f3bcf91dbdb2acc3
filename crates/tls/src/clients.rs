//! The node's end of clients' connections.

use crate::files::authorities;
use crate::{IdentityFiles, TlsError, provider};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use std::path::Path;
use std::sync::Arc;

/// What the ports for clients go by: the certificate that is shown, and whose certificates clients have to show, if they have to.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn client_port(
    files: &IdentityFiles,
    client_authority: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let identity = files.read()?;
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.to_string()))?;
    let builder = match client_authority {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(authorities(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
            builder.with_client_cert_verifier(
                verifier.map_err(|error| TlsError::Setup(error.to_string()))?,
            )
        }
    };
    let config = builder.with_single_cert(identity.chain, identity.key);
    let mut config = config.map_err(|error| files.refused(error))?;
    // Each brick's loop would have to ask one memory of sessions, under a lock; and one that is resumed shows no certificate anew.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
