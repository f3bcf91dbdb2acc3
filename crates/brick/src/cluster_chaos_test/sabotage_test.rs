//! The judges judged: with a deliberate bug on, random schedules are run until one objects (docs/sabotage.md).

use super::scenario::{self, Scenario};
use super::{EDITION, Kind, chaos, halves, reuse};
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

/// What happened is told with `CHAOS_STORY=1`.
fn schedule(kind: Kind, seed: u64) {
    let outcome = chaos(kind, seed, std::env::var_os("CHAOS_STORY").is_some());
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
}

/// The judges of a scenario, and what they find.
const fn of(room: &'static str, quick: &'static [Bug], slow: &'static [Bug]) -> Judges<'static> {
    Judges {
        room,
        quick,
        slow,
        seeds_max: 300,
    }
}

const READS: Judges<'_> = of(
    "brick-reads",
    &[
        Bug::InheritedReadAtOnce,
        Bug::ParkedNotReadmitted,
        Bug::OtherKeysNotAwaited,
        Bug::OwnWriteOvertaken,
    ],
    &[Bug::LeaseCheckedEarly],
);
const CLEANING: Judges<'_> = of("brick-cleaning", &[], &[Bug::HorizonNotRaised]);
const SYNCS: Judges<'_> = of("brick-syncs", &[], &[Bug::CleanedBeforeSync]);
const POWER: Judges<'_> = of("brick-power", &[], &[Bug::TombstonesDroppedEarly]);
const LEARNING: Judges<'_> = of(
    "brick-learning",
    &[Bug::DeletionsForgotten, Bug::OlderRecordWins],
    &[],
);
const RETRIES: Judges<'_> = of(
    "brick-retries",
    &[Bug::ForgottenRunsAgain, Bug::LostUnnoticed],
    &[Bug::WindowNotMoved],
);
const CUTS: Judges<'_> = of("brick-cuts", &[], &[]);
const HALVES: Judges<'_> = of(
    "brick-halves",
    &[Bug::HalfClearsWhole, Bug::HalfClearForgotten],
    &[],
);
const REUSE: Judges<'_> = of("brick-reuse", &[Bug::OpAloneTells], &[]);
const PROMOTIONS: Judges<'_> = of(
    "brick-promotions",
    &[Bug::PromotedBeforeAllIsHeld],
    &[Bug::AskedLearnerDropped],
);

const PARTING: Judges<'_> = of(
    "brick-parting",
    &[Bug::SplitUnrested, Bug::WindowNotParted, Bug::HeirsIgnored],
    &[],
);

/// The same, with patience: these schedules hardly ever come to what shows it.
const PARTING_RARELY: Judges<'_> = Judges {
    seeds_max: 3_000,
    ..of("brick-parting", &[], &[Bug::StrayPendingParted])
};

const JOINING: Judges<'_> = of(
    "brick-joining",
    &[],
    &[Bug::BaseOfOneHalf, Bug::ViewOfOneHalf, Bug::WindowOfOneHalf],
);
const OVERTAKEN: Judges<'_> = of(
    "brick-overtaken",
    &[],
    &[Bug::SplitOutlivesView, Bug::MergeOutlivesViews],
);

const SCENARIOS: [(&Scenario, Judges<'_>); 12] = [
    (&scenario::READS, READS),
    (&scenario::CLEANING, CLEANING),
    (&scenario::POWER, POWER),
    (&scenario::SYNCS, SYNCS),
    (&scenario::LEARNING, LEARNING),
    (&scenario::RETRIES, RETRIES),
    (&scenario::CUTS, CUTS),
    (&scenario::PROMOTIONS, PROMOTIONS),
    (&scenario::PARTING, PARTING),
    (&scenario::PARTING, PARTING_RARELY),
    (&scenario::JOINING, JOINING),
    (&scenario::OVERTAKEN, OVERTAKEN),
];

#[test]
fn quick_ones_are_found() {
    JUDGES.must_find_quick(|seed| schedule(Kind::Edition(EDITION), seed));
    for (scenario, judges) in SCENARIOS {
        judges.must_find_quick(|seed| schedule(Kind::Scenario(scenario), seed));
    }
    HALVES.must_find_quick(halves::schedule);
    REUSE.must_find_quick(reuse::schedule);
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_is_found() {
    JUDGES.must_find_all(|seed| schedule(Kind::Edition(EDITION), seed));
}

#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_of_a_scenario_is_found() {
    let wanted = std::env::var("CHAOS_SCENARIO").ok();
    let is_wanted = |it: &Scenario| wanted.as_deref().is_none_or(|name| name == it.name);
    for (scenario, judges) in SCENARIOS.into_iter().filter(|it| is_wanted(it.0)) {
        judges.must_find_all(|seed| schedule(Kind::Scenario(scenario), seed));
    }
    if wanted.as_deref().is_none_or(|name| name == "halves") {
        HALVES.must_find_all(halves::schedule);
    }
    if wanted.as_deref().is_none_or(|name| name == "reuse") {
        REUSE.must_find_all(reuse::schedule);
    }
}
