//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use crate::run;
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "sim",
    quick: &[Bug::ExpiryEatsNew, Bug::CutToldRefused],
    slow: &[Bug::BootStoredFirst, Bug::BackupExpires],
    seeds_max: 100,
};

fn schedule(seed: u64) {
    if let Some(violation) = run(seed).violation {
        panic!("{violation}");
    }
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
