//! Bricks of a test: hosts that keep everything in memory, and streams whose frames are delivered by hand.

mod cluster;
mod host;
pub(crate) mod trace;

pub(crate) use cluster::Cluster;
pub(crate) use host::FakeHost;

use crate::frame::FrameError;
use crate::{Demand, Direction, LinkId, LogMark, Outbox, Ready, Replicator, Restored, Want};
use brickyard_routing::{Group, Member, NodeId, Replica, ViewChange};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{BrickId, Incarnation, Instant, Op, PartitionId, TableId, View};
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) const TABLE: TableId = TableId(1);
pub(crate) const P: PartitionId = PartitionId(7);

/// By then a new primary has accepted that has not heard from the former one.
pub(crate) const ACCEPTS_AFTER: Duration = Duration::from_millis(200);

pub(crate) const Q: PartitionId = PartitionId(8);

/// One brick.
#[derive(Debug)]
pub(crate) struct Brick {
    pub(crate) host: FakeHost,
    pub(crate) core: Replicator,
    pub(crate) outbox: Outbox,
    pub(crate) requests: VecDeque<Want>,
    ready: Ready,
}

/// The brick with this number, in a life.
pub(crate) fn replica_in(number: usize, life: u64) -> Replica {
    Replica {
        member: Member {
            node: NodeId(number as u32),
            brick: BrickId(0),
        },
        incarnation: Incarnation(life * 100 + number as u64),
    }
}

/// The brick with this number, in its first life.
pub(crate) fn replica(number: usize) -> Replica {
    replica_in(number, 1)
}

/// A group of bricks in their first lives.
pub(crate) fn group(view: u32, primary: usize, backups: &[usize], learners: &[usize]) -> Group {
    Group {
        view: View(view),
        generation: 1,
        primary: replica(primary),
        backups: backups.iter().map(|it| replica(*it)).collect(),
        learners: learners.iter().map(|it| replica(*it)).collect(),
        change: None,
    }
}

/// The group with a proposed change to `next`, which removes `fenced`.
pub(crate) fn changing(now: &Group, next: &Group, fenced: &[usize]) -> Group {
    Group {
        change: Some(Box::new(ViewChange {
            view: next.view,
            primary: next.primary,
            backups: next.backups.clone(),
            learners: next.learners.clone(),
            fenced: fenced.iter().map(|it| replica(*it)).collect(),
            generation: next.generation,
            proposed_at: 1,
        })),
        ..now.clone()
    }
}

pub(crate) fn header(kind: Kind, partition: PartitionId, view: u32, op: u64, known: u64) -> Header {
    Header {
        kind,
        flags: 0,
        table: TABLE,
        partition,
        view: View(view),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(Op(known)),
    }
}

impl Brick {
    pub(crate) fn new(replica: Replica) -> Self {
        let config = crate::ReplicatorConfig::new(replica);
        let mut core = Replicator::new(config.clone());
        core.lease(true);
        Self {
            host: FakeHost::default(),
            core,
            outbox: Outbox::new(&config),
            requests: VecDeque::new(),
            ready: Ready::default(),
        }
    }

    /// Lets something happen to the replicator, and carries out what follows.
    pub(crate) fn with<R>(&mut self, input: impl FnOnce(&mut Replicator) -> R) -> R {
        self.with_frame(&[], input)
    }

    fn with_frame<R>(&mut self, frame: &[u8], input: impl FnOnce(&mut Replicator) -> R) -> R {
        self.core.on_batch(self.host.batch);
        let result = input(&mut self.core);
        self.carry_out(frame);
        result
    }

    fn carry_out(&mut self, frame: &[u8]) {
        loop {
            while self.core.take_ready(&mut self.ready) {
                let Self {
                    host,
                    core,
                    outbox,
                    requests,
                    ready,
                } = self;
                let me = core.config.me.member.node.0;
                for action in &ready.actions {
                    if let Some(line) = trace::action(action, frame) {
                        trace::note(|| format!("brick {me}: {line}"));
                    }
                }
                let rejected = host.carry_out(ready, frame, outbox, requests);
                let is_batch_empty = host.is_batch_empty();
                for (partition, op, reason) in rejected {
                    core.on_rejected(partition, op, reason, is_batch_empty);
                }
            }
            let Some(link) = self.outbox.poll_stuck() else {
                return;
            };
            self.core.on_stuck(link);
        }
    }

    pub(crate) fn on_frame(&mut self, link: LinkId, frame: &[u8]) -> Result<(), FrameError> {
        self.with_frame(frame, |core| core.on_frame(link, frame))
    }

    pub(crate) fn on_link(
        &mut self,
        link: LinkId,
        peer: Replica,
        direction: Direction,
        connection: u64,
    ) {
        self.outbox.open(link, direction);
        self.with(|core| core.on_link(link, peer, direction, connection));
    }

    pub(crate) fn on_closed(&mut self, link: LinkId) {
        self.outbox.close(link);
        self.with(|core| core.on_closed(link));
    }

    /// The next request, which is seen to.
    pub(crate) fn poll_request(&mut self) -> Option<Want> {
        let request = self.requests.pop_front()?;
        if request == Want::SyncLog {
            self.core.on_sync_asked();
        }
        Some(request)
    }

    pub(crate) fn on_refused(&mut self, from: LogMark) {
        self.with(|core| core.on_refused(from));
    }

    pub(crate) fn on_appended(&mut self, upto: LogMark) {
        self.with(|core| core.on_appended(upto));
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        let open = u64::from(self.host.is_batch_empty());
        let ordered = LogMark(self.host.batch.0 - open);
        self.with(|core| {
            core.on_ordered(ordered);
            core.tick(now);
        });
        self.outbox.tick(now);
    }

    pub(crate) fn restore(&mut self, partition: PartitionId, restored: &Restored<Vec<u8>>) {
        for found in &restored.suffix {
            let header = header(Kind::Put, partition, found.view.0, found.op.0, 0);
            self.host.hold(&header, &found.payload);
        }
        self.with(|core| core.restore(TABLE, partition, restored));
    }

    pub(crate) fn adopt(&mut self, partition: PartitionId, group: &Group) {
        let demand = Demand {
            table: TABLE,
            durability: self.host.durability,
            min_in_sync: 1,
            replicas: self.host.replicas,
        };
        self.with(|core| core.adopt(partition, demand, group));
    }

    /// Prepares a put; none if this brick may not.
    pub(crate) fn put(&mut self, partition: PartitionId, key: &str, value: &str) -> Option<Op> {
        let next = self.core.next(partition)?;
        let header = Header {
            view: next.view,
            op: next.op,
            ..header(Kind::Put, partition, 0, 0, next.committed.0)
        };
        self.prepare(&header, key.as_bytes(), value.as_bytes());
        Some(next.op)
    }

    /// Prepares a record.
    pub(crate) fn prepare(&mut self, header: &Header, key: &[u8], value: &[u8]) {
        let mut raw = Vec::new();
        encode(&mut raw, header, key, &[value]);
        let mark = self.host.put_log(&raw);
        self.host.hold(header, &raw);
        self.note(|| format!("prepared op {}, in batch {mark}", header.op));
        self.core.on_prepared(header.partition, 1, mark);
    }

    /// A copied record is handed over, if the learner wants it.
    pub(crate) fn copy(&mut self, link: LinkId, partition: PartitionId, raw: &[u8]) -> bool {
        self.core.wants_copies(link, partition) && self.outbox.copy(link, partition, raw)
    }

    pub(crate) fn catch_up_done(&mut self, link: LinkId, partition: PartitionId) {
        self.with(|core| core.catch_up_done(link, partition));
    }

    /// The log has everything so far.
    pub(crate) fn append(&mut self) {
        let upto = self.end_batch("appended");
        self.on_appended(upto);
    }

    /// Whatever may commit does, whether anything has happened to it or not.
    pub(crate) fn check_again(&mut self) {
        self.core.lease(false);
        self.core.lease(true);
        self.append();
    }

    /// The log has, and has synced, everything so far.
    pub(crate) fn sync(&mut self) {
        let upto = self.end_batch("appended and synced");
        self.with(|core| core.on_synced(upto));
    }

    fn end_batch(&mut self, what: &str) -> LogMark {
        let is_empty = self.host.is_batch_empty();
        let upto = self.host.end_batch();
        if !is_empty {
            self.note(|| format!("batch {upto} is {what}"));
        }
        upto
    }

    fn note(&self, line: impl FnOnce() -> String) {
        let me = self.core.config.me.member.node.0;
        trace::note(|| format!("brick {me}: {}", line()));
    }

    pub(crate) fn get(&self, partition: PartitionId, key: &str) -> Option<String> {
        let value = self.host.get(partition, key)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    pub(crate) fn committed(&self, partition: PartitionId) -> u64 {
        self.core.committed(partition).0
    }

    pub(crate) fn last(&self, partition: PartitionId) -> (u32, u64) {
        let (view, op) = self.core.last(partition);
        (view.0, op.0)
    }
}
