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
            turn: crate::Turn(0),
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
fn a_claim_is_frozen_while_a_catch_up_runs_and_only_gets_less() {
    let mut log = log(3, &[(2, 4), (2, 5)]);
    log.become_partial(Op(4));
    log.cut(Op(3));
    log.jump((View(3), Op(9)), History::default());
    let claim = log.claim();
    assert_eq!(claim.last, (View(2), Op(4)));
    assert!(!claim.is_complete);
    log.become_partial(Op(8));
    assert_eq!(log.claim().last.1, Op(4));
    log.become_partial(Op(3));
    assert_eq!(log.claim().last, (View(1), Op(3)));
}
