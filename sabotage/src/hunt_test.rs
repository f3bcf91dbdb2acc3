use super::*;
use crate::is_on;

const BUG: usize = 3;

#[test]
fn bug_is_on_in_one_thread_and_off_again_also_after_a_panic() {
    assert!(!is_on(BUG));
    let found = hunt(BUG, 3..9, |seed| {
        let is_here = is_on(BUG);
        assert!(!is_on(BUG + 1));
        let elsewhere = std::thread::spawn(|| is_on(BUG)).join();
        assert!(matches!(elsewhere, Ok(false)));
        assert!(!is_here || seed < 5, "as a checker says");
    });
    assert_eq!((found.seeds, found.seed, found.reached), (Some(3), 5, 3));
    assert_eq!(found.violation, "as a checker says");
    assert!(!is_on(BUG));
    assert_eq!(hunt(BUG, 0..2, |_| ()).seeds, None);
}

#[test]
fn violation_without_the_bug_does_not_count() {
    let found = hunt(BUG, 1..9, |seed| {
        assert!(seed != 2, "whatever is on");
        assert!(!is_on(BUG) || seed < 4, "as a checker says");
    });
    assert_eq!((found.seeds, found.seed), (Some(4), 4));
}

#[test]
fn failed_hunts_count_as_the_longest() {
    let found = |seeds| Hunt {
        seeds,
        ..Hunt::default()
    };
    assert_eq!(
        median(&[found(None), found(Some(2)), found(Some(9))]),
        Some(9)
    );
    assert_eq!(median(&[found(None), found(Some(2)), found(None)]), None);
}
