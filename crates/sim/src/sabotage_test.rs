//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use crate::scenario::{calm, power};
use crate::{Plan, plan_of, run_plan};
use brickyard_sabotage::Judge;

const JUDGE: Judge<'_> = Judge {
    name: "sim",
    seeds_max: 100,
};

const POWER: Judge<'_> = Judge {
    name: "sim-power",
    seeds_max: 300,
};

const CALM: Judge<'_> = Judge {
    name: "sim-calm",
    seeds_max: 300,
};

fn judge(seed: u64, plan: Plan) {
    if let Some(violation) = run_plan(seed, plan).violation {
        panic!("{violation}");
    }
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    JUDGE.must_find(|seed| judge(seed, plan_of(seed)));
    POWER.must_find(|seed| judge(seed, power(seed)));
    CALM.must_find(|seed| judge(seed, calm()));
}
