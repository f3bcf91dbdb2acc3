//! Streams that this node's bricks want to bricks of other nodes: which to dial, and when.

use crate::host::{Host, peer_address};
use brickyard_metadata::Catalog;
use brickyard_routing::Replica;
use brickyard_types::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Between two attempts to reach the same brick.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Within this time a brick hears of a stream that it wanted, and has ended what it said before.
const HEARD_WITHIN: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
struct Attempt {
    is_running: bool,
    not_before: Instant,
    pause: Duration,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Streams {
    /// By who dials and who is dialed.
    attempts: BTreeMap<(Replica, Replica), Attempt>,
    /// Names connections, all of this process differently (rule `votes belong to a stream`).
    next: u64,
}

impl Streams {
    pub(crate) fn new(random: u64) -> Self {
        Self {
            attempts: BTreeMap::new(),
            next: random,
        }
    }

    /// A brick wants a stream; it says so again and again.
    pub(crate) fn dial(
        &mut self,
        own: Replica,
        peer: Replica,
        catalog: &Catalog,
        host: &mut impl Host,
    ) {
        let now = host.now();
        let new = Attempt {
            is_running: false,
            not_before: now,
            pause: PAUSE,
        };
        let attempt = self.attempts.entry((own, peer)).or_insert(new);
        if attempt.is_running || now < attempt.not_before {
            return;
        }
        // Of a life that is over, or that this node has not heard of, there is no address.
        let is_current = catalog.is_current(own) && catalog.is_current(peer);
        let Some(address) = peer_address(catalog, peer.member.node).filter(|_| is_current) else {
            self.attempts.remove(&(own, peer));
            return;
        };
        attempt.is_running = true;
        self.next = self.next.wrapping_add(1);
        host.dial(own, peer, self.next, address);
    }

    /// A stream that was dialed is there. Its brick hears of that later, and may have asked again meanwhile: a second stream would
    /// take the first one's place, with all that was sent on that.
    pub(crate) fn on_dialed(&mut self, now: Instant, own: Replica, peer: Replica) {
        if let Some(attempt) = self.attempts.get_mut(&(own, peer)) {
            *attempt = Attempt {
                is_running: false,
                not_before: now + HEARD_WITHIN,
                pause: PAUSE,
            };
        }
    }

    /// There is none; a pause, then again if the brick still wants it.
    pub(crate) fn on_failed(&mut self, now: Instant, own: Replica, peer: Replica) {
        if let Some(attempt) = self.attempts.get_mut(&(own, peer)) {
            attempt.is_running = false;
            attempt.not_before = now + attempt.pause;
            attempt.pause = (attempt.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Forgets attempts that concern lives which are over.
    pub(crate) fn on_catalog(&mut self, catalog: &Catalog) {
        self.attempts
            .retain(|(own, peer), _| catalog.is_current(*own) && catalog.is_current(*peer));
    }
}
