//! Requests that arrive twice are made once.
//!
//! A node that misses the answer to a change asks again, maybe another leader: the change may have been
//! made already. So a request names who asks and as which of its requests, and the catalog remembers
//! what came of each node's last one.

use crate::{
    catalog::Catalog,
    change::{Applied, Change},
    refusal::Refusal,
};
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

/// What came of a change; a refusal in words.
pub type Outcome = Result<Applied, String>;

/// What came of a node's last request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastOutcome {
    /// The life in which it asked.
    pub incarnation: Incarnation,
    /// The request.
    pub sequence: u64,
    /// What came of it.
    pub outcome: Outcome,
}

impl Catalog {
    /// Makes the change, unless the same request was answered before: then the answer is the same.
    ///
    /// # Errors
    /// The refusal in words. What came of the request is remembered in any case.
    pub fn apply_envelope(&mut self, envelope: Envelope) -> Outcome {
        let Envelope {
            from,
            incarnation,
            sequence,
            change,
        } = envelope;
        let is_present = |node: &crate::Node| node.incarnation == incarnation;
        if !self.node(from).is_some_and(is_present) {
            // PROTOCOL rule 10: what an older life asked for may be about a state that is gone with it.
            let superseded = Refusal::Superseded {
                node: from.0,
                incarnation: incarnation.0,
            };
            return Err(superseded.to_string());
        }
        let last = self.outcomes.get(&from);
        if let Some(last) = last.filter(|last| last.incarnation == incarnation) {
            if sequence == last.sequence {
                return last.outcome.clone();
            }
            if sequence < last.sequence {
                let late = Refusal::Late {
                    node: from.0,
                    sequence,
                    last: last.sequence,
                };
                return Err(late.to_string());
            }
        }
        let outcome = self.apply(change).map_err(|refusal| refusal.to_string());
        let last = LastOutcome {
            incarnation,
            sequence,
            outcome: outcome.clone(),
        };
        if self.nodes.contains_key(&from) {
            self.outcomes.insert(from, last);
        }
        outcome
    }
}

#[cfg(test)]
#[path = "envelope_test.rs"]
mod envelope_test;
