//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::run;
use brickyard_sabotage::Judge;

const JUDGE: Judge<'_> = Judge {
    name: "store",
    seeds_max: 1_000,
};

fn schedule(seed: u64) {
    run(seed);
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    JUDGE.must_find(schedule);
}
