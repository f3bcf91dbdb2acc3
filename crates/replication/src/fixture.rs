//! Bricks of a test: hosts that keep everything in memory, and streams whose frames are delivered by hand.

mod cluster;
mod host;
mod plane;

pub(crate) use cluster::Cluster;
pub(crate) use host::FakeHost;
pub(crate) use plane::Plane;

use crate::Replicator;
use brickyard_routing::{Group, Member, NodeId, Seat, ViewChange};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{BrickId, Incarnation, Op, PartitionId, TableId, View};

pub(crate) const TABLE: TableId = TableId(1);
pub(crate) const P: PartitionId = PartitionId(7);
pub(crate) const Q: PartitionId = PartitionId(8);

/// One brick.
#[derive(Debug)]
pub(crate) struct Brick {
    pub(crate) host: FakeHost,
    pub(crate) core: Replicator<Vec<u8>>,
}

/// The brick with this number, in a life.
pub(crate) fn seat_in(number: usize, life: u64) -> Seat {
    Seat {
        member: Member {
            node: NodeId(number as u32),
            brick: BrickId(0),
        },
        incarnation: Incarnation(life * 100 + number as u64),
    }
}

/// The brick with this number, in its first life.
pub(crate) fn seat(number: usize) -> Seat {
    seat_in(number, 1)
}

/// A group of bricks in their first lives.
pub(crate) fn group(view: u32, primary: usize, backups: &[usize], learners: &[usize]) -> Group {
    Group {
        view: View(view),
        lineage: 1,
        primary: seat(primary),
        backups: backups.iter().map(|it| seat(*it)).collect(),
        learners: learners.iter().map(|it| seat(*it)).collect(),
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
            fenced: fenced.iter().map(|it| seat(*it)).collect(),
            lineage: next.lineage,
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
    pub(crate) fn new(seat: Seat) -> Self {
        let mut core = Replicator::new(crate::Config::new(seat));
        core.lease(true);
        Self {
            host: FakeHost::default(),
            core,
        }
    }

    pub(crate) fn adopt(&mut self, partition: PartitionId, group: &Group) {
        let durability = self.host.durability;
        self.core
            .adopt(&mut self.host, TABLE, partition, durability, 1, group);
    }

    /// Prepares a put; none if this brick may not.
    pub(crate) fn put(&mut self, partition: PartitionId, key: &str, value: &str) -> Option<Op> {
        let next = self.core.next(partition)?;
        let header = Header {
            view: next.view,
            op: next.op,
            ..header(Kind::Put, partition, 0, 0, next.committed.0)
        };
        let mut raw = Vec::new();
        encode(&mut raw, &header, key.as_bytes(), &[value.as_bytes()]);
        let mark = self.host.put_log(&raw);
        self.core.prepared(partition, mark, raw);
        Some(next.op)
    }

    /// The log has everything so far.
    pub(crate) fn append(&mut self) {
        let upto = self.host.end_batch();
        self.core.on_appended(&mut self.host, upto);
    }

    /// Whatever may commit does, whether anything has happened to it or not.
    pub(crate) fn look_again(&mut self) {
        self.core.lease(false);
        self.core.lease(true);
        self.append();
    }

    /// The log has, and has synced, everything so far.
    pub(crate) fn sync(&mut self) {
        let upto = self.host.end_batch();
        self.core.on_synced(&mut self.host, upto);
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
