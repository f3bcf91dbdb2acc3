//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::schedule_test::{ANYTHING, BRIEF, run};
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

/// Those of schedules in which leaders and processes do not last.
const OF_BRIEF: Judges<'_> = Judges {
    room: "control-brief",
    quick: &[],
    slow: &[Bug::VoterForgetsLeader],
    seeds_max: 300,
};

#[test]
fn quick_ones_are_found() {
    JUDGES.must_find_quick(|seed| drop(run(&ANYTHING, seed, 1_500)));
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_is_found() {
    JUDGES.must_find_all(|seed| drop(run(&ANYTHING, seed, 1_500)));
}

#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_of_brief_lives_is_found() {
    OF_BRIEF.must_find_all(|seed| drop(run(&BRIEF, seed, 1_500)));
}
