//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::{EDITION, chaos};
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "brick",
    quick: &[
        Bug::RefusalNotTold,
        Bug::InheritedCommitted,
        Bug::ProposalActedOn,
        Bug::EffectiveUnaccepted,
        Bug::AcceptedStillVotes,
        Bug::RestartCuts,
        Bug::LearnerFromNow,
        Bug::OwnWriteNotSeen,
        Bug::CleanedWhileCopied,
        Bug::DemotedUnfenced,
        Bug::VoteBeforeAppend,
        Bug::VoteBeforeSync,
        Bug::CommitBeforeAllVotes,
        Bug::AnsweredBeforeCommit,
        Bug::ReadsWithoutLease,
        Bug::PendingListForgotten,
    ],
    slow: &[
        Bug::RefusalIgnored,
        Bug::VotesKeptAcrossReconnect,
        Bug::PendingNotSentAgain,
        Bug::GrantBeforeAdoption,
        Bug::StoppedToldEarly,
        Bug::AcceptedUnsynced,
        Bug::RejoinsInSync,
        Bug::TombstonesNotCopied,
        Bug::PendingCleaned,
        Bug::MovedUnmarked,
        Bug::NoOpAnsweredAtOnce,
        Bug::WindowNotCopied,
        Bug::UnsureTailTrusted,
    ],
    seeds_max: 300,
};

fn schedule(seed: u64) {
    let outcome = chaos(EDITION, seed, false);
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
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
