//! The node's half of a lease: until when each of its bricks may serve and commit.
//!
//! In: what its bricks' loops have come to, grants, readings of two clocks. Out: requests, and for each brick
//! the instant at which it stops.
//!
//! ```text
//!  loops: turns, stopped, accepted ──▶ request ──▶ leader ──▶ on_grant ──▶ until(brick, adopted)
//! ```
//! Invariants:
//! - A lease counts from the moment of the request that the grant answers (rule `leases count from the request`).
//! - A grant counts for a brick only once that brick acts by the grant's version of the catalog (rule
//!   `grants count for adopted maps`).
//! - Once a clock has jumped, nothing that was asked before counts.
//!
//! Not here: the brick's own check before each batch (`now < until`), and what it does without a lease.

use crate::config::ControlConfig;
use crate::message::{BrickState, LeaseGrant, LeaseRequest};
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, Instant, UnixMillis};
use std::time::Duration;

/// Grants that are kept: an older one counts for a brick that has not come to a newer one's version.
const GRANTS_MAX: usize = 8;

/// How far a brick's loop has come; the loop writes it, after its last batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopState {
    /// Goes up with every turn of the loop.
    pub turns: u64,
    /// See [`BrickState::stopped`].
    pub stopped: CatalogVersion,
    /// See [`BrickState::accepted`].
    pub accepted: CatalogVersion,
}

#[derive(Clone, Copy, Debug)]
struct Turning {
    turns: u64,
    since: Instant,
}

#[derive(Clone, Debug)]
struct Held {
    until: Instant,
    version: CatalogVersion,
    bricks: Vec<bool>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct NodeLease {
    config: ControlConfig,
    node: NodeId,
    incarnation: Incarnation,
    turning: Vec<Turning>,
    /// The one that lasts longest last.
    grants: Vec<Held>,
    /// Grants whose requests are older do not count.
    not_before: Instant,
    clocks: Option<(Instant, UnixMillis)>,
}

impl NodeLease {
    /// Of a node that has just registered, with no lease yet.
    #[must_use]
    pub fn new(
        config: ControlConfig,
        node: NodeId,
        incarnation: Incarnation,
        bricks: usize,
        now: Instant,
    ) -> Self {
        let turning = Turning {
            turns: 0,
            since: now,
        };
        Self {
            config,
            node,
            incarnation,
            turning: vec![turning; bricks],
            grants: Vec::new(),
            not_before: now,
            clocks: None,
        }
    }

    /// What to send to the leader now: every `renew`, and at once when an acknowledgement changed.
    pub fn request(&mut self, now: Instant, loops: &[LoopState]) -> LeaseRequest {
        assert_eq!(
            loops.len(),
            self.turning.len(),
            "a state of each brick's loop"
        );
        let timeout = self.config.hang_max();
        let bricks = self.turning.iter_mut().zip(loops).map(|(turning, state)| {
            assert!(
                state.turns >= turning.turns,
                "a loop has turned {} times, and {} before",
                state.turns,
                turning.turns
            );
            if turning.turns != state.turns {
                *turning = Turning {
                    turns: state.turns,
                    since: now,
                };
            }
            BrickState {
                // Rule `a hanging loop loses its lease`: a lease is not kept alive over the head of a loop that
                // hangs.
                is_turning: now - turning.since < timeout,
                stopped: state.stopped,
                accepted: state.accepted,
            }
        });
        LeaseRequest {
            node: self.node,
            incarnation: self.incarnation,
            sent_at: now.0,
            bricks: bricks.collect(),
        }
    }

    /// A grant has come.
    pub fn on_grant(&mut self, grant: &LeaseGrant, now: Instant) {
        let sent_at = Instant(grant.sent_at);
        let is_own = grant.incarnation == self.incarnation && sent_at <= now;
        if !is_own || sent_at < self.not_before {
            return;
        }
        // Rule `leases count from the request`: the leader cannot know when this arrives, and reckons from when it
        // was asked.
        let until = sent_at + grant.lease;
        self.grants.retain(|held| held.until > now);
        self.grants.push(Held {
            until,
            version: grant.version,
            bricks: grant.bricks.clone(),
        });
        self.grants.sort_by_key(|held| held.until);
        if self.grants.len() > GRANTS_MAX {
            // The one that an earlier one does for nearly as long.
            let gap = |at: &usize| self.grants[*at].until - self.grants[*at - 1].until;
            if let Some(at) = (1..GRANTS_MAX).min_by_key(gap) {
                self.grants.remove(at);
            }
        }
        self.check();
    }

    /// Until when a brick that acts by version `adopted` may serve and commit; it may not at that instant
    /// itself.
    ///
    /// A brick whose catalog has one node needs no lease ([`needs_none`]).
    #[must_use]
    pub fn until(&self, brick: usize, adopted: CatalogVersion) -> Instant {
        let covers = |held: &&Held| {
            let is_granted = held.bricks.get(brick).is_some_and(|is_granted| *is_granted);
            // Rule `grants count for adopted maps`: by an older map it may still be where it was removed from.
            is_granted && adopted >= held.version
        };
        let ends = self.grants.iter().filter(covers).map(|held| held.until);
        ends.max().unwrap_or_default()
    }

    /// Compares the clock that leases count by with the one that people set; `unix` was read between two
    /// readings of the other that hardly differ. Whether the lease ended by it.
    ///
    /// A pause of a virtual machine may be missing from the first one; then the second is ahead.
    pub fn on_clocks(&mut self, now: Instant, unix: UnixMillis) -> bool {
        let former = self.clocks.replace((now, unix));
        let Some((then, then_unix)) = former else {
            return false;
        };
        let passed = now - then;
        let passed_unix = Duration::from_millis(unix.0.saturating_sub(then_unix.0));
        // Rule `leases count from the request`.
        let has_jumped = passed_unix > passed + passed / 100 + self.config.margin();
        if has_jumped {
            self.end(now);
        }
        has_jumped
    }

    fn check(&self) {
        assert!(
            self.grants.len() <= GRANTS_MAX,
            "{} grants",
            self.grants.len()
        );
        assert!(
            self.grants.is_sorted_by_key(|held| held.until),
            "the grant that lasts longest is not last: {:?}",
            self.grants
        );
    }

    /// The lease is over, whatever was granted: a clock jumped, or the machine is not what it was.
    pub fn end(&mut self, now: Instant) {
        self.grants.clear();
        self.not_before = now;
    }
}

/// Whether a brick that acts by this catalog needs no lease: the only node of a cluster has no other that could
/// take its place.
#[must_use]
pub fn needs_none(catalog: &Catalog) -> bool {
    catalog.nodes().len() == 1
}

#[cfg(test)]
#[path = "node_lease_test.rs"]
mod node_lease_test;
