//! A whole cluster and its clients, in one thread and virtual time.
//!
//! In:  a seed, a shape, a plan. Out: what happened, and whether somebody who judges it objects.
//!
//! ```text
//!  agenda ─▶ World ─┬─ turn      a brick's loop
//!                   ├─ cluster   a node's part of the cluster
//!                   ├─ connect   connections, and bytes on them
//!                   ├─ power     starts, kills, power cuts
//!                   ├─ clients   who asks, and what they were told
//!                   ├─ operator  who says what nodes are used for
//!                   └─ judge     who looks on
//! ```
//! Invariants:
//! - Nothing in a run depends on anything but seed, shape and plan.
//! - Whatever a node's code asks for is done one by one, and the node may die between any two.

use crate::agenda::Agenda;
use crate::clients::state::Clients;
use crate::clock::{Clocks, DRIFT_PPM_MAX, MILLISECOND, Nanos, SECOND, SKEW_MS};
use crate::coverage::Coverage;
use crate::digest::Digest;
use crate::disks::Disks;
use crate::judge::memory::Judges;
use crate::network::Network;
use crate::operator::orders::Operator;
use crate::plan::Plan;
use crate::process::Machine;
use crate::random::Random;
use crate::shape::Shape;
use crate::what::What;
use brickyard_metadata::NodeKey;
use brickyard_node::storage::Directory;
use brickyard_store::DirectoryId;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) now: Nanos,
    pub(crate) shape: Shape,
    pub(crate) plan: Plan,
    pub(crate) agenda: Agenda<What>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) network: Network,
    pub(crate) clients: Clients,
    pub(crate) operator: Operator,
    pub(crate) judges: Judges,
    /// Delays, and what else nobody decides.
    pub(crate) chance: Random,
    pub(crate) notes: Notes,
    pub(crate) risks: Risks,
    pub(crate) stage: Stage,
    /// The fault kind that acts now, and its dice.
    pub(crate) acting: (&'static str, u64),
}

/// What was noted of the run.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) digest: Digest,
    /// What happened, for people; nothing is kept if nobody will read it.
    pub(crate) story: Option<Vec<String>>,
    /// The first objection.
    pub(crate) violation: Option<String>,
    /// What happened how often.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Which transitions of the protocol this run comes through, if anybody asks.
    pub(crate) coverage: Option<Coverage>,
}

/// What can be lost although nothing more goes wrong.
#[derive(Default)]
pub(crate) struct Risks {
    /// Nodes that may lose what they acknowledged though nothing more happens to them, and since which life: their
    /// disks rot or fail. Until they have been restarted, and everything is whole again.
    pub(crate) at_risk: BTreeMap<usize, u64>,
    /// Nodes whose logs may be damaged: a bit has turned over.
    pub(crate) rotten: BTreeSet<usize>,
}

/// How far the run has come.
#[derive(Default)]
pub(crate) struct Stage {
    /// Nothing goes wrong any more, since then.
    pub(crate) is_calm: bool,
    pub(crate) calm_at: Nanos,
    pub(crate) is_over: bool,
}

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, is_told: bool) -> Self {
        let shape = Shape::draw(seed, plan.scenario);
        let mut chance = Random::of(seed, 3);
        let machines = (0..shape.nodes)
            .map(|at| machine(at, &shape, &mut chance))
            .collect();
        let mut world = Self {
            seed,
            now: 0,
            clients: Clients::new(seed, &shape, &plan),
            operator: Operator::default(),
            judges: Judges::default(),
            shape,
            plan,
            agenda: Agenda::default(),
            machines,
            network: Network::default(),
            chance,
            notes: Notes {
                story: is_told.then(Vec::new),
                ..Notes::default()
            },
            risks: Risks::default(),
            stage: Stage::default(),
            acting: ("", 0),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let shape = format!("{:?}", self.shape);
        self.tell(|| shape);
        let last = self.machines.len() - 1;
        for at in 0..=last {
            let late = if at == last { self.shape.late_by } else { 0 };
            let delay = self.chance.below(100 * MILLISECOND) + late;
            self.agenda.note(delay, What::Start(at));
        }
        // What is founded by one node has to be there before it can be hurt.
        let begin = if self.shape.expect > 0 { 0 } else { 2 * SECOND };
        for at in 0..self.plan.faults.len() {
            self.agenda
                .note(begin + self.plan.faults[at].at, What::Strike(at));
        }
        for at in 0..self.clients.len() {
            let delay = self.chance.below(2 * SECOND);
            self.agenda.note(SECOND / 2 + delay, What::Client(at));
        }
        let last = self.plan.faults.iter().map(|it| it.at).max().unwrap_or(0);
        let calm = begin + last + self.chance.between(500, 4_000) * MILLISECOND;
        self.agenda.note(calm, What::Calm);
    }

    /// Notes something for people.
    pub(crate) fn tell(&mut self, what: impl FnOnce() -> String) {
        if let Some(story) = &mut self.notes.story {
            let now = self.now;
            let line = format!("{:>10.3} ms  {}", now as f64 / 1e6, what());
            story.push(line);
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.notes.counts.entry(what).or_insert(0) += 1;
    }

    /// Somebody objects; the first one is heard.
    pub(crate) fn object(&mut self, what: String) {
        if self.notes.violation.is_none() {
            if self.notes.story.is_some() {
                let nodes = self.describe();
                self.tell(|| nodes);
            }
            self.tell(|| format!("VIOLATION: {what}"));
            self.notes.violation = Some(what);
        }
    }

    pub(crate) fn after(&mut self, delay: Nanos, what: What) {
        self.agenda.note(self.now + delay, what);
    }

    /// Whether that life of a node's process is the present one.
    pub(crate) fn lives(&self, node: usize, life: u64) -> bool {
        let process = self.machines[node].process.as_ref();
        process.is_some_and(|it| it.life == life)
    }
}

fn machine(at: usize, shape: &Shape, chance: &mut Random) -> Machine {
    let disks = Disks::new(at, shape.bricks, chance);
    let mut id = [0; 20];
    id[..8].copy_from_slice(&chance.next().to_le_bytes());
    id[19] = at as u8;
    let mut directory = [0; 16];
    directory[..8].copy_from_slice(&chance.next().to_le_bytes());
    Machine {
        key: NodeKey(id),
        directory: Directory {
            disk: disks.own().clone(),
            id: DirectoryId(directory),
            node: NodeKey(id),
        },
        disks,
        boot: 1,
        clocks: clocks(0, chance),
        process: None,
        life: 0,
        is_off: false,
        is_retired: false,
        paused_until: 0,
        is_busy: false,
        dies_after: None,
    }
}

/// Clocks of a machine that was just switched on.
pub(crate) fn clocks(now: Nanos, chance: &mut Random) -> Clocks {
    let ppm = chance.below(2 * DRIFT_PPM_MAX as u64 + 1) as i64 - DRIFT_PPM_MAX;
    let shown = chance.between(1, 1_000) * SECOND;
    Clocks::new(now, shown, ppm, chance.below(SKEW_MS + 1))
}
