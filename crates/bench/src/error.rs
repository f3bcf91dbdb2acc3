//! What can go wrong while load is generated, and what to do about it.

use std::io;

/// Why a run did not start or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options contradict each other; the text says which and what to change.
    #[error("{0}")]
    Options(String),
    /// The server could not be reached. Start it, or give its address.
    #[error("cannot connect to {address}: {source}; is the server running there?")]
    Connect {
        /// Where.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The server refused what a connection starts with: user, password or table.
    #[error("{address} refused {request}: {reply}")]
    Handshake {
        /// Where.
        address: String,
        /// The command, without its secrets.
        request: String,
        /// The server's words.
        reply: String,
    },
    /// The server's bytes are not a reply. Check that the address is not of another service.
    #[error("the server sent {0:?}, which is not a reply; is this the port of another service?")]
    Reply(String),
    /// Every connection is gone. The server's log says why.
    #[error("all {connections} connections to {address} were lost, last: {source}")]
    ConnectionsLost {
        /// Where.
        address: String,
        /// How many there were.
        connections: usize,
        /// Why the last one went.
        source: io::Error,
    },
    /// The client library does not find the cluster.
    #[error("cannot find the cluster of {address}: {reason}")]
    Cluster {
        /// Where it was asked.
        address: String,
        /// Why.
        reason: brickyard_client::Error,
    },
    /// The operating system refused something else.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn options(message: impl Into<String>) -> Self {
        Self::Options(message.into())
    }

    pub(crate) fn reply(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(40)];
        Self::Reply(String::from_utf8_lossy(start).into_owned())
    }

    pub(crate) const fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
