//! The replicated partitions of this brick: between the replicator, which knows views and votes, and the
//! tables and the log, which know keys and bytes.
//!
//! In:  the log's progress, frames of peers, groups of the catalog. Out: operations applied when they have
//!      committed; records of peers in the own log; what clients must be told of writes that were cut.
//!
//! Invariants:
//! - The replicator hears of a record that was prepared here when the own log has it (`log/held`).
//! - A record is applied once it has committed, in the order of its partition.
//! - Without a lease nothing is served and nothing commits (PROTOCOL rules 3 and 22).
//!
//! Not here: streams and messages between bricks (`peer`), who waits for what (`requests`).

mod carry;

use crate::append::BatchId;
use crate::core::Core;
use crate::effect::Effect;
use crate::log::HeldId;
use crate::output::Lost;
use brickyard_replication::{
    Demand, FrameError, LinkId, LogMark, Outbox, Ready, Replicator, ReplicatorConfig, Want,
};
use brickyard_routing::{Group, Seat};
use brickyard_types::{Incarnation, Instant, Op, PartitionId};
use std::collections::VecDeque;
use std::time::Duration;

/// The lease of a node that is alone in its cluster.
const LEASE_FOR_EVER: Instant = Instant(u64::MAX);

/// How long the lease of a node that was alone lasts when another joins: that one gets no vote in the control
/// plane before this node's bricks know of it, so nobody can have decided anything against them meanwhile.
const LEASE_GRACE: Duration = Duration::from_secs(1);

/// The token of a checkpoint that the replicator waits for.
pub(crate) const SYNC_TOKEN: u64 = u64::MAX;

/// The replicator, and where what it says goes.
#[derive(Debug)]
pub(crate) struct Engine {
    replicator: Replicator,
    pub(crate) outbox: Outbox,
    /// Buffers for what it says.
    ready: Ready,
    /// What it wants of the world outside, to be seen to at the end of the turn.
    requests: VecDeque<Want>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Replicas {
    pub(crate) engine: Engine,
    pub(crate) incarnation: Incarnation,
    /// Until when this brick may serve; and a grant that counts once its catalog is adopted.
    pub(crate) lease: Instant,
    granted: Option<(Instant, u64)>,
    pub(crate) is_leased: bool,
    /// It had a lease in this life of the process.
    pub(crate) was_leased: bool,
    /// Since when it has had none, if it had one.
    unleased_since: Option<Instant>,
    /// Writes whose clients are to be told that nobody knows.
    pub(crate) lost: Vec<Lost>,
    /// Something changed that requests may have waited for.
    pub(crate) is_woken: bool,
    /// Partitions that were cleared: to whoever misses that, the difference is not enough.
    cleared: Vec<(PartitionId, Op)>,
    /// Messages of other bricks, as they came.
    pub(crate) messages: Vec<(Seat, Vec<u8>)>,
    /// A checkpoint is under way, which syncs all batches up to this one, for an acceptance.
    syncing: Option<BatchId>,
    /// Another is wanted, since then more was appended.
    sync_wanted: bool,
}

impl Replicas {
    pub(crate) fn new(me: Seat, eviction_timeout: Duration) -> Self {
        let config = ReplicatorConfig {
            eviction_timeout,
            ..ReplicatorConfig::new(me)
        };
        Self {
            engine: Engine {
                outbox: Outbox::new(&config),
                replicator: Replicator::new(config),
                ready: Ready::default(),
                requests: VecDeque::new(),
            },
            incarnation: me.incarnation,
            lease: Instant(0),
            granted: None,
            is_leased: false,
            was_leased: false,
            unleased_since: None,
            lost: Vec::new(),
            is_woken: false,
            cleared: Vec::new(),
            messages: Vec::new(),
            syncing: None,
            sync_wanted: false,
        }
    }

    pub(crate) fn wake(&mut self) {
        self.is_woken = true;
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

    /// What is claimed of a partition rests on a base record in this batch.
    pub(crate) fn based_in(&mut self, partition: PartitionId, mark: LogMark) {
        self.engine.replicator.based_in(partition, mark);
    }

    /// A lease was granted, for those who have adopted that version of the catalog (PROTOCOL rule 3). One until
    /// instant 0 ends whatever was granted before (rule 22).
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

    /// Looks at the lease, before anything is served (PROTOCOL rule 22).
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

impl Core {
    /// This brick in this life.
    pub(crate) fn seat(&self) -> Seat {
        Seat {
            member: self.member(),
            incarnation: self.replicas.incarnation,
        }
    }

    /// Lets something happen to the replicator, and carries out what follows.
    pub(crate) fn replicate<R>(&mut self, input: impl FnOnce(&mut Replicator) -> R) -> R {
        self.replicate_frame(&[], input)
    }

    fn replicate_frame<R>(&mut self, frame: &[u8], input: impl FnOnce(&mut Replicator) -> R) -> R {
        let replicator = &mut self.replicas.engine.replicator;
        replicator.on_batch(LogMark(self.log.building_id().0));
        let result = input(replicator);
        self.carry_out(frame);
        result
    }

    /// A whole frame has come on a stream between bricks.
    pub(crate) fn on_replica_frame(
        &mut self,
        link: LinkId,
        frame: &[u8],
    ) -> Result<(), FrameError> {
        self.replicate_frame(frame, |replicator| replicator.on_frame(link, frame))
    }

    pub(crate) fn adopt_replica(&mut self, table: usize, partition: PartitionId, group: &Group) {
        let Some(state) = self.table(table) else {
            return;
        };
        let (id, durability) = (state.id, state.attributes.durability);
        let min_in_sync = state.attributes.min_in_sync;
        self.doubt_former(partition, group.lineage);
        let demand = Demand {
            table: id,
            durability,
            min_in_sync,
        };
        self.replicate(|replicator| replicator.adopt(partition, demand, group));
        self.refresh(partition);
    }

    pub(crate) fn forget_replica(&mut self, partition: PartitionId) {
        self.replicate(|replicator| replicator.forget(partition));
        self.tables.unplace(partition);
        self.log.drop_pending(partition);
    }

    pub(crate) fn end_adoption(&mut self, version: u64) {
        self.replicate(|replicator| replicator.adopted(version));
        if self.tables.catalog().nodes().count() > 1 && self.replicas.lease == LEASE_FOR_EVER {
            // There is somebody else now: only grants that end count from here on.
            self.replicas.lease = self.now + LEASE_GRACE;
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
    /// executed, and seen, and are not known here (PROTOCOL rules 19, 21 and 36).
    fn doubt_former(&mut self, partition: PartitionId, lineage: u32) {
        let now = self.unix;
        if let Some(it) = self.tables.partition_mut(partition)
            && lineage > it.lineage
        {
            it.lineage = lineage;
            it.doubt_requests(now);
        }
    }

    /// Copies what the replicator knows of a partition to where commands look.
    fn refresh(&mut self, id: PartitionId) {
        let replicator = self.replicas.replicator();
        let status = replicator.status(id);
        let (last, committed) = (replicator.last(id).1, replicator.committed(id));
        if let Some(partition) = self.tables.partition_mut(id) {
            partition.view = status.view;
            partition.status = status;
            // Nothing is prepared that the replicator has not heard of: the next op follows its last.
            partition.op = last;
            // A full copy ends with a commit position and no commits.
            partition.committed = partition.committed.max(committed);
        }
    }

    /// A record of a replicated partition without a log: the replicator hears of it at once.
    pub(crate) fn hand_over(&mut self, partition: PartitionId, held: Option<HeldId>) {
        if let Some(held) = held {
            self.tell_prepared(partition, LogMark::NONE, held);
        }
    }

    /// A batch is in the own log: the replicator hears of what was prepared in it.
    pub(crate) fn replicas_appended(&mut self, id: BatchId) {
        let fresh = self.log.take_fresh(id);
        for (partition, held) in fresh {
            self.tell_prepared(partition, LogMark(id.0), held);
        }
        self.replicate(|replicator| replicator.on_appended(LogMark(id.0)));
    }

    #[inline]
    fn tell_prepared(&mut self, partition: PartitionId, mark: LogMark, held: HeldId) {
        let replicator = &mut self.replicas.engine.replicator;
        let op = replicator.on_prepared(partition, mark);
        self.log.add_pending(partition, op, held);
    }

    pub(crate) fn replicas_synced(&mut self, upto: BatchId) {
        self.replicate(|replicator| replicator.on_synced(LogMark(upto.0)));
    }

    pub(crate) fn replicas_refused(&mut self, from: BatchId) {
        self.replicate(|replicator| replicator.on_refused(LogMark(from.0)));
    }

    /// The sync that the replicator asked for is done.
    pub(crate) fn on_sync_done(&mut self, is_well: bool) {
        let Some(upto) = self.replicas.syncing.take() else {
            return;
        };
        if is_well {
            self.replicas_synced(upto);
        }
        // A sync covers what was appended before it was asked for, and nothing that came later.
        if std::mem::take(&mut self.replicas.sync_wanted) || !is_well {
            self.carry(Want::SyncLog);
        }
    }

    /// Ends a turn: frames are made, wishes become effects.
    pub(crate) fn flush_replicas(&mut self) {
        for (partition, op) in std::mem::take(&mut self.replicas.cleared) {
            self.raise_horizon(partition, op);
        }
        self.replicate(Replicator::flush);
        while let Some(request) = self.replicas.engine.requests.pop_front() {
            self.carry(request);
        }
    }

    /// Tombstones of the partition up to `op` are not here.
    pub(crate) fn raise_horizon(&mut self, partition: PartitionId, op: Op) {
        self.replicate(|replicator| replicator.raise_horizon(partition, op));
    }

    fn carry(&mut self, request: Want) {
        use crate::effect::ControlRequest;
        let effect = match request {
            Want::Dial(seat) => Effect::Dial(seat),
            Want::SyncLog => {
                self.replicas.engine.replicator.on_sync_asked();
                // What was appended before is covered by a checkpoint; what is being built syncs itself.
                let upto = BatchId(self.log.building_id().0 - 1);
                if self.log.sync_building() {
                    return;
                }
                if self.replicas.syncing.is_some() {
                    self.replicas.sync_wanted = true;
                    return;
                }
                self.replicas.syncing = Some(upto);
                Effect::Checkpoint(SYNC_TOKEN)
            }
            Want::Promote {
                partition,
                view,
                learner,
            } => Effect::Control(
                0,
                ControlRequest::Promote {
                    partition,
                    view,
                    learner,
                },
            ),
            Want::Evict {
                partition,
                view,
                backup,
            } => Effect::Control(
                0,
                ControlRequest::Evict {
                    partition,
                    view,
                    backup,
                },
            ),
            Want::Split {
                partition,
                view,
                begun_at,
                last,
            } => return self.tell_ready(partition, view, begun_at, last),
            Want::CatchUp {
                partition,
                learner,
                link,
                after,
            } => return self.moves.catch_ups.begin(partition, learner, link, after),
            Want::StopCatchUp { partition, learner } => {
                return self.moves.catch_ups.stop(partition, learner);
            }
            Want::Close { link, reason } => Effect::ClosePeer(link, reason.to_owned()),
            Want::Report { partition, what } => {
                Effect::Report(format!("partition {partition}: {what}"))
            }
        };
        self.effects.push_back(effect);
    }
}
