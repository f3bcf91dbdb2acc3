//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use crate::agreement_test::weather;
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "consensus",
    quick: &[Bug::RaftToldUnstored],
    slow: &[Bug::RaftRoundUnasked],
    seeds_max: 300,
};

fn schedule(seed: u64) {
    weather(seed).heal();
}

#[test]
fn quick_ones_are_found() {
    JUDGES.must_find_quick(schedule);
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_is_found() {
    JUDGES.must_find_all(schedule);
}
