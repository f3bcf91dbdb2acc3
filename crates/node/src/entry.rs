//! What an entry of the agreed log says, and what applying it did.
//!
//! ```text
//!  0  u8  format; 1
//!  1  the rest, by `postcard`
//! ```

use crate::message::encode;
use brickyard_metadata::{Catalog, Change, Envelope, Outcome, Registration};
use serde::{Deserialize, Serialize};

const FORMAT: u8 = 1;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// A node starts.
    Register(Registration),
    /// A change that a node asked for, maybe more than once.
    Asked(Envelope),
    /// A change that the leader decided on; good only on the state that it was decided by.
    Decided {
        /// Which leader: its term, and its count of decisions.
        by: (u64, u64),
        /// The change.
        change: Change,
    },
    /// A node that was taken in before starts again.
    Return(Registration),
}

/// What a node is told that comes back after it was removed.
pub(crate) const REMOVED: &str = "this node was removed from the cluster; start it with an empty directory to let it join as another one";

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
            // Its number is given to nobody else, and its directory knows no other: taken in as a new node it would
            // never run. Whether it was removed is known only here, behind all changes that came before.
            Self::Return(registration) if catalog.node_by_key(&registration.key).is_none() => {
                Err(REMOVED.to_owned())
            }
            Self::Register(registration) | Self::Return(registration) => catalog
                .apply(Change::Register(registration))
                .map_err(|refusal| refusal.to_string()),
            Self::Asked(envelope) => catalog.apply_envelope(envelope),
            Self::Decided { change, .. } => {
                catalog.apply(change).map_err(|refusal| refusal.to_string())
            }
        }
    }
}
