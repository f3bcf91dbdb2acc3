//! What an entry of the agreed log says, and what applying it did.
//!
//! ```text
//!  0  u8  format; 1
//!  1  the rest, by `postcard`
//! ```

use crate::message::encode;
use brickyard_control::message::Join;
use brickyard_metadata::{Catalog, Change, Envelope, Node, Outcome};
use serde::{Deserialize, Serialize};

const FORMAT: u8 = 1;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// A node starts, for the first time or again.
    Register(Join),
    /// A change that a node asked for, maybe more than once.
    Asked(Envelope),
    /// A change that the leader decided on; good only on the state that it was decided by.
    Decided {
        /// Which leader: its term, and its count of decisions.
        by: (u64, u64),
        /// The change.
        change: Change,
    },
}

/// What a node is told that comes back after it was removed.
pub const REMOVED: &str = "this node was removed from the cluster; start it with an empty directory to let it join as another one";

/// What came of a registration that another process of the same node has overtaken.
const OVERTAKEN: &str =
    "this node has begun another life since this process knew of the last one; it asks again";

impl Entry {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(encode(self));
        bytes
    }

    /// Reads an entry; `None` if this program cannot know what it says.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first() {
            Some((&FORMAT, rest)) => postcard::from_bytes(rest).ok(),
            _ => None,
        }
    }

    /// Makes the change, on every node alike.
    pub(crate) fn apply(self, catalog: &mut Catalog) -> Outcome {
        match self {
            Self::Register(join) => register(join, catalog),
            Self::Asked(envelope) => catalog.apply_envelope(envelope),
            Self::Decided { change, .. } => {
                catalog.apply(change).map_err(|refusal| refusal.to_string())
            }
        }
    }
}

/// What a registration does is known only here, behind all changes that came before.
fn register(join: Join, catalog: &mut Catalog) -> Outcome {
    let known = catalog.node_by_key(&join.registration.key);
    // Its number is given to nobody else, and its directory knows no other: taken in as a new node it would never run.
    if known.is_none() && (join.cluster.is_some() || catalog.has_removed(&join.registration)) {
        return Err(REMOVED.to_owned());
    }
    if known.is_some_and(|node| is_overtaken(&join, node)) {
        return Err(OVERTAKEN.to_owned());
    }
    let applied = catalog.apply(Change::Register(join.registration));
    applied.map_err(|refusal| refusal.to_string())
}

/// Whether a later process of the node was registered since that one asked. What a process has sent may arrive after it
/// was killed, and after the next one was registered: that one is not to be taken for the former.
pub(crate) fn is_overtaken(join: &Join, present: &Node) -> bool {
    let is_same_process = present.registration.run == join.registration.run;
    !is_same_process && join.after != Some(present.incarnation)
}
