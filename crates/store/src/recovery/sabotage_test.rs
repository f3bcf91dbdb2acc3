//! The checkers checked: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::run;
use brickyard_sabotage::Checker;

const CHECKER: Checker<'_> = Checker {
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
    CHECKER.must_find(schedule);
}
