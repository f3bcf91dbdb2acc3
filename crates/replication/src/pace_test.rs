use super::*;

const TICK: Duration = Duration::from_millis(100);
const LEAST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(5);

/// Waits that take so many ticks each, one after the other.
fn waits(pace: &mut Pace, count: u64, ticks: u64) {
    for at in 1..=count {
        let given = at * 10;
        pace.look(TICK, given, given - 1);
        for _ in 1..ticks {
            pace.look(TICK, given, given - 1);
        }
        pace.look(TICK, given, given);
    }
}

#[test]
fn what_comes_back_before_the_next_tick_took_no_time() {
    let mut pace = Pace::default();
    waits(&mut pace, 100, 1);
    assert_eq!(pace.waited(), Duration::ZERO);
    assert_eq!(pace.patience(LEAST, MOST), LEAST);
    assert!(!pace.is_slow());
}

#[test]
fn the_wait_at_hand_is_measured_whatever_else_is_given() {
    let mut pace = Pace::default();
    for given in 1..=11 {
        pace.look(TICK, given, 0);
    }
    assert_eq!(pace.waited(), TICK * 10);
    // Something came, and the rest is waited for.
    pace.look(TICK, 11, 1);
    assert_eq!(pace.waited(), Duration::ZERO);
}

#[test]
fn time_in_which_no_tick_came_counts_for_one() {
    let mut pace = Pace::default();
    pace.look(TICK, 1, 0);
    pace.look(Duration::from_secs(60), 1, 0);
    assert_eq!(pace.waited(), TICK_MAX);
}

#[test]
fn patience_grows_with_long_waits_and_fades() {
    let mut pace = Pace::default();
    waits(&mut pace, 1, 9);
    let grown = pace.patience(LEAST, MOST);
    assert!(grown > TICK * 23 && grown <= TICK * 24, "{grown:?}");
    waits(&mut pace, 2_000, 1);
    assert_eq!(pace.patience(LEAST, MOST), LEAST);
    waits(&mut pace, 1, 90);
    assert_eq!(pace.patience(LEAST, MOST), MOST);
}

#[test]
fn nothing_is_learned_of_a_wait_that_was_given_up() {
    let mut pace = Pace::default();
    for _ in 0..50 {
        pace.look(TICK, 1, 0);
    }
    pace.give_up();
    pace.look(TICK, 1, 1);
    assert_eq!(pace.patience(LEAST, MOST), LEAST);
    assert_eq!(pace.waited(), Duration::ZERO);
}

#[test]
fn waits_are_slow_when_they_are_long_as_a_rule() {
    let mut pace = Pace::default();
    waits(&mut pace, 3, 3);
    assert!(!pace.is_slow(), "a few may be long");
    waits(&mut pace, 20, 3);
    assert!(pace.is_slow());
    waits(&mut pace, 20, 1);
    assert!(!pace.is_slow());
}

/// An append that the loop makes itself has come back before any tick.
#[test]
fn what_comes_and_goes_between_two_ticks_is_not_slow() {
    let mut pace = Pace::default();
    waits(&mut pace, 20, 3);
    assert!(pace.is_slow());
    for done in 201..=220 {
        pace.look(TICK, done, done);
    }
    assert!(!pace.is_slow());
}

/// Else a learner that has nothing to do would never be promoted.
#[test]
fn what_has_nothing_to_do_is_not_slow_for_ever() {
    let mut pace = Pace::default();
    waits(&mut pace, 20, 3);
    for _ in 0..99 {
        pace.look(TICK, 200, 200);
    }
    assert!(pace.is_slow());
    pace.look(TICK, 200, 200);
    assert!(!pace.is_slow());
    // It counts anew from then on.
    waits(&mut pace, 1, 3);
    assert!(!pace.is_slow());
}
