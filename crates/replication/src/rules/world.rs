//! Random schedules: three bricks, two partitions, a control plane without faults, and everything else with
//! them: lost streams, late maps, lost leases, crashes with lost tails, view changes on top of one another.
//!
//! What is likely changes all the time, and from seed to seed (swarm testing, Groce et al., 2012): rare orders need
//! a stretch in which some things hardly ever happen, and others all the time.

mod check;
mod faults;
mod views;

use crate::fixture::{Cluster, P, Plane, Q, group, header};
use crate::{LinkId, Want};
use brickyard_routing::Seat;
use brickyard_types::record::{self, encode};
use brickyard_types::{Durability, Op, PartitionId, View};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) const PARTITIONS: [PartitionId; 2] = [P, Q];
const KEYS: u64 = 5;

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

/// What a step may be.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Write,
    Look,
    Log,
    Flush,
    Deliver,
    LoseStream,
    Dial,
    Adopt,
    Copy,
    Change,
    Advance,
    Promote,
    Teach,
    Lease,
    Crash,
    DropTombstones,
    RefuseBatch,
    Pass,
}

/// All kinds, and how often each is taken in ordinary times.
const KINDS: [(Kind, u64); 18] = [
    (Kind::Write, 140),
    (Kind::Look, 60),
    (Kind::Log, 100),
    (Kind::Flush, 120),
    (Kind::Deliver, 280),
    (Kind::LoseStream, 8),
    (Kind::Dial, 50),
    (Kind::Adopt, 60),
    (Kind::Copy, 30),
    (Kind::Change, 6),
    (Kind::Advance, 50),
    (Kind::Promote, 20),
    (Kind::Teach, 15),
    (Kind::Lease, 10),
    (Kind::Crash, 3),
    (Kind::DropTombstones, 10),
    (Kind::RefuseBatch, 3),
    (Kind::Pass, 20),
];

/// So many steps are of one mind.
const MOOD_STEPS: u64 = 120;

/// What is likely at the moment.
pub(crate) struct Mood {
    weights: [u64; KINDS.len()],
    left: u64,
    /// Streams that hold back what goes down, or up.
    held: BTreeSet<(LinkId, bool)>,
}

/// A catch-up that a host works on.
pub(crate) struct Walk {
    pub(crate) brick: usize,
    pub(crate) partition: PartitionId,
    pub(crate) learner: Seat,
    pub(crate) link: LinkId,
    pub(crate) after: Option<Op>,
    pub(crate) from: Vec<u8>,
}

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) plane: Plane,
    pub(crate) random: Random,
    pub(crate) durability: Durability,
    /// More may wait on a stream only in the turn that sends it.
    pub(crate) output_bytes_max: usize,
    pub(crate) mood: Mood,
    pub(crate) lives: Vec<u64>,
    /// The version that each brick adopted.
    pub(crate) adopted: Vec<u64>,
    pub(crate) leased: Vec<bool>,
    pub(crate) dials: Vec<(usize, Seat)>,
    pub(crate) walks: Vec<Walk>,
    pub(crate) promotions: Vec<(PartitionId, View, Seat)>,
    /// For each partition: which view each committed op has, wherever it committed first.
    pub(crate) outcome: BTreeMap<(PartitionId, Op), View>,
    /// For each key: the newest write that was acknowledged.
    pub(crate) acknowledged: BTreeMap<(PartitionId, Vec<u8>), (View, Op)>,
    /// Which key a write is of, and which writes are deletes.
    pub(crate) keys: BTreeMap<(PartitionId, View, Op), Vec<u8>>,
    pub(crate) deletes: BTreeSet<(PartitionId, View, Op)>,
    /// How much of each host's diary was read, and its commit positions.
    pub(crate) read: Vec<usize>,
    pub(crate) positions: BTreeMap<(usize, PartitionId), Op>,
    pub(crate) written: u64,
    pub(crate) reads: u64,
    pub(crate) crashes: u64,
    pub(crate) views: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let durability = match seed % 5 {
            0 => Durability::Memory,
            1 | 2 => Durability::Log,
            _ => Durability::Fsync,
        };
        // With little room a stream is closed whenever much is pending.
        let output_bytes_max = if seed.is_multiple_of(4) {
            1_000
        } else {
            1 << 20
        };
        let mut cluster = Cluster::new(3);
        cluster.does_copy = false;
        let mut plane = Plane::default();
        plane.create(P, group(1, 0, &[1, 2], &[]));
        plane.create(Q, group(1, 1, &[2], &[0]));
        for brick in cluster.bricks.iter_mut().flatten() {
            brick.host.durability = durability;
            brick.outbox.limit(output_bytes_max);
        }
        Self {
            cluster,
            plane,
            random: Random::new(seed),
            durability,
            output_bytes_max,
            mood: Mood {
                weights: KINDS.map(|(_, weight)| weight),
                left: MOOD_STEPS,
                held: BTreeSet::new(),
            },
            lives: vec![1; 3],
            adopted: vec![0; 3],
            leased: vec![true; 3],
            dials: Vec::new(),
            walks: Vec::new(),
            promotions: Vec::new(),
            outcome: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            keys: BTreeMap::new(),
            deletes: BTreeSet::new(),
            read: vec![0; 3],
            positions: BTreeMap::new(),
            written: 0,
            reads: 0,
            crashes: 0,
            views: 0,
        }
    }

    pub(crate) fn step(&mut self) {
        let at = self.random.index(3);
        let partition = PARTITIONS[self.random.index(2)];
        match self.kind() {
            Kind::Write => self.write(at, partition),
            Kind::Look => self.look(at, partition),
            Kind::Log => self.log(at),
            Kind::Flush => self.flush(at),
            Kind::Deliver => self.deliver(),
            Kind::LoseStream => self.lose_stream(),
            Kind::Dial => self.dial(),
            Kind::Adopt => self.adopt(at),
            Kind::Copy => self.copy(),
            Kind::Change => self.change(partition),
            Kind::Advance => self.advance(partition),
            Kind::Promote => self.promote(),
            Kind::Teach => self.teach(partition, true),
            Kind::Lease => self.lease(at),
            Kind::Crash => self.crash(at),
            Kind::DropTombstones => self.drop_tombstones(at, partition),
            Kind::RefuseBatch => self.refuse_batch(at),
            Kind::Pass => self.pass(),
        }
        self.check();
    }

    /// What the next step is, as likely as the mood has it.
    fn kind(&mut self) -> Kind {
        if self.mood.left == 0 {
            self.change_mood();
        }
        self.mood.left -= 1;
        let mut drawn = self.random.below(self.mood.weights.iter().sum());
        for ((kind, _), weight) in KINDS.iter().zip(self.mood.weights) {
            if drawn < weight {
                return *kind;
            }
            drawn -= weight;
        }
        Kind::Pass
    }

    fn change_mood(&mut self) {
        self.mood.left = MOOD_STEPS / 2 + self.random.below(MOOD_STEPS);
        for ((_, usual), weight) in KINDS.iter().zip(&mut self.mood.weights) {
            let times = [1, 2, 8, 8, 8, 32][self.random.index(6)];
            *weight = usual * times;
        }
        self.mood.held.clear();
        if self.random.below(2) == 0 {
            self.cluster.unread.clear();
        }
        if self.random.below(2) == 0 {
            for wire in &self.cluster.wires {
                for is_down in [true, false] {
                    if self.random.below(4) == 0 {
                        self.mood.held.insert((wire.link, is_down));
                    }
                }
                if self.random.below(8) == 0 {
                    self.cluster.unread.insert(wire.link);
                }
            }
        }
    }

    pub(crate) fn write(&mut self, at: usize, partition: PartitionId) {
        let key = format!("k{}", self.random.below(KEYS));
        let is_delete = self.random.below(4) == 0;
        let Some(brick) = &mut self.cluster.bricks[at] else {
            return;
        };
        let Some(next) = brick.core.next(partition) else {
            return;
        };
        self.written += 1;
        let kind = if is_delete {
            record::Kind::Delete
        } else {
            record::Kind::Put
        };
        let value = if is_delete {
            String::new()
        } else {
            self.written.to_string()
        };
        let header = header(kind, partition, next.view.0, next.op.0, next.committed.0);
        brick.prepare(&header, key.as_bytes(), value.as_bytes());
        let at = (partition, next.view, next.op);
        self.keys.insert(at, key.into_bytes());
        if is_delete {
            self.deletes.insert(at);
        } else {
            self.deletes.remove(&at);
        }
    }

    pub(crate) fn log(&mut self, at: usize) {
        let is_sync = self.random.below(2) == 0;
        if let Some(brick) = &mut self.cluster.bricks[at] {
            if is_sync {
                brick.sync();
            } else {
                brick.append();
            }
        }
    }

    pub(crate) fn flush(&mut self, at: usize) {
        self.cluster.flush(at);
        self.sort_requests();
    }

    pub(crate) fn sort_requests(&mut self) {
        for (at, request) in std::mem::take(&mut self.cluster.requests) {
            match request {
                Want::Dial(peer) => self.dials.push((at, peer)),
                Want::Promote {
                    partition,
                    view,
                    learner,
                } => self.promotions.push((partition, view, learner)),
                Want::CatchUp {
                    partition,
                    learner,
                    link,
                    after,
                } => self.walks.push(Walk {
                    brick: at,
                    partition,
                    learner,
                    link,
                    after,
                    from: Vec::new(),
                }),
                Want::StopCatchUp { partition, learner } => self.walks.retain(|walk| {
                    (walk.brick, walk.partition, walk.learner) != (at, partition, learner)
                }),
                Want::Close { link, .. } => {
                    let at = self.cluster.wires.iter().position(|it| it.link == link);
                    if let Some(at) = at {
                        self.cluster.close(at);
                    }
                }
                Want::Report { what, .. } => panic!("brick {at} reports: {what}"),
                Want::Evict { .. } | Want::SyncLog | Want::Split { .. } => {}
            }
        }
    }

    pub(crate) fn deliver(&mut self) {
        if self.cluster.wires.is_empty() {
            return;
        }
        let wire = self.random.index(self.cluster.wires.len());
        let is_down = self.random.below(2) == 0;
        if self
            .mood
            .held
            .contains(&(self.cluster.wires[wire].link, is_down))
        {
            return;
        }
        for _ in 0..=self.random.below(4) {
            let result = if is_down {
                self.cluster.deliver_down(wire)
            } else {
                self.cluster.deliver_up(wire)
            };
            result.expect("a frame that may come");
        }
    }

    pub(crate) fn dial(&mut self) {
        if self.dials.is_empty() {
            return;
        }
        let at = self.random.index(self.dials.len());
        let (from, peer) = self.dials.swap_remove(at);
        let to = self.cluster.seats.iter().position(|seat| *seat == peer);
        let (Some(to), Some(brick)) = (to, &self.cluster.bricks[from]) else {
            return;
        };
        // Now and then one dials although there is a stream.
        let is_needed = brick.core.link_to(peer).is_none() || self.random.below(8) == 0;
        if is_needed && self.cluster.bricks[to].is_some() {
            self.cluster.connect(from, to);
        }
    }

    pub(crate) fn adopt(&mut self, at: usize) {
        let Some(brick) = &mut self.cluster.bricks[at] else {
            return;
        };
        for (partition, group) in &self.plane.groups {
            brick.adopt(*partition, group);
        }
        let version = self.plane.version;
        brick.with(|core| core.adopted(version));
        self.adopted[at] = version;
    }

    pub(crate) fn copy(&mut self) {
        if self.walks.is_empty() {
            return;
        }
        let at = self.random.index(self.walks.len());
        let walk = &mut self.walks[at];
        let Some(brick) = &mut self.cluster.bricks[walk.brick] else {
            self.walks.swap_remove(at);
            return;
        };
        let keys = brick.host.tables.get(&walk.partition);
        let next = keys.and_then(|keys| keys.range(walk.from.clone()..).next());
        let Some((key, ((view, op), value))) = next.map(|(key, held)| (key.clone(), held.clone()))
        else {
            brick.catch_up_done(walk.link, walk.partition);
            self.walks.swap_remove(at);
            return;
        };
        walk.from = [&key[..], b"\0"].concat();
        if walk.after.is_none_or(|after| op > after) {
            let kind = value
                .as_ref()
                .map_or(record::Kind::Delete, |_| record::Kind::Put);
            let mut header = header(kind, walk.partition, view.0, op.0, 0);
            header.committed = None;
            let mut raw = Vec::new();
            encode(&mut raw, &header, &key, &[&value.unwrap_or_default()]);
            brick.copy(walk.link, walk.partition, &raw);
        }
    }

    pub(crate) fn pass(&mut self) {
        self.cluster.pass(Duration::from_millis(60));
        self.sort_requests();
    }

    pub(crate) fn is_up(&self, seat: Seat) -> bool {
        let at = seat.member.node.0 as usize;
        self.cluster.seats[at] == seat && self.cluster.bricks[at].is_some()
    }
}
