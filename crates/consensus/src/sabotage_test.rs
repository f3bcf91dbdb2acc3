//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::weather;
use brickyard_sabotage::Judge;

const JUDGE: Judge<'_> = Judge {
    name: "consensus",
    seeds_max: 300,
};

fn schedule(seed: u64) {
    weather(seed).heal();
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    JUDGE.must_find(schedule);
}
