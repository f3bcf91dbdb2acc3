//! Which requests with ids a partition has executed, and how they were answered.
//!
//! In:  the ids in records, as these are prepared, appended for a peer, copied or read back from the log; cuts.
//! Out: what is known of a request ([`Recall`]); records that carry the window elsewhere.
//!
//! Invariants (rule `requests are executed once`):
//! - The window is state of the partition: an id is in it if and only if its op is in the partition's log, or
//!   was once committed there. What cuts the op removes the id.
//! - What was forgotten is never executed again: an id that is not in the window and not above the *floor*, the
//!   highest sequence that was ever forgotten, is refused. The floor is part of the window.
//! - Sequences are about the time, so the floor is far behind what is asked now. Safety depends on clocks only where
//!   something was lost (damage, a new generation): then the floor is the present, and [`CLOCKS_APART_MAX`] more.
//! - It is bounded: [`PARTITION_MAX`], [`BRICK_MAX`] and [`KEPT_FOR`].
//!
//! In the log and between bricks the window is records like any other: one that has an id, or, where its record
//! is gone, an empty batch with the id and the outcome. An empty batch of client 0 says what the floor is.
//!
//! Not here: running a request (`keyed/request`), sending one again (`remote`).
//! Source: Lee et al., "Implementing linearizability at large scale and low latency" (RIFL, SOSP 2015);
//! docs/decisions/0017.

use crate::log::Log;
use crate::output::{CommitDependency, Meets};
use crate::random::Random;
use crate::request::Attempt;
use crate::tables::Partition;
use brickyard_types::record::{self, Header, Kind, RequestId, flag};
use brickyard_types::{Op, TableId, UnixMillis};
use brickyard_wire::{Fate, Protocol, fate, ids_up_to, is_past_asking};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

/// Ids that a partition remembers at most.
const PARTITION_MAX: usize = 64 << 10;

/// Ids that all partitions of a brick remember at most, those apart that [`PARTITION_MIN`] grants.
const BRICK_MAX: usize = 256 << 10;

/// Ids that a partition remembers however many the others do.
const PARTITION_MIN: usize = 64;

/// How long an id is remembered if there is room: longer than anybody waits for a reply.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The same in microseconds, as sequences have it.
pub(crate) const KEPT_FOR_US: u64 = KEPT_FOR.as_micros() as u64;

/// How far ahead of this brick's clock a sequence may be. Forgotten, it raises the floor for everybody.
const AHEAD_MAX: Duration = Duration::from_secs(3600);

/// How far the clocks of nodes may be apart where something was lost, and only they tell what came before.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(10);

/// Longest reply that is kept.
const OUTCOME_BYTES_MAX: usize = 128;

/// A window goes to another replica in pieces of about so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Outcomes up to this length are kept in place.
const SHORT: usize = 22;

/// The ids that a brick gives to what it passes on for clients that give none.
#[derive(Debug, Default)]
pub(crate) struct OwnIds {
    /// 0: none was given yet.
    client: u64,
    last: u64,
}

impl OwnIds {
    pub(crate) fn draw(&mut self, random: &mut Random, now: UnixMillis) -> RequestId {
        while self.client == 0 {
            self.client = random.next();
        }
        self.next(now)
    }

    fn next(&mut self, now: UnixMillis) -> RequestId {
        self.last = micros(now).max(self.last + 1);
        RequestId {
            client: self.client,
            sequence: self.last,
        }
    }

    /// Makes of a request what is to be sent instead; whether its reply leaves something to be sent.
    pub(crate) fn revise(&mut self, request: &mut Attempt, reply: &[u8], now: UnixMillis) -> bool {
        let Some(error) = reply.strip_prefix(b"-") else {
            return false;
        };
        if fate(error) == Fate::Unknown && !is_past_asking(error) {
            request.lose();
            return true;
        }
        let floor =
            ids_up_to(error).filter(|_| !request.is_again && request.id.client == self.client);
        if let Some(floor) = floor {
            self.last = self.last.max(floor);
            request.id = self.next(now);
        }
        floor.is_some()
    }
}

/// What a partition knows of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recall<'a> {
    /// It was not executed.
    New,
    /// It was: the reply, which waits for this. `None`: it was too long to be kept.
    Done(CommitDependency, Option<&'a [u8]>),
    /// It was, and nobody knows yet whether that stays.
    Undecided,
    /// It may have been executed: ids up to this sequence are not all remembered.
    Forgotten(u64),
    /// No clock can be so far ahead.
    Ahead,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Outcome {
    #[default]
    NotKept,
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

impl Outcome {
    fn new(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else {
            return Self::NotKept;
        };
        let mut short = [0; SHORT];
        match short.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                Self::Short(bytes.len() as u8, short)
            }
            None => Self::Long(bytes.into()),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::NotKept => None,
            Self::Short(len, bytes) => bytes.get(..usize::from(*len)),
            Self::Long(bytes) => Some(bytes),
        }
    }
}

#[derive(Debug, Clone)]
struct Known {
    op: Op,
    outcome: Outcome,
}

/// The ids that a partition knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    known: HashMap<RequestId, Known, BuildHasherDefault<IdHasher>>,
    /// In the order in which they came.
    order: VecDeque<RequestId>,
    floor: u64,
}

impl Window {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the id is known by this op and outcome. One that was cut and executed again, in a later view, may have got
    /// the same op and another outcome: the record that was cut says nothing of it.
    pub(crate) fn has(&self, id: RequestId, op: Op, outcome: Option<&[u8]>) -> bool {
        let known = self.known.get(&id).filter(|known| known.op == op);
        known.is_some_and(|known| known.outcome.bytes() == outcome)
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    fn note(&mut self, id: RequestId, op: Op, outcome: Option<&[u8]>) {
        if id.client == 0 {
            self.floor = self.floor.max(id.sequence);
            return;
        }
        let known = Known {
            op,
            outcome: Outcome::new(outcome),
        };
        // One that is known came by the stream and in a copy, or its first op was refused.
        if self.known.insert(id, known).is_none() {
            self.order.push_back(id);
        }
        self.check();
    }

    /// What both know, in the order of their sequences, which are about the time.
    pub(crate) fn with(self, other: Self) -> Self {
        let mut known = self.known;
        // What came before the two were parted is in both.
        known.extend(other.known);
        let mut order: Vec<RequestId> = known.keys().copied().collect();
        order.sort_unstable_by_key(|id| (id.sequence, id.client));
        Self {
            known,
            order: order.into(),
            floor: self.floor.max(other.floor),
        }
    }

    /// Ops from this one on are gone.
    fn cut(&mut self, from: Op) {
        let Self { known, order, .. } = self;
        order.retain(|id| {
            let stays = known.get(id).is_some_and(|known| known.op < from);
            if !stays {
                known.remove(id);
            }
            stays
        });
    }

    fn forget_oldest(&mut self) {
        if let Some(id) = self.order.pop_front() {
            let forgotten = self.known.remove(&id);
            assert!(forgotten.is_some(), "{id:?} is in order, and not known");
            self.floor = self.floor.max(id.sequence);
        }
        self.check();
    }

    /// Each id that is known is in the order once.
    fn check(&self) {
        assert_eq!(
            self.known.len(),
            self.order.len(),
            "ids that are known, and in order"
        );
    }

    fn expire(&mut self, now: UnixMillis) {
        let before = micros(now).saturating_sub(KEPT_FOR_US);
        while self.order.front().is_some_and(|id| id.sequence < before) {
            self.forget_oldest();
        }
    }
}

/// A partition's ids are not among all that the brick knows any more.
fn uncount(all: &mut usize, ids: usize) {
    assert!(*all >= ids, "{ids} ids of a partition, {all} of all");
    *all -= ids;
}

/// A brick's clock as sequences have it.
pub(crate) const fn micros(now: UnixMillis) -> u64 {
    now.0.saturating_mul(1000)
}

/// What of a reply is kept: one that is short, and means the same in both protocols or can be translated.
pub(crate) fn kept(reply: &[u8]) -> Option<&[u8]> {
    let is_plain = matches!(reply.first(), Some(b'+' | b'-' | b':' | b'$' | b'_'));
    (is_plain && reply.len() <= OUTCOME_BYTES_MAX).then_some(reply)
}

/// Writes a kept reply for a client that may speak another protocol than the one that it was made for.
pub(crate) fn put_kept(out: &mut Vec<u8>, reply: &[u8], protocol: Protocol) {
    let reply = match (reply, protocol) {
        (b"_\r\n", Protocol::Resp2) => &b"$-1\r\n"[..],
        (b"$-1\r\n", Protocol::Resp3) => b"_\r\n",
        _ => reply,
    };
    out.extend_from_slice(reply);
}

/// The record that stands for an id whose own record is elsewhere, or gone.
pub(crate) fn header_of(partition: &Partition, table: TableId, op: Op) -> Header {
    Header {
        kind: Kind::Batch,
        flags: flag::MOVED,
        table,
        partition: partition.id,
        view: partition.status.view,
        op,
        expires_at: None,
        request: None,
        origin: None,
        committed: None,
    }
}

impl Partition {
    /// Takes note that the request was executed by this op.
    pub(crate) fn note_request(
        &mut self,
        all: &mut usize,
        now: UnixMillis,
        (id, op): (RequestId, Op),
        outcome: Option<&[u8]>,
    ) {
        let window = self.requests.get_or_insert_default();
        uncount(all, window.len());
        window.note(id, op, outcome);
        window.expire(now);
        while window.len() > PARTITION_MAX
            || window.len() > PARTITION_MIN && *all + window.len() > BRICK_MAX
        {
            window.forget_oldest();
        }
        assert!(
            window.len() <= PARTITION_MAX,
            "{} ids of one partition",
            window.len()
        );
        *all += window.len();
    }

    /// Ops from this one on are gone, and with them their ids.
    pub(crate) fn cut_requests(&mut self, all: &mut usize, from: Op) {
        if let Some(window) = &mut self.requests {
            uncount(all, window.len());
            window.cut(from);
            window.check();
            *all += window.len();
        }
    }

    /// The partition's content is gone.
    pub(crate) fn drop_requests(&mut self, all: &mut usize) {
        if let Some(window) = self.requests.take() {
            uncount(all, window.len());
        }
    }

    /// Forgets what nobody can ask for any more.
    pub(crate) fn expire_requests(&mut self, all: &mut usize, now: UnixMillis) {
        if let Some(window) = &mut self.requests {
            uncount(all, window.len());
            window.expire(now);
            *all += window.len();
        }
    }

    /// Something was lost, and what was asked before now may be among it.
    pub(crate) fn doubt_requests(&mut self, now: UnixMillis) {
        let window = self.requests.get_or_insert_default();
        let leeway = CLOCKS_APART_MAX.as_micros() as u64;
        window.floor = window.floor.max(micros(now) + leeway);
    }

    /// The records that carry a partition's window to a replica that catches up, in pieces. All at once: what
    /// is forgotten between two halves would be in neither.
    pub(crate) fn window_records(&self, table: TableId) -> Vec<Vec<u8>> {
        let Some(window) = self.requests.as_deref() else {
            return Vec::new();
        };
        let floor = (
            self.committed,
            RequestId {
                client: 0,
                sequence: window.floor,
            },
            None,
        );
        // What is pending comes by the stream.
        let ids = window.order.iter().filter_map(|id| {
            let known = window.known.get(id)?;
            (known.op <= self.committed).then_some((known.op, *id, known.outcome.bytes()))
        });
        let mut pieces = vec![Vec::new()];
        for (op, id, outcome) in std::iter::once(floor).chain(ids) {
            let header = Header {
                flags: 0,
                request: Some(id),
                ..header_of(self, table, op)
            };
            if pieces.last().is_some_and(|piece| piece.len() > PIECE_BYTES) {
                pieces.push(Vec::new());
            }
            if let Some(piece) = pieces.last_mut() {
                record::encode_with(piece, &header, outcome, b"", &[]);
            }
        }
        pieces
    }

    /// What is known of a request, while this brick is the primary.
    pub(crate) fn recall(&self, id: RequestId, now: UnixMillis, log: &Log) -> Recall<'_> {
        if id.sequence > micros(now).saturating_add(AHEAD_MAX.as_micros() as u64) {
            return Recall::Ahead;
        }
        let Some(window) = &self.requests else {
            return Recall::New;
        };
        let Some(known) = window.known.get(&id) else {
            return if id.sequence <= window.floor {
                Recall::Forgotten(window.floor)
            } else {
                Recall::New
            };
        };
        let dependency = if known.op <= self.committed {
            CommitDependency::NONE
        } else if log.is_given_up(self.id) {
            return Recall::Undecided;
        } else {
            log.dependency_of(self.id, &self.uncommitted)
        };
        // Nobody looks again at what is open already.
        let dependency = if log.meets(dependency) {
            CommitDependency::NONE
        } else {
            dependency
        };
        Recall::Done(dependency, known.outcome.bytes())
    }
}

/// Ids are drawn at random by their clients, and counted up by them.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
#[path = "executed_test.rs"]
mod executed_test;
