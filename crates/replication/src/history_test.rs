use super::*;

fn runs(list: &[(u32, u64)]) -> Vec<Run> {
    let run = |(view, first): &(u32, u64)| Run {
        view: View(*view),
        first: Op(*first),
    };
    list.iter().map(run).collect()
}

#[test]
fn the_view_of_an_op_is_that_of_the_run_it_lies_in() {
    let history = History::new(&runs(&[(1, 1), (3, 5)]));
    let views = [0, 1, 4, 5, 9].map(|op| history.view_at(Op(op)).map(|view| view.0));
    assert_eq!(views, [Some(0), Some(1), Some(1), Some(3), Some(3)]);
    let forgotten = History::new(&runs(&[(3, 5)]));
    assert_eq!(forgotten.view_at(Op(4)), None);
}

#[test]
fn runs_that_do_not_rise_are_not_taken() {
    let mut history = History::new(&runs(&[(1, 1), (3, 5), (2, 9)]));
    assert_eq!(history.runs().len(), 2);
    assert!(!history.push(View(4), Op(5)));
    assert!(history.push(View(3), Op(6)), "the same run goes on");
    assert!(history.push(View(4), Op(7)));
    history.cut(Op(6));
    assert_eq!(history.runs().len(), 2);
}

#[test]
fn logs_agree_up_to_the_end_of_the_last_view_that_they_share() {
    let history = History::new(&runs(&[(1, 1), (2, 5), (4, 9)]));
    let agree = |other: &[(u32, u64)], end: u64| history.agreement(Op(12), &runs(other), Op(end));
    assert_eq!(agree(&[(1, 1), (2, 5), (4, 9)], 10), Some(Op(10)), "a part");
    assert_eq!(agree(&[(1, 1), (2, 5), (4, 9)], 20), Some(Op(12)), "more");
    assert_eq!(agree(&[(1, 1), (2, 5), (3, 7)], 11), Some(Op(6)), "a fork");
    assert_eq!(agree(&[(1, 1), (2, 5)], 12), Some(Op(8)), "a longer tail");
    assert_eq!(agree(&[(1, 1), (3, 4)], 12), Some(Op(3)));
    assert_eq!(agree(&[(7, 3)], 12), None, "nothing in common");
}

#[test]
fn old_views_are_forgotten_past_a_bound() {
    let mut history = History::default();
    for view in 1..=200 {
        assert!(history.push(View(view), Op(u64::from(view))));
    }
    assert_eq!(history.runs().len(), RUNS_MAX);
    assert_eq!(history.view_at(Op(200)), Some(View(200)));
    assert_eq!(
        history.runs()[0].view,
        View(201 - RUNS_MAX as u32),
        "the oldest"
    );
}
