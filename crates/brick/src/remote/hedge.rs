//! Reads of other nodes' partitions go to a backup where the primary is silent, or cannot be reached.
//!
//! In:  what peers sent, the time. Out: which replica a read is sent to; reads that are with a silent one, placed anew.
//!
//! Any in-sync replica answers a read, so a client of a node that has none of them need not wait for the next view.
//! What counts is the silence of a stream that owes an answer, as in the client library
//! ([decision 0018](../../../../docs/decisions/0018-hedged-reads.md)): a replica that is merely loaded goes on answering.
//!
//! Invariants:
//! - A read does not go to a backup past a write that its connection sent before it (rule `reads follow own writes`),
//!   nor does a write of the connection leave while a read that it sent before is with a backup: that would see it.
//! - A read is with one replica at a time, and what a connection reads of a slot is with one brick at a time. Whatever the former
//!   says later is not listened to, so reads of one connection never see a value and then an older one.

use super::{Exchange, Remote};
use crate::request::{Request, SessionOrder, Work};
use crate::requests::Place;
use brickyard_command::is_data_command;
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a stream that owes an answer may be silent before reads go elsewhere.
const HEDGE_AFTER: Duration = Duration::from_millis(50);

/// Where answers take longer than usual anyway: so many times that.
const ROUND_TRIPS: u32 = 4;

/// The limit doubles with each attempt of a read, so often at most.
const DOUBLINGS_MAX: u32 = 4;

/// A new round trip's weight in the mean is one in so many.
const MEAN_OVER: u32 = 8;

/// What is known of the brick at the far end of a stream.
#[derive(Debug)]
struct Peer {
    last_contact: Instant,
    /// Mean time of an answer.
    round_trip: Duration,
    /// It owed an answer for too long, and has not been heard since.
    is_silent: bool,
}

/// Whom this brick asks, and how they answer.
#[derive(Debug, Default)]
pub(crate) struct FailureDetector {
    peers: BTreeMap<Replica, Peer>,
    /// When silence is looked for next.
    check_at: Option<Instant>,
}

impl FailureDetector {
    fn peer(&mut self, replica: Replica) -> &mut Peer {
        self.peers.entry(replica).or_insert(Peer {
            last_contact: Instant(0),
            round_trip: Duration::ZERO,
            is_silent: false,
        })
    }

    /// Something came from a brick on the stream on which it answers.
    pub(crate) fn hear(&mut self, replica: Replica, now: Instant) {
        let peer = self.peer(replica);
        peer.last_contact = now;
        peer.is_silent = false;
    }

    /// It has answered what was sent at that instant.
    pub(super) fn answered(&mut self, replica: Replica, sent_at: Instant, now: Instant) {
        assert!(sent_at <= now, "{replica} answers before it is asked");
        let peer = self.peer(replica);
        peer.round_trip = (peer.round_trip * (MEAN_OVER - 1) + (now - sent_at)) / MEAN_OVER;
    }

    /// The stream to a brick is gone: it is heard again when there is another.
    pub(super) fn lose(&mut self, replica: Replica) {
        self.peer(replica).is_silent = true;
    }

    /// Forgets lives that are over.
    pub(super) fn forget(&mut self, is_current: impl Fn(Replica) -> bool) {
        self.peers.retain(|replica, _| is_current(*replica));
    }

    fn is_silent(&self, replica: Replica) -> bool {
        self.peers.get(&replica).is_some_and(|peer| peer.is_silent)
    }

    /// A read waits for an answer from now on.
    pub(super) fn watch(&mut self, now: Instant) {
        let at = now + HEDGE_AFTER;
        self.check_at = Some(self.check_at.map_or(at, |before| before.min(at)));
    }

    /// When silence is looked for next.
    pub(crate) fn check_at(&self) -> Option<Instant> {
        self.check_at
    }

    /// Until when a read may go unanswered.
    fn limit(&self, remote: &Remote, attempts: u32) -> Instant {
        let peer = remote.sent.and_then(|replica| self.peers.get(&replica));
        let last_contact = peer.map_or(Instant(0), |peer| peer.last_contact);
        let round_trip = peer.map_or(Duration::ZERO, |peer| peer.round_trip);
        let patience = HEDGE_AFTER.max(round_trip * ROUND_TRIPS);
        let doublings = attempts.min(DOUBLINGS_MAX);
        remote.since.max(last_contact) + patience * (1 << doublings)
    }
}

/// Whether another replica than the primary may do it. What is watched is known to the primary alone.
pub(super) fn may_hedge(request: &Request) -> bool {
    // Copies are recalled by the primary.
    if request.is_tracked {
        return false;
    }
    let work = &request.work;
    let is_plain = match work {
        Work::Command(spec, _) => is_data_command(spec.id),
        Work::Transaction(transaction) => transaction.watches.is_empty(),
        Work::Attempt(..) | Work::Subrequest(..) | Work::Part(_) => false,
    };
    is_plain && work.only_reads()
}

/// What says which replica reads in place of a silent primary.
struct Choice {
    /// This node.
    node: NodeId,
    /// A read that the connection sent before is with a brick of another node. One of this node would answer at once, perhaps
    /// from before what that one sees: bricks of other nodes are asked one after the other.
    follows_remote: bool,
    /// How often the read was refused.
    attempts: usize,
}

impl Choice {
    /// One of the other replicas that are heard.
    fn among(&self, others: &[Member], is_linked: impl Fn(Member) -> bool) -> Option<Member> {
        let may = |member: &&Member| !self.follows_remote || member.node != self.node;
        let others: Vec<Member> = others.iter().filter(may).copied().collect();
        let local = others.iter().find(|it| it.node == self.node);
        let linked = others.iter().find(|it| is_linked(**it));
        let any = others.get(self.attempts % others.len().max(1));
        // One that is near has refused before; one that is not linked may be dead: not the same again and again.
        let local = local.filter(|_| self.attempts.is_multiple_of(2));
        local.or(linked).or(any).copied()
    }
}

impl Exchange<'_> {
    /// The brick that a request for `owner`'s partition is sent to: for a read it may be a backup.
    pub(crate) fn reader(&self, owner: Member, request: &Request) -> Member {
        let me = self.core.member();
        if owner.node == me.node || !may_hedge(request) {
            return owner;
        }
        let state = self.core.tables.of(request.table);
        let Some((state, key)) = state.zip(request.work.first_key()) else {
            return owner;
        };
        let location = state.map.locate(key);
        let Some(group) = state.map.groups().get(location.leaf as usize) else {
            return owner;
        };
        let catalog = self.core.tables.catalog();
        let is_linked = |member: Member| self.core.replicas.link_to(catalog, member).is_some();
        let hears = |replica: &Replica| !self.remotes.failure_detector.is_silent(*replica);
        if hears(&group.primary) && is_linked(owner) {
            return owner;
        }
        let order = SessionOrder {
            member: request.origin.member,
            connection: request.origin.token.connection,
            table: state.id,
            slot: location.slot,
        };
        let orders = self.core.requests.orders();
        if orders.is_at(order, Place::RemoteWrite) {
            return owner;
        }
        let others = group.in_sync().filter(|replica| replica.member != me);
        let others: Vec<Member> = others.filter(hears).map(|replica| replica.member).collect();
        let choice = Choice {
            node: me.node,
            follows_remote: orders.is_at(order, Place::Remote),
            attempts: request.attempts as usize,
        };
        choice.among(&others, is_linked).unwrap_or(owner)
    }

    /// Reads that a silent brick does not answer are asked of another.
    pub(crate) fn leave_silent(&mut self) {
        let now = self.core.now;
        if self
            .remotes
            .failure_detector
            .check_at
            .is_none_or(|at| now < at)
        {
            return;
        }
        let mut next: Option<Instant> = None;
        let mut silent = BTreeSet::new();
        let mut overdue = Vec::new();
        for (number, remote) in &self.remotes.pending {
            if !remote.may_move {
                continue;
            }
            let attempts = self.core.requests.get(remote.id).map(|it| it.attempts);
            let limit = self
                .remotes
                .failure_detector
                .limit(remote, attempts.unwrap_or(0));
            if limit <= now {
                overdue.push(*number);
                silent.extend(remote.sent);
            } else {
                next = Some(next.map_or(limit, |next| next.min(limit)));
            }
        }
        for replica in &silent {
            self.remotes.failure_detector.peer(*replica).is_silent = true;
        }
        self.remotes.failure_detector.check_at = next;
        self.move_reads(&silent, overdue);
    }

    /// All reads that wait for these bricks, and some that could not even be sent, are placed anew; but none whose
    /// connection has a write under way: that may be done before, or after.
    fn move_reads(&mut self, silent: &BTreeSet<Replica>, overdue: Vec<u64>) {
        let pending = self.remotes.pending.iter();
        let of_silent = pending.filter(|(_, it)| {
            it.may_move && it.sent.is_some_and(|replica| silent.contains(&replica))
        });
        let numbers: BTreeSet<u64> = of_silent
            .map(|(number, _)| *number)
            .chain(overdue)
            .collect();
        let writing: BTreeSet<SessionOrder> = self
            .remotes
            .pending
            .values()
            .filter(|it| it.sent.is_some() && !it.only_reads)
            .filter_map(|it| it.order)
            .collect();
        let mut moved = BTreeSet::new();
        for number in numbers {
            let order = self.remotes.pending.get(&number).and_then(|it| it.order);
            let has_another = self.has_another(number);
            if order.is_some_and(|order| writing.contains(&order)) || !has_another {
                // It waits on, and is looked at again.
                self.remotes.failure_detector.watch(self.core.now);
                continue;
            }
            if let Some((remote, request)) = self.take_remote(number) {
                self.core.replicas.wake();
                moved.insert(remote.order);
                self.dispatch_returned(request);
            }
        }
        for order in moved {
            self.dispatch_unsent(order);
        }
    }

    /// Whether another replica than the one that it was sent to may answer a read.
    fn has_another(&self, number: u64) -> bool {
        let Some(remote) = self.remotes.pending.get(&number) else {
            return false;
        };
        let group = remote.group(self.core);
        group.is_some_and(|group| {
            let mut others = group
                .in_sync()
                .filter(|replica| replica.member != remote.to);
            others.any(|replica| !self.remotes.failure_detector.is_silent(replica))
        })
    }
}

#[cfg(test)]
#[path = "hedge_test.rs"]
mod hedge_test;
