//! What happens to the replicator: each input is handed to the handler of its concern, with what that may change.
//!
//! In:  the log's progress, streams and frames, the map's word, time, leases, records prepared here. Out: what the
//!      handlers put into [`Ready`].
//!
//! Not here: what is done with any of it.

use crate::commit::Settling;
use crate::flush::Flush;
use crate::follow::{Inflow, broken};
use crate::frame::{Frame, FrameError, HEAD_BYTES, byte};
use crate::lead::{Leader, on_prepared, on_vote};
use crate::link::Link;
use crate::log::Log;
use crate::merge::{Half, Whole};
use crate::own_log::OwnLog;
use crate::partition::PendingSplit;
use crate::ready::{Action, Want};
use crate::restored::Restored;
use crate::split::{ask_splits, end_at_rest};
use crate::state_transfer::promote;
use crate::summary::Baseline;
use crate::tick::Tick;
use crate::view::{Adoption, Demand, names};
use crate::{Direction, LinkId, LogMark, Replicator, Role, Sequence, Submitted};
use brickyard_routing::{Group, Replica};
use brickyard_types::{Durability, Instant, Op, PartitionId, TableId, View};

impl Replicator {
    /// This brick was registered: its replica from now on. Streams of an earlier one are to be closed.
    pub fn set_me(&mut self, me: Replica) {
        self.assert_carried_out();
        if self.config.me == me {
            return;
        }
        self.config.me = me;
        for link in self.links.iter_mut() {
            link.is_stale = true;
            self.ready
                .close(link.id, "this brick has a new incarnation");
        }
    }

    /// The lease, checked by the owner before each batch. Without it nothing commits as primary; votes are
    /// kept, and count once it is back if the view is still the same.
    pub fn lease(&mut self, is_valid: bool) {
        let is_back = is_valid && !self.has_lease;
        self.has_lease = is_valid;
        if is_back {
            for slot in &self.work.busy {
                if let Some(it) = self.partitions.get_mut(*slot)
                    && !std::mem::replace(&mut it.lead.is_ready, true)
                {
                    self.work.ready.push(*slot);
                }
            }
        }
    }

    /// Time passes; to be called every 50 to 100 ms.
    pub fn tick(&mut self, now: Instant) {
        self.assert_carried_out();
        assert!(now >= self.now, "time runs backwards: {now:?}");
        let before = std::mem::replace(&mut self.now, now);
        let is_first = before == Instant(0);
        Tick {
            now,
            passed: now - before,
            config: &self.config,
            partitions: &mut self.partitions,
            links: &mut self.links,
            own: &mut self.own,
            work: &mut self.work,
            ready: &mut self.ready,
        }
        .tick();
        if !is_first {
            self.links.dial(now, &mut self.ready);
        }
        self.links
            .watch(now - before, &self.config, &mut self.ready);
        self.settle();
    }

    /// Whether a flush would do nothing: no other brick is known, and no partition has anything to be done.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.links.peers.is_empty() && self.work.is_flushed()
    }

    /// Ends a turn: what was prepared, decided and received since the last flush becomes frames.
    pub fn flush(&mut self) {
        self.assert_carried_out();
        self.settle();
        self.sequence = Sequence(self.sequence.0 + 1);
        Flush {
            sequence: self.sequence,
            partitions: &mut self.partitions,
            links: &mut self.links,
            own: &mut self.own,
            work: &mut self.work,
            ready: &mut self.ready,
        }
        .flush();
        // What waits for nobody (a partition without other members) has been flushed as well.
        self.settle();
    }

    /// Everything that may have been decided by the call at hand is.
    fn settle(&mut self) {
        if !self.work.ready.is_empty() {
            Settling {
                partitions: &mut self.partitions,
                links: &self.links,
                own: &mut self.own,
                work: &mut self.work,
                ready: &mut self.ready,
                has_lease: self.has_lease,
            }
            .settle();
        }
        let (now, repeat) = (self.now, self.config.repeat);
        if !self.work.promotions.is_empty() {
            promote(
                &mut self.partitions,
                &self.links,
                &self.work,
                now,
                &mut self.ready,
            );
        }
        if !self.work.pending_splits.is_empty() {
            ask_splits(
                &mut self.partitions,
                &mut self.work,
                now,
                repeat,
                &mut self.ready,
            );
        }
    }

    /// The owner is up to date: what it was told to do before is done.
    fn assert_carried_out(&self) {
        assert!(self.ready.is_empty(), "left: {:?}", self.ready.actions);
    }

    fn leader(&mut self, partition: PartitionId) -> Option<Leader<'_>> {
        Some(Leader {
            it: self.partitions.by_id_mut(partition)?,
            work: &mut self.work,
            ready: &mut self.ready,
        })
    }
}

/// The own log.
impl Replicator {
    /// Records go into this batch of the own log from now on: those of the actions that the next calls make.
    #[inline]
    pub fn on_batch(&mut self, open: LogMark) {
        assert!(open >= self.own.open, "batch {open} was closed");
        self.own.open = open;
    }

    /// The disk was given everything up to this batch, whatever is in it. To be called before [`Self::tick`].
    pub fn on_ordered(&mut self, upto: LogMark) {
        self.own.ordered = self.own.ordered.max(upto);
    }

    /// So many records, the first of which [`Self::next`] described, are in the log batch `mark` ([`LogMark::NONE`]:
    /// durability `memory`). Those that commit by that are no action: the caller is told now. All others are decided by
    /// [`Self::end_prepared`].
    ///
    /// # Panics
    /// If there is no such partition (a caller bug: `next` was not asked).
    #[inline]
    pub fn on_prepared(&mut self, partition: PartitionId, count: u32, mark: LogMark) -> Submitted {
        assert!(count > 0, "{partition} has nothing new");
        let found = self.partitions.by_id_mut(partition);
        #[expect(clippy::expect_used, reason = "see Panics")]
        let it = found.expect("a partition that `next` was asked for");
        let first = it.log.last.1.next();
        let (own, work) = (&mut self.own, &mut self.work);
        let is_committed = on_prepared(it, own, work, self.has_lease, (count, mark));
        Submitted {
            first,
            is_committed,
        }
    }

    /// All is submitted that was in a batch.
    pub fn end_prepared(&mut self) {
        self.settle();
    }

    /// Everything up to this op was prepared and applied at once: the partition has no log and no other member
    /// ([`Status::is_alone`](crate::Status::is_alone)).
    ///
    /// # Panics
    /// If that is not so (an owner's bug).
    pub fn on_applied(&mut self, partition: PartitionId, upto: Op) {
        let Some(it) = self.partitions.by_id_mut(partition) else {
            return;
        };
        let is_alone = it.durability == Durability::Memory && it.is_alone();
        assert!(is_alone, "{partition} has a log, or others to vote");
        it.log.apply(it.place.view, upto);
    }

    /// The own log has everything up to this batch.
    pub fn on_appended(&mut self, upto: LogMark) {
        self.assert_carried_out();
        while let Some(slot) = self.own.on_appended(upto) {
            if let Some(it) = self.partitions.get_mut(slot) {
                self.work.make_ready(it);
            }
        }
        self.settle();
    }

    /// The own log is synced up to this batch.
    pub fn on_synced(&mut self, upto: LogMark) {
        self.assert_carried_out();
        while let Some(slot) = self.own.on_synced(upto) {
            if let Some(it) = self.partitions.get_mut(slot) {
                self.work.make_ready(it);
            }
        }
        // What is synced is appended.
        self.on_appended(upto);
        // A log that misses what a primary has prepared has not accepted.
        let slots = self.work.retrying.iter();
        let mut retrying = slots.filter_map(|slot| self.partitions.get(*slot));
        if !retrying.any(|it| it.place.role == Role::Primary) {
            self.own.acknowledgements.on_synced(upto);
        }
    }

    /// The sync that was wanted ([`Want::SyncLog`]) is under way: one that was before proves nothing.
    pub fn on_sync_asked(&mut self) {
        self.own.acknowledgements.on_asked();
    }

    /// The own log refused this batch and all later ones so far (a full disk). To be called before
    /// `on_appended` of a newer one.
    ///
    /// What peers sent is forgotten ([`Action::Cut`]) and asked for again. What this brick prepared stays
    /// pending, since peers may hold it: it is appended again from `tick` on, until when the partition takes
    /// no writes. Their clients are to be told `UNKNOWNRESULT`. What a part was given of a partition that was
    /// split stays as well, and is appended again with its baseline: nobody else may have it.
    pub fn on_refused(&mut self, from: LogMark) {
        self.assert_carried_out();
        assert!(from != LogMark::NONE, "what is in no log is not refused");
        let Self {
            partitions,
            links,
            own,
            work,
            ready,
            now,
            ..
        } = self;
        own.fitness.on_refused(*now, from);
        for it in partitions.iter_mut().filter(|it| it.log.mark >= from) {
            own.on_refused(it, from, ready);
            if it.place.role != Role::Primary {
                crate::follow::leave(it, crate::frame::Reason::Log, links, ready);
            }
            work.retry(it, *now);
            it.tell(ready);
        }
    }

    /// The owner could not take a peer's record, for this reason: of the frame that came last, the partition's records
    /// from `op` on (`None`: copies) went nowhere. `is_batch_empty`: nor did anything else go into the open batch since
    /// it was opened. To be called once for a partition, when everything else of the frame is carried out.
    pub fn on_rejected(
        &mut self,
        partition: PartitionId,
        op: Option<Op>,
        reason: String,
        is_batch_empty: bool,
    ) {
        let slot = self.partitions.find(partition);
        self.ready.report(partition, reason);
        let mut inflow = self.inflow(LinkId(0));
        if let Some(mut follower) = slot.and_then(|slot| inflow.follower(slot)) {
            follower.on_rejected(op, is_batch_empty);
        }
    }

    /// What is claimed of a partition that came from others rests on a baseline record that was put into this batch. Should
    /// the log refuse it, it is written again, ahead of whatever else is written of the partition.
    pub fn baseline_in(&mut self, partition: PartitionId, mark: LogMark) {
        if let Some(it) = self.partitions.by_id_mut(partition) {
            it.log.baseline_mark = mark;
            it.log.note(mark);
            self.own.note(mark);
        }
    }

    /// From recovery, before any link: what the log says of a partition. Also for a partition whose only
    /// member this brick was and which was kept outside of the replicator until now.
    ///
    /// # Panics
    /// If the suffix is not the entries from `committed + 1` to `last`, or the partition has pending entries
    /// already (caller bugs).
    pub fn restore<P>(&mut self, table: TableId, partition: PartitionId, restored: &Restored<P>) {
        let it = self.partitions.obtain(partition, table);
        assert!(it.log.pending.is_empty(), "restored over entries");
        let log = Log::restore(restored);
        self.own.note(log.mark);
        it.log = log;
    }
}

/// The map.
impl Replicator {
    /// What the map says now. To be called for each partition that names this brick, in any role (also in
    /// `change`), and for those that did and no longer do; then [`Self::adopted`].
    pub fn adopt(&mut self, partition: PartitionId, demand: Demand, group: &Group) {
        self.assert_carried_out();
        let me = self.config.me;
        if self.partitions.find(partition).is_none() && !names(group, me) {
            return;
        }
        Adoption {
            me,
            now: self.now,
            it: self.partitions.obtain(partition, demand.table),
            links: &mut self.links,
            own: &mut self.own,
            work: &mut self.work,
            ready: &mut self.ready,
        }
        .adopt(demand, group);
        self.settle();
    }

    /// All `adopt` and `forget` calls of this version of the catalog are done.
    pub fn adopted(&mut self, version: u64) {
        if !self.work.awaiting.is_empty() {
            return self.own.acknowledgements.hold(version);
        }
        let OwnLog {
            acknowledgements,
            newest,
            ..
        } = &mut self.own;
        if acknowledgements.on_adopted(version, *newest) {
            self.ready.request(Want::SyncLog);
        }
    }

    /// The partition is gone from this brick (dropped, or moved away). Pending entries are cut. The views that were
    /// acknowledged are remembered (rule `acknowledged views are remembered`).
    pub fn forget(&mut self, partition: PartitionId) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        Adoption {
            me: self.config.me,
            now: self.now,
            it,
            links: &mut self.links,
            own: &mut self.own,
            work: &mut self.work,
            ready: &mut self.ready,
        }
        .end();
        self.partitions.remove(slot);
    }

    /// The owner dropped tombstones up to `op`: every one above is here (rule
    /// `tombstones reach down to the watermark`). A catch-up that might miss one of them begins anew.
    pub fn raise_watermark(&mut self, partition: PartitionId, op: Op) {
        if let Some(mut leader) = self.leader(partition) {
            leader.raise_watermark(op);
        }
    }

    /// Everything that [`Want::CatchUp`] asked for was handed over.
    pub fn catch_up_done(&mut self, link: LinkId, partition: PartitionId) {
        if let Some(it) = self.partitions.by_id_mut(partition) {
            Leader {
                it,
                work: &mut self.work,
                ready: &mut self.ready,
            }
            .catch_up_done(link, &self.links);
        }
    }

    /// Whether the partition is to be split: in which view, and which of its splits that is. To be called with each
    /// version of the catalog, after [`Self::adopt`].
    pub fn set_split(&mut self, partition: PartitionId, split: Option<(View, u64)>) {
        let Some(it) = self.partitions.by_id_mut(partition) else {
            return;
        };
        let pending_split = split.map(|(view, begun_at)| PendingSplit { view, begun_at });
        if std::mem::replace(&mut it.place.pending_split, pending_split) == pending_split {
            return;
        }
        it.lead.split_asked = None;
        if pending_split.is_some() && !self.work.pending_splits.contains(&it.slot) {
            self.work.pending_splits.push(it.slot);
        }
        it.tell(&mut self.ready);
        ask_splits(
            &mut self.partitions,
            &mut self.work,
            self.now,
            self.config.repeat,
            &mut self.ready,
        );
    }

    /// The catalog has `halves` in the place of a partition that was split in `view`. Each gets what the whole had;
    /// what was pending here has committed if this brick's log has begun that view, and counts for nothing if not.
    /// [`Self::adopt`] of the halves follows.
    pub fn split(
        &mut self,
        table: TableId,
        whole: PartitionId,
        view: View,
        halves: &[PartitionId],
    ) {
        assert!(!halves.contains(&whole), "{whole} is split into itself");
        let Some(it) = self.partitions.by_id_mut(whole) else {
            return;
        };
        end_at_rest(it, view, &mut self.own, &mut self.ready);
        let (stopped, accepted) = (it.place.stopped, it.place.accepted);
        let logs: Vec<Log> = halves.iter().map(|_| it.log.fork()).collect();
        for (half, log) in halves.iter().zip(logs) {
            let half = self.partitions.obtain(*half, table);
            assert!(half.log.pending.is_empty(), "a half that was there before");
            half.log = log;
            // Rule `acknowledged views are remembered`: what was acknowledged binds the halves as well.
            half.place.stopped = half.place.stopped.max(stopped);
            half.place.accepted = half.place.accepted.max(accepted);
        }
        self.forget(whole);
    }

    /// The catalog has `whole` in the place of `halves`. Returns whether it begins here with all that both had; else
    /// it claims nothing, and is filled by a full copy. [`Self::adopt`] of the whole follows.
    pub fn merge(
        &mut self,
        table: TableId,
        halves: &[Half; 2],
        whole: PartitionId,
        baseline: &Baseline,
    ) -> bool {
        let mut log = Whole::new();
        for half in halves {
            assert!(half.partition != whole, "{whole} is merged with itself");
            let Some(it) = self.partitions.by_id_mut(half.partition) else {
                log.add_unknown();
                continue;
            };
            let was_in_sync = end_at_rest(it, half.view, &mut self.own, &mut self.ready);
            log.add(half, it, was_in_sync);
            self.forget(half.partition);
        }
        log.begin(baseline, self.partitions.obtain(whole, table))
    }
}

/// Streams to and from other bricks: they come, carry frames, and go.
impl Replicator {
    /// A stream is connected. Both ends named their replicas, and the dialer the connection's number, which
    /// rises with each of its connections to this brick.
    pub fn on_link(&mut self, link: LinkId, peer: Replica, direction: Direction, connection: u64) {
        self.assert_carried_out();
        if self.links.get(link).is_some() {
            self.remove_link(link);
        }
        self.links.add(Link::new(link, peer, direction));
        let entry = self.links.peers.entry(peer).or_default();
        match direction {
            Direction::Outgoing => {
                entry.dialed_at = None;
                if let Some(old) = entry.outgoing.replace(link) {
                    self.supersede(old);
                }
                // The partitions that want it begin on it.
                for it in self.partitions.iter_mut() {
                    Leader {
                        it,
                        work: &mut self.work,
                        ready: &mut self.ready,
                    }
                    .attach(link, peer);
                }
            }
            Direction::Incoming => match entry.incoming {
                // Rule `votes belong to a stream`: a stream that was dialed before the present one arrived late.
                Some((number, _)) if number > connection => self.supersede(link),
                old => {
                    entry.incoming = Some((connection, link));
                    if let Some((_, old)) = old {
                        self.supersede(old);
                    }
                }
            },
        }
        self.settle();
    }

    /// The stream is closed.
    pub fn on_closed(&mut self, link: LinkId) {
        self.assert_carried_out();
        self.remove_link(link);
        self.settle();
    }

    /// A link has more to be sent than [`output_bytes_max`](crate::ReplicatorConfig::output_bytes_max).
    pub fn on_stuck(&mut self, link: LinkId) {
        self.links
            .shut(link, "the peer does not read", &mut self.ready);
    }

    fn remove_link(&mut self, link: LinkId) {
        self.detach(link);
        let Some(closed) = self.links.remove(link) else {
            return;
        };
        if let Some(entry) = self.links.peers.get_mut(&closed.peer) {
            if entry.outgoing == Some(link) {
                entry.outgoing = None;
            }
            if entry.incoming.is_some_and(|(_, it)| it == link) {
                entry.incoming = None;
            }
            if entry.wanted > 0 && entry.outgoing.is_none() {
                entry.dialed_at = Some(self.now);
                self.ready.request(Want::Dial(closed.peer));
            }
        }
        self.links.drop_idle(closed.peer);
    }

    /// Another stream has taken this one's place.
    fn supersede(&mut self, link: LinkId) {
        self.detach(link);
        self.links
            .shut(link, "a newer stream took its place", &mut self.ready);
    }

    /// A stream is gone: nothing of it counts any more.
    fn detach(&mut self, link: LinkId) {
        let Some(direction) = self.links.get(link).map(|it| it.direction) else {
            return;
        };
        for it in self.partitions.iter_mut() {
            if direction == Direction::Incoming {
                let follow = &mut it.follow;
                if follow.stream == Some(link) || follow.reported_to == Some(link) {
                    follow.detach(it.log.committed);
                }
                continue;
            }
            Leader {
                it,
                work: &mut self.work,
                ready: &mut self.ready,
            }
            .lose(link);
        }
    }

    /// One whole frame, head included ([`frame_len`](crate::frame::frame_len) says how long it is). Actions that speak
    /// of a record speak of this frame.
    ///
    /// # Errors
    /// The owner carries out what came before the error, closes the link, and calls [`Self::on_closed`].
    pub fn on_frame(&mut self, link: LinkId, frame: &[u8]) -> Result<(), FrameError> {
        self.assert_carried_out();
        let Some(it) = self.links.get_mut(link) else {
            return broken("a frame on a link that is not connected");
        };
        // Rule `votes belong to a stream`: what comes on another stream than the present one is dropped.
        if it.is_stale {
            return Ok(());
        }
        it.has_contact = true;
        let kind = frame.get(HEAD_BYTES - 1).copied().unwrap_or_default();
        let is_down = kind < byte::VOTE;
        if kind != byte::MESSAGE && is_down != (it.direction == Direction::Incoming) {
            return broken("a frame in the wrong direction");
        }
        self.own.begin_frame(it.receiver.mark);
        let peer = it.peer;
        let decoded = Frame::decode(frame)?;
        // What a record decides is decided when the turn ends, which it does in a frame of its own: until then
        // the owner may say that it could not take it.
        let decides = !matches!(decoded, Frame::Records(_) | Frame::Copy { .. });
        let result = match decoded {
            Frame::Message(bytes) => {
                let bytes = frame.len() - bytes.len()..frame.len();
                self.ready.push(Action::Message { peer, bytes });
                Ok(())
            }
            it if is_down => self.inflow(link).on_frame(frame, it),
            it => self.on_answer(link, it),
        };
        if decides {
            self.settle();
        }
        result
    }

    fn inflow(&mut self, link: LinkId) -> Inflow<'_> {
        Inflow {
            now: self.now,
            link,
            partitions: &mut self.partitions,
            links: &mut self.links,
            own: &mut self.own,
            work: &mut self.work,
            ready: &mut self.ready,
        }
    }

    /// What a receiver says of what it was sent.
    fn on_answer(&mut self, link: LinkId, frame: Frame<'_>) -> Result<(), FrameError> {
        let Self {
            partitions,
            links,
            work,
            ready,
            config,
            now,
            ..
        } = self;
        if let Frame::Vote(vote) = frame {
            let Some(it) = links.get_mut(link) else {
                return Ok(());
            };
            return on_vote(it, vote, partitions, work);
        }
        let partition = match &frame {
            Frame::Refuse(refuse) => refuse.partition,
            Frame::Summary { partition, .. }
            | Frame::CopyDone { partition, .. }
            | Frame::Join { partition, .. } => *partition,
            _ => return Ok(()),
        };
        let Some(it) = partitions.by_id_mut(partition) else {
            return Ok(());
        };
        let mut leader = Leader { it, work, ready };
        match frame {
            Frame::Refuse(refuse) => leader.on_refuse(link, &refuse, *now, config),
            Frame::Summary { view, summary, .. } => leader.on_summary(link, view, summary),
            Frame::CopyDone { view, .. } => leader.on_copy_done(link, view, links),
            Frame::Join { view, .. } => leader.on_join(link, view),
            _ => {}
        }
        Ok(())
    }
}

impl Inflow<'_> {
    /// A frame from the sender of a stream.
    fn on_frame(&mut self, frame: &[u8], decoded: Frame<'_>) -> Result<(), FrameError> {
        match decoded {
            Frame::Begin(begin) => self.on_begin(&begin),
            Frame::Records(bytes) => self.on_records(frame, bytes),
            Frame::Sequence { sequence, commits } => self.on_sequence(sequence, commits),
            Frame::CopyStart(start) => self.on_copy_start(&start),
            Frame::Copy { partition, records } => self.on_copy(partition, frame, records),
            Frame::CopyEnd {
                partition,
                view,
                at,
            } => self.on_copy_end(partition, view, at),
            Frame::Yield { partition, view } => self.on_yield(partition, view),
            Frame::Ping => {
                self.links.send(self.link, &Frame::Pong, self.ready);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
