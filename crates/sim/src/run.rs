//! One run, from its seed to what came of it.

use crate::clock::Nanos;
use crate::coverage::Coverage;
use crate::fault;
use crate::plan::Plan;
use crate::scenario::{Scenario, USUAL};
use crate::world::World;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of which seed.
    pub seed: u64,
    /// What somebody objected to; none: all was well.
    pub violation: Option<String>,
    /// One number for everything that happened.
    pub digest: u64,
    /// How long it was, in virtual nanoseconds.
    pub length: Nanos,
    /// Things that happened.
    pub events: u64,
    /// Requests of clients that were served.
    pub served: u64,
    /// What happened how often.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What a seed does to its cluster.
#[must_use]
pub fn plan_of(seed: u64) -> Plan {
    plan_in(&USUAL, seed)
}

/// What a seed does to its cluster in a scenario.
#[must_use]
pub fn plan_in(scenario: &'static Scenario, seed: u64) -> Plan {
    Plan::draw(seed, scenario, &fault::weights())
}

/// Runs a seed.
#[must_use]
pub fn run(seed: u64) -> Outcome {
    run_plan(seed, plan_of(seed))
}

/// Runs a seed's cluster with another plan than its own.
#[must_use]
pub fn run_plan(seed: u64, plan: Plan) -> Outcome {
    let mut world = World::new(seed, plan, false);
    finish(&mut world)
}

/// Runs a seed and notes which transitions it comes through.
#[must_use]
pub fn cover(seed: u64) -> (Outcome, Coverage) {
    let mut world = World::new(seed, plan_of(seed), false);
    world.cluster.ground.notes.begin_coverage();
    let outcome = finish(&mut world);
    (outcome, world.cluster.ground.notes.take_coverage())
}

/// Runs a plan and tells everything that happened, line by line.
#[must_use]
pub fn tell(seed: u64, plan: Plan) -> (Outcome, Vec<String>) {
    let mut world = World::new(seed, plan, true);
    let outcome = finish(&mut world);
    let story = world.cluster.ground.notes.take_story();
    (outcome, story)
}

fn finish(world: &mut World) -> Outcome {
    let ended = catch_unwind(AssertUnwindSafe(|| world.run()));
    if let Err(panic) = ended {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let text = text.unwrap_or_else(|| "without a word".to_owned());
        world.object(format!("a panic: {text}"));
    }
    let nodes = || world.cluster.machines.describe();
    let ground = &mut world.cluster.ground;
    ground.notes.describe(ground.now(), nodes);
    Outcome {
        seed: world.seed,
        violation: ground.notes.violation().map(str::to_owned),
        digest: ground.notes.digest_value(),
        length: ground.now(),
        events: ground.events(),
        served: world.clients.served,
        counts: ground.notes.counts(),
    }
}
