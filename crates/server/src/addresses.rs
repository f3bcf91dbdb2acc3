//! The addresses that a running node listens on.

use std::net::SocketAddr;

/// Where a node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddresses {
    /// The node port: any key.
    pub node: SocketAddr,
    /// The bricks' ports, by brick.
    pub bricks: Vec<SocketAddr>,
    /// Health, metrics and status.
    pub http: Option<SocketAddr>,
    /// For other nodes.
    pub peer: Option<SocketAddr>,
}
