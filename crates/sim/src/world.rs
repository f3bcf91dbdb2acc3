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
use crate::clients::Clients;
use crate::clock::{Clocks, DRIFT_PPM_MAX, MILLISECOND, Nanos, SECOND, SKEW_MS};
use crate::coverage::Coverage;
use crate::digest::Digest;
use crate::disk::SimDisk;
use crate::fault;
use crate::greet::{Answered, Attempt};
use crate::judge::Judges;
use crate::log_work::Worker;
use crate::network::{ConnectionId, Network};
use crate::operator::Operator;
use crate::plan::Plan;
use crate::process::Machine;
use crate::random::Random;
use crate::shape::Shape;
use brickyard_metadata::NodeKey;
use brickyard_node::Target;
use brickyard_node::storage::Directory;
use brickyard_store::DirectoryId;
use std::collections::{BTreeMap, BTreeSet};

/// Something that is going to happen.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A brick's loop turns.
    Turn(usize, u64, usize),
    /// A worker of a brick's log is done.
    Worked(usize, u64, usize, Worker),
    /// The log of a brick may have to be synced.
    SyncDue(usize, u64, usize),
    /// The control log is written.
    Stored(usize, u64),
    /// The member's clock ticks.
    Tick(usize, u64),
    /// A brick has come on: the member looks.
    Look(usize, u64),
    /// The bricks read their logs.
    Recover(usize, u64),
    /// Bytes of that end are at the other one.
    Deliver(ConnectionId, usize),
    /// That end hears that the connection is gone.
    Close(ConnectionId, usize),
    /// A node makes a connection of the control plane: an attempt of that number.
    Dial(usize, u64, Target, u64),
    /// Somebody says hello.
    Hello {
        from: usize,
        life: u64,
        to: usize,
        attempt: Attempt,
        frame: Vec<u8>,
    },
    /// What was said to that.
    Answered(usize, u64, Attempt, Answered),
    /// A node is started.
    Start(usize),
    /// A fault of the plan.
    Strike(usize),
    /// A fault goes on: kind, dice, stage.
    Again(usize, u64, u32),
    /// A client does something.
    Client(usize),
    /// An operator does something.
    Operate,
    /// The operator says again what it said last of everything.
    Affirm,
    /// Nothing goes wrong from now on.
    Calm,
    /// Is everything as it should be?
    Watch,
}

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
    pub(crate) digest: Digest,
    /// What happened, for people; nothing is kept if nobody will read it.
    pub(crate) story: Option<Vec<String>>,
    /// The first objection.
    pub(crate) violation: Option<String>,
    /// Nodes that may lose what they acknowledged though nothing more happens to them, and since which life: their
    /// disks rot or fail. Until they have been restarted, and everything is whole again.
    pub(crate) at_risk: BTreeMap<usize, u64>,
    /// Nodes whose logs may be damaged: a bit has turned over.
    pub(crate) rotten: BTreeSet<usize>,
    pub(crate) is_calm: bool,
    pub(crate) calm_at: Nanos,
    pub(crate) is_over: bool,
    /// The fault kind that acts now.
    pub(crate) acting: usize,
    pub(crate) acting_dice: u64,
    /// What happened how often.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Which transitions of the protocol this run comes through, if anybody asks.
    pub(crate) coverage: Option<Coverage>,
}

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, is_told: bool) -> Self {
        let shape = Shape::draw(seed);
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
            digest: Digest::default(),
            story: is_told.then(Vec::new),
            violation: None,
            at_risk: BTreeMap::new(),
            rotten: BTreeSet::new(),
            is_calm: false,
            calm_at: 0,
            is_over: false,
            acting: 0,
            acting_dice: 0,
            counts: BTreeMap::new(),
            coverage: None,
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
        if let Some(story) = &mut self.story {
            let now = self.now;
            let line = format!("{:>10.3} ms  {}", now as f64 / 1e6, what());
            story.push(line);
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_insert(0) += 1;
    }

    /// Somebody objects; the first one is heard.
    pub(crate) fn object(&mut self, what: String) {
        if self.violation.is_none() {
            if self.story.is_some() {
                let nodes = self.describe();
                self.tell(|| nodes);
            }
            self.tell(|| format!("VIOLATION: {what}"));
            self.violation = Some(what);
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

    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        while !self.is_over && self.violation.is_none() {
            let Some((at, what)) = self.agenda.take() else {
                self.object("nothing happens any more".to_owned());
                return;
            };
            self.now = at;
            self.happen(what);
        }
    }

    fn happen(&mut self, what: What) {
        self.digest.number(self.now);
        match what {
            What::Turn(node, life, brick) => {
                if self.is_present(node, life, || What::Turn(node, life, brick)) {
                    self.turn(node, brick);
                }
            }
            What::Worked(node, life, brick, worker) => self.worked(node, life, brick, worker),
            What::SyncDue(node, life, brick) => self.sync_due(node, life, brick),
            What::Stored(node, life) => self.stored(node, life),
            What::Tick(node, life) => {
                if self.is_present(node, life, || What::Tick(node, life)) {
                    self.tick(node, life);
                }
            }
            What::Look(node, life) => {
                if self.is_present(node, life, || What::Look(node, life)) {
                    self.member(node, |_, _| {});
                }
            }
            What::Recover(node, life) => {
                if self.is_present(node, life, || What::Recover(node, life)) {
                    self.recover(node);
                }
            }
            What::Deliver(id, end) => self.deliver(id, end),
            What::Close(id, end) => self.hear_close(id, end),
            What::Dial(node, life, target, number) => {
                let again = target.clone();
                if self.is_present(node, life, || What::Dial(node, life, again, number)) {
                    self.dial(node, target, number);
                }
            }
            What::Hello {
                from,
                life,
                to,
                attempt,
                frame,
            } => self.hello(from, life, to, attempt, frame),
            What::Answered(node, life, attempt, answer) => {
                let again = (attempt.clone(), answer.clone());
                if self.is_present(node, life, || What::Answered(node, life, again.0, again.1)) {
                    self.answered(node, attempt, answer);
                }
            }
            What::Start(node) => self.start(node),
            What::Strike(at) => {
                if !self.is_calm {
                    let fault = self.plan.faults[at];
                    fault::act(self, fault.kind, fault.dice, 0);
                }
            }
            What::Again(kind, dice, stage) => {
                if !self.is_calm {
                    fault::act(self, kind, dice, stage);
                }
            }
            What::Client(at) => self.client(at),
            What::Operate => self.operate(),
            What::Affirm => self.affirm(),
            What::Calm => self.calm_down(),
            What::Watch => self.watch(),
        }
    }

    /// Whether a process can do something now; if it is stopped for a while, it is done after that.
    fn is_present(&mut self, node: usize, life: u64, again: impl FnOnce() -> What) -> bool {
        if !self.lives(node, life) {
            return false;
        }
        let until = self.machines[node].paused_until;
        if until > self.now {
            self.agenda.note(until, again());
            return false;
        }
        true
    }
}

fn machine(at: usize, shape: &Shape, chance: &mut Random) -> Machine {
    let disk = SimDisk::new(format!("node{at}"), chance.next());
    let bricks = (0..shape.bricks)
        .map(|brick| SimDisk::new(format!("node{at}/brick-{brick}"), chance.next()))
        .collect();
    let mut id = [0; 20];
    id[..8].copy_from_slice(&chance.next().to_le_bytes());
    id[19] = at as u8;
    let mut directory = [0; 16];
    directory[..8].copy_from_slice(&chance.next().to_le_bytes());
    Machine {
        bricks,
        key: NodeKey(id),
        directory: Directory {
            disk: disk.clone(),
            id: DirectoryId(directory),
            node: brickyard_store::HexNodeId(id),
        },
        disk,
        boot: 1,
        clocks: clocks(0, chance),
        process: None,
        life: 0,
        is_off: false,
        is_retired: false,
        paused_until: 0,
        slow: 1,
        stuck_until: 0,
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
