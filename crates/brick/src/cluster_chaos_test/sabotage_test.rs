//! The judges judged: with each deliberate bug on, schedules are run until somebody objects.
//!
//! `SABOTAGE=VoteBeforeAppend` is about one bug, `SABOTAGE=all` about all that there are; `SABOTAGE_HUNTS=5` hunts so
//! often, each time with other seeds, and tells the median.

use super::{EDITION, chaos, number};
use brickyard_types::sabotage::{Bug, Hunt, hunt};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// A hunt that takes longer has failed.
const SEEDS_MAX: u64 = 300;

/// Found within a few seeds: a sample for every day.
const QUICK: &[Bug] = &[
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
];

/// What else these schedules show.
const SLOW: &[Bug] = &[
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
    Bug::UnsureTailTrusted,
];

fn hunts(bug: Bug) -> Vec<Hunt> {
    let count = number("SABOTAGE_HUNTS").unwrap_or(1);
    let most = number("SABOTAGE_SEEDS").unwrap_or(SEEDS_MAX);
    let schedule = |seed| {
        let outcome = chaos(EDITION, seed, false);
        assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    };
    let firsts = (0..count).map(|at| 1 + at * 10_000);
    let hunts = firsts.map(|first| hunt(bug, first..first + most, schedule));
    hunts.collect()
}

/// Whether the bug was found in most hunts.
fn is_found(bug: Bug) -> bool {
    let hunts = hunts(bug);
    let mut counts: Vec<u64> = hunts
        .iter()
        .map(|it| it.seeds.unwrap_or(u64::MAX))
        .collect();
    counts.sort_unstable();
    let median = counts[counts.len() / 2];
    let reached: u64 = hunts.iter().map(|it| it.reached).sum();
    if median == u64::MAX {
        println!("{bug:?}: not found {counts:?}, reached {reached} times");
        return false;
    }
    let objections = hunts.iter().filter(|it| it.seeds.is_some());
    let words: Vec<String> = objections
        .map(|it| {
            it.objection
                .split_whitespace()
                .take(24)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    println!("{bug:?}: {median} seeds {counts:?}: {}", words[0]);
    true
}

/// Hunts for each of these bugs; those that were not found.
fn missed(bugs: &[Bug]) -> Vec<Bug> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut missed = Vec::new();
        while let Some(bug) = bugs.get(next.fetch_add(1, Relaxed)) {
            if !is_found(*bug) {
                missed.push(*bug);
            }
        }
        missed
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    })
}

#[test]
fn quick_ones_are_found() {
    assert_eq!(missed(QUICK), []);
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "takes minutes"]
fn every_bug_in_reach_is_found() {
    let wanted = std::env::var("SABOTAGE").ok();
    let is_wanted = |bug: &Bug| match wanted.as_deref() {
        Some("all") => true,
        Some(names) => names.split(',').any(|it| it == format!("{bug:?}")),
        None => QUICK.contains(bug) || SLOW.contains(bug),
    };
    let bugs: Vec<Bug> = Bug::ALL.iter().copied().filter(is_wanted).collect();
    assert_eq!(missed(&bugs), []);
}
