use super::*;
use crate::operation::Action;

fn bytes(text: &str) -> Bytes {
    text.as_bytes().into()
}

fn set(value: &str) -> Action {
    Action::Set(bytes(value))
}

fn append(value: &str) -> Action {
    Action::Append(bytes(value))
}

fn value(text: &str) -> Outcome {
    Outcome::Value(Some(bytes(text)))
}

fn did(action: Action, outcome: Outcome, called: Nanos, returned: Nanos) -> Operation {
    Operation {
        key: bytes("k"),
        action,
        called,
        returned,
        outcome,
        client: NOBODY,
    }
}

fn is_good(operations: &[Operation]) -> bool {
    check(operations, |_| None).is_ok()
}

const NOTHING: Outcome = Outcome::Value(None);

#[test]
fn reads_during_a_write_may_see_either_value_in_order() {
    let write = did(set("1"), Outcome::Done, 10, 50);
    let old = did(Action::Get, NOTHING, 15, 20);
    let new = did(Action::Get, value("1"), 25, 30);
    assert!(is_good(&[write.clone(), old.clone(), new.clone()]));
    let older = did(Action::Get, NOTHING, 35, 40);
    assert!(!is_good(&[write, old, new, older]), "the value went back");
}

#[test]
fn acknowledged_write_that_is_not_there_is_found() {
    let write = did(set("1"), Outcome::Done, 0, 10);
    let read = did(Action::Get, NOTHING, 11, 20);
    let violation = check(&[write, read], |_| None).unwrap_err().to_string();
    for part in ["key \"k\"", "get -> nothing", "could only hold \"1\""] {
        assert!(violation.contains(part), "{part} is not in:\n{violation}");
    }
}

#[test]
fn write_of_unknown_fate_may_happen_late_or_never_but_once() {
    let first = did(set("1"), Outcome::Done, 0, 10);
    let lost = did(set("2"), Outcome::Unknown, 20, 0);
    let unchanged = did(Action::Get, value("1"), 1000, 1010);
    let late = did(Action::Get, value("2"), 2000, 2010);
    let again = did(set("3"), Outcome::Done, 3000, 3010);
    let back = did(Action::Get, value("2"), 4000, 4010);
    let mut history = vec![first, lost, unchanged, late, again];
    assert!(is_good(&history));
    history.push(back);
    assert!(!is_good(&history), "it took effect twice");
}

/// Nobody has seen the value, but what came of it.
#[test]
fn write_of_unknown_fate_is_what_ended_or_was_replaced() {
    let first = did(set("1"), Outcome::Done, 0, 10);
    let lost = did(set("2"), Outcome::Unknown, 20, 0);
    let end = did(Action::Expire(bytes("2")), Outcome::Unknown, 120, 0);
    let gone = did(Action::Get, NOTHING, 130, 140);
    assert!(is_good(&[
        first.clone(),
        lost.clone(),
        end.clone(),
        gone.clone()
    ]));
    assert!(!is_good(&[first.clone(), end, gone]), "it had no end");

    let swap = Action::CompareAndSet {
        expected: Some(bytes("2")),
        value: bytes("3"),
    };
    let swap = did(swap, Outcome::Unknown, 30, 0);
    let swapped = did(Action::Get, value("3"), 40, 50);
    assert!(is_good(&[
        first.clone(),
        lost,
        swap.clone(),
        swapped.clone()
    ]));
    assert!(!is_good(&[first, swap, swapped]), "there was no \"2\"");
}

#[test]
fn what_one_client_sends_without_waiting_is_in_order() {
    let write = did(set("1"), Outcome::Done, 0, 30);
    let read = did(Action::Get, NOTHING, 1, 20);
    assert!(is_good(&[write.clone(), read.clone()]), "of two clients");
    let [write, read] = [write, read].map(|it| Operation { client: 3, ..it });
    assert!(!is_good(&[write.clone(), read.clone()]));
    let lost = Operation {
        outcome: Outcome::Unknown,
        ..write
    };
    assert!(is_good(&[lost, read]), "it may take effect later");
}

#[test]
fn cleared_key_has_no_value() {
    let write = did(set("1"), Outcome::Done, 0, 10);
    let clear = did(Action::Clear, Outcome::Done, 20, 30);
    let read = did(Action::Get, value("1"), 40, 50);
    assert!(!is_good(&[write, clear, read]));
}

#[test]
fn write_that_nobody_asked_for_yet_is_not_seen() {
    let read = did(Action::Get, value("1"), 0, 10);
    let write = did(set("1"), Outcome::Unknown, 11, 0);
    assert!(!is_good(&[read, write]));
}

#[test]
fn refused_write_that_took_effect_is_found() {
    let write = did(set("1"), Outcome::Refused, 0, 10);
    let read = did(Action::Get, value("1"), 20, 30);
    assert!(!is_good(&[write, read]));
}

#[test]
fn increments_and_appends_count_once_each() {
    let one = did(Action::Increment(1), Outcome::Number(1), 0, 10);
    let lost = did(Action::Increment(1), Outcome::Unknown, 5, 0);
    let three = did(Action::Increment(1), Outcome::Number(3), 20, 30);
    assert!(is_good(&[one.clone(), lost.clone(), three.clone()]));
    assert!(!is_good(&[one, three]), "nobody made it 2");

    let a = did(append("a"), Outcome::Number(1), 0, 10);
    let b = did(append("b"), Outcome::Unknown, 0, 0);
    let twice = did(Action::Get, value("abb"), 20, 30);
    let once = did(Action::Get, value("ba"), 20, 30);
    assert!(!is_good(&[a.clone(), b.clone(), twice]));
    let a_last = Operation {
        outcome: Outcome::Number(2),
        ..a
    };
    assert!(is_good(&[a_last, b, once]));
}

#[test]
fn only_one_of_two_that_compare_and_set_wins() {
    let claim = |name: &str, won| {
        let action = Action::CompareAndSet {
            expected: None,
            value: bytes(name),
        };
        did(action, Outcome::Did(won), 0, 10)
    };
    assert!(is_good(&[claim("a", true), claim("b", false)]));
    assert!(!is_good(&[claim("a", true), claim("b", true)]));
}

#[test]
fn keys_are_judged_apart_and_begin_as_told() {
    let other = Operation {
        key: bytes("other"),
        ..did(Action::Get, value("0"), 0, 10)
    };
    let initial = |key: &[u8]| (key == b"other").then(|| bytes("0"));
    let read = did(Action::Get, NOTHING, 0, 10);
    let checked = check(&[other.clone(), read], initial).unwrap();
    assert_eq!((checked.keys, checked.operations), (2, 2));
    assert!(!is_good(&[other]));
}

/// Numbers without a pattern.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

fn some_action(dice: &mut Dice, number: u64) -> Action {
    let text = number.to_string();
    match dice.below(8) {
        0 | 1 => set(&text),
        2 => append(&text),
        3 => Action::Delete,
        4 => Action::Increment(1),
        5 => Action::CompareAndSet {
            expected: None,
            value: bytes(&text),
        },
        _ => Action::Get,
    }
}

/// A history of one key in which each operation takes effect within its time.
fn made(dice: &mut Dice, count: u64, lost_one_in: u64) -> Vec<Operation> {
    let mut state = None;
    let mut operations = Vec::new();
    for number in 0..count {
        let now = number * 10;
        let action = some_action(dice, number + 1);
        let is_lost = dice.below(lost_one_in) == 0;
        let (after, outcome) = apply(&state, &action);
        if !is_lost || dice.below(2) == 0 {
            state = after;
        }
        let outcome = if is_lost { Outcome::Unknown } else { outcome };
        let (before, behind) = (dice.below(25), dice.below(25));
        let called = (now + 30).saturating_sub(before);
        operations.push(did(action, outcome, called, now + 30 + behind));
    }
    operations
}

/// Tries every order there is.
fn has_an_order(operations: &[Operation], state: &State, done: u32) -> bool {
    let open = |index: usize| done & (1 << index) == 0;
    let count = operations.len();
    let is_over = (0..count).all(|it| !open(it) || operations[it].outcome == Outcome::Unknown);
    is_over
        || (0..count).filter(|it| open(*it)).any(|index| {
            let operation = &operations[index];
            // Nothing that is still to come may have ended before this began.
            let is_first = (0..count).filter(|it| open(*it)).all(|other| {
                operations[other].outcome == Outcome::Unknown
                    || operations[other].returned >= operation.called
            });
            let (after, outcome) = apply(state, &operation.action);
            let fits = operation.outcome == Outcome::Unknown || operation.outcome == outcome;
            is_first && fits && has_an_order(operations, &after, done | 1 << index)
        })
}

#[test]
fn agrees_with_trying_every_order() {
    let mut dice = Dice(7);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3000 {
        let mut operations = made(&mut dice, 7, 8);
        assert!(is_good(&operations), "{operations:#?}");
        // An answer from elsewhere in the history.
        let (to, from) = (dice.below(7) as usize, dice.below(7) as usize);
        operations[to].outcome = operations[from].outcome.clone();
        let expected = has_an_order(&operations, &None, 0);
        assert_eq!(is_good(&operations), expected, "{operations:#?}");
        good += u32::from(expected);
        bad += u32::from(!expected);
    }
    assert!(good > 300 && bad > 300, "{good} good, {bad} bad");
}

#[test]
fn long_histories_of_many_clients_are_judged() {
    let mut dice = Dice(3);
    let operations = made(&mut dice, 2000, 400);
    let checked = check(&operations, |_| None).unwrap();
    assert_eq!(checked.operations, 2000);
    assert!(checked.unknown > 0);
}
