//! A connection as its driver hands it over: its name, and who is at the other end of it.

/// Names a connection of one brick, from 0 without gaps; used again after it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// For whom an accepted connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The gateway: any key, any brick.
    Node,
    /// This brick as a cluster node: its own partitions, `MOVED` for the rest.
    Brick,
}

/// An accepted connection's names, for `CLIENT LIST` and the log.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// Through which port.
    pub port: Port,
    /// `host:port` of the client.
    pub peer: String,
    /// `host:port` of our side.
    pub local: String,
}
