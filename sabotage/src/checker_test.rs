use super::*;
use crate::is_on;

const CHECKER: Checker<'_> = Checker {
    name: "brick",
    seeds_max: 9,
};

const BUGS: [Planted; 3] = [
    Planted {
        name: "VoteBeforeAppend",
        quick: &["replication", "brick"],
        slow: &[],
    },
    Planted {
        name: "BootStoredFirst",
        quick: &[],
        slow: &["sim-power"],
    },
    Planted {
        name: "VoteBeforeSync",
        quick: &[],
        slow: &["brick"],
    },
];

#[test]
fn checker_hunts_for_what_it_finds_within_a_few_seeds() {
    assert_eq!(CHECKER.wanted(&BUGS), [0]);
    assert!(CHECKER.finds(&BUGS[2]) && !CHECKER.finds(&BUGS[1]));
}

#[test]
#[should_panic = "brick misses [\"VoteBeforeAppend\"]"]
fn checker_that_misses_what_it_should_find_fails() {
    CHECKER.must_find_of(&BUGS, |_| assert!(!is_on(2), "another bug"));
}

#[test]
fn checker_that_finds_it_passes() {
    CHECKER.must_find_of(&BUGS, |seed| assert!(!is_on(0) || seed < 4, "seen"));
}

#[test]
#[should_panic = "cargo xtask sabotage"]
fn hunt_where_nothing_is_planted_fails() {
    CHECKER.must_find(|_| ());
}
