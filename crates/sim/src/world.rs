//! A whole cluster and its clients, in one thread and virtual time.
//!
//! In:  a seed, a shape, a plan. Out: what happened, and the violations that checkers found.
//!
//! ```text
//!  agenda ─▶ World ─┬─ Cluster ─┬─ Ground     the time, the agenda, chance, what is noted
//!      (events,     │           ├─ Machines   disks, clocks, processes: their loops and workers
//!       deliver)    │           ├─ Network    connections, and bytes on them
//!                   │           ├─ Checkers     what those who look on remember
//!                   │           └─ Risks      what may be lost though nothing more goes wrong
//!                   ├─ Clients    who asks, and what they were told
//!                   ├─ Operator   who says what nodes are used for
//!                   └─ Plan       clients and faults
//! ```
//! Who needs less takes less: the network and the machines know the ground alone, the operator and a node's part of the cluster know no
//! clients, and only faults, clients and the last checkers meet the world.
//!
//! Invariants:
//! - Nothing in a run depends on anything but seed, shape and plan.
//! - Whatever a node's code asks for is done one by one, and the node may die between any two.

use crate::check::memory::{Checkers, Risks};
use crate::clients::state::Clients;
use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::cluster::Cluster;
use crate::ground::Ground;
use crate::machines::Machines;
use crate::network::Network;
use crate::notes::Notes;
use crate::operator::Operator;
use crate::operator::orders::Order;
use crate::plan::Plan;
use crate::random::Random;
use crate::shape::Shape;
use crate::what::What;

/// See the module.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) cluster: Cluster,
    pub(crate) clients: Clients,
    pub(crate) operator: Operator,
    /// The fault kind that acts now, and its dice.
    pub(crate) acting: (&'static str, u64),
}

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, is_told: bool) -> Self {
        let shape = Shape::draw(seed, plan.scenario);
        let mut chance = Random::of(seed, 3);
        let machines = Machines::new(&shape, &mut chance);
        let mut world = Self {
            seed,
            clients: Clients::new(seed, &shape, &plan),
            operator: Operator::default(),
            plan,
            cluster: Cluster {
                ground: Ground::new(shape, chance, Notes::new(is_told)),
                machines,
                network: Network::default(),
                checkers: Checkers::default(),
                risks: Risks::default(),
            },
            acting: ("", 0),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let ground = &mut self.cluster.ground;
        let shape = format!("{:?}", ground.shape);
        ground.tell(|| shape);
        let last = self.cluster.machines.len() - 1;
        for at in 0..=last {
            let late = if at == last { ground.shape.late_by } else { 0 };
            let delay = ground.chance.below(100 * MILLISECOND) + late;
            ground.at(delay, What::Start(at));
        }
        // What is founded by one node has to be there before it can be hurt.
        let begin = if ground.shape.expect > 0 {
            0
        } else {
            2 * SECOND
        };
        for (at, fault) in self.plan.faults.iter().enumerate() {
            ground.at(begin + fault.at, What::Fault(at));
        }
        for at in 0..self.clients.len() {
            let delay = ground.chance.below(2 * SECOND);
            ground.at(SECOND / 2 + delay, What::Client(at));
        }
        let last = self.plan.faults.iter().map(|it| it.at).max().unwrap_or(0);
        let calm = begin + last + ground.chance.between(500, 4_000) * MILLISECOND;
        ground.at(calm, What::Calm);
    }

    pub(crate) fn now(&self) -> Nanos {
        self.cluster.ground.now()
    }

    pub(crate) fn at(&mut self, at: Nanos, what: What) {
        self.cluster.ground.at(at, what);
    }

    pub(crate) fn after(&mut self, delay: Nanos, what: What) {
        self.cluster.ground.after(delay, what);
    }

    /// Notes something for people.
    pub(crate) fn tell(&mut self, what: impl FnOnce() -> String) {
        self.cluster.ground.tell(what);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.cluster.ground.count(what);
    }

    /// Somebody objects; the first one is heard.
    pub(crate) fn object(&mut self, what: String) {
        self.cluster.ground.object(what);
    }

    /// An operator wants something.
    pub(crate) fn order(&mut self, order: Order) {
        self.operator.order(&mut self.cluster, order);
    }
}
