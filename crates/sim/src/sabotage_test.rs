//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use crate::scenario::{calm, power};
use crate::{Plan, plan_of, run_plan};
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "sim",
    quick: &[Bug::CutToldRefused],
    slow: &[],
    seeds_max: 100,
};

const POWER: Judges<'_> = Judges {
    room: "sim-power",
    quick: &[],
    slow: &[Bug::BootStoredFirst],
    seeds_max: 300,
};

const CALM: Judges<'_> = Judges {
    room: "sim-calm",
    quick: &[Bug::ExpiryEatsNew],
    slow: &[Bug::BackupExpires],
    seeds_max: 300,
};

fn judge(seed: u64, plan: Plan) {
    if let Some(violation) = run_plan(seed, plan).violation {
        panic!("{violation}");
    }
}

#[test]
fn quick_ones_are_found() {
    JUDGES.must_find_quick(|seed| judge(seed, plan_of(seed)));
    CALM.must_find_quick(|seed| judge(seed, calm()));
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_is_found() {
    JUDGES.must_find_all(|seed| judge(seed, plan_of(seed)));
    POWER.must_find_all(|seed| judge(seed, power(seed)));
    CALM.must_find_all(|seed| judge(seed, calm()));
}
