//! The replicator's one way out: what its owner has to do, in order.
//!
//! In:  decisions of the handlers. Out: [`Ready`], which the owner takes after each call and carries out before the
//!      next.
//!
//! No action needs an answer:
//! - A record goes into the batch that is open ([`Replicator::on_batch`](crate::Replicator::on_batch)), so its mark is
//!   known before the owner puts it there; [`Action::Append`] repeats it, and the owner asserts it.
//! - Bytes of records stay with the owner, which finds them by partition and op: it keeps, for each partition, the
//!   records from the commit position + 1 on, as [`Action::Append`], [`Action::Commit`] and [`Action::Cut`] say.
//! - A record that the owner cannot take is rejected by a call of its own
//!   ([`Replicator::on_rejected`](crate::Replicator::on_rejected)): nothing is decided by a record of a peer in the
//!   call that brings it.
//!
//! Invariant: frames of one link leave in the order of the actions. So a refusal goes ahead of every vote that passes
//! it, and a turn's end follows the turn's records.

use crate::frame::{Frame, put_sequence};
use crate::{LinkId, LogMark, Sequence, Status};
use brickyard_routing::Replica;
use brickyard_types::record::{Header, Record};
use brickyard_types::{Op, PartitionId, View};
use std::ops::Range;

/// What is to be done, in order.
#[derive(Debug, Default)]
pub struct Ready {
    /// The actions.
    pub actions: Vec<Action>,
    /// Bytes that they name: frames, and values of control records.
    pub bytes: Vec<u8>,
}

/// One thing to be done.
#[derive(Debug)]
pub enum Action {
    /// A peer's record, checked: it goes into the open batch (mark [`LogMark::NONE`]: only into memory) and is kept
    /// as the partition's last pending one.
    Append {
        /// Where it is in the frame that the call was about.
        record: Received,
        /// The batch that it goes into.
        mark: LogMark,
    },
    /// A control record of this room: into the open batch, unless its mark is [`LogMark::NONE`].
    AppendOwn {
        /// Its header. The key is empty.
        header: Header,
        /// Its value, in [`Ready::bytes`].
        value: Range<usize>,
        /// A `ViewStart`: kept, sent and committed like any record. A `Cut` or a `Baseline` is not kept.
        is_entry: bool,
        /// The batch that it goes into.
        mark: LogMark,
    },
    /// The log refused the batch of a pending record while peers may have it: into the open batch again.
    AppendAgain {
        /// The partition.
        partition: PartitionId,
        /// The record.
        op: Op,
        /// The batch that it goes into.
        mark: LogMark,
    },
    /// A copied record of a catch-up, committed: applied unless the key is known from a higher (view, op), and into
    /// the open batch with flag `MOVED`.
    Copy {
        /// Where it is in the frame that the call was about.
        record: Received,
        /// The batch that it goes into.
        mark: LogMark,
    },
    /// A full copy begins: what this brick holds of the partition is dropped, durably, and the watermark becomes `at`
    /// (rule `tombstones reach down to the watermark`). Records above `at` follow on the stream.
    Clear {
        /// The partition.
        partition: PartitionId,
        /// Where the copy ends.
        at: Op,
    },
    /// The pending records up to this one are committed: they are applied in order, and their replies let out. To a
    /// learner some may come again, or after a copy of a later one: a record applies only over one with a lower
    /// (view, op).
    Commit {
        /// The partition.
        partition: PartitionId,
        /// The last of them.
        upto: Op,
    },
    /// The pending records above this one will never commit here: they are forgotten; replies that wait for them
    /// become `UNKNOWNRESULT` (rule `an old primary knows no outcome`). The log's `Cut` record is an action of its
    /// own.
    Cut {
        /// The partition.
        partition: PartitionId,
        /// The last op that stays.
        above: Op,
    },
    /// The status changed; parked reads and writes are admitted anew (rule `waiting reads are admitted anew`).
    Changed {
        /// The partition.
        partition: PartitionId,
        /// What it is from now on.
        status: Status,
    },
    /// Pending records are sent: [`Outbox::records`](crate::Outbox::records).
    Records {
        /// On this stream.
        link: LinkId,
        /// Of this partition.
        partition: PartitionId,
        /// From this op on.
        first: Op,
        /// So many of them.
        count: usize,
    },
    /// A frame is sent: [`Outbox::frame`](crate::Outbox::frame).
    Frame {
        /// On this stream.
        link: LinkId,
        /// Its bytes, in [`Ready::bytes`].
        frame: Range<usize>,
    },
    /// A peer's message that is not of this room (the gateway's).
    Message {
        /// Who sent it.
        peer: Replica,
        /// Where it is in the frame that the call was about.
        bytes: Range<usize>,
    },
    /// Something is wanted of the world outside.
    Want(Want),
}

/// Where a checked record is in the frame that brought it.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Everything but key and value.
    pub header: Header,
    at: u32,
    len: u32,
    value_len: u32,
    key_len: u16,
    outcome_len: Option<u8>,
}

/// What the replicator wants of the world outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A stream to that replica is wanted and there is none. Repeated by `tick`; the owner passes over those
    /// that it is dialing already, and backs off.
    Dial(Replica),
    /// An acceptance waits for a sync of everything appended so far. The owner says when it has asked for one
    /// ([`on_sync_asked`](crate::Replicator::on_sync_asked)); the answer is a later
    /// [`on_synced`](crate::Replicator::on_synced), also when there was nothing left to sync.
    SyncLog,
    /// The learner holds everything and its vote is required: ask the control plane to make it a backup
    /// (rule `learner votes before promotion`). Repeated by `tick` until the map answers with a newer view.
    Promote {
        /// The partition.
        partition: PartitionId,
        /// The view that the proposal changes.
        view: View,
        /// The learner, in its incarnation.
        learner: Replica,
    },
    /// A member whose vote is required has not voted for long while something waits for it, or cannot; or this brick
    /// cannot lead. Repeated by `tick`. May name a learner whose promotion was asked: then only a newer view frees
    /// the partition.
    Evict {
        /// The partition.
        partition: PartitionId,
        /// The view that the proposal changes.
        view: View,
        /// The member.
        backup: Replica,
        /// It does nothing any more in that view: it need not be fenced (rule `a withdrawn member is fenced`).
        has_withdrawn: bool,
    },
    /// The partition is to be split or merged, and nothing of it is pending nor will be in this view: tell the control plane.
    /// Repeated until the map answers.
    Split {
        /// The partition.
        partition: PartitionId,
        /// The view in which it came to rest.
        view: View,
        /// Which rest.
        begun_at: u64,
        /// Its last record, which has committed.
        last: (View, Op),
    },
    /// Send older records to a learner: walk what is committed here, tombstones included, and put it on the stream
    /// ([`Outbox::copy`](crate::Outbox::copy)) as long as it is wanted
    /// ([`wants_copies`](crate::Replicator::wants_copies)), then
    /// [`catch_up_done`](crate::Replicator::catch_up_done).
    CatchUp {
        /// The partition.
        partition: PartitionId,
        /// The learner.
        learner: Replica,
        /// The stream to it.
        link: LinkId,
        /// Only records above this op; `None`: everything (a full copy).
        after: Option<Op>,
    },
    /// The catch-up is no longer wanted.
    StopCatchUp {
        /// The partition.
        partition: PartitionId,
        /// The learner.
        learner: Replica,
    },
    /// Close this stream (and call [`on_closed`](crate::Replicator::on_closed)): it is superseded, silent, or
    /// its peer does not read.
    Close {
        /// The stream.
        link: LinkId,
        /// For the log.
        reason: &'static str,
    },
    /// Something that must not happen was refused: for the operator.
    Report {
        /// The partition.
        partition: PartitionId,
        /// What it was.
        what: String,
    },
}

impl Ready {
    /// Whether there is nothing to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Makes the buffers ready for the next turn.
    ///
    /// # Panics
    /// If an action was not carried out (an owner's bug).
    pub fn reset(&mut self) {
        /// A buffer that has grown past this is given back.
        const KEPT: usize = 1 << 20;
        assert!(self.actions.is_empty(), "{:?} is left", self.actions);
        self.actions.shrink_to(KEPT / size_of::<Action>());
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
    }

    #[inline]
    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn request(&mut self, request: Want) {
        self.actions.push(Action::Want(request));
    }

    pub(crate) fn report(&mut self, partition: PartitionId, what: String) {
        self.request(Want::Report { partition, what });
    }

    pub(crate) fn close(&mut self, link: LinkId, reason: &'static str) {
        self.request(Want::Close { link, reason });
    }

    pub(crate) fn frame(&mut self, link: LinkId, frame: &Frame<'_>) {
        let from = self.bytes.len();
        frame.encode(&mut self.bytes);
        let frame = from..self.bytes.len();
        self.push(Action::Frame { link, frame });
    }

    /// A turn's end.
    pub(crate) fn sequence(
        &mut self,
        link: LinkId,
        sequence: Sequence,
        commits: &[(PartitionId, Op)],
    ) {
        let from = self.bytes.len();
        put_sequence(&mut self.bytes, sequence, commits);
        let frame = from..self.bytes.len();
        self.push(Action::Frame { link, frame });
    }

    /// Bytes that an action names.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }
}

impl Received {
    /// The record at `at` of a frame.
    #[inline]
    pub(crate) fn new(record: &Record<'_>, at: usize) -> Self {
        Self {
            header: record.header,
            at: at as u32,
            len: record.len as u32,
            value_len: record.value.len() as u32,
            key_len: record.key.len() as u16,
            outcome_len: record.outcome.map(|it| it.len() as u8),
        }
    }

    /// The record's bytes, in the frame that brought it.
    ///
    /// # Panics
    /// If that is another frame (an owner's bug).
    #[inline]
    #[must_use]
    pub fn raw<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.at as usize..][..self.len as usize]
    }

    /// The record, which was checked when the frame came.
    ///
    /// # Panics
    /// As [`Self::raw`].
    #[inline]
    #[must_use]
    pub fn record<'a>(&self, frame: &'a [u8]) -> Record<'a> {
        let rest = self.raw(frame);
        let (rest, value) = rest.split_at(rest.len() - self.value_len as usize);
        let (rest, key) = rest.split_at(rest.len() - usize::from(self.key_len));
        let outcome_len = self.outcome_len.map(usize::from);
        Record {
            header: self.header,
            key,
            value,
            outcome: outcome_len.map(|len| &rest[rest.len() - len..]),
            len: self.len as usize,
        }
    }
}
