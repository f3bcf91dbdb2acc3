//! The nodes that are about to stop: they ask again and again, until they hold nothing that others can take over.
//!
//! In:  requests of nodes. Out: which nodes drain, and whether a proposal from before that was known may still give a node
//!      something.
//!
//! Not here: how far the drain is (`drain_progress`), where partitions go (`learners`).

use brickyard_routing::NodeId;
use brickyard_types::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How far the log of the catalog's changes is.
#[derive(Clone, Copy, Debug)]
pub struct LogEnds {
    /// The index of the last entry, which may not be agreed on yet.
    pub proposed: u64,
    /// The last entry that the controller's catalog has.
    pub applied: u64,
}

/// A node that is about to stop.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// When it last asked how far that is.
    asked_at: Instant,
    /// What is proposed behind this index takes it into account.
    known_from: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Drains(BTreeMap<NodeId, Drain>);

impl Drains {
    /// A node is about to stop, in its present life. Returns whether a proposal from before that was known may give it
    /// something.
    pub(super) fn on_request(&mut self, now: Instant, node: NodeId, log: LogEnds) -> bool {
        assert!(
            log.applied <= log.proposed,
            "entry {} is applied and the log ends at {}",
            log.applied,
            log.proposed
        );
        let first = Drain {
            asked_at: now,
            known_from: log.proposed,
        };
        let drain = self.0.entry(node).or_insert(first);
        drain.asked_at = now;
        log.applied < drain.known_from
    }

    /// A new life of a node was registered: the one that was going to end has ended.
    pub(super) fn on_new_life(&mut self, node: NodeId) {
        self.0.remove(&node);
    }

    /// Forgets nodes that have not asked for so long.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) {
        self.0.retain(|_, drain| now - drain.asked_at < after);
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.0.contains_key(&node)
    }

    pub(super) fn nodes(&self) -> BTreeSet<NodeId> {
        self.0.keys().copied().collect()
    }
}
