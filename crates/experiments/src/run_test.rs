use super::{Limits, ROUNDS_MIN, Run};
use crate::progress::Progress;
use brickyard_bench::peer::{Found, Peer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn with_run(limits: Limits, test: impl FnOnce(&Run<'_>, &AtomicBool)) {
    let found = Found {
        peer: Peer::Brickyard,
        program: PathBuf::from("brickyard"),
        version: String::new(),
    };
    let progress = Progress::hidden();
    let is_over = AtomicBool::new(false);
    let nowhere = Path::new("nowhere");
    let run = Run::new(&found, nowhere, nowhere, limits, &progress, &is_over);
    test(&run, &is_over);
}

fn rounds_of(limits: Limits) -> u32 {
    let mut rounds = 0;
    with_run(limits, |run, _| {
        run.rounds(|_| {
            rounds += 1;
            Ok(())
        })
        .unwrap();
    });
    rounds
}

#[test]
fn without_time_there_are_the_fewest_rounds() {
    let limits = |is_quick| Limits {
        is_quick,
        time: Duration::ZERO,
    };
    assert_eq!(rounds_of(limits(true)), 1);
    assert_eq!(rounds_of(limits(false)), ROUNDS_MIN);
}

#[test]
fn with_time_there_are_as_many_as_are_worth_it() {
    let limits = Limits {
        is_quick: false,
        time: Duration::from_secs(1_000),
    };
    assert_eq!(rounds_of(limits), super::ROUNDS_MAX);
}

#[test]
fn an_interruption_ends_the_rounds() {
    let limits = Limits {
        is_quick: false,
        time: Duration::from_secs(1_000),
    };
    with_run(limits, |run, is_over| {
        let mut rounds = 0;
        let ended = run.rounds(|_| {
            rounds += 1;
            is_over.store(true, Ordering::Relaxed);
            Ok(())
        });
        assert!(ended.unwrap_err().to_string().contains("interrupted"));
        assert_eq!(rounds, 1);
    });
}

#[test]
fn what_is_missed_twice_is_told_once() {
    let limits = Limits {
        is_quick: true,
        time: Duration::ZERO,
    };
    with_run(limits, |run, _| {
        run.miss("etcd", "apt-get install etcd-server");
        run.miss("etcd", "apt-get install etcd-server");
        assert_eq!(run.missing.borrow().len(), 1);
    });
}

/// For the tests of experiments that start nothing.
pub(crate) fn with_quick_run(test: impl FnOnce(&Run<'_>)) {
    let limits = Limits {
        is_quick: true,
        time: Duration::from_secs(5),
    };
    with_run(limits, |run, _| test(run));
}
