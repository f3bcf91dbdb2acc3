//! The node's end of clients' connections: what it shows, and whom it lets in.
//!
//! In:  a node's certificate and key, clients' authority if they have to show a certificate. Out: what the ports for
//! clients go by.

use crate::files::authorities;
use crate::{IdentityFiles, TlsError, provider};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use std::path::Path;
use std::sync::Arc;

/// Reads what the ports for clients go by; with an authority clients have to show a certificate of it.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn client_port(
    files: &IdentityFiles,
    authority: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let identity = files.read()?;
    let setup = |error: &dyn std::fmt::Display| TlsError::Setup(error.to_string());
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let builder = match authority {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(authorities(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| setup(&error))?)
        }
    };
    let config = builder.with_single_cert(identity.chain, identity.key);
    let mut config = config.map_err(|error| files.refused(error))?;
    // Bricks' loops would share one memory of sessions under a lock; and one that is resumed shows no certificate anew.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

#[cfg(test)]
#[path = "clients_test.rs"]
mod clients_test;
