//! The state machine of all replicated partitions of one brick: its parts, and what may be asked of it.
//!
//! What happens to it comes in through `input.rs`, which hands it to the handler of the concern: `view` (the map),
//! `lead`, `flush` and `state_transfer` (this brick as a primary), `follow` and `learner` (as a backup or learner), `commit`,
//! `own_log`, `links`, `tick`, `split`, `merge`. A handler borrows what it may change, and nothing else.

use crate::links::Links;
use crate::own_log::{OwnLog, baseline};
use crate::partition::Partition;
use crate::ready::Ready;
use crate::slots::Slots;
use crate::summary::ReplicaSummary;
use crate::work::Work;
use crate::{LinkId, LogMark, Next, PreparedRecord, ReplicatorConfig, Sequence, Status};
use brickyard_routing::Replica;
use brickyard_types::record::Header;
use brickyard_types::{Instant, Op, PartitionId, View};

/// All replicated partitions of one brick.
///
/// A turn of the brick's loop: `lease`, `on_frame`s, `on_appended` and `on_synced`, `on_prepared`, then `flush`. After
/// each call the owner takes what is to be done ([`Self::take_ready`]) and carries it out before the next: so what the
/// replicator says to be pending, committed and cut is what the owner has. That is asserted.
///
/// Methods are of three kinds: questions (`&self`), inputs (`on_...`, `adopt`, `lease`, `tick`, ...), and `take_ready`.
#[derive(Debug)]
pub struct Replicator {
    pub(crate) config: ReplicatorConfig,
    pub(crate) partitions: Slots,
    pub(crate) links: Links,
    pub(crate) own: OwnLog,
    pub(crate) work: Work,
    pub(crate) ready: Ready,
    /// The last turn that was flushed.
    pub(crate) sequence: Sequence,
    pub(crate) has_lease: bool,
    pub(crate) now: Instant,
}

impl Replicator {
    /// A replicator without partitions.
    #[must_use]
    pub fn new(config: ReplicatorConfig) -> Self {
        Self {
            config,
            partitions: Slots::default(),
            links: Links::default(),
            own: OwnLog::default(),
            work: Work::default(),
            ready: Ready::default(),
            sequence: Sequence(0),
            has_lease: false,
            now: Instant(0),
        }
    }

    /// What is to be done, in exchange for buffers that are empty; false if that is nothing.
    ///
    /// # Panics
    /// If `spare` was not carried out (an owner's bug).
    pub fn take_ready(&mut self, spare: &mut Ready) -> bool {
        assert!(spare.is_empty(), "actions that were not carried out");
        if self.ready.is_empty() {
            return false;
        }
        spare.reset();
        std::mem::swap(&mut self.ready, spare);
        true
    }

    /// For the report after registration: what this brick holds of each partition.
    pub fn summaries(&self) -> impl Iterator<Item = (PartitionId, ReplicaSummary)> + '_ {
        let all = self.partitions.iter();
        all.map(|partition| (partition.id, partition.log.summary()))
    }

    /// The same of one of them; `None` if nothing is known of it here.
    #[must_use]
    pub fn summary_of(&self, partition: PartitionId) -> Option<ReplicaSummary> {
        Some(self.partitions.by_id(partition)?.log.summary())
    }

    /// What the next record of a partition must say; `None` unless `status().accepts_writes`.
    #[inline]
    #[must_use]
    pub fn next(&self, partition: PartitionId) -> Option<Next> {
        let partition = self.partitions.by_id(partition)?;
        partition.status().accepts_writes.then(|| Next {
            view: partition.place.view,
            op: partition.log.last.1.next(),
            committed: partition.log.committed,
        })
    }

    /// All prepared entries, in order.
    pub fn pending(
        &self,
        partition: PartitionId,
    ) -> impl DoubleEndedIterator<Item = &PreparedRecord> + '_ {
        let partition = self.partitions.by_id(partition);
        partition.into_iter().flat_map(|it| it.log.pending.iter())
    }

    /// Role and readiness.
    #[inline]
    #[must_use]
    pub fn status(&self, partition: PartitionId) -> Status {
        let partition = self.partitions.by_id(partition);
        partition.map(Partition::status).unwrap_or_default()
    }

    /// The highest op that is committed here.
    #[must_use]
    pub fn committed(&self, partition: PartitionId) -> Op {
        let partition = self.partitions.by_id(partition);
        partition.map_or(Op(0), |it| it.log.committed)
    }

    /// The history that the records here belong to; 0: nobody's yet.
    #[must_use]
    pub fn generation(&self, partition: PartitionId) -> u32 {
        let partition = self.partitions.by_id(partition);
        partition.map_or(0, |it| it.log.generation)
    }

    /// The last record held here.
    #[must_use]
    pub fn last(&self, partition: PartitionId) -> (View, Op) {
        let partition = self.partitions.by_id(partition);
        partition.map_or((View(0), Op(0)), |it| it.log.last)
    }

    /// The view of a record that is held here; `None`: it is not, or its view is no longer known.
    #[must_use]
    pub fn view_at(&self, partition: PartitionId, op: Op) -> Option<View> {
        self.partitions.by_id(partition)?.log.view_at(op)
    }

    /// Whether the op is pending and was prepared in an older view: at the primary, reads of its keys wait
    /// for its outcome (rule `uncommitted ops are voted for again`).
    #[inline]
    #[must_use]
    pub fn is_inherited(&self, partition: PartitionId, op: Op) -> bool {
        let Some(partition) = self.partitions.by_id(partition) else {
            return false;
        };
        let entry = partition.log.entry(op);
        entry.is_some_and(|entry| entry.view < partition.place.view)
    }

    /// The record of a baseline at the commit position: header and value. The cleaner makes gaps in what can be
    /// claimed, so before a segment of a replicated partition goes, the log gets a baseline at or above what it
    /// holds (rule `log summaries begin at a baseline`). `None`: a catch-up has not finished, or what was found at
    /// the start has not been written in the partition's name, and nothing may be removed.
    #[must_use]
    pub fn baseline(&self, partition: PartitionId) -> Option<(Header, Vec<u8>)> {
        let partition = self.partitions.by_id(partition)?;
        if partition.log.is_restored_due() {
            return None;
        }
        baseline(partition)
    }

    /// Whether this brick's log has answered for everything of the partition: then it may be taken apart.
    #[must_use]
    pub fn is_written(&self, partition: PartitionId) -> bool {
        let it = self.partitions.by_id(partition);
        it.is_none_or(|it| {
            // What was refused, and is not to be appended again, is over. To wait until something newer is appended could
            // be for ever: the brick may write nothing before this.
            let is_over = it.retrying.is_none() && it.log.mark <= self.own.refused;
            let is_appended = it.log.mark == LogMark::NEVER || it.log.mark <= self.own.appended;
            let is_answered = is_appended || is_over;
            // What was found at the start and has not been written in the partition's name is all that there is of it.
            is_answered && !it.log.is_restored_due()
        })
    }

    /// The stream on which this brick sends to `peer`, if it is connected.
    #[must_use]
    pub fn link_to(&self, peer: Replica) -> Option<LinkId> {
        self.links.peers.get(&peer)?.outgoing
    }

    /// Whether the learner on `link` still wants copies of a partition ([`Want::CatchUp`](crate::Want)).
    #[must_use]
    pub fn wants_copies(&self, link: LinkId, partition: PartitionId) -> bool {
        let it = self.partitions.by_id(partition);
        let is_open = self.links.get(link).is_some_and(|it| !it.is_stale);
        is_open && it.is_some_and(|it| it.is_copying_on(link))
    }

    /// Every removal up to this version of the catalog is obeyed. To be told the control plane only after
    /// the replies of the batch before it have left.
    #[must_use]
    pub const fn stopped(&self) -> u64 {
        self.own.acknowledgements.stopped
    }

    /// As [`Self::stopped`], and for each view that names this brick as its primary the log was synced since.
    #[must_use]
    pub const fn accepted(&self) -> u64 {
        self.own.acknowledgements.accepted
    }
}
