//! The replicated partitions of this brick: between the replicator, which knows views and votes, and the
//! tables and the log, which know keys and bytes.
//!
//! In:  the log's progress, frames of peers, groups of the catalog. Out: operations applied when they have
//!      committed; records of peers in the own log; what clients must be told of writes that were cut.
//!
//! Invariants:
//! - The replicator hears of a record that was prepared here when the own log has it (`log/held`).
//! - A record is applied once it has committed, in the order of its partition.
//! - Without a lease nothing is served and nothing commits (rules `grants count for adopted maps` and
//!   `leases count from the request`).
//!
//! Not here: streams and messages between bricks (`peer`), who waits for what (`requests`).

mod carry;
pub(crate) mod wants;

use crate::append::BatchId;
use crate::log::{Committing, CommittingOperation, Log, RecordIndex, Votes};
use crate::output::Lost;
use crate::removals::Removals;
use crate::segments::Segments;
use crate::shared::NodeLimits;
use crate::tables::Tables;
use brickyard_metadata::Catalog;
use brickyard_replication::{
    Demand, FrameError, LinkId, LogMark, Outbox, Ready, Replicator, ReplicatorConfig, Restored,
    Want,
};
use brickyard_routing::{Group, Member, Replica};
use brickyard_types::{Incarnation, Instant, Op, PartitionId, TableId, UnixMillis, View};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// The lease of a node that is alone in its cluster.
const LEASE_FOR_EVER: Instant = Instant(u64::MAX);

/// How long the lease of a node that was alone lasts when another joins: that one gets no vote in the control
/// plane before this node's bricks know of it, so nobody can have decided anything against them meanwhile.
const LEASE_GRACE: Duration = Duration::from_secs(1);

/// The replicator, and where what it says goes.
#[derive(Debug)]
pub(crate) struct Engine {
    replicator: Replicator,
    pub(crate) outbox: Outbox,
    /// Buffers for what it says.
    ready: Ready,
    /// What it says to be committed, until it is applied.
    committing: Vec<Committing>,
    operations: Vec<CommittingOperation>,
    /// What it wants of the world outside, to be seen to at the end of the turn.
    requests: VecDeque<Want>,
}

/// Partitions of tables with leases that this brick leads since a moment ago.
#[derive(Debug, Default)]
pub(crate) struct NewLeads {
    pub(crate) partitions: BTreeSet<PartitionId>,
    /// A reading of the clock after all that the present run has heard from outside.
    pub(crate) heard: Instant,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Replicas {
    pub(crate) engine: Engine,
    /// This brick in this life.
    me: Replica,
    /// Until when this brick may serve; and a grant that counts once its catalog is adopted.
    pub(crate) lease: Instant,
    granted: Option<(Instant, u64)>,
    pub(crate) is_leased: bool,
    /// It had a lease in this life of the process.
    pub(crate) was_leased: bool,
    /// Since when it has had none, if it had one.
    unleased_since: Option<Instant>,
    /// Partitions of which ops were applied that the replicator has not heard of: it does before anything else happens to
    /// it, and before an event asks it anything.
    pub(crate) ahead: Vec<PartitionId>,
    /// Writes whose clients are to be told that nobody knows.
    pub(crate) lost: Vec<Lost>,
    /// Something changed that requests may have waited for.
    pub(crate) is_woken: bool,
    pub(crate) new_leads: NewLeads,
    /// Partitions that were cleared: to whoever misses that, the difference is not enough.
    cleared: Vec<(PartitionId, Op)>,
    /// Messages of other bricks, as they came.
    pub(crate) messages: Vec<(Replica, Vec<u8>)>,
    /// A checkpoint is under way, which syncs all batches up to this one, for an acceptance.
    syncing: Option<BatchId>,
    /// Another is wanted, since then more was appended.
    sync_wanted: bool,
}

impl Replicas {
    pub(crate) fn new(me: Replica, limits: &NodeLimits) -> Self {
        let config = ReplicatorConfig {
            eviction_timeout: limits.eviction_timeout,
            suspect_after: limits.suspect_after,
            ..ReplicatorConfig::new(me)
        };
        Self {
            engine: Engine {
                outbox: Outbox::new(&config),
                replicator: Replicator::new(config),
                ready: Ready::default(),
                committing: Vec::new(),
                operations: Vec::new(),
                requests: VecDeque::new(),
            },
            me,
            lease: Instant(0),
            granted: None,
            is_leased: false,
            was_leased: false,
            unleased_since: None,
            ahead: Vec::new(),
            lost: Vec::new(),
            is_woken: false,
            new_leads: NewLeads::default(),
            cleared: Vec::new(),
            messages: Vec::new(),
            syncing: None,
            sync_wanted: false,
        }
    }

    pub(crate) fn wake(&mut self) {
        self.is_woken = true;
    }

    /// This brick in this life; incarnation 0: it has none before its log was read.
    pub(crate) const fn me(&self) -> Replica {
        self.me
    }

    /// The stream on which this brick sends to another, and that brick in its present life.
    pub(crate) fn link_to(&self, catalog: &Catalog, member: Member) -> Option<(LinkId, Replica)> {
        let replica = replica_of(catalog, member)?;
        let link = self.replicator().link_to(replica)?;
        Some((link, replica))
    }

    /// A record of a partition was prepared by that op. One in no log is submitted at once, all others when the log has
    /// them.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        (tables, log): (&mut Tables, &mut Log),
        (table, leaf): (usize, usize),
        votes: Votes,
        (op, record): (Op, RecordIndex),
    ) {
        let state = tables.get_mut(table);
        let partition = state.and_then(|it| it.partitions.get_mut(leaf)?.as_mut());
        let partition = partition.expect("what was prepared is of a partition that is here");
        let id = partition.id;
        if votes.is_logged {
            return log.add_unsubmitted(id, &mut partition.uncommitted.unsubmitted, op, record);
        }
        let submitted = self.engine.replicator.on_prepared(id, 1, LogMark::NONE);
        assert_eq!(submitted.first, op, "{id}: the op of what is submitted");
        assert!(
            !submitted.is_committed,
            "{id}: op {op} commits with no log and no votes"
        );
        log.add_pending(id, &mut partition.uncommitted.submitted, op, record);
    }

    /// The replicator, for questions.
    pub(crate) const fn replicator(&self) -> &Replicator {
        &self.engine.replicator
    }

    /// Hands a copied record over to a learner; whether there is room for another. False also when the catch-up is no
    /// longer wanted.
    pub(crate) fn catch_up_record(
        &mut self,
        link: LinkId,
        partition: PartitionId,
        raw: &[u8],
    ) -> bool {
        let Engine {
            replicator, outbox, ..
        } = &mut self.engine;
        replicator.wants_copies(link, partition) && outbox.copy(link, partition, raw)
    }

    /// Whether copies may be handed over for this link.
    pub(crate) fn has_room(&self, link: LinkId) -> bool {
        self.engine.outbox.has_room(link)
    }

    /// What is claimed of a partition rests on a baseline record in this batch.
    pub(crate) fn baseline_in(&mut self, partition: PartitionId, mark: LogMark) {
        self.engine.replicator.baseline_in(partition, mark);
    }

    /// A lease was granted, for those who have adopted that version of the catalog (rule
    /// `grants count for adopted maps`). One until instant 0 ends whatever was granted before (rule
    /// `leases count from the request`).
    pub(crate) fn grant(&mut self, until: Instant, version: u64, adopted: u64) {
        if until == Instant(0) {
            self.lease = until;
            self.granted = None;
        } else if version <= adopted {
            self.lease = self.lease.max(until);
        } else {
            self.granted = Some((until, version));
        }
    }

    /// Whether the lease has been lost for so long that others will have taken over.
    pub(crate) fn is_cut_off(&self, now: Instant, patience: Duration) -> bool {
        self.unleased_since
            .is_some_and(|since| now - since >= patience)
    }

    /// Looks at the lease, before anything is served (rule `leases count from the request`).
    #[inline]
    pub(crate) fn check_lease(&mut self, now: Instant) {
        let is_leased = now < self.lease;
        if is_leased != self.is_leased {
            self.is_leased = is_leased;
            self.was_leased |= is_leased;
            self.unleased_since = (!is_leased).then_some(now);
            self.is_woken |= is_leased;
            self.engine.replicator.lease(is_leased);
        }
    }
}

/// A brick in its node's present life, by a catalog.
pub(crate) fn replica_of(catalog: &Catalog, member: Member) -> Option<Replica> {
    let node = catalog.node(member.node)?;
    Some(node.replica(member.brick))
}

/// What changes when something happens to a replica: the replicator, and the tables and the log that follow it.
///
/// It borrows for the time of one event.
pub(crate) struct Replication<'a> {
    pub(crate) replicas: &'a mut Replicas,
    pub(crate) tables: &'a mut Tables,
    pub(crate) log: &'a mut Log,
    pub(crate) segments: &'a mut Segments,
    pub(crate) removals: &'a mut Removals,
    pub(crate) unix: UnixMillis,
}

impl Replication<'_> {
    /// Lets something happen to the replicator, and carries out what follows.
    pub(crate) fn replicate<R>(&mut self, input: impl FnOnce(&mut Replicator) -> R) -> R {
        self.replicate_frame(&[], input)
    }

    fn replicate_frame<R>(&mut self, frame: &[u8], input: impl FnOnce(&mut Replicator) -> R) -> R {
        self.tell_applied();
        let replicator = &mut self.replicas.engine.replicator;
        replicator.on_batch(LogMark(self.log.building_id().0));
        let result = input(replicator);
        self.carry_out(frame);
        result
    }

    /// What partitions have applied that have neither a log nor another replica.
    pub(crate) fn tell_applied(&mut self) {
        for partition in self.replicas.ahead.drain(..) {
            if let Some(it) = self.tables.partition_mut(partition) {
                it.is_ahead = false;
                let replicator = &mut self.replicas.engine.replicator;
                replicator.on_applied(partition, it.op);
            }
        }
    }

    /// A whole frame has come on a stream between bricks.
    pub(crate) fn on_frame(&mut self, link: LinkId, frame: &[u8]) -> Result<(), FrameError> {
        self.replicate_frame(frame, |replicator| replicator.on_frame(link, frame))
    }

    /// The node is registered: from now on this brick is in that life.
    pub(crate) fn register(&mut self, incarnation: Incarnation, now: Instant) {
        let before = self.replicas.me.incarnation;
        if incarnation == before {
            return;
        }
        if before != Incarnation(0) {
            // What was granted was granted to the life before, which counts as dead from now on.
            self.replicas.grant(Instant(0), 0, 0);
            self.replicas.check_lease(now);
            assert!(
                !self.replicas.is_leased,
                "life {before} of this brick has ended, and it has a lease"
            );
        }
        self.replicas.me.incarnation = incarnation;
        let me = self.replicas.me;
        self.replicate(|replicator| replicator.set_me(me));
    }

    /// Gives the replicator what the log says of a partition.
    pub(crate) fn restore(&mut self, partition: PartitionId, restored: &Restored) {
        let held = self.tables.partition(partition);
        let table = held.map_or(TableId(0), |(state, _)| state.id);
        self.replicate(|replicator| replicator.restore(table, partition, restored));
    }

    /// A group names this brick that has a replica of it.
    pub(crate) fn adopt(&mut self, table: usize, partition: PartitionId, group: &Group) {
        assert!(self.replicas.me.incarnation.0 > 0, "nobody has {partition}");
        let Some(state) = self.tables.get(table) else {
            return;
        };
        let (id, durability) = (state.id, state.durability());
        let min_in_sync = state.attributes.min_in_sync;
        let replicas = state.attributes.replicas;
        self.doubt_former(partition, group.generation);
        let demand = Demand {
            table: id,
            durability,
            min_in_sync,
            replicas,
        };
        self.replicate(|replicator| replicator.adopt(partition, demand, group));
        self.refresh(partition);
    }

    /// This brick has the partition no more.
    pub(crate) fn forget(&mut self, partition: PartitionId) {
        self.replicate(|replicator| replicator.forget(partition));
        let held = self.tables.partition(partition);
        assert!(
            held.is_none_or(|(_, it)| it.uncommitted.submitted.is_empty()),
            "{partition} has pending records"
        );
        self.tables.unplace(partition);
    }

    /// All groups of that version of the catalog are adopted.
    pub(crate) fn end_adoption(&mut self, version: u64, now: Instant) {
        self.replicate(|replicator| replicator.adopted(version));
        if self.tables.catalog().nodes().count() > 1 && self.replicas.lease == LEASE_FOR_EVER {
            // There is somebody else now: only grants that end count from here on.
            self.replicas.lease = now + LEASE_GRACE;
        }
        if let Some((until, wanted)) = self.replicas.granted
            && wanted <= version
        {
            self.replicas.granted = None;
            self.replicas.lease = self.replicas.lease.max(until);
        }
        self.replicas.wake();
    }

    /// A partition that goes on in another history has lost something: requests of the former one may have been
    /// executed, and seen, and are not known here (rules `requests are executed once`,
    /// `forced recovery begins a generation` and `lost memory begins a generation`).
    fn doubt_former(&mut self, partition: PartitionId, generation: u32) {
        let now = self.unix;
        if let Some(it) = self.tables.partition_mut(partition)
            && generation > it.generation
        {
            it.generation = generation;
            it.changes = None;
            it.doubt_requests(now);
        }
    }

    /// Copies what the replicator knows of a partition to where commands look.
    fn refresh(&mut self, id: PartitionId) {
        let replicator = self.replicas.replicator();
        let status = replicator.status(id);
        let (last, committed) = (replicator.last(id).1, replicator.committed(id));
        if let Some(partition) = self.tables.partition_mut(id) {
            partition.status = status;
            // Nothing is prepared that the replicator has not heard of: the next op follows its last.
            partition.op = last;
            // A full copy ends with a commit position and no commits.
            partition.committed = partition.committed.max(committed);
        }
    }

    /// A batch is in the own log: the replicator hears of what was prepared in it.
    pub(crate) fn on_appended(&mut self, id: BatchId) {
        // What has waited for it commits first: then what is new commits at once where nobody else votes.
        self.replicate(|replicator| replicator.on_appended(LogMark(id.0)));
        let mut at = 0;
        while let Some((partition, run)) = self.log.unsubmitted(id, at) {
            at += 1;
            let engine = &mut self.replicas.engine;
            let submitted = engine
                .replicator
                .on_prepared(partition, run.len(), LogMark(id.0));
            let first = submitted.first;
            assert_eq!(first, run.first, "{partition}: the op of what is submitted");
            let held = self.tables.partition_mut(partition);
            let held = held.expect("no partition leaves that has something to be submitted");
            if submitted.is_committed {
                held.committed = run.last();
                engine
                    .committing
                    .push(Committing::unsubmitted(partition, run));
            } else {
                self.log
                    .submit(partition, run, &mut held.uncommitted.submitted);
            }
        }
        self.log.end_submission(id);
        if !self.replicas.engine.committing.is_empty() {
            self.apply_committed();
            self.replicas.wake();
        }
        self.replicate(Replicator::end_prepared);
    }

    pub(crate) fn on_synced(&mut self, upto: BatchId) {
        self.replicate(|replicator| replicator.on_synced(LogMark(upto.0)));
    }

    pub(crate) fn on_refused(&mut self, from: BatchId) {
        self.replicate(|replicator| replicator.on_refused(LogMark(from.0)));
    }

    /// Ends a turn: frames are made. What the replicator wants besides is next ([`wants`]).
    pub(crate) fn flush(&mut self) {
        for (partition, op) in std::mem::take(&mut self.replicas.cleared) {
            self.raise_watermark(partition, op);
        }
        // What partitions without a log have applied is told when something else happens: a turn that changes nothing
        // but them passes by all that replication keeps of each.
        if !self.replicas.replicator().is_flushed() || self.tables.is_adopting() {
            self.replicate(Replicator::flush);
        }
    }

    /// Tombstones of the partition up to `op` are not here.
    pub(crate) fn raise_watermark(&mut self, partition: PartitionId, op: Op) {
        self.replicate(|replicator| replicator.raise_watermark(partition, op));
    }

    /// This brick is no member of the leaf's group: what it has of it goes.
    pub(crate) fn leave(&mut self, table: usize, leaf: usize) {
        let state = self.tables.get(table);
        let Some(Some(held)) = state.and_then(|it| it.partitions.get(leaf)) else {
            return;
        };
        let (id, last) = (held.id, (held.status.view, held.op));
        self.forget(id);
        let Some(state) = self.tables.get_mut(table) else {
            return;
        };
        let Some(partition) = state.partitions.get_mut(leaf).and_then(Option::take) else {
            return;
        };
        state.table.drop_partition(partition.local);
        state.learning.retain(|it| *it != partition.local);
        self.tables.note_removed();
        self.log.disown(table as u32, partition.local);
        assert!(!self.tables.is_here(id), "{id} is left, and has a place");
        self.append_drop(table, id, last);
    }

    /// Durably notes that the brick holds the partition no more.
    fn append_drop(&mut self, table: usize, partition: PartitionId, last: (View, Op)) {
        if let Some(state) = self.tables.get(table).filter(|state| state.is_logged()) {
            let retained = &mut self.segments.retained;
            self.removals
                .append(self.log, retained, state.id, partition, last);
        }
    }
}
