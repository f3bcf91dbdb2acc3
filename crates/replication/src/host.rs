//! What the replicator asks of the brick that owns it: [`Host`] calls and [`Request`]s.

use crate::{LinkId, LogMark, Turn};
use brickyard_routing::Seat;
use brickyard_types::record::{Header, Record};
use brickyard_types::{Op, PartitionId, View};

/// A prepared record: it has its place in the partition's log and has not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<P> {
    /// The view in which it was prepared; kept when a later view inherits it.
    pub view: View,
    /// Its number.
    pub op: Op,
    /// The batch of this brick's own log that has it.
    pub mark: LogMark,
    /// The turn in which this brick, as primary, sent it; [`Turn::NEVER`] before.
    pub turn: Turn,
    /// What the host attached.
    pub payload: P,
}

/// What the primary's next record must say: see [`Replicator::next`](crate::Replicator::next).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The current view.
    pub view: View,
    /// The number that the record gets.
    pub op: Op,
    /// For [`Header::committed`]: every record of a replicated partition carries it.
    pub committed: Op,
}

/// What this brick is to a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Orders the partition's operations.
    Primary,
    /// In-sync: its vote is needed.
    Backup,
    /// Catching up.
    Learner,
    /// Was in-sync and acknowledged its removal: serves, votes and commits nothing in this view any more.
    Stopped,
    /// No member, as far as the map says.
    #[default]
    None,
}

/// What a partition may be used for, **given a valid lease**, which the host checks before each batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// This brick's role.
    pub role: Role,
    /// The last effective view that this brick adopted.
    pub view: View,
    /// Reads may be served from committed state; those on keys with a pending entry wait for its outcome
    /// (at the primary: only if [`is_inherited`](crate::Replicator::is_inherited); others as rule 16 asks).
    pub serves_reads: bool,
    /// New records may be prepared: primary, not fenced, no view change under way that would cut them,
    /// enough members in sync, own log well.
    pub accepts_writes: bool,
}

/// What the brick does for the replicator. Called synchronously, never re-entrantly.
pub trait Host {
    /// What the host attaches to each record.
    type Payload;

    /// A record of another brick, checked: goes into this brick's log batch (unless the table is `memory`:
    /// [`LogMark::NONE`]), and what is needed to apply or resend it is kept in the payload.
    ///
    /// # Errors
    /// Why it cannot be taken; it is then refused, and the sender begins anew later.
    fn append(
        &mut self,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<(LogMark, Self::Payload), String>;

    /// A control record of the replicator's own (`ViewStart`, `Cut`, `Base`; empty key): goes into the log
    /// batch. For a `ViewStart` the payload is kept, sent and committed like any entry's; else dropped.
    fn append_own(&mut self, header: &Header, value: &[u8]) -> (LogMark, Self::Payload);

    /// The log refused this entry's batch ([`Replicator::on_refused`](crate::Replicator::on_refused)) while
    /// peers may have it: its bytes go into the log batch again.
    fn append_again(&mut self, payload: &Self::Payload) -> LogMark;

    /// The record's bytes, to be sent (again).
    fn bytes<'a>(&'a self, payload: &'a Self::Payload) -> &'a [u8];

    /// These ops are committed, in order: they are applied and their replies let out. To a learner some may
    /// come again, or after a copy of a later one: a record applies only over one with a lower (view, op).
    fn commit(
        &mut self,
        partition: PartitionId,
        entries: &mut dyn Iterator<Item = Entry<Self::Payload>>,
    );

    /// These entries will never commit here (newest **first**): they are forgotten; replies that wait for
    /// them become `UNKNOWNRESULT` (PROTOCOL rule 25). The log's `Cut` record is the replicator's affair.
    fn cut(
        &mut self,
        partition: PartitionId,
        entries: &mut dyn Iterator<Item = Entry<Self::Payload>>,
    );

    /// A copied record of a catch-up: committed. Applied unless the key is known from a higher (view, op);
    /// appended to the own log with flag `MOVED`.
    ///
    /// # Errors
    /// Why it cannot be taken; the catch-up is then begun anew.
    fn copy(
        &mut self,
        partition: PartitionId,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<LogMark, String>;

    /// A full copy begins: what this brick holds of the partition is dropped, durably, and the horizon
    /// becomes `at` (PROTOCOL rule 14). Records above `at` follow on the stream.
    fn clear(&mut self, partition: PartitionId, at: Op);

    /// The status changed; parked reads and writes are admitted anew (PROTOCOL rule 24).
    fn changed(&mut self, partition: PartitionId, status: Status);

    /// A peer's message that is not the replicator's (the gateway's).
    fn message(&mut self, link: LinkId, peer: Seat, bytes: &[u8]) {
        let _ = (link, peer, bytes);
    }
}

/// What the replicator wants of the world outside; polled by the host after each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A stream to that seat is wanted and there is none. Repeated by `tick`; the host passes over those
    /// that it is dialing already, and backs off.
    Dial(Seat),
    /// An acceptance waits for a sync of everything appended so far. The answer is a later
    /// [`on_synced`](crate::Replicator::on_synced), also when there was nothing left to sync.
    SyncLog,
    /// The learner holds everything and its vote is required: ask the control plane to make it a backup
    /// (PROTOCOL rule 4). Repeated by `tick` until the map answers with a newer view.
    Promote {
        /// The partition.
        partition: PartitionId,
        /// The view that the proposal changes.
        view: View,
        /// The learner, in its incarnation.
        learner: Seat,
    },
    /// A member whose vote is required has not voted for `eviction_timeout` while something waits for it.
    /// Repeated by `tick`. May name a learner whose promotion was asked: then only a newer view frees the
    /// partition.
    Evict {
        /// The partition.
        partition: PartitionId,
        /// The view that the proposal changes.
        view: View,
        /// The member.
        backup: Seat,
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
    /// Send older records to a learner: walk what is committed here, tombstones included, and hand it to
    /// [`catch_up_records`](crate::Replicator::catch_up_records), then
    /// [`catch_up_done`](crate::Replicator::catch_up_done).
    CatchUp {
        /// The partition.
        partition: PartitionId,
        /// The learner.
        learner: Seat,
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
        learner: Seat,
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
