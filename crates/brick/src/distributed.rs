//! Distributed transactions: commands on keys of several partitions that happen together or not at all.
//!
//! In:  a transaction whose keys are of several slots, at the primary of its *anchor's* partition. Out: its reply, when it has committed.
//!
//! ```text
//!  coordinator: the anchor's primary             participants: primaries of the other partitions
//!    read  ─────────────────────────────────────►  what keys hold, and their versions
//!    draft: the commands run against that
//!    lock  ─────────────────────────────────────►  keys are as expected: each gets an *intent*, an operation
//!                                                  like any other (their vote)
//!    commit: one operation of the anchor's partition, if that is as expected too: its keys' values, and the
//!            anchor's own intent, which says that all has been decided                    ──► the client is answered
//!    resolve ───────────────────────────────────►  intents become values
//!    the anchor's intent becomes its value
//! ```
//! There is no other log of transactions: an intent is a record of its key, so it is replicated, recovered, copied, split and moved with it.
//! Whoever meets one waits. One that stays is looked into by the primary of its key (`coordinate/recover.rs`): the anchor's partition knows what became
//! of it, and a transaction of which it knows nothing is aborted for good.
//!
//! A transaction may have one key in another table (MOVE, COPY with `DB`). A table can be dropped at any moment, and what its keys say with it: so
//! the client of such a transaction is answered only when the other key has its value. Whoever then finds an intent whose anchor's table was dropped
//! takes it back: nobody was told otherwise.
//!
//! Invariants (rules of docs/protocol.md):
//! - `a vote stays`, `an anchor decides` (`keyed/part.rs`).
//! - `one moment for all keys`: when the anchor's operation is made all other keys that were read or are written have intents, and those of the
//!   anchor's partition are as they were read: what the client is told is true at that moment.
//! - `a coordinator commits in the view in which it began` (`coordinate/commit.rs`): what an earlier primary, or this brick before it lost its place,
//!   was asked about is aborted.
//! - `two tables are answered for last` (`coordinate/settle.rs`).
//!
//! The files here are what is known: `running` (a transaction under way), `recovery` and `met` (intents that nobody has resolved), `reserved` (who comes next), `part` and `intent` (their
//! forms), `per_key` (keys of tables), `action` (what is left to the brick). What is done with it: `coordinate` (from request to reply) and `keyed/part.rs` (what a partition does).
//!
//! Source: Peng and Dabek, "Large-scale incremental processing" (Percolator, OSDI 2010); Dragojević et al., "No compromises" (FaRM, SOSP 2015);
//! docs/decisions/0077 and 0088.

mod action;
mod intent;
mod met;
pub(crate) mod part;
mod per_key;
mod recovery;
mod reserved;
mod running;

pub(crate) use action::Action;
pub(crate) use intent::{Intent, Participant, may_become};
pub(crate) use met::Met;
pub(crate) use per_key::{Keys, PerKey};
pub(crate) use recovery::{Recovery, Stage};
pub(crate) use reserved::{Age, Reserved};
pub(crate) use running::{Drafted, Event, Known, Phase, Place, Portion, Running, Setback};

use crate::output::{CommitDependency, Meets};
use crate::request::Token;
use brickyard_types::{Instant, PartitionId, TableId};
use part::TransactionId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// How long a partition takes no new intents for somebody who reads it as a whole, and asks again meanwhile.
const REST: Duration = Duration::from_millis(300);

/// Bytes that transactions under way may hold together: what they ask, and what was fetched for them.
const BYTES_MAX: usize = 256 << 20;

/// Keys that are looked into at a time.
const RECOVERIES_MAX: usize = 256;

/// What is to be seen to.
#[derive(Debug)]
pub(crate) enum Seen {
    Action(Action),
    /// An answer to a part.
    Answer(Token, Vec<u8>),
}

/// The transactions that a brick coordinates, and the intents that it has met.
#[derive(Debug)]
pub(crate) struct Distributed {
    /// Drawn for this life of the brick.
    coordinator: u64,
    /// Transactions and recoveries are numbered together.
    next: u64,
    running: BTreeMap<u64, Running>,
    /// Those that pause, by when they are tried again.
    pausing: BTreeSet<(Instant, u64)>,
    /// Bytes that they hold, about.
    bytes: usize,
    recoveries: BTreeMap<u64, Recovery>,
    pub(crate) met: Met,
    pub(crate) reserved: Reserved,
    /// Requests may wait for intents or reservations.
    pub(crate) has_waiters: bool,
    /// Answers that have come and are yet to be looked at.
    answers: VecDeque<(Token, Vec<u8>)>,
    /// What is left to the brick.
    actions: VecDeque<Action>,
    /// Both are being seen to.
    is_driven: bool,
    /// Resolutions that have not committed: who waits for them is woken then.
    resolving: Vec<CommitDependency>,
    /// Partitions that take no new intents until then, so that there is a moment without one.
    resting: BTreeMap<PartitionId, Instant>,
}

impl Distributed {
    pub(crate) fn new(coordinator: u64) -> Self {
        Self {
            coordinator,
            next: 0,
            running: BTreeMap::new(),
            pausing: BTreeSet::new(),
            bytes: 0,
            recoveries: BTreeMap::new(),
            met: Met::default(),
            reserved: Reserved::default(),
            has_waiters: false,
            answers: VecDeque::new(),
            actions: VecDeque::new(),
            is_driven: false,
            resolving: Vec::new(),
            resting: BTreeMap::new(),
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn id(&mut self) -> TransactionId {
        let number = self.number();
        assert!(
            self.next >> 63 == 0,
            "{number} has the bit that marks transactions"
        );
        TransactionId {
            coordinator: self.coordinator,
            number,
        }
    }

    /// Whether no transaction is under way, nor its intents on their way out.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether this brick has that attempt at a transaction under way, and says what becomes of it when it knows.
    pub(crate) fn is_open(&self, id: TransactionId) -> bool {
        let mut running = self.running.values();
        id.coordinator == self.coordinator && running.any(|it| it.is_open(id))
    }

    /// A partition is to come to a moment without intents, for who wants to read it as it is then.
    pub(crate) fn rest(&mut self, partition: PartitionId, now: Instant) {
        self.resting.retain(|_, until| *until > now);
        self.resting.insert(partition, now + REST);
        assert!(self.rests(partition, now), "{partition} does not rest");
    }

    /// It was read, or begins to be: it takes intents again.
    pub(crate) fn end_rest(&mut self, partition: PartitionId) {
        self.resting.remove(&partition);
    }

    /// Whether a partition takes no new intents now.
    pub(crate) fn rests(&self, partition: PartitionId, now: Instant) -> bool {
        self.resting
            .get(&partition)
            .is_some_and(|until| *until > now)
    }

    /// Intents go when this has committed.
    pub(crate) fn note_resolving(&mut self, dependency: CommitDependency) {
        self.resolving.push(dependency);
    }

    /// Whether intents have gone since this was asked last.
    pub(crate) fn take_resolved(&mut self, log: &impl Meets) -> bool {
        if self.resolving.is_empty() {
            return false;
        }
        let before = self.resolving.len();
        self.resolving.retain(|dependency| !log.meets(*dependency));
        self.resolving.len() < before
    }

    /// A transaction waits for answers, or pauses.
    pub(crate) fn keep(&mut self, number: u64, running: Running) {
        self.bytes += running.bytes();
        if let Some(until) = running.retry_at() {
            self.pausing.insert((until, number));
        }
        let before = self.running.insert(number, running);
        assert!(before.is_none(), "transaction {number} is under way twice");
    }

    /// Takes a transaction to go on with it.
    pub(crate) fn take(&mut self, number: u64) -> Option<Running> {
        let running = self.running.remove(&number)?;
        let bytes = running.bytes();
        assert!(
            self.bytes >= bytes,
            "a transaction of {bytes} bytes of {}",
            self.bytes
        );
        self.bytes -= bytes;
        if let Some(until) = running.retry_at() {
            self.pausing.remove(&(until, number));
        }
        Some(running)
    }

    /// Whether a transaction of so many bytes may be under way beside the others. One always may.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes + bytes <= BYTES_MAX || self.running.is_empty()
    }

    /// A transaction that is to be tried again by now.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(u64, Running)> {
        let (until, number) = *self.pausing.first()?;
        if until > now {
            return None;
        }
        self.take(number).map(|running| (number, running))
    }

    /// When a transaction that has come upon another one is tried again.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.pausing.first().map(|(until, _)| *until)
    }

    /// A key is looked into; `false`: it is already, or too many are.
    pub(crate) fn may_look_into(&self, table: TableId, key: &[u8]) -> bool {
        let mut recoveries = self.recoveries.values();
        self.recoveries.len() < RECOVERIES_MAX
            && !recoveries.any(|it| it.table == table && it.key == key)
    }

    /// A key that is looked into waits for answers.
    pub(crate) fn keep_recovery(&mut self, number: u64, recovery: Recovery) {
        let before = self.recoveries.insert(number, recovery);
        assert!(before.is_none(), "recovery {number} is under way twice");
    }

    /// Takes it to go on with it.
    pub(crate) fn take_recovery(&mut self, number: u64) -> Option<Recovery> {
        self.recoveries.remove(&number)
    }

    /// Something is left to the brick.
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// An answer to a part has come.
    pub(crate) fn answer(&mut self, token: Token, bytes: Vec<u8>) {
        self.answers.push_back((token, bytes));
    }

    /// Whether something is to be seen to.
    pub(crate) fn has_work(&self) -> bool {
        !self.answers.is_empty() || !self.actions.is_empty()
    }

    /// What is to be seen to next.
    pub(crate) fn next_step(&mut self) -> Option<Seen> {
        let action = self.actions.pop_front().map(Seen::Action);
        action.or_else(|| {
            let (token, bytes) = self.answers.pop_front()?;
            Some(Seen::Answer(token, bytes))
        })
    }

    /// Somebody sees to what is to be seen to; whether nobody does already.
    pub(crate) fn begin_drive(&mut self) -> bool {
        !std::mem::replace(&mut self.is_driven, true)
    }

    /// Nobody does any more.
    pub(crate) fn end_drive(&mut self) {
        assert!(self.is_driven, "an end without a beginning");
        self.is_driven = false;
    }
}
