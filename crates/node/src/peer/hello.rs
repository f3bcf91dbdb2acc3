//! The first frame of a connection: who dials and what for. And the answer: who was dialed, or why not.
//!
//! ```text
//!  0  [u8; 8]  magic "BRKYPEER"
//!  8  u16      version, little-endian
//! 10  the rest, by `postcard`; what a program does not know of, behind what it does, it leaves alone
//! ```
//! Invariants:
//! - The first ten bytes are the same in every version, so that two versions can tell each other apart.
//! - What came later stands behind what there was before: a hello is understood by earlier programs of the same version,
//!   and says of which level of knowledge this one is (decision 0066).

use super::frame::frame;
use brickyard_metadata::{ClusterId, Level, NodeKey};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::Incarnation;
use serde::{Deserialize, Serialize};
use std::fmt;

const MAGIC: [u8; 8] = *b"BRKYPEER";

/// What nodes speak to one another. It changes where what there was is said in another way; what comes to it is a [`Level`] more.
pub(crate) const VERSION: u16 = 1;

/// Who dials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its cluster; none yet if it is new.
    pub cluster: Option<ClusterId>,
    /// Its data directory.
    pub key: NodeKey,
    /// Its number and life; none before it is registered, and the life 0 before it is registered anew.
    pub node: Option<(NodeId, Incarnation)>,
    /// What for.
    pub kind: ConnectionKind,
    /// How much its program knows; programs of the first level do not say. Behind all other fields, and not among them.
    #[serde(skip)]
    pub level: Level,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionKind {
    /// Messages of the control plane.
    Control,
    /// A brick's stream to another.
    Stream {
        /// The brick that dials.
        from: Replica,
        /// The one that is dialed.
        to: Replica,
        /// Drawn by the one that dials: rule `votes belong to a stream`.
        connection: u64,
    },
}

/// What is said to whoever dialed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Go on.
    Welcome(Welcome),
    /// Go away.
    Refused(HandshakeRefused),
}

/// Who was dialed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its cluster; none yet if it is new.
    pub cluster: Option<ClusterId>,
    /// Its data directory.
    pub key: NodeKey,
}

/// Why a connection was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HandshakeRefused {
    /// It speaks another version.
    Version(u16),
    /// It is of another cluster.
    Cluster(ClusterId),
    /// The one that dials has registered anew since: its life is over.
    Superseded(Incarnation),
    /// The number that it gives is another node's.
    Impostor,
    /// A brick or a life of it that is not here, or that nobody here has heard of yet.
    Unknown(Replica),
    /// It is this very node.
    Myself,
    /// It is about to stop.
    Stopping,
}

impl fmt::Display for HandshakeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                f,
                "it speaks version {version} of the protocol between nodes and this one speaks \
                 {VERSION}: use versions of the program that understand each other"
            ),
            Self::Cluster(cluster) => write!(
                f,
                "it belongs to another cluster, {cluster}: correct join, or start with an empty data \
                 directory"
            ),
            Self::Superseded(incarnation) => write!(
                f,
                "this node has registered again since, as incarnation {incarnation}: another process \
                 runs with this data directory or a copy of it"
            ),
            Self::Impostor => f.write_str(
                "the number of this node is another node's there: the control log was copied from \
                 another directory",
            ),
            Self::Unknown(replica) => write!(f, "it does not know brick {replica}"),
            Self::Myself => f.write_str("it is this node itself"),
            Self::Stopping => f.write_str("it is about to stop"),
        }
    }
}

/// Why bytes are neither a hello nor an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// No node of ours speaks like that.
    Foreign,
    /// Another version.
    Version(u16),
}

/// What a node says of itself in each hello; it learns more of it as time goes on.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Its cluster; none yet if it is new.
    pub cluster: Option<ClusterId>,
    /// Its data directory.
    pub key: NodeKey,
    /// Its number and life; none before it is registered, and the life 0 before it is registered anew.
    pub node: Option<(NodeId, Incarnation)>,
}

impl Introduction {
    /// What is said first on a connection that is made.
    #[must_use]
    pub fn hello(&self, kind: ConnectionKind) -> Hello {
        Hello {
            cluster: self.cluster,
            key: self.key,
            node: self.node,
            kind,
            level: Level::NEWEST,
        }
    }

    /// What is said to who may stay.
    #[must_use]
    pub fn welcome(&self) -> Welcome {
        Welcome {
            cluster: self.cluster,
            key: self.key,
        }
    }
}

impl Hello {
    /// Its frame.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        first_frame(&(self, self.level))
    }

    /// Reads the body of its frame.
    ///
    /// # Errors
    /// Somebody else speaks.
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let (mut hello, rest): (Self, _) = first_body(body)?;
        if !rest.is_empty() {
            (hello.level, _) = postcard::take_from_bytes(rest).map_err(|_| Unreadable::Foreign)?;
        }
        Ok(hello)
    }
}

impl Answer {
    /// Its frame.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        first_frame(self)
    }

    /// Reads the body of its frame.
    ///
    /// # Errors
    /// Somebody else speaks.
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        Ok(first_body(body)?.0)
    }
}

fn first_frame(content: &impl Serialize) -> Vec<u8> {
    let mut body = MAGIC.to_vec();
    body.extend_from_slice(&VERSION.to_le_bytes());
    body.extend(crate::encode(content));
    frame(&body)
}

/// What it says, and what it says behind that.
fn first_body<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<(T, &[u8]), Unreadable> {
    let rest = body.strip_prefix(&MAGIC).ok_or(Unreadable::Foreign)?;
    let (version, rest) = rest.split_first_chunk().ok_or(Unreadable::Foreign)?;
    match u16::from_le_bytes(*version) {
        VERSION => postcard::take_from_bytes(rest).map_err(|_| Unreadable::Foreign),
        other => Err(Unreadable::Version(other)),
    }
}

#[cfg(test)]
#[path = "hello_test.rs"]
mod hello_test;
