//! TLS as this node has it: the certificates that its configuration names, and sockets that may have it.
//!
//! In:  a configuration. Out: what the connections between nodes go by.
//!
//! Not here: who is believed (`brickyard_tls`), when TLS must be there (`config`).

mod peer_socket;

pub(crate) use peer_socket::{LoopSocket, NoTls, PeerSocket};

use crate::config::Fields;
use brickyard_tls::{IdentityFiles, NodeSide, TlsError};
use std::path::Path;

/// What connections between nodes go by; `None`: they are plain.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub(crate) fn node_side(config: &Fields) -> Result<Option<NodeSide>, TlsError> {
    if config.peer_cert.is_empty() {
        return Ok(None);
    }
    let files = IdentityFiles {
        certificate: config.peer_cert.clone().into(),
        key: config.peer_key.clone().into(),
    };
    NodeSide::read(&files, Path::new(&config.peer_ca)).map(Some)
}
