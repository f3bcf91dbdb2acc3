//! What nodes say to one another on the control plane's connections.

use crate::discovery::DiscoveryMessage;
use brickyard_control::message::{ToLeader, ToNode};
use serde::{Deserialize, Serialize};

/// One frame's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Of the agreement, opaque.
    Raft(Vec<u8>),
    /// From a node to the leader.
    ToLeader(ToLeader),
    /// From the leader to a node.
    ToNode(ToNode),
    /// Among nodes that are about to found a cluster.
    Discovery(DiscoveryMessage),
}

impl Message {
    /// The body of its frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads a frame's body; `None` if it is none of ours.
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}

/// The bytes of something that has nothing that cannot be written.
#[must_use]
pub fn encode(content: &impl Serialize) -> Vec<u8> {
    #[expect(
        clippy::expect_used,
        reason = "plain structs and enums go into a vector without fail"
    )]
    postcard::to_allocvec(content).expect("messages are plain data")
}
