//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::schedule_test::run;
use brickyard_types::sabotage::{Bug, Judges};

const JUDGES: Judges<'_> = Judges {
    room: "replication",
    quick: &[
        Bug::RefusalNotTold,
        Bug::RefusalIgnored,
        Bug::VotesKeptAcrossReconnect,
        Bug::PendingNotSentAgain,
        Bug::CommitPositionNotRepeated,
        Bug::GapsAppended,
        Bug::InheritedCommitted,
        Bug::ProposalActedOn,
        Bug::RestartCuts,
        Bug::OlderViewFollowed,
        Bug::LearnerFromNow,
        Bug::HorizonIgnored,
        Bug::FullCopyAdds,
        Bug::UnfinishedCopyClaimed,
        Bug::GapsClaimed,
        Bug::CutNotWritten,
        Bug::CommittedCut,
        Bug::PredecessorUnchecked,
        Bug::CommitBeforeAllVotes,
        Bug::PendingListForgotten,
    ],
    slow: &[
        Bug::PromotedNotRequired,
        Bug::AskedNotRequired,
        Bug::VoteBeforeAppend,
        Bug::OwnSyncNotAwaited,
        Bug::DropIgnored,
        Bug::RefusedStaysVoted,
        Bug::QueueUnbounded,
    ],
    seeds_max: 3_000,
};

fn schedule(seed: u64) {
    run(seed, 2500);
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
