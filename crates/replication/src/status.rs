//! What a partition may be used for on this brick, and what is known of a prepared record.

use crate::{LogMark, Sequence};
use brickyard_types::{Op, View};

/// What became of records that were submitted ([`Replicator::on_prepared`](crate::Replicator::on_prepared)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The op of the first of them.
    pub first: Op,
    /// They have committed: the log has them, and there is no other replica.
    pub is_committed: bool,
}

/// A prepared record: it has its place in the partition's log and has not committed. The owner keeps its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedRecord {
    /// The view in which it was prepared; kept when a later view inherits it.
    pub view: View,
    /// Its number.
    pub op: Op,
    /// The batch of this brick's own log that has it.
    pub mark: LogMark,
    /// The turn in which this brick, as primary, sent it; [`Sequence::NEVER`] before.
    pub sequence: Sequence,
}

/// What the primary's next record must say: see [`Replicator::next`](crate::Replicator::next).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The current view.
    pub view: View,
    /// The number that the record gets.
    pub op: Op,
    /// For [`Header::committed`](brickyard_types::record::Header::committed): every record of a replicated
    /// partition carries it.
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

impl Role {
    /// In-sync: holds everything that was acknowledged.
    #[must_use]
    pub const fn is_in_sync(self) -> bool {
        matches!(self, Self::Primary | Self::Backup)
    }
}

/// What a partition may be used for, **given a valid lease**, which the owner checks before each batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// This brick's role.
    pub role: Role,
    /// The last effective view that this brick adopted.
    pub view: View,
    /// Reads may be served from committed state; those on keys with a pending entry wait for its outcome
    /// (at the primary: only if [`is_inherited`](crate::Replicator::is_inherited); others as rule
    /// `answers wait for prepared values` asks).
    pub serves_reads: bool,
    /// New records may be prepared: primary, not fenced, no view change under way that would cut them,
    /// enough members in sync, own log well.
    pub accepts_writes: bool,
    /// Primary, and there is no other member: what is in no log either commits when it is prepared
    /// ([`on_applied`](crate::Replicator::on_applied)).
    pub is_alone: bool,
}
