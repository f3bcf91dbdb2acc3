//! The state machine of all replicated partitions of one brick: its parts, and what may be asked of it.
//!
//! What happens to it is in the files named after what happens: `view.rs` (the map), `lead.rs` and
//! `flush.rs` (this brick as a primary), `commit.rs`, `follow.rs` and `learner.rs` (as a backup or learner),
//! `teach.rs` (bringing a learner up to date), `own_log.rs`, `streams.rs`, `tick.rs`.

use crate::accept::Acknowledgements;
use crate::link::Link;
use crate::log::Log;
use crate::slots::Slots;
use crate::view::own_header;
use crate::{
    Base, Claim, Config, Entry, LinkId, LogMark, Next, Request, Restored, Role, Status, Turn,
};
use crate::{History, partition::Partition};
use brickyard_routing::Seat;
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Instant, Op, PartitionId, TableId, View};
use std::collections::{BTreeMap, VecDeque};

/// All replicated partitions of one brick.
///
/// A turn of the brick's loop: `lease`, `on_frame`s, `on_appended` and `on_synced`, requests of clients
/// (`next`, `prepared`), then `flush`, then `poll_request` and `poll_output`.
#[derive(Debug)]
pub struct Replicator<P> {
    pub(crate) config: Config,
    pub(crate) partitions: Slots<P>,
    pub(crate) links: Vec<Option<Link>>,
    pub(crate) peers: BTreeMap<Seat, Peer>,
    /// The last turn that was flushed.
    pub(crate) turn: Turn,
    pub(crate) own: OwnLog,
    pub(crate) has_lease: bool,
    pub(crate) now: Instant,
    pub(crate) acknowledgements: Acknowledgements,
    pub(crate) work: Work,
    pub(crate) requests: VecDeque<Request>,
    pub(crate) outputs: VecDeque<LinkId>,
}

/// Another brick in one of its lives.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Partitions that want a stream to it.
    pub(crate) wanted: u32,
    /// The stream to it.
    pub(crate) outgoing: Option<LinkId>,
    /// The stream from it, and its number.
    pub(crate) incoming: Option<(u64, LinkId)>,
    pub(crate) dialed_at: Option<Instant>,
}

/// How far the own log is.
#[derive(Debug, Default)]
pub(crate) struct OwnLog {
    pub(crate) appended: LogMark,
    pub(crate) synced: LogMark,
    /// Of this batch and all before it is known whether they were appended or refused.
    pub(crate) answered: LogMark,
    /// The newest batch that anything of this room is in.
    pub(crate) newest: LogMark,
    /// Partitions that wait for a batch to be appended, and to be synced.
    pub(crate) until_appended: VecDeque<(LogMark, u32)>,
    pub(crate) until_synced: VecDeque<(LogMark, u32)>,
}

/// Partitions to which something is to be done; each has a flag that it is in the list.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Primaries with entries to be flushed.
    pub(crate) dirty: Vec<u32>,
    /// Primaries with members to begin.
    pub(crate) due: Vec<u32>,
    /// May have something to commit.
    pub(crate) ready: Vec<u32>,
    /// Primaries whose commit position is to be told.
    pub(crate) announced: Vec<u32>,
    /// Primaries with pending entries; looked through by `tick` only.
    pub(crate) busy: Vec<u32>,
    /// Members that refused: to be begun again at this instant.
    pub(crate) refused: Vec<(Instant, u32, Seat)>,
    /// Learners whose promotion is under way.
    pub(crate) promotions: Vec<(u32, Seat)>,
    /// Partitions with something that the own log refused.
    pub(crate) retrying: Vec<u32>,
    /// Partitions that are to be split.
    pub(crate) partings: Vec<u32>,
    /// Links with something in this turn.
    pub(crate) touched: Vec<LinkId>,
}

impl<P> Replicator<P> {
    /// A replicator without partitions.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            partitions: Slots::new(),
            links: Vec::new(),
            peers: BTreeMap::new(),
            turn: Turn(0),
            own: OwnLog::default(),
            has_lease: false,
            now: Instant(0),
            acknowledgements: Acknowledgements::default(),
            work: Work::default(),
            requests: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// This brick was registered: its seat from now on. Streams of an earlier one are to be closed.
    pub fn set_me(&mut self, me: Seat) {
        if self.config.me == me {
            return;
        }
        self.config.me = me;
        for link in self.links.iter_mut().flatten() {
            link.is_stale = true;
            let reason = "this brick has a new incarnation";
            self.requests.push_back(Request::Close {
                link: link.id,
                reason,
            });
        }
    }

    /// From recovery, before any link: what the log says of a partition. Also for a partition whose only
    /// member this brick was and which was kept outside of the replicator until now.
    ///
    /// # Panics
    /// If the tail is not the entries from `committed + 1` to `last`, or the partition has pending entries
    /// already (caller bugs).
    pub fn restore(&mut self, table: TableId, partition: PartitionId, restored: Restored<P>) {
        let slot = self.partitions.find_or_add(partition, table);
        let Some(partition) = self.partitions.get_mut(slot) else {
            return;
        };
        assert!(partition.log.pending.is_empty(), "restored over entries");
        let log = Log::restore(restored);
        self.own.newest = self.own.newest.max(log.mark);
        partition.log = log;
    }

    /// What is claimed of a partition that came from others rests on a base record that was put into this batch. Should
    /// the log refuse it, it is written again, ahead of whatever else is written of the partition.
    pub fn based_in(&mut self, partition: PartitionId, mark: LogMark) {
        let slot = self.partitions.find(partition);
        if let Some(it) = slot.and_then(|slot| self.partitions.get_mut(slot)) {
            it.log.base_mark = mark;
            it.log.note(mark);
            self.own.newest = self.own.newest.max(mark);
        }
    }

    /// For the report after registration: what this brick holds of each partition.
    pub fn claims(&self) -> impl Iterator<Item = (PartitionId, Claim)> + '_ {
        let all = self.partitions.iter();
        all.map(|(_, partition)| (partition.id, partition.log.claim()))
    }

    /// The same of one of them; `None` if nothing is known of it here.
    #[must_use]
    pub fn claim_of(&self, partition: PartitionId) -> Option<Claim> {
        Some(self.partitions.by_id(partition)?.log.claim())
    }

    /// The lease, checked by the host before each batch. Without it nothing commits as primary; votes are
    /// kept, and count once it is back if the view is still the same.
    pub fn lease(&mut self, is_valid: bool) {
        let is_back = is_valid && !self.has_lease;
        self.has_lease = is_valid;
        if is_back {
            for at in 0..self.work.busy.len() {
                self.make_ready(self.work.busy[at]);
            }
        }
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

    /// Required members, or the own log, have so much to do that new writes had better wait.
    #[must_use]
    pub fn is_congested(&self, partition: PartitionId) -> bool {
        let Some(partition) = self.partitions.by_id(partition) else {
            return false;
        };
        let members = partition.lead.members.iter();
        members
            .filter(|member| member.is_required)
            .filter_map(|member| self.link(member.link?))
            .any(|link| link.output.unsent() > self.config.output_bytes_soft)
    }

    /// A prepared entry.
    #[inline]
    #[must_use]
    pub fn pending(&self, partition: PartitionId, op: Op) -> Option<&Entry<P>> {
        self.partitions.by_id(partition)?.log.entry(op)
    }

    /// All prepared entries, in order.
    pub fn pending_iter(
        &self,
        partition: PartitionId,
    ) -> impl DoubleEndedIterator<Item = &Entry<P>> + '_ {
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
    pub fn lineage(&self, partition: PartitionId) -> u32 {
        let partition = self.partitions.by_id(partition);
        partition.map_or(0, |it| it.log.lineage)
    }

    /// The last record held here.
    #[must_use]
    pub fn last(&self, partition: PartitionId) -> (View, Op) {
        let partition = self.partitions.by_id(partition);
        partition.map_or((View(0), Op(0)), |it| it.log.last)
    }

    /// Whether the op is pending and was prepared in an older view: at the primary, reads of its keys wait
    /// for its outcome (PROTOCOL rule 5).
    #[inline]
    #[must_use]
    pub fn is_inherited(&self, partition: PartitionId, op: Op) -> bool {
        let Some(partition) = self.partitions.by_id(partition) else {
            return false;
        };
        let entry = partition.log.entry(op);
        entry.is_some_and(|entry| entry.view < partition.place.view)
    }

    /// The record of a base at the commit position: header and value. The cleaner makes gaps in what can be
    /// claimed, so before a segment of a replicated partition goes, the log gets a base at or above what it
    /// holds (PROTOCOL rule 15). `None`: a catch-up has not finished, or what was found at the start has not been
    /// written in the partition's name, and nothing may be removed.
    #[must_use]
    pub fn base(&self, partition: PartitionId) -> Option<(Header, Vec<u8>)> {
        let partition = self.partitions.by_id(partition)?;
        if partition.log.owes_restored() {
            return None;
        }
        partition.base()
    }

    /// What is wanted of the outside.
    pub fn poll_request(&mut self) -> Option<Request> {
        let request = self.requests.pop_front()?;
        if request == Request::SyncLog {
            self.acknowledgements.on_asked();
        }
        Some(request)
    }

    pub(crate) fn link(&self, link: LinkId) -> Option<&Link> {
        self.links.get(link.0 as usize)?.as_ref()
    }

    pub(crate) fn link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.0 as usize)?.as_mut()
    }

    /// Whether something can commit is looked at when the current call is done.
    pub(crate) fn make_ready(&mut self, slot: u32) {
        if let Some(partition) = self.partitions.get_mut(slot)
            && !std::mem::replace(&mut partition.lead.is_ready, true)
        {
            self.work.ready.push(slot);
        }
    }

    /// A member has to be begun at the next flush.
    pub(crate) fn make_due(&mut self, slot: u32) {
        if let Some(partition) = self.partitions.get_mut(slot)
            && !std::mem::replace(&mut partition.lead.is_due, true)
        {
            self.work.due.push(slot);
        }
    }

    /// Tells the host if the status is another than before.
    pub(crate) fn tell<H: crate::Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        if let Some(partition) = self.partitions.get_mut(slot) {
            let status = partition.status();
            if std::mem::replace(&mut partition.told, status) != status {
                host.changed(partition.id, status);
            }
        }
    }
}

impl<P> Partition<P> {
    /// The record of a base at the commit position: header and value. `None`: a catch-up has not finished.
    pub(crate) fn base(&self) -> Option<(Header, Vec<u8>)> {
        let log = &self.log;
        if log.partial.is_some() {
            return None;
        }
        let op = log.committed;
        let view = log.view_at(op)?;
        let mut value = Vec::new();
        let runs = log.history.runs().iter().copied();
        let base = Base {
            lineage: log.lineage,
            view,
            op,
            runs: runs.filter(|run| run.first <= op).collect(),
        };
        base.encode(&mut value);
        let mut header = own_header(Kind::Base, self, op, op);
        header.view = view;
        Some((header, value))
    }
}

impl<P> Log<P> {
    fn restore(restored: Restored<P>) -> Self {
        let mut log = Self::new();
        let claims_less = restored.committed > restored.last.1;
        let end = restored.last.1.max(restored.committed);
        log.history = History::new(&restored.history);
        log.lineage = restored.lineage;
        log.horizon = restored.horizon;
        log.committed = restored.committed;
        let view = if claims_less {
            log.history.view_at(end).unwrap_or(restored.last.0)
        } else {
            restored.last.0
        };
        log.last = (view, end);
        // Without a history at least the end is known.
        if log.history.runs().is_empty() && end > Op(0) {
            let tail = restored.tail.iter().map(|entry| (entry.view, entry.op));
            for (view, op) in tail.chain([log.last]) {
                log.history.push(view, op);
            }
        }
        if !restored.is_complete || claims_less {
            log.become_partial(restored.last.1);
            if let Some(claim) = &mut log.partial {
                claim.last = restored.last;
            }
        }
        if !claims_less {
            let mut op = restored.committed;
            for mut entry in restored.tail {
                op = op.next();
                assert_eq!(entry.op, op, "the tail has gaps");
                entry.turn = Turn(0);
                log.note(entry.mark);
                log.pending.push_back(entry);
            }
            assert_eq!(op, end, "the tail does not reach the end");
            log.restored = op;
        }
        // The log may have records above what is known here, from before the restart.
        log.owes_cut = true;
        log
    }
}

impl Role {
    /// In-sync: holds everything that was acknowledged.
    #[must_use]
    pub const fn is_in_sync(self) -> bool {
        matches!(self, Self::Primary | Self::Backup)
    }
}
