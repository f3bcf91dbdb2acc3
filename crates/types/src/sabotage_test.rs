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
        assert!(is(bug) && !is(Bug::VoteBeforeSync));
        let elsewhere = std::thread::spawn(move || is(bug)).join();
        assert!(matches!(elsewhere, Ok(false)));
        assert!(seed < 5, "as a judge says");
    });
    assert_eq!((found.seeds, found.reached), (Some(3), 3));
    assert_eq!(found.objection, "as a judge says");
    assert!(!is(bug));
    assert_eq!(hunt(bug, 0..2, |_| ()).seeds, None);
}
