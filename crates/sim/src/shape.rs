//! What a seed's cluster looks like: nodes, bricks, tables, times.

use crate::clock::{MICROSECOND, Nanos, SECOND};
use crate::random::Random;
use crate::scenario::Scenario;
use brickyard_control::ControlConfig;
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
    /// What decides where its keys go, in words of `TABLE CREATE`.
    pub(crate) hash: &'static str,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    /// Bricks of each node.
    pub(crate) bricks: u32,
    pub(crate) tables: Vec<TableShape>,
    pub(crate) segment_bytes: u32,
    /// What a client may leave unread.
    pub(crate) output_soft: u64,
    /// Of this many appends a loop may write one itself.
    pub(crate) inline_one_in: u64,
    pub(crate) control: ControlConfig,
    /// How long a request may wait before its client is told so.
    pub(crate) request_deadline: Duration,
    /// How long a message takes between two nodes, mostly.
    pub(crate) latency: Nanos,
    /// How long a sync takes, mostly: of a brick's log, and of the control log.
    pub(crate) sync: Nanos,
    pub(crate) control_sync: Nanos,
    /// The last node is started so much later than the others.
    pub(crate) late_by: Nanos,
    /// How many nodes found the cluster together; 0: the first does it by itself, at once.
    pub(crate) expect: u32,
    /// The last node is to hold nothing until it takes another one's place.
    pub(crate) has_spare: bool,
}

impl Shape {
    pub(crate) fn draw(seed: u64, scenario: &Scenario) -> Self {
        let mut random = Random::of(seed, 1);
        let nodes = random.one_of(scenario.cluster.nodes);
        // Whatever happens to all nodes at once, nothing may be lost then.
        let is_all_fsync = random.one_in(scenario.cluster.fsync_one_in);
        let bricks = random.one_of(scenario.cluster.bricks);
        let mut hashes = Random::of(seed, 9);
        let tables = (0..random.one_of(scenario.cluster.tables))
            .map(|at| {
                let bricks = nodes as u32 * bricks;
                let hash = hashes.one_of(scenario.cluster.extras.hashes);
                table(at, bricks, (is_all_fsync, hash), scenario, &mut random)
            })
            .collect();
        let late_by = if random.one_in(scenario.times.late_one_in) {
            random.between(1, 9) * SECOND
        } else {
            0
        };
        // Two clusters come about only where twice as many nodes are there.
        let there = if late_by > 0 { nodes - 1 } else { nodes };
        let expect = random.between(nodes as u64 / 2 + 1, there as u64 + 1) as u32;
        let expect = if random.one_in(scenario.times.founders_one_in) {
            expect
        } else {
            0
        };
        let lease = Duration::from_millis(scenario.times.lease_ms);
        let sync = random.one_of(scenario.times.sync_us) * MICROSECOND;
        let evict_pause = random.one_of(scenario.times.evict_pause_ms);
        Self {
            nodes,
            bricks,
            tables,
            segment_bytes: random.one_of(scenario.cluster.segment_bytes),
            output_soft: Random::of(seed, 7).one_of(scenario.cluster.output_soft),
            inline_one_in: Random::of(seed, 5).one_of(scenario.cluster.inline_one_in),
            control: ControlConfig {
                lease,
                renew: lease / 5,
                evict_pause: Duration::from_millis(evict_pause),
                replace_after: Duration::from_secs(random.one_of(&[5, 30])),
                hot: brickyard_control::HotConfig {
                    cool: Duration::from_secs(3),
                    ..brickyard_control::HotConfig::default()
                },
                merge_after: Duration::from_secs(2),
                // The default table, which nobody uses here, would be split hundreds of times.
                split_after: Duration::ZERO,
                ..ControlConfig::default()
            },
            request_deadline: Duration::from_millis(random.one_of(scenario.times.deadline_ms)),
            latency: random.one_of(scenario.times.latency_us) * MICROSECOND,
            sync,
            control_sync: sync.min(4_000 * MICROSECOND),
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

fn table(
    at: usize,
    bricks: u32,
    (is_all_fsync, hash): (bool, &'static str),
    scenario: &Scenario,
    random: &mut Random,
) -> TableShape {
    let drawn = random.weighed(scenario.cluster.durability);
    let durability = if is_all_fsync {
        Durability::Fsync
    } else {
        drawn
    };
    let is_disk = durability != Durability::Memory && random.one_in(scenario.cluster.disk_one_in);
    TableShape {
        name: scenario.cluster.names[at % 2].to_owned(),
        attributes: TableAttributes {
            medium: if is_disk { Medium::Disk } else { Medium::Ram },
            maxmemory: is_disk.then_some(scenario.cluster.maxmemory),
            durability,
            replicas: random.one_of(scenario.cluster.replicas),
            leases: scenario.cluster.extras.leases,
            history: scenario.cluster.extras.history,
            ..TableAttributes::default()
        },
        partitions: (bricks * random.one_of(scenario.cluster.partitions)).next_power_of_two(),
        hash,
    }
}
