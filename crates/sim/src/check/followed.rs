//! Who follows a table is told every committed change once, in the order of its key.
//!
//! Values are written once, so a value that was told names the operation that wrote it. Numbers are counted: what is told is
//! one more than before.
//!
//! Not here: who may be told that changes are not kept any more.

use crate::clients::state::{Clients, Follower, Stretch, is_in_hash};
use crate::habits::Kind;
use crate::world::World;
use brickyard_history::{Action, Bytes, Operation, Outcome};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(world: &mut World) {
    let whole_at = world.cluster.checkers.whole_at;
    let clients = &world.clients;
    let mut followers = clients.all.iter().filter_map(|client| {
        let follower = client.pursuits.follower.as_ref()?;
        Some((clients.table(client.table), follower))
    });
    let wrong = followers.find_map(|(table, it)| objection(clients, table, it, whole_at));
    if let Some(wrong) = wrong {
        world.object(wrong);
    }
}

fn objection(clients: &Clients, table: &str, follower: &Follower, whole_at: u64) -> Option<String> {
    let prefixes = [format!("{table}:"), format!("{{{table}:")];
    let is_of_table = |it: &&Operation| {
        prefixes
            .iter()
            .any(|prefix| it.key.starts_with(prefix.as_bytes()))
    };
    let mut of_keys: BTreeMap<&[u8], Vec<&Operation>> = BTreeMap::new();
    for operation in clients.history.iter().filter(is_of_table) {
        of_keys.entry(&operation.key).or_default().push(operation);
    }
    let mut told_before = BTreeSet::new();
    for stretch in &follower.stretches {
        let mut values: BTreeMap<&[u8], Vec<Option<&Bytes>>> = BTreeMap::new();
        for told in &stretch.told {
            values
                .entry(&told.key)
                .or_default()
                .push(told.value.as_ref());
        }
        for (key, values) in &values {
            let operations = of_keys.get(key).map_or(&[][..], Vec::as_slice);
            let wrong = match counts(operations) {
                true => count_on(values),
                false => name_writers(operations, values, &mut told_before),
            };
            if let Some(wrong) = wrong {
                return Some(format!("{}: {wrong}", key.escape_ascii()));
            }
        }
    }
    let last = follower.stretches.last()?;
    for (key, operations) in &of_keys {
        if let Some(wrong) = what_is_missing(last, key, operations, whole_at) {
            return Some(format!("{}: {wrong}", key.escape_ascii()));
        }
    }
    None
}

fn counts(operations: &[&Operation]) -> bool {
    operations
        .iter()
        .any(|it| matches!(it.action, Action::Increment(_)))
}

/// Each number is one more than the one before.
fn count_on(values: &[Option<&Bytes>]) -> Option<String> {
    let number = |value: Option<&Bytes>| match value {
        Some(text) => std::str::from_utf8(text).ok()?.parse::<i64>().ok(),
        None => Some(0),
    };
    let wrong = values.windows(2).find(|pair| {
        let goes_on = number(pair[0]).map(|it| it + 1);
        pair[1].is_some() && number(pair[1]) != goes_on
    });
    wrong.map(|pair| format!("{} is told behind {}", shown(pair[1]), shown(pair[0])))
}

/// The operation that wrote a value: what it wrote is the value, or its end.
fn writer<'a>(operations: &[&'a Operation], value: &[u8]) -> Option<&'a Operation> {
    let last = value.iter().rposition(|byte| *byte == b'<')?;
    operations.iter().copied().find(|it| match &it.action {
        Action::Set(written) | Action::CompareAndSet { value: written, .. } => **written == *value,
        Action::Append(written) => **written == value[last..],
        _ => false,
    })
}

/// Each value was written, was told once, and does not come behind one that was written when it was known to be there.
fn name_writers<'a>(
    operations: &[&'a Operation],
    values: &[Option<&'a Bytes>],
    told_before: &mut BTreeSet<(Bytes, Bytes)>,
) -> Option<String> {
    let mut latest: Option<&Operation> = None;
    let mut before: Option<Option<&Bytes>> = None;
    for value in values {
        let follows = before.replace(*value);
        let Some(text) = value else { continue };
        let Some(by) = writer(operations, text) else {
            return Some(format!("{} is told, and was never written", shown(*value)));
        };
        if matches!(by.outcome, Outcome::Refused | Outcome::Did(false)) {
            return Some(format!("{} is told, and was refused: {by}", shown(*value)));
        }
        if !told_before.insert((by.key.clone(), (*text).clone())) {
            return Some(format!("{} is told twice", shown(*value)));
        }
        let fits = match (&by.action, follows) {
            (Action::Append(end), Some(follows)) => {
                let begin = follows.map_or(&[][..], |it| it);
                text.strip_suffix(&**end) == Some(begin)
            }
            (Action::CompareAndSet { expected, .. }, Some(follows)) => expected.as_ref() == follows,
            _ => true,
        };
        if !fits {
            return Some(format!(
                "{} is told behind {}, and was written so: {by}",
                shown(*value),
                follows.map_or_else(String::new, shown)
            ));
        }
        // Of those told so far the one that was asked for last; this one may not have ended before that.
        if let Some(latest) = latest
            && by.outcome != Outcome::Unknown
            && by.returned < latest.called
        {
            return Some(format!(
                "told in another order than written: {latest}\nthen {by}"
            ));
        }
        if latest.is_none_or(|it| it.called < by.called) {
            latest = Some(by);
        }
    }
    None
}

/// What has to be told of a key in the last stretch, and was not.
fn what_is_missing(
    stretch: &Stretch,
    key: &[u8],
    operations: &[&Operation],
    whole_at: u64,
) -> Option<String> {
    let told: Vec<Option<&Bytes>> = stretch
        .told
        .iter()
        .filter(|it| *it.key == *key)
        .map(|it| it.value.as_ref())
        .collect();
    let known = operations
        .iter()
        .filter(|it| it.called > stretch.since && it.outcome != Outcome::Unknown);
    let is_told = |operation: &Operation| {
        let is_it = |value: &Bytes| match &operation.action {
            Action::Append(end) => value.ends_with(end),
            Action::Set(it) | Action::CompareAndSet { value: it, .. } => it == value,
            _ => true,
        };
        told.iter().flatten().any(|value| is_it(value))
    };
    // A flush takes a value with it that a transaction over slots has left to be resolved: it is told of that alone.
    let is_flushed_early = |it: &&&Operation| {
        let mut clears = operations.iter().filter(|it| it.action == Action::Clear);
        is_apart(key)
            && clears.any(|clear| clear.outcome == Outcome::Unknown || it.called < clear.returned)
    };
    let mut known = known.filter(|it| !is_flushed_early(it));
    let missing = known.find(|it| {
        let has_written = match &it.action {
            Action::Set(_) => it.outcome == Outcome::Done,
            Action::CompareAndSet { .. } => it.outcome == Outcome::Did(true),
            Action::Append(_) => matches!(it.outcome, Outcome::Number(_)),
            _ => false,
        };
        has_written && !is_told(it)
    });
    if let Some(missing) = missing {
        return Some(format!("was written and not told: {missing}"));
    }
    let counted = operations.iter().filter(|it| {
        let is_count = matches!(it.action, Action::Increment(_));
        is_count && it.called > stretch.since && matches!(it.outcome, Outcome::Number(_))
    });
    if counted.count() > told.iter().flatten().count() && counts(operations) {
        return Some(format!("was counted on more often than told: {told:?}"));
    }
    // What has an end has come to it, whatever was read before; of a field somebody has to read the hash, or pass by it.
    let has_end = operations
        .iter()
        .any(|it| matches!(it.action, Action::Expire(_)));
    if has_end && is_field(key) {
        return None;
    }
    let holds = operations.iter().rev().find_map(|it| match &it.outcome {
        Outcome::Value(value) if it.called >= whole_at => Some(value.as_ref()),
        _ => None,
    });
    let holds = if has_end { None } else { holds? };
    let last = told.last()?;
    (*last != holds).then(|| format!("holds {}, and {} was told last", shown(holds), shown(*last)))
}

/// Whether a key is one of two of different slots that are written together.
fn is_apart(key: &[u8]) -> bool {
    [&b":left"[..], b":right"]
        .iter()
        .any(|it| key.windows(it.len()).any(|part| part == *it))
}

/// Whether it is a hash whose field counts.
fn is_field(key: &[u8]) -> bool {
    let number = key.last().map(|digit| u64::from(*digit));
    let kind = match key.contains(&b'{') {
        true => Kind::BriefLeft,
        false => Kind::Passing,
    };
    number.is_some_and(|it| is_in_hash(kind, it))
}

fn shown(value: Option<&Bytes>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |it| it.escape_ascii().to_string())
}
