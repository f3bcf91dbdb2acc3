//! What a seed's cluster looks like: nodes, bricks, tables, times.

use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::time::Duration;

/// What can happen to what a node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// What was in the process's memory is gone.
    Memory,
    /// And what was not synced.
    Unsynced,
    /// What was synced.
    Synced,
}

impl Harm {
    /// Whether what was acknowledged so durably may be gone then.
    pub(crate) fn loses(self, durability: Durability) -> bool {
        match durability {
            Durability::Memory => true,
            Durability::Log => self != Self::Memory,
            Durability::Fsync => self == Self::Synced,
        }
    }
}

/// A table of the run.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    pub(crate) name: String,
    pub(crate) attributes: TableAttributes,
    pub(crate) partitions: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    /// Bricks of each node.
    pub(crate) bricks: u32,
    pub(crate) tables: Vec<TableShape>,
    pub(crate) segment_bytes: u32,
    pub(crate) control: brickyard_control::ControlConfig,
    /// How long a request may wait before its client is told so.
    pub(crate) request_deadline: Duration,
    /// How long a message takes between two nodes, mostly.
    pub(crate) latency: Nanos,
    /// How long a sync takes, mostly.
    pub(crate) sync: Nanos,
    /// The last node is started so much later than the others.
    pub(crate) late_by: Nanos,
    /// How many nodes found the cluster together; 0: the first does it by itself, at once.
    pub(crate) expect: u32,
    /// The last node is to hold nothing until it takes another one's place.
    pub(crate) has_spare: bool,
}

impl Shape {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut random = Random::of(seed, 1);
        let nodes = [3, 3, 3, 4, 5][random.index(5)];
        // Whatever happens to all nodes at once, nothing may be lost then.
        let is_all_fsync = random.one_in(3);
        let bricks = if random.one_in(4) { 2 } else { 1 };
        let tables = (0..1 + random.index(2))
            .map(|at| table(at, nodes as u32 * bricks, is_all_fsync, &mut random))
            .collect();
        let late_by = if random.one_in(6) {
            random.between(1, 9) * SECOND
        } else {
            0
        };
        // Two clusters come about only where twice as many nodes are there.
        let there = if late_by > 0 { nodes - 1 } else { nodes };
        let expect = random.between(nodes as u64 / 2 + 1, there as u64 + 1) as u32;
        let expect = if random.one_in(2) { expect } else { 0 };
        Self {
            nodes,
            bricks,
            tables,
            segment_bytes: [4 << 10, 16 << 10, 256 << 10][random.index(3)],
            control: brickyard_control::ControlConfig {
                evict_pause: Duration::from_millis([500, 2_000, 10_000][random.index(3)]),
                replace_after: Duration::from_secs([5, 30][random.index(2)]),
                hot: brickyard_control::HotConfig {
                    cool: Duration::from_secs(3),
                    ..brickyard_control::HotConfig::default()
                },
                merge_after: Duration::from_secs(2),
                // The default table, which nobody uses here, would be split hundreds of times.
                split_after: Duration::ZERO,
                ..brickyard_control::ControlConfig::default()
            },
            request_deadline: Duration::from_millis([1_500, 5_000][random.index(2)]),
            latency: MILLISECOND / [10, 5, 2, 1][random.index(4)],
            sync: MILLISECOND * [1, 2, 8][random.index(3)] / 2,
            late_by,
            expect,
            has_spare: nodes > 3 && expect == 0 && random.one_in(2),
        }
    }

    /// How much of everything a node says that it should hold.
    pub(crate) fn weight(&self, node: usize) -> u32 {
        let is_spare = self.has_spare && node == self.nodes - 1;
        if is_spare { 0 } else { 100 }
    }

    /// Whether some table loses what a node acknowledged when that happens to the node.
    pub(crate) fn loses(&self, harm: Harm) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|it| harm.loses(it.attributes.durability))
    }
}

fn table(at: usize, bricks: u32, is_all_fsync: bool, random: &mut Random) -> TableShape {
    let durability = match random.below(5) {
        _ if is_all_fsync => Durability::Fsync,
        0 => Durability::Memory,
        1 => Durability::Fsync,
        _ => Durability::Log,
    };
    let is_disk = durability != Durability::Memory && random.one_in(4);
    TableShape {
        name: ["first", "second"][at % 2].to_owned(),
        attributes: TableAttributes {
            medium: if is_disk { Medium::Disk } else { Medium::Ram },
            maxmemory: is_disk.then_some(64 << 10),
            durability,
            replicas: 2 + random.below(2) as u8,
            ..TableAttributes::default()
        },
        partitions: (bricks * [1, 1, 2][random.index(3)]).next_power_of_two(),
    }
}
