//! Why a node cannot start.

use crate::cluster::ClusterError;
use crate::control::TokensError;
use brickyard_store::DataDirError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why a node cannot start. Nothing is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirError),
    /// A log cannot be opened.
    #[error(transparent)]
    Log(#[from] brickyard_store::StoreError),
    /// What the directory has of a cluster cannot be used.
    #[error(transparent)]
    Stored(#[from] ClusterError),
    /// Its certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] brickyard_tls::TlsError),
    /// HTTP's tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The node can be in no cluster.
    #[error("{0}")]
    Cluster(String),
    /// It was told to stop before it was in a cluster.
    #[error("stopped while it was looking for its cluster")]
    Stopped,
    /// The catalog is gone and the logs are not.
    #[error(
        "{file} is missing and there are logs of {bricks} bricks beside it: restore the file from a \
         copy of the directory; without it nobody knows which tables the logs hold"
    )]
    CatalogMissing {
        /// Where it should be.
        file: String,
        /// Bricks that have a log.
        bricks: usize,
    },
    /// The catalog is another directory's.
    #[error(
        "{file} knows no node {key}, which this directory is: it was copied from another one; restore \
         this directory's own file"
    )]
    ForeignCatalog {
        /// Where it is.
        file: String,
        /// The directory's own key.
        key: String,
    },
    /// Another number of bricks than the directory has.
    #[error(
        "bricks = {asked}, but data directory {directory} was made with {have}: leave the setting \
         out or set it to {have}; to change it, dump the tables and load them into a new directory"
    )]
    Bricks {
        /// What was configured.
        asked: u32,
        /// What the directory has.
        have: usize,
        /// The directory.
        directory: String,
    },
    /// An address cannot be used.
    #[error("cannot listen at {} for {kind}: {source}; {}", show(*address), remedy(*kind, source))]
    Listen {
        /// For what.
        kind: AddressUse,
        /// The address.
        address: Option<SocketAddr>,
        /// What the operating system said.
        source: io::Error,
    },
    /// A temporary directory cannot be made.
    #[error("cannot make a temporary directory: {0}; set TMPDIR, or give data a path")]
    Temporary(io::Error),
    /// The system has no randomness.
    #[error("cannot get random bytes: {0}")]
    Random(io::Error),
    /// The system has no room for a thread or a poll.
    #[error(
        "cannot start a thread: {0}; raise the limits of the process (`ulimit -u`, `ulimit -n`)"
    )]
    Thread(io::Error),
}

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressUse {
    /// The node port.
    Node,
    /// A brick's port.
    Brick,
    /// HTTP.
    Http,
    /// The port for nodes.
    Peer,
}

impl AddressUse {
    pub(super) fn failed(self, address: Option<SocketAddr>) -> impl Fn(io::Error) -> StartError {
        move |source| StartError::Listen {
            kind: self,
            address,
            source,
        }
    }
}

impl fmt::Display for AddressUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "the node port",
            Self::Brick => "a brick's port",
            Self::Http => "HTTP",
            Self::Peer => "other nodes",
        })
    }
}

fn show(address: Option<SocketAddr>) -> String {
    address.map_or_else(|| "its address".to_owned(), |address| address.to_string())
}

fn remedy(kind: AddressUse, error: &io::Error) -> String {
    let setting = match kind {
        AddressUse::Node => "listen",
        AddressUse::Brick => "brick_port",
        AddressUse::Http => "http",
        AddressUse::Peer => "peer_port",
    };
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("stop the program that has the port, or change {setting}")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("that is no address of this machine; change {setting}")
        }
        io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need a privilege; change {setting}")
        }
        _ => format!("change {setting}"),
    }
}
