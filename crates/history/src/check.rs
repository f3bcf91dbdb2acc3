//! Follows each key through its history.

use crate::model::{State, apply};
use crate::operation::{Action, Bytes, NOBODY, Nanos, Operation, Outcome};
use crate::violation::Violation;
use crate::ways::{Way, Ways};
use std::collections::BTreeMap;

/// Ways to explain one key's history up to an instant; more are not followed.
const WAYS_MAX: usize = 1_000_000;

/// What was checked, and found good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedHistory {
    /// Keys.
    pub keys: usize,
    /// Operations, those of unknown outcome included and refused ones not.
    pub operations: usize,
    /// Operations whose outcome nobody knows.
    pub unknown: usize,
    /// The most ways that there were to explain a key's history up to an instant.
    pub ways_max: usize,
}

/// Checks the history of all keys. Each key begins with `initial`'s value.
///
/// ```
/// use brickyard_history::{Action, Operation, Outcome, check};
///
/// let operation = |action, outcome, called, returned| Operation {
///     key: b"k"[..].into(), client: 0, action, outcome, called, returned,
/// };
/// let value: std::sync::Arc<[u8]> = b"1"[..].into();
/// let written = operation(Action::Set(value.clone()), Outcome::Done, 0, 10);
/// let read = operation(Action::Get, Outcome::Value(Some(value)), 5, 7);
/// let stale = operation(Action::Get, Outcome::Value(None), 8, 20);
/// assert!(check(&[written.clone(), read.clone()], |_| None).is_ok());
/// assert!(check(&[written, read, stale], |_| None).is_err());
/// ```
///
/// # Errors
/// The first violation, of the first key that has one.
pub fn check(
    operations: &[Operation],
    initial: impl Fn(&[u8]) -> Option<Bytes>,
) -> Result<CheckedHistory, Violation> {
    let mut keys: BTreeMap<&[u8], Vec<&Operation>> = BTreeMap::new();
    let mut checked = CheckedHistory::default();
    for operation in operations {
        if operation.outcome == Outcome::Refused {
            continue;
        }
        checked.operations += 1;
        checked.unknown += usize::from(operation.outcome == Outcome::Unknown);
        keys.entry(&operation.key).or_default().push(operation);
    }
    checked.keys = keys.len();
    for (key, operations) in keys {
        let ways = check_key(&operations, initial(key))?;
        checked.ways_max = checked.ways_max.max(ways);
    }
    Ok(checked)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    // Calls go first: operations that touch at an instant may be in either order.
    Called(usize),
    Returned(usize),
}

fn check_key(operations: &[&Operation], initial: State) -> Result<usize, Violation> {
    let mut moments: Vec<(Nanos, Moment)> = Vec::with_capacity(operations.len() * 2);
    for (index, operation) in operations.iter().enumerate() {
        let is_unknown = operation.outcome == Outcome::Unknown;
        if is_unknown && !matters(operations, &operation.action) {
            continue;
        }
        moments.push((operation.called, Moment::Called(index)));
        if !is_unknown {
            let returned = operation.returned.max(operation.called);
            moments.push((returned, Moment::Returned(index)));
        }
    }
    moments.sort_unstable();
    let operations = &Operations::new(operations);
    let mut open: Vec<usize> = Vec::new();
    let mut ways = Ways::default();
    ways.insert(Way::new(initial));
    let mut ways_max = 1;
    for (_, moment) in moments {
        match moment {
            Moment::Called(index) => open.push(index),
            Moment::Returned(index) => {
                let after = ways_to_return(operations, &ways, &open, index)?;
                if after.len() == 0 {
                    let states = all_ways(operations, &ways, &open, None)?;
                    let states = states.iter().map(|way| way.state);
                    return Err(Violation::inexplicable(operations.all, index, states));
                }
                open.retain(|it| *it != index);
                ways = after;
                ways_max = ways_max.max(ways.len());
            }
        }
    }
    Ok(ways_max)
}

/// A key's operations, and for each the one that its client sent before it and was answered.
struct Operations<'a> {
    all: &'a [&'a Operation],
    before: Vec<Option<usize>>,
}

impl<'a> Operations<'a> {
    fn new(all: &'a [&'a Operation]) -> Self {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|index| all[*index].called);
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        let mut before = vec![None; all.len()];
        for index in order {
            let Operation {
                client, outcome, ..
            } = all[index];
            before[index] = last.get(client).copied();
            if *outcome != Outcome::Unknown && *client != NOBODY {
                last.insert(*client, index);
            }
        }
        Self { all, before }
    }

    /// Whether an operation can take effect now: what its client sent before has.
    fn can_follow(&self, index: usize, open: &[usize], early: &[usize]) -> bool {
        let before = self.before[index];
        before.is_none_or(|it| early.contains(&it) || !open.contains(&it))
    }
}

/// Whether anybody may have seen that an operation of unknown outcome took effect. If nobody has, it may as well
/// never have: what explains the history with it explains it without.
fn matters(operations: &[&Operation], action: &Action) -> bool {
    let value = match action {
        Action::Get => return false,
        Action::Set(value) | Action::CompareAndSet { value, .. } => value,
        Action::Delete
        | Action::Clear
        | Action::Append(_)
        | Action::Increment(_)
        | Action::Expire(_) => return true,
    };
    // What can only have happened to this value may be what was seen.
    let rests_on_it = |other: &&Operation| match &other.action {
        Action::Expire(expected) => expected == value,
        Action::CompareAndSet { expected, .. } => expected.as_ref() == Some(value),
        _ => false,
    };
    operations.iter().any(rests_on_it)
        || operations.iter().any(|other| match &other.outcome {
            Outcome::Value(seen) => seen.as_ref().is_some_and(|seen| seen.starts_with(value)),
            // Numbers and yes or no are decided by a value, without showing it.
            Outcome::Number(_) | Outcome::Did(_) | Outcome::WrongValue => true,
            Outcome::Done | Outcome::Unknown | Outcome::Refused => false,
        })
}

/// The ways on after `index` has returned: in each it has taken effect, and gave the answer that was seen.
fn ways_to_return(
    operations: &Operations<'_>,
    ways: &Ways,
    open: &[usize],
    index: usize,
) -> Result<Ways, Violation> {
    let mut after = Ways::default();
    for mut way in all_ways(operations, ways, open, Some(index))?.iter() {
        if let Some(place) = way.early.iter().position(|it| *it == index) {
            way.early.remove(place);
            after.insert(way);
        }
    }
    Ok(after)
}

/// Every way that can be reached when any of the open operations take effect, in any order, until `last` has.
fn all_ways(
    operations: &Operations<'_>,
    ways: &Ways,
    open: &[usize],
    last: Option<usize>,
) -> Result<Ways, Violation> {
    let mut found = ways.clone();
    let mut to_follow: Vec<Way> = ways.iter().collect();
    while let Some(way) = to_follow.pop() {
        // Just in time: what can wait until after the return will be followed then.
        if last.is_some_and(|last| way.early.contains(&last)) {
            continue;
        }
        // Of several lost operations that are alike one is as good as another.
        let mut lost: Vec<&Action> = Vec::new();
        for &index in open {
            let operation = operations.all[index];
            let is_lost = operation.outcome == Outcome::Unknown;
            if way.early.contains(&index) || way.spent.contains(&index) {
                continue;
            }
            if !operations.can_follow(index, open, &way.early) {
                continue;
            }
            if is_lost {
                if lost.contains(&&operation.action) {
                    continue;
                }
                lost.push(&operation.action);
            }
            let (state, outcome) = apply(&way.state, &operation.action);
            if !is_lost && operation.outcome != outcome {
                continue;
            }
            let next = way.after(index, state, is_lost);
            if found.insert(next.clone()) {
                to_follow.push(next);
            }
        }
        if found.len() > WAYS_MAX {
            return Err(Violation::TooEntangled {
                key: operations.all[open[0]].key.clone(),
                open: open.len(),
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "check_test.rs"]
mod check_test;
