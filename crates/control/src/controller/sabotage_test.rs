//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::schedule_test::run;
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "control",
    quick: &[
        Bug::GrantBeforeAdoption,
        Bug::StaleProposalApplied,
        Bug::EffectiveUnfenced,
        Bug::OnlyPendingFenced,
        Bug::ShortestLogLeads,
        Bug::RejoinsInSync,
        Bug::UnsureTailTrusted,
        Bug::CloneTrusted,
        Bug::LeaseFromReceipt,
        Bug::LeasesForgotten,
        Bug::DurabilityOfNow,
        Bug::LeasesWithoutQuorum,
    ],
    slow: &[Bug::ClockJumpIgnored, Bug::HungLoopLeased],
    seeds_max: 300,
};

fn schedule(seed: u64) {
    run(seed, 1_500);
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
