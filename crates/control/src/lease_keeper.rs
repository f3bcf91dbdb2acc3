//! The leader's half of leases: which bricks may act, and from when on a brick certainly does not.
//!
//! In: requests of nodes, rounds that a majority answered, what voters heard of earlier leaders. Out:
//! [`LeaseGrant`]s, rounds to begin, queries; and whether a brick's lease has run out.
//!
//! ```text
//!  LeaseRequest ─▶ waits ─▶ round begins ─▶ a majority answers ─▶ LeaseGrant
//! ```
//! Invariants:
//! - What is granted ends no later than one lease after the start of a round that a majority answered: a
//!   leader that was deposed without knowing it extends no lease.
//! - A lease has run out only when every grant has, of this leader and of all earlier ones, by this clock
//!   with a margin.
//!
//! Not here: what is done when a lease has run out (`controller`).
//! Source: Gray & Cheriton, "Leases" (SOSP 1989); DESIGN.md section 5.

use crate::config::ControlConfig;
use crate::message::{BrickState, LeaderContactReply, LeaseGrant, LeaseRequest};
use brickyard_metadata::Catalog;
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::{BrickId, Incarnation, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// A round of asking a majority whether this node still leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoundToken(pub u64);

/// What is known of a brick in one life.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// No grant of this leader counts from then on.
    granted_until: Instant,
    state: BrickState,
}

#[derive(Clone, Debug)]
struct Waiting {
    received_at: Instant,
    request: LeaseRequest,
}

#[derive(Clone, Debug)]
struct Round {
    started_at: Instant,
    waiting: Vec<Waiting>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct LeaseKeeper {
    config: ControlConfig,
    me: NodeId,
    term: u64,
    voters: BTreeSet<NodeId>,
    /// Leases of earlier leaders have ended by then.
    earlier_until: Instant,
    /// When voters last heard an earlier leader, as this clock has it.
    contacts: BTreeMap<NodeId, Instant>,
    known: BTreeMap<Replica, Known>,
    /// When each life of a node last asked.
    asked: BTreeMap<(NodeId, Incarnation), Instant>,
    /// By node: only a node's newest request is answered.
    waiting: BTreeMap<NodeId, Waiting>,
    rounds: BTreeMap<RoundToken, Round>,
    next_round: u64,
    started_at: Instant,
}

impl LeaseKeeper {
    /// Of a leader that was elected at `elected_at`, or earlier by no reckoning.
    #[must_use]
    pub fn new(
        config: ControlConfig,
        me: NodeId,
        term: u64,
        voters: BTreeSet<NodeId>,
        elected_at: Instant,
        now: Instant,
    ) -> Self {
        assert!(
            elected_at <= now,
            "elected at {elected_at:?}, and it is {now:?}"
        );
        // A majority has elected this one and so hears no earlier leader since: that is the latest that a
        // round of one can have begun.
        let earlier_until = elected_at + config.lease_and_margin();
        Self {
            config,
            me,
            term,
            voters,
            earlier_until,
            contacts: BTreeMap::new(),
            known: BTreeMap::new(),
            asked: BTreeMap::new(),
            waiting: BTreeMap::new(),
            rounds: BTreeMap::new(),
            next_round: 1,
            started_at: now,
        }
    }

    /// The voters, by the log as it is now.
    pub fn set_voters(&mut self, voters: BTreeSet<NodeId>) {
        assert!(!voters.is_empty(), "an agreement without voters");
        self.voters = voters;
    }

    /// The voters that have not said when they last heard an earlier leader, as long as that matters.
    pub fn voters_to_query(&self, now: Instant) -> impl Iterator<Item = NodeId> {
        let is_over = now >= self.earlier_until || self.has_majority();
        let silent = self
            .voters
            .iter()
            .filter(|it| !self.contacts.contains_key(it));
        silent.copied().filter(move |_| !is_over)
    }

    /// A voter says when it last heard an earlier leader.
    pub fn on_leader_contact(&mut self, now: Instant, from: NodeId, reply: LeaderContactReply) {
        // Rule `leases count from the request`: an answer of another term does not bound what the voter may still
        // hear.
        if reply.term != self.term {
            return;
        }
        // The answer is older than now, so the contact was no later than this, should the voter's clock be fast too.
        let ago = reply.ago - reply.ago / 100;
        let ago = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
        let contact_at = Instant(now.0.saturating_sub(ago));
        assert!(
            contact_at <= now,
            "{from} heard a leader at {contact_at:?}, and it is {now:?}"
        );
        let known = self.contacts.entry(from).or_insert(contact_at);
        *known = (*known).max(contact_at);
        if !self.has_majority() {
            return;
        }
        let of_voters = self
            .contacts
            .iter()
            .filter(|(node, _)| self.voters.contains(node));
        let latest = of_voters.map(|(_, at)| *at).max().unwrap_or(now);
        let until = latest + self.config.lease_and_margin();
        self.earlier_until = self.earlier_until.min(until);
    }

    fn has_majority(&self) -> bool {
        let contacts = self
            .voters
            .iter()
            .filter(|it| self.contacts.contains_key(it));
        contacts.count() > self.voters.len() / 2
    }

    /// A node asks in its present life. The states of its bricks count at once; the grant waits for a
    /// round. Returns whether any state is new.
    pub fn on_request(&mut self, now: Instant, request: LeaseRequest) -> bool {
        let life = (request.node, request.incarnation);
        let mut is_new = self.asked.insert(life, now).is_none();
        for (replica, state) in replicas(&request) {
            let known = self.known.entry(replica).or_default();
            let state = BrickState {
                is_turning: state.is_turning,
                stopped: known.state.stopped.max(state.stopped),
                accepted: known.state.accepted.max(state.accepted),
            };
            is_new |= state != known.state;
            known.state = state;
        }
        let waiting = Waiting {
            received_at: now,
            request,
        };
        self.waiting.insert(waiting.request.node, waiting);
        is_new
    }

    /// Begins a round if a node waits for one. The caller asks a majority, after it has noted that it
    /// leads ([`crate::LeaderContact::on_leader`]).
    pub fn poll_round(&mut self, now: Instant) -> Option<RoundToken> {
        let newest = self.rounds.values().next_back();
        // One that is not answered may never be; others follow it, but not without end.
        let is_early = newest.is_some_and(|round| now - round.started_at < self.config.renew / 2);
        if self.waiting.is_empty() || is_early {
            return None;
        }
        let token = RoundToken(self.next_round);
        self.next_round += 1;
        let round = Round {
            started_at: now,
            waiting: std::mem::take(&mut self.waiting).into_values().collect(),
        };
        assert!(!round.waiting.is_empty(), "{token:?} is for no node");
        let earlier = self.rounds.insert(token, round);
        assert!(earlier.is_none(), "{token:?} was begun before");
        self.rounds
            .retain(|_, round| now - round.started_at < self.config.lease);
        Some(token)
    }

    /// A majority answered a round: nodes that asked before it began are granted.
    ///
    /// `pending_acks`: for each brick, the version of the catalog from which on it has to have stopped something.
    pub fn on_quorum(
        &mut self,
        token: RoundToken,
        catalog: &Catalog,
        pending_acks: &BTreeMap<Replica, u64>,
    ) -> Vec<(NodeId, LeaseGrant)> {
        let later = self.rounds.split_off(&RoundToken(token.0 + 1));
        let answered = std::mem::replace(&mut self.rounds, later);
        if !answered.contains_key(&token) {
            // Given up, or answered before.
            return Vec::new();
        }
        let mut newest: BTreeMap<NodeId, Waiting> = BTreeMap::new();
        for round in answered.into_values() {
            for waiting in round.waiting {
                // What is granted ends no later than one lease after the start of the round.
                assert!(
                    waiting.received_at <= round.started_at,
                    "asked at {:?}, after the round began at {:?}",
                    waiting.received_at,
                    round.started_at
                );
                newest.insert(waiting.request.node, waiting);
            }
        }
        let mut grants = Vec::new();
        for (node, waiting) in newest {
            if let Some(grant) = self.grant(&waiting, catalog, pending_acks) {
                grants.push((node, grant));
            }
        }
        grants
    }

    /// A round came to nothing.
    pub fn on_quorum_lost(&mut self, token: RoundToken) {
        if let Some(round) = self.rounds.remove(&token) {
            for waiting in round.waiting {
                self.waiting.entry(waiting.request.node).or_insert(waiting);
            }
        }
    }

    fn grant(
        &mut self,
        waiting: &Waiting,
        catalog: &Catalog,
        pending_acks: &BTreeMap<Replica, u64>,
    ) -> Option<LeaseGrant> {
        let request = &waiting.request;
        let until = waiting.received_at + self.config.lease_and_margin();
        let mut bricks = Vec::with_capacity(request.bricks.len());
        for (replica, _) in replicas(request) {
            let Some(known) = self.known.get_mut(&replica) else {
                bricks.push(false);
                continue;
            };
            let is_ack_pending = pending_acks
                .get(&replica)
                .is_some_and(|version| known.state.stopped.0 < *version);
            // Rule `members name an incarnation` (an older life gets nothing), 23 (nor does a loop that hangs) and 3
            // (nor one that has not reported that it stopped what it was removed from).
            let is_granted =
                catalog.is_current(replica) && known.state.is_turning && !is_ack_pending;
            if is_granted {
                known.granted_until = known.granted_until.max(until);
            }
            bricks.push(is_granted);
        }
        assert_eq!(
            bricks.len(),
            request.bricks.len(),
            "an answer for each brick"
        );
        let is_any = bricks.contains(&true);
        is_any.then(|| LeaseGrant {
            incarnation: request.incarnation,
            sent_at: request.sent_at,
            lease: self.config.lease,
            version: catalog.version(),
            bricks,
        })
    }

    /// Whether no lease of that brick is in force any more, of this leader or an earlier one.
    #[must_use]
    pub fn has_run_out(&self, replica: Replica, now: Instant) -> bool {
        let granted_until = self.known.get(&replica).map(|known| known.granted_until);
        now >= self.earlier_until.max(granted_until.unwrap_or_default())
    }

    /// Whether the brick has a lease of this leader.
    #[must_use]
    pub fn is_granted(&self, replica: Replica, now: Instant) -> bool {
        let known = self.known.get(&replica);
        known.is_some_and(|known| now < known.granted_until)
    }

    /// When a node last asked in that life, if it ever asked this leader.
    #[must_use]
    pub fn asked_at(&self, node: NodeId, incarnation: Incarnation) -> Option<Instant> {
        self.asked.get(&(node, incarnation)).copied()
    }

    /// The brick's last reported state.
    #[must_use]
    pub fn state(&self, replica: Replica) -> BrickState {
        self.known
            .get(&replica)
            .map(|known| known.state)
            .unwrap_or_default()
    }

    /// When this leader began to keep leases.
    #[must_use]
    pub const fn started_at(&self) -> Instant {
        self.started_at
    }

    /// The node that keeps them.
    #[must_use]
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// The term in which it keeps them.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// Whether this node alone votes.
    #[must_use]
    pub fn is_lone_voter(&self) -> bool {
        self.voters.iter().eq([&self.me])
    }

    /// Forgets lives that are over and whose leases have run out.
    pub fn forget(&mut self, now: Instant, catalog: &Catalog) {
        self.known
            .retain(|replica, known| now < known.granted_until || catalog.is_current(*replica));
        let is_present = |node, life| {
            let node = catalog.node(node);
            node.is_some_and(|node| node.incarnation == life)
        };
        self.asked
            .retain(|(node, life), _| is_present(*node, *life));
    }
}

fn replicas(request: &LeaseRequest) -> impl Iterator<Item = (Replica, BrickState)> {
    let states = request.bricks.iter().enumerate();
    states.map(|(brick, state)| {
        let replica = Replica {
            member: Member {
                node: request.node,
                brick: BrickId(brick as u32),
            },
            incarnation: request.incarnation,
        };
        (replica, *state)
    })
}

#[cfg(test)]
#[path = "lease_keeper_test.rs"]
mod lease_keeper_test;
