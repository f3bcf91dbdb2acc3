//! A distributed transaction that is under way, as its coordinator knows it.
//!
//! In:  a request, what has been answered. Out: the same, for whoever goes on with it ([`crate::coordinate`]).

use super::part::{After, Stored, TransactionId};
use super::per_key::{Keys, PerKey};
use super::reserved::Age;
use crate::channels::Published;
use crate::keyspace_events::Cause;
use crate::request::{Request, Work};
use crate::transaction::Transaction;
use crate::version::Version;
use brickyard_types::record::Kind;
use brickyard_types::{Instant, PartitionId, TableId, View};

/// What a key held when it was read.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) held: Option<Stored>,
    pub(crate) version: Version,
}

/// An event of a key, for keyspace notifications.
pub(crate) type Event = (Cause, Kind, bool, (TableId, Vec<u8>));

/// Keys of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) table: TableId,
    pub(crate) keys: Vec<Vec<u8>>,
}

/// What a transaction comes to.
#[derive(Debug, Default)]
pub(crate) struct Drafted {
    pub(crate) reply: Vec<u8>,
    /// Keys by which it was decided.
    pub(crate) reads: Keys,
    pub(crate) writes: PerKey<After>,
    pub(crate) events: Vec<Event>,
    /// What its scripts publish.
    pub(crate) published: Vec<Published>,
}

/// The partition that a transaction is coordinated at, and in which of its views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: PartitionId,
    pub(crate) view: View,
}

/// What a transaction that is under way waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its turn, after a pause.
    Pausing(Instant),
    /// What its keys hold.
    Reading,
    /// Whether what it has read holds still; it writes nothing.
    Checking,
    /// The votes.
    Locking,
    /// That its operation commits.
    Committing,
    /// That its intents go.
    Resolving,
    /// Until it asks once more that they go.
    Unresolved(Instant),
    /// That the anchor's goes.
    Closing,
}

/// What the votes, or the reads, have come to.
#[derive(Debug)]
pub(crate) enum Setback {
    Again,
    /// A part was not executed, or nobody knows; with some luck it can be in a moment.
    Passing(Vec<u8>),
    Watched,
    Refused(Vec<u8>),
}

/// A transaction that is under way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) request: Request,
    pub(crate) id: TransactionId,
    pub(crate) age: Age,
    pub(crate) phase: Phase,
    /// Counts what was asked for; answers to what was asked before do not count.
    pub(crate) round: u64,
    /// The keys that each part was asked for.
    pub(crate) asked: Vec<Portion>,
    pub(crate) missing: usize,
    pub(crate) setback: Option<Setback>,
    pub(crate) place: Option<Place>,
    known: PerKey<Known>,
    /// What was read in one round of one partition holds at one moment.
    pub(crate) reads: u32,
    pub(crate) drafted: Drafted,
    pub(crate) attempts: u32,
    /// Of what is known.
    known_bytes: usize,
}

impl Running {
    /// One that begins.
    pub(crate) fn new(request: Request, id: TransactionId, age: Age) -> Self {
        Self {
            request,
            id,
            age,
            phase: Phase::Reading,
            round: 0,
            asked: Vec::new(),
            missing: 0,
            setback: None,
            place: None,
            known: PerKey::default(),
            reads: 0,
            drafted: Drafted::default(),
            attempts: 0,
            known_bytes: 0,
        }
    }

    /// What is known of its keys.
    pub(crate) const fn known(&self) -> &PerKey<Known> {
        &self.known
    }

    /// What a key holds is known.
    pub(crate) fn learn(&mut self, table: TableId, key: Vec<u8>, known: Known) {
        let bytes = key.len() + known.held.as_ref().map_or(0, Stored::len);
        if self.known.insert(table, key, known).is_none() {
            self.known_bytes += bytes;
        }
    }

    /// Nothing is known any more: what was read may have changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.known_bytes = 0;
        self.reads = 0;
    }

    /// Bytes that it holds, about.
    pub(crate) fn bytes(&self) -> usize {
        self.request.bytes() + self.known_bytes
    }

    /// Whether what becomes of that attempt is for its coordinator alone to say: it may commit yet, or its client is answered
    /// when its intents have gone by what it says.
    pub(crate) fn is_open(&self, id: TransactionId) -> bool {
        use Phase::{Committing, Locking, Resolving, Unresolved};
        let is_told_last = || matches!(self.phase, Committing | Resolving | Unresolved(_));
        self.id == id && (self.phase == Locking || (self.is_across() && is_told_last()))
    }

    /// Whether it is over two tables.
    pub(crate) fn is_across(&self) -> bool {
        self.transaction().across.is_some()
    }

    /// When it goes on, if it pauses.
    pub(crate) const fn retry_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Pausing(until) | Phase::Unresolved(until) => Some(until),
            _ => None,
        }
    }

    pub(crate) fn transaction(&self) -> &Transaction {
        match &self.request.work {
            Work::Transaction(transaction) => transaction,
            other => unreachable!("a transaction is coordinated, not {other:?}"),
        }
    }

    /// The length of the longest of the keys that parts name whatever the commands come to.
    pub(crate) fn longest_key(&self) -> Option<usize> {
        let watched = self.transaction().watches.iter().map(|it| it.key.len());
        watched.chain([self.anchor().len()]).max()
    }

    pub(crate) fn anchor(&self) -> &[u8] {
        self.transaction().first_key().unwrap_or_default()
    }

    /// Notes the worst of what has come: a refusal says more than that another one was first.
    pub(crate) fn note_setback(&mut self, setback: Setback) {
        let is_refusal = matches!(setback, Setback::Refused(_));
        let is_worse = match self.setback {
            None | Some(Setback::Again | Setback::Passing(_)) => true,
            Some(Setback::Watched) => is_refusal,
            Some(Setback::Refused(_)) => false,
        };
        if is_worse {
            self.setback = Some(setback);
        }
    }
}

#[cfg(test)]
#[path = "running_test.rs"]
mod running_test;
