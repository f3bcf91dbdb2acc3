//! Requests that arrive twice are made once.
//!
//! A node that misses the answer to a change asks again, maybe another leader: the change may have been
//! made already. So a request names who asks and as which of its requests, and the catalog remembers
//! what came of each node's last one.

use crate::change::Change;
use brickyard_routing::NodeId;
use brickyard_types::Incarnation;
use serde::{Deserialize, Serialize};

/// A change, and who asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The node that asks.
    pub from: NodeId,
    /// In which of its lives.
    pub incarnation: Incarnation,
    /// As which of its requests, from 1; a request that is sent again keeps its number.
    pub sequence: u64,
    /// The change.
    pub change: Change,
}

#[cfg(test)]
#[path = "envelope_test.rs"]
mod envelope_test;
