use super::*;

fn log(committed: u64, entries: &[(u32, u64)]) -> Log {
    let mut log = Log::new();
    log.jump((View(1), Op(committed)), History::default());
    log.history.push(View(1), Op(1));
    for (view, op) in entries {
        log.push(PreparedRecord {
            view: View(*view),
            op: Op(*op),
            mark: LogMark(*op),
            sequence: crate::Sequence(0),
        });
    }
    log
}

#[test]
fn a_cut_takes_the_end_and_its_views() {
    let mut log = log(3, &[(1, 4), (2, 5), (2, 6)]);
    assert_eq!(log.cut(Op(4)), 2);
    assert_eq!(log.last, (View(1), Op(4)));
    assert_eq!(log.view_at(Op(5)), None);
    assert_eq!(log.cut(Op(4)), 0);
    log.cut(Op(3));
    assert_eq!(log.last, (View(1), Op(3)));
}

#[test]
#[should_panic(expected = "cut at 2 below commit 3")]
fn a_cut_below_the_commit_position_is_a_bug_of_ours() {
    log(3, &[(1, 4)]).cut(Op(2));
}

#[test]
fn a_summary_is_frozen_while_a_catch_up_runs_and_only_gets_less() {
    let mut log = log(3, &[(2, 4), (2, 5)]);
    log.become_partial(Op(4));
    log.cut(Op(3));
    log.jump((View(3), Op(9)), History::default());
    let summary = log.summary();
    assert_eq!(summary.last, (View(2), Op(4)));
    assert!(!summary.is_complete);
    log.become_partial(Op(8));
    assert_eq!(log.summary().last.1, Op(4));
    log.become_partial(Op(3));
    assert_eq!(log.summary().last, (View(1), Op(3)));
}

#[test]
fn what_was_found_at_the_start_ends_where_the_log_is_cut() {
    let mut log = log(3, &[(1, 4), (2, 5), (2, 6)]);
    log.restored = Op(6);
    log.cut(Op(4));
    assert_eq!(log.restored, Op(4));
}

#[test]
fn a_summary_says_nothing_of_commits_above_its_end() {
    let reported = |op: u64| {
        let mut log = log(3, &[(2, 4), (2, 5)]);
        log.become_partial(Op(op));
        log.summary().committed
    };
    assert_eq!((reported(4), reported(2)), (Op(3), Op(2)));
}

#[test]
fn marks_go_back_when_nothing_of_a_frame_was_taken() {
    let mut log = log(3, &[]);
    log.settled_mark = LogMark(5);
    log.take_back(LogMark(5), LogMark(2));
    assert_eq!((log.mark, log.settled_mark), (LogMark(2), LogMark(2)));
}

fn found(committed: u64, last: u64, is_complete: bool) -> ReplicaSummary {
    let restored: crate::Restored<()> = crate::Restored {
        committed: Op(committed),
        last: (View(1), Op(last)),
        is_complete,
        ..crate::Restored::default()
    };
    Log::restore(&restored).summary()
}

#[test]
fn a_log_that_ends_where_it_commits_is_whole_and_one_that_ends_before_summaries_its_end() {
    assert!(found(3, 3, true).is_complete);
    let less = found(5, 3, true);
    assert_eq!((less.last, less.is_complete), ((View(1), Op(3)), false));
}

#[test]
fn a_summary_that_was_cut_once_is_cut_again() {
    let mut log = log(3, &[(2, 4), (2, 5)]);
    for (op, reported, committed) in [
        (5, (2, 5), 3),
        (4, (2, 4), 3),
        (2, (1, 2), 2),
        (4, (1, 2), 2),
    ] {
        log.become_partial(Op(op));
        let summary = log.summary();
        let expected = ((View(reported.0), Op(reported.1)), Op(committed), false);
        assert_eq!(
            (summary.last, summary.committed, summary.is_complete),
            expected,
            "{op}"
        );
    }
}
