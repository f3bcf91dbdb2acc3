use super::*;

#[test]
fn no_bug_is_on_by_itself() {
    for bug in Bug::ALL {
        assert!(!is(*bug), "{bug:?}");
    }
    assert_eq!(IS_BUILT_IN, cfg!(feature = "sabotage"));
}

#[cfg(feature = "sabotage")]
#[test]
fn bug_is_on_in_one_thread_and_off_again_also_after_a_panic() {
    let bug = Bug::VoteBeforeAppend;
    let found = hunt(bug, 3..9, |seed| {
        let is_on = is(bug);
        assert!(!is(Bug::VoteBeforeSync));
        let elsewhere = std::thread::spawn(move || is(bug)).join();
        assert!(matches!(elsewhere, Ok(false)));
        assert!(!is_on || seed < 5, "as a judge says");
    });
    assert_eq!((found.seeds, found.seed, found.reached), (Some(3), 5, 3));
    assert_eq!(found.objection, "as a judge says");
    assert!(!is(bug));
    assert_eq!(hunt(bug, 0..2, |_| ()).seeds, None);
}

#[cfg(feature = "sabotage")]
#[test]
fn what_is_said_without_the_bug_too_is_no_objection_to_it() {
    let bug = Bug::VoteBeforeAppend;
    let found = hunt(bug, 1..9, |seed| {
        assert!(seed != 2, "whatever is on");
        assert!(!is(bug) || seed < 4, "as a judge says");
    });
    assert_eq!((found.seeds, found.seed), (Some(4), 4));
}

#[cfg(feature = "sabotage")]
#[test]
fn judges_that_miss_what_they_should_find_are_told() {
    let judges = Judges {
        room: "a test",
        quick: &[Bug::VoteBeforeAppend],
        slow: &[Bug::VoteBeforeSync],
        seeds_max: 9,
    };
    let schedule = |seed| assert!(!is(Bug::VoteBeforeAppend) || seed < 4, "seen");
    judges.must_find_quick(schedule);
    let missed = std::panic::catch_unwind(|| judges.must_find_all(schedule));
    let said = missed.expect_err("one of two is never found");
    let said = said.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(said.contains("VoteBeforeSync") && !said.contains("VoteBeforeAppend"));
}
