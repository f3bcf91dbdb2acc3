//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::crash_test::run;
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "store",
    quick: &[
        Bug::FailedSyncIgnored,
        Bug::FailedAppendStays,
        Bug::DirectoryUnsynced,
        Bug::ReadUnchecked,
        Bug::HeaderDamageContained,
        Bug::RenamedUnsynced,
    ],
    slow: &[Bug::TornTailCutUnsynced],
    seeds_max: 1_000,
};

fn schedule(seed: u64) {
    run(seed);
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
