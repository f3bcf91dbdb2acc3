//! This node's half of its lease: asked for in time, told to the bricks.
//!
//! In:  how far the bricks are, grants, two clocks. Out: requests for the leader; until when each brick may
//! act.

use crate::host::{Common, ENDLESS, Host, ToBrick};
use brickyard_control::message::{LeaseGrant, LeaseRequest};
use brickyard_control::{ControlConfig, LoopState, NodeLease, needs_none};
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, Instant, UnixMillis};
use std::time::Duration;

/// A request that is not answered is made again after this part of the time between two. A new leader hears nobody
/// before it knows everything, and by then most of the lease may have passed.
const REPEATS: u32 = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct Leases {
    lease: NodeLease,
    renew: Duration,
    /// How long a node that had a lease asks the leader alone.
    patience: Duration,
    bricks: usize,
    asked: Option<Instant>,
    /// When the newest request that was granted had been made.
    granted: Option<Instant>,
    /// What the bricks had acknowledged when it was asked last.
    last_reported: Vec<(CatalogVersion, CatalogVersion)>,
    /// There is no other node.
    is_alone: bool,
}

impl Leases {
    pub(crate) fn new(
        config: ControlConfig,
        node: NodeId,
        incarnation: Incarnation,
        bricks: usize,
        now: Instant,
    ) -> Self {
        Self {
            renew: config.renew,
            patience: config.lease / 2,
            lease: NodeLease::new(config, node, incarnation, bricks, now),
            bricks,
            asked: None,
            granted: None,
            last_reported: Vec::new(),
            is_alone: false,
        }
    }

    /// The bricks are told of this catalog.
    pub(crate) fn on_catalog<H: Host>(&mut self, catalog: &Catalog, common: &mut Common<H>) {
        let was_alone = std::mem::replace(&mut self.is_alone, needs_none(catalog));
        if self.is_alone {
            common.endless_lease(catalog.version());
        } else if was_alone {
            // Asked for at once, so that the bricks have one when the endless one ends.
            self.asked = None;
        }
    }

    /// What to ask the leader now, if it is time, or if a brick acknowledged something.
    pub(crate) fn poll(&mut self, now: Instant, host: &impl Host) -> Option<LeaseRequest> {
        let states = host.states();
        let acknowledged = |state: &LoopState| (state.stopped, state.accepted);
        let news: Vec<_> = states.iter().map(acknowledged).collect();
        let is_answered = self.granted >= self.asked;
        let pause = if is_answered {
            self.renew
        } else {
            self.renew / REPEATS
        };
        let is_due = self.asked.is_none_or(|asked| now - asked >= pause);
        if !is_due && news == self.last_reported {
            return None;
        }
        self.asked = Some(now);
        self.last_reported = news;
        Some(self.lease.request(now, &states))
    }

    /// Whether nothing that was asked for half a lease was granted: who leads does not hear this node, or is not heard by it.
    pub(crate) fn is_unheard(&self, now: Instant) -> bool {
        self.granted
            .is_some_and(|granted| now - granted >= self.patience)
    }

    /// Asks at once: there is another leader.
    pub(crate) fn hurry(&mut self) {
        self.asked = None;
    }

    /// The leader answered.
    pub(crate) fn on_grant(&mut self, grant: &LeaseGrant, host: &mut impl Host) {
        self.lease.on_grant(grant, host.now());
        self.granted = self.granted.max(Some(Instant(grant.sent_at)));
        let until = Instant(grant.sent_at) + grant.lease;
        for (brick, is_granted) in grant.bricks.iter().enumerate() {
            // Of a grant that does not count nothing is left there.
            let counts = self.lease.until(brick, CatalogVersion(u64::MAX)) >= until;
            if *is_granted && counts {
                host.tell(
                    brick,
                    ToBrick::Lease {
                        until,
                        version: grant.version.0,
                    },
                );
            }
        }
    }

    /// Compares the clocks (rule `leases count from the request`).
    pub(crate) fn on_clocks<H: Host>(
        &mut self,
        now: Instant,
        unix: UnixMillis,
        common: &mut Common<H>,
    ) {
        if self.lease.on_clocks(now, unix) && !self.is_alone {
            tracing::warn!(
                "the time jumped ahead, as after a pause of the machine: bricks stop until their lease is \
                 renewed"
            );
            common.end_lease();
            self.asked = None;
        }
    }

    /// The shortest time for which a brick may act still.
    pub(crate) fn left(&self, host: &impl Host) -> Duration {
        let now = host.now();
        if self.is_alone {
            return ENDLESS - now;
        }
        let adopted = CatalogVersion(host.adopted());
        let until = (0..self.bricks).map(|brick| self.lease.until(brick, adopted));
        until.min().unwrap_or_default() - now
    }
}
