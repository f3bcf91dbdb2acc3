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
}

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
            Self::Register(registration) => catalog
                .apply(Change::Register(registration))
                .map_err(|refusal| refusal.to_string()),
            Self::Asked(envelope) => catalog.apply_envelope(envelope),
            Self::Decided { change, .. } => {
                catalog.apply(change).map_err(|refusal| refusal.to_string())
            }
        }
    }
}
