//! TLS as this node has it: the certificates that its configuration names, and sockets that may have it.
//!
//! In:  a configuration. Out: what connections go by at the moment, each kind its own.
//!
//! Not here: who is believed (`brickyard_tls`), when TLS must be there (`config`).

mod expiry;
mod handshakes;
mod peer_socket;

pub(crate) use expiry::Expiries;
pub(crate) use handshakes::Handshakes;
pub(crate) use peer_socket::{LoopSocket, NoTls, PeerSocket};

use crate::config::{AUTO, Fields};
use crate::reload::{Current, Sources};
use brickyard_tls::rustls::ServerConfig;
use brickyard_tls::{IdentityFiles, MachineFiles, NodeSide, TlsError, client_port};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What each kind of connections goes by.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    /// Between nodes.
    pub(crate) peers: Current<NodeSide>,
    /// At the node port and the bricks'.
    pub(crate) clients: Current<Arc<ServerConfig>>,
    /// At the port of HTTP.
    pub(crate) http: Current<Arc<ServerConfig>>,
    /// When those end that this node shows.
    pub(crate) expiries: Expiries,
}

/// Reads the certificates, and has them read again when their files change.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub(crate) fn certificates(
    config: &Fields,
    sources: &mut Sources,
) -> Result<Certificates, TlsError> {
    let mut expiries = Expiries::default();
    let peers = peers(config)?.map(
        |MachineFiles {
             identity: files,
             authority,
         }| {
            let paths = files.paths().chain([authority.as_path()]);
            let paths = paths.map(Path::to_owned).collect();
            let expiry = expiries.watch("nodes");
            let read = move || {
                let side = NodeSide::read(&files, &authority)?;
                expiry.note(&files);
                Ok(side)
            };
            sources.watch(
                "new connections between nodes go by the certificates",
                paths,
                read,
            )
        },
    );
    let clients = identity(&config.client_cert, &config.client_key);
    let clients_authority = Some(&config.client_ca).filter(|path| !path.is_empty());
    let clients_authority = clients_authority.map(PathBuf::from);
    let http = clients.clone().map(|files| {
        let paths = files.paths().map(Path::to_owned).collect();
        // Whoever asks for health and metrics has no certificate, as it had no password.
        let what = "new connections at HTTP's port go by the certificates";
        sources.watch(what, paths, move || client_port(&files, None))
    });
    let clients = clients.map(|files| {
        let paths = files.paths().chain(clients_authority.as_deref());
        let paths = paths.map(Path::to_owned).collect();
        let expiry = expiries.watch("clients");
        let read = move || {
            let port = client_port(&files, clients_authority.as_deref())?;
            expiry.note(&files);
            Ok(port)
        };
        sources.watch(
            "new connections of clients go by the certificates",
            paths,
            read,
        )
    });
    Ok(Certificates {
        peers: Current::new(peers.transpose()?),
        clients: Current::new(clients.transpose()?),
        http: Current::new(http.transpose()?),
        expiries,
    })
}

fn peers(config: &Fields) -> Result<Option<MachineFiles>, TlsError> {
    if config.peer_cert == AUTO {
        return MachineFiles::of(&own_directory()?).map(Some);
    }
    let identity = identity(&config.peer_cert, &config.peer_key);
    Ok(identity.map(|identity| MachineFiles {
        identity,
        authority: config.peer_ca.clone().into(),
    }))
}

/// Where the nodes that this user runs on this machine keep what they know one another by (XDG Base Directory Specification).
fn own_directory() -> Result<PathBuf, TlsError> {
    let variable = |name| std::env::var_os(name).filter(|path| Path::new(path).is_absolute());
    let data = variable("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(Path::new(&variable("HOME")?).join(".local/share")));
    let data = data.ok_or(TlsError::NoHome)?;
    Ok(data.join("brickyard/certificates"))
}

fn identity(certificate: &str, key: &str) -> Option<IdentityFiles> {
    (!certificate.is_empty()).then(|| IdentityFiles {
        certificate: certificate.into(),
        key: key.into(),
    })
}
