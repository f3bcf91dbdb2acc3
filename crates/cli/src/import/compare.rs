//! Keys of the source beside the same keys of the target.
//!
//! In:  keys. Out: [`Difference`]s.

use super::{
    asker::{Answer, Asker},
    sink::Sink,
};
use anyhow::bail;
use brickyard_import::{KeyPlace, ReadOutcome};
use brickyard_rdb::{RdbField, RdbValue, restore};
use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

/// Two clocks, and a key that expires while it is read: so close to the end it counts as gone on either side.
const EXPIRY_MS: u64 = 2000;

/// A key that is not the same on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) place: KeyPlace,
    source: ReadOutcome,
    target: ReadOutcome,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = String::from_utf8_lossy(&self.place.key);
        write!(
            f,
            "database {}, key '{key}': {} at the source, {} here",
            self.place.database,
            told(&self.source),
            told(&self.target)
        )
    }
}

fn told(outcome: &ReadOutcome) -> String {
    match outcome {
        ReadOutcome::Absent => "nothing".to_owned(),
        ReadOutcome::Value { value, expires_at } => {
            let text = match value {
                RdbValue::String(bytes) => {
                    let text: String = String::from_utf8_lossy(bytes).chars().take(40).collect();
                    match bytes.len() {
                        0..=40 => format!("'{text}'"),
                        len => format!("'{text}.. ({len} bytes)'"),
                    }
                }
                RdbValue::Hash(fields) => {
                    format!(
                        "a hash of {} fields ({} bytes)",
                        fields.len(),
                        value.bytes()
                    )
                }
            };
            match expires_at {
                Some(at) => format!("{text} until {at}"),
                None => text,
            }
        }
    }
}

/// Reads the keys at both sides; what differs.
pub(crate) async fn compare(
    asker: &mut Asker,
    sink: &Sink,
    places: &[KeyPlace],
) -> anyhow::Result<Vec<Difference>> {
    let Answer::Read { outcomes, .. } = asker.read(places)? else {
        bail!("the source answered a read with something else");
    };
    compare_with(sink, outcomes).await
}

/// Reads the keys at the target; what differs from what the source had.
pub(crate) async fn compare_with(
    sink: &Sink,
    outcomes: Vec<(KeyPlace, ReadOutcome)>,
) -> anyhow::Result<Vec<Difference>> {
    let mut reads = Vec::with_capacity(outcomes.len());
    for (place, source) in outcomes {
        let table = sink.table(place.database)?;
        let value = table.command(&[b"DUMP", &place.key[..]]);
        let expiry = table.command(&[&b"PEXPIRETIME"[..], &place.key[..]]);
        reads.push((place, source, value, expiry));
    }
    let mut differences = Vec::new();
    for (place, source, value, expiry) in reads {
        let (value, expiry) = (value.await?, expiry.await?);
        let target = match value.bytes().and_then(|payload| restore(payload).ok()) {
            None => ReadOutcome::Absent,
            Some(value) => ReadOutcome::Value {
                value,
                expires_at: expiry.integer().and_then(|it| u64::try_from(it).ok()),
            },
        };
        if !is_same(&source, &target, now_ms()) {
            differences.push(Difference {
                place,
                source,
                target,
            });
        }
    }
    Ok(differences)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_millis() as u64)
}

fn is_same(source: &ReadOutcome, target: &ReadOutcome, now: u64) -> bool {
    let is_ending = |outcome: &ReadOutcome| matches!(outcome, ReadOutcome::Value { expires_at: Some(at), .. } if *at <= now + EXPIRY_MS);
    if is_ending(source) || is_ending(target) {
        return matches!(source, ReadOutcome::Absent)
            || matches!(target, ReadOutcome::Absent)
            || has_same_value(source, target);
    }
    match (source, target) {
        (
            ReadOutcome::Value {
                value: a,
                expires_at: x,
            },
            ReadOutcome::Value {
                value: b,
                expires_at: y,
            },
        ) => {
            // Sources before Redis 7 tell how much is left, by their own clock.
            let is_close = match (x, y) {
                (Some(x), Some(y)) => x.abs_diff(*y) <= EXPIRY_MS,
                (x, y) => x == y,
            };
            is_same_value(a, b) && is_close
        }
        (a, b) => a == b,
    }
}

fn has_same_value(source: &ReadOutcome, target: &ReadOutcome) -> bool {
    match (source, target) {
        (ReadOutcome::Value { value: a, .. }, ReadOutcome::Value { value: b, .. }) => {
            is_same_value(a, b)
        }
        (source, target) => source == target,
    }
}

/// Fields have no order.
fn is_same_value(a: &RdbValue, b: &RdbValue) -> bool {
    let (RdbValue::Hash(a), RdbValue::Hash(b)) = (a, b) else {
        return a == b;
    };
    let sorted = |fields: &[RdbField]| {
        let mut fields = fields.to_vec();
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        fields
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod compare_test {
    use super::{RdbValue, ReadOutcome, is_same};

    fn value(text: &str, expires_at: Option<u64>) -> ReadOutcome {
        let value = RdbValue::String(text.as_bytes().to_vec());
        ReadOutcome::Value { value, expires_at }
    }

    #[test]
    fn values_and_expiries_have_to_be_the_same() {
        let now = 10_000;
        assert!(is_same(&value("a", None), &value("a", None), now));
        assert!(!is_same(&value("a", None), &value("b", None), now));
        assert!(!is_same(&value("a", None), &value("a", Some(90_000)), now));
        assert!(!is_same(
            &value("a", Some(90_000)),
            &value("a", Some(50_000)),
            now
        ));
        assert!(!is_same(&ReadOutcome::Absent, &value("a", None), now));
        // What ends at this very moment may be gone on one side.
        assert!(is_same(
            &ReadOutcome::Absent,
            &value("a", Some(10_500)),
            now
        ));
        assert!(!is_same(
            &value("a", Some(10_500)),
            &value("b", Some(10_500)),
            now
        ));
    }
}
