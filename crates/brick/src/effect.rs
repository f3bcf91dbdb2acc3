//! What leaves a brick and what comes back: effects out, events in.
//!
//! The loop that drives a brick carries out each [`Effect`] and answers it with the [`Event`]
//! named there. A read served from memory is neither: it is executed in place.

use crate::append::{Append, BatchId};
use crate::forward::Forward;
use crate::log_chunk::LogChunk;
use crate::session::audit::AuditRecord;
use brickyard_metadata::{
    AccountRule, Applied, BrickLoad, Catalog, CatalogVersion, Change, Refusal, Rest, Small,
};
use brickyard_replication::{LinkId, ReplicaSummary};
use brickyard_routing::Replica;
use brickyard_types::{
    BrickId, Incarnation, Instant, Op, PartitionId, Position, SegmentId, TableId, View,
};
use std::sync::Arc;

/// Something the brick wants done outside.
#[derive(Debug)]
pub enum Effect {
    /// Append to the log, in the order of the batches; answered by [`Event::Appended`] or
    /// [`Event::AppendFailed`], and after a sync by [`Event::Synced`].
    Append(Append),
    /// Read one record back; answered by [`Event::Read`].
    Read(ColdRead),
    /// Pass to another brick of this node, in order; arrives there as [`Event::Forward`].
    Forward(BrickId, Vec<Forward>),
    /// Ask the node's control thread; answered by [`Event::Control`].
    Control(u64, ControlRequest),
    /// Read the records of a segment from `from` on, about `bytes_max` of them; answered by
    /// [`Event::SegmentChunk`].
    ReadSegment {
        /// Which segment.
        segment: SegmentId,
        /// Where to go on, as the last chunk said; 0 at first.
        from: u32,
        /// How much to read at most; one record at least is read.
        bytes_max: u32,
    },
    /// Remove a segment: nothing in it is live and what replaced it is synced.
    DeleteSegment(SegmentId),
    /// Seal the active segment of this brick's log and sync everything; answered by [`Event::Checkpointed`].
    Checkpoint(u64),
    /// A stream to that brick, in that life, is wanted; repeated until [`crate::Brick::peer_opened`].
    Dial(Replica),
    /// Close a stream; then call [`crate::Brick::peer_closed`].
    ClosePeer(LinkId, String),
    /// Something that the operator should know.
    Report(String),
    /// Something that an administrator did.
    Audit(AuditRecord),
    /// The brick cannot go on safely (a failed fsync): stop the process and say why.
    Stop(String),
}

/// A value of a `disk` table that is wanted in memory.
#[derive(Debug, Clone)]
pub struct ColdRead {
    /// Returned in the answer.
    pub token: u64,
    /// Where the record starts.
    pub position: Position,
    /// What the record must be about, or the read is an error; `None`: the key's partition is part of one that was
    /// split, and either may have written it.
    pub partition: Option<PartitionId>,
    /// The op the record must carry.
    pub op: Op,
    /// The key the record (or an entry of its batch) must carry.
    pub key: Vec<u8>,
    /// Length of the value in bytes, so that one read suffices.
    pub value_len: u32,
}

/// A rule of `ACL SETUSER`, with passwords as they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetRule {
    /// Without a password.
    Rule(AccountRule),
    /// `>password`
    AddPassword(Vec<u8>),
    /// `<password`
    RemovePassword(Vec<u8>),
}

/// What only the control thread may do.
#[derive(Debug, Clone)]
pub enum ControlRequest {
    /// Change the catalog: persist it, pass it to every brick, answer when all have it.
    Change(Change),
    /// Answer when every brick acts by all changes of the catalog that were acknowledged by now, at whichever node.
    CatchUp,
    /// Check a password; slow on purpose, so not on a brick's loop.
    Authenticate {
        /// The user's name.
        user: String,
        /// The password as sent.
        password: Vec<u8>,
        /// Hashes of those that are accepted; none for a user that is not there.
        hashes: Vec<String>,
    },
    /// Change a user once the passwords among its rules are hashed, which is slow on purpose too.
    SetAccount {
        /// The user's name.
        name: String,
        /// What comes first if there is no user of that name.
        initial: Vec<AccountRule>,
        /// What comes next.
        rules: Vec<SetRule>,
        /// Hashes of the passwords that it has.
        hashes: Vec<String>,
    },
    /// Draw so many random bits for a password.
    GeneratePassword {
        /// How many; a digit has four.
        bits: u32,
    },
    /// Stop the node; with `save` after a checkpoint of every brick.
    Shutdown,
    /// The learner holds everything: make it a backup. Repeated until the catalog answers; no reply.
    Promote {
        /// The partition.
        partition: PartitionId,
        /// The view to be changed.
        view: View,
        /// The learner.
        learner: Replica,
    },
    /// The backup does not vote; or it is this brick itself, whose log is damaged or takes nothing: take it out if others
    /// hold everything. Repeated until the catalog answers; no reply.
    Evict {
        /// The partition.
        partition: PartitionId,
        /// The view to be changed.
        view: View,
        /// Who is to go.
        backup: Replica,
        /// It does nothing any more in that view: it need not be fenced (rule `a withdrawn member is fenced`).
        has_withdrawn: bool,
    },
    /// The partition may be split: nothing of it is pending, nor will be in that view. Repeated until the catalog
    /// answers; no reply.
    Split {
        /// The partition.
        partition: PartitionId,
        /// The view in which it came to rest.
        view: View,
        /// The catalog's version that first had the split.
        begun_at: u64,
    },
    /// The same of a partition that may be merged with its sibling.
    Rest(Rest),
    /// What this brick has found in its log of a table that comes back online, for that return. Repeated until the catalog
    /// answers; no reply.
    Returned {
        /// The table.
        table: TableId,
        /// Which return: the catalog's version that first had it.
        since: CatalogVersion,
        /// What it holds of the partitions that nobody serves yet.
        summaries: Vec<(PartitionId, ReplicaSummary)>,
    },
    /// How busy this brick is, and with what; said every few seconds, no reply.
    Load(BrickLoad),
    /// Partitions that this brick leads, have shrunk, and are apart from their siblings; said every few seconds, no reply.
    Small(Vec<Small>),
    /// What this brick's log holds, as [`Event::WantSummaries`] asked; no reply.
    Summaries(Vec<(PartitionId, ReplicaSummary)>),
}

/// The control thread's answer.
#[derive(Debug, Clone)]
pub enum ControlReply {
    /// The catalog was changed; every brick has the new one.
    Changed(Applied),
    /// Every brick acts by all changes that had been acknowledged when this was asked for.
    CaughtUp,
    /// The catalog was not changed.
    Refused(Refusal),
    /// It was not changed, or nobody knows: the error, whose first word says which.
    Failed(String),
    /// Whether the password is right.
    Authenticated(bool),
    /// The password that was made.
    Generated(String),
}

/// Something that happened outside.
#[derive(Debug)]
pub enum Event<'a> {
    /// The batch is in the log: the operating system has it. Comes in batch order.
    Appended {
        /// Which batch.
        id: BatchId,
        /// Where its first record starts; the others follow without gaps.
        position: Position,
    },
    /// Nothing of the batch is in the log, nor will be of any other batch of the same epoch. The
    /// brick forgets them all; further answers about them are ignored. The next epoch, which the
    /// brick's next batches carry, is accepted again.
    AppendFailed {
        /// Which batch.
        id: BatchId,
        /// What the operator should know, e.g. `No space left on device`.
        reason: String,
    },
    /// Everything up to and including this batch is synced to the disk.
    Synced(BatchId),
    /// A sync failed: what was written since the last one may be lost. The brick stops.
    Poisoned(String),
    /// The value of a [`ColdRead`], or why it cannot be had.
    Read {
        /// The read's token.
        token: u64,
        /// The value, or text that names segment, offset and damage.
        value: Result<&'a [u8], String>,
    },
    /// Messages of another brick of this node.
    Forward(BrickId, Vec<Forward>),
    /// The answer to [`Effect::Control`].
    Control(u64, ControlReply),
    /// The catalog changed; bricks answer through [`crate::Brick::catalog_version`].
    Catalog(Arc<Catalog>),
    /// Records of a segment, as [`Effect::ReadSegment`] asked.
    SegmentChunk(LogChunk<'a>),
    /// This brick may serve until then, once it has adopted that version of the catalog (rule
    /// `grants count for adopted maps`).
    Lease {
        /// Until when, by the clock of [`crate::Brick::begin_turn`].
        until: Instant,
        /// The catalog's version when it was granted.
        version: u64,
    },
    /// The node was registered: its life's number, before the first catalog that names it.
    Registered(Incarnation),
    /// The control plane wants to know what this brick's log holds; answered by
    /// [`ControlRequest::Summaries`] with this token.
    WantSummaries(u64),
    /// The active segment is now this one; earlier ones are sealed. `bytes` is the sealed length.
    Rolled {
        /// The segment that was sealed.
        sealed: SegmentId,
        /// Its length in bytes.
        bytes: u64,
    },
    /// The checkpoint is done, or why not.
    Checkpointed(u64, Result<(), String>),
    /// Time went on; sent at least every 100 ms.
    Tick,
}
