//! What a node listens at, as strangers find it.

use crate::dev::node::Launch;
use std::time::Duration;

/// A port by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Port {
    Node,
    Brick,
    Peer,
    Http,
}

impl Port {
    pub(super) const ALL: [Self; 4] = [Self::Node, Self::Brick, Self::Peer, Self::Http];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Node => "node port",
            Self::Brick => "a brick's port",
            Self::Peer => "port for nodes",
            Self::Http => "HTTP",
        }
    }

    /// Where it is, of a node.
    pub(super) fn of(self, launch: &Launch) -> u16 {
        match self {
            Self::Node => launch.ports.node,
            Self::Brick => *launch.ports.bricks().start(),
            Self::Peer => launch.ports.peer,
            Self::Http => launch.ports.http,
        }
    }

    /// After how long it closes a connection that does not come to speak.
    pub(super) const fn closes_after(self) -> Duration {
        Duration::from_secs(match self {
            Self::Node | Self::Brick => 10,
            Self::Peer => 2,
            Self::Http => 60,
        })
    }
}
