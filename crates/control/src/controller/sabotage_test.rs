//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::{ANYTHING, BRIEF, run};
use brickyard_sabotage::Judge;

const JUDGE: Judge<'_> = Judge {
    name: "control",
    seeds_max: 300,
};

/// Those of schedules in which leaders and processes do not last.
const OF_BRIEF_LIVES: Judge<'_> = Judge {
    name: "control-brief",
    seeds_max: 300,
};

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    JUDGE.must_find(|seed| drop(run(&ANYTHING, seed, 1_500)));
    OF_BRIEF_LIVES.must_find(|seed| drop(run(&BRIEF, seed, 1_500)));
}
