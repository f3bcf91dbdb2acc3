//! Replies as the types of the calls' results.
//!
//! In:  a [`Value`] that is no error. Out: a result, or [`Error::Protocol`].

use crate::Error;
use brickyard_wire::Value;
use std::time::Duration;

pub(crate) const fn any(value: Value) -> Result<Value, Error> {
    Ok(value)
}

pub(crate) fn done(_: Value) -> Result<(), Error> {
    Ok(())
}

pub(crate) fn bytes(value: Value) -> Result<Option<Vec<u8>>, Error> {
    match value {
        Value::Null => Ok(None),
        Value::Bulk(bytes) | Value::Simple(bytes) => Ok(Some(bytes)),
        other => Err(strange("a string or null", &other)),
    }
}

/// A value, and how long it may be kept.
pub(crate) fn leased(value: Value) -> Result<(Option<Vec<u8>>, Duration), Error> {
    match value {
        Value::Array(both) => match <[Value; 2]>::try_from(both) {
            Ok([value, lease]) => Ok((bytes(value)?, Duration::from_millis(count(lease)?))),
            Err(both) => Err(strange("a value and its lease", &Value::Array(both))),
        },
        other => Err(strange("a value and its lease", &other)),
    }
}

pub(crate) fn integer(value: Value) -> Result<i64, Error> {
    match value {
        Value::Integer(number) => Ok(number),
        other => Err(strange("an integer", &other)),
    }
}

pub(crate) fn count(value: Value) -> Result<u64, Error> {
    let number = integer(value)?;
    u64::try_from(number).map_err(|_| strange("a count", &Value::Integer(number)))
}

pub(crate) fn flag(value: Value) -> Result<bool, Error> {
    Ok(count(value)? > 0)
}

pub(crate) fn several(value: Value) -> Result<Vec<Option<Vec<u8>>>, Error> {
    match value {
        Value::Array(elements) => elements.into_iter().map(bytes).collect(),
        other => Err(strange("an array", &other)),
    }
}

/// Names with their values.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Pairs, as a map or one behind the other.
pub(crate) fn pairs(value: Value) -> Result<Pairs, Error> {
    let text = |value| bytes(value)?.ok_or_else(|| strange("a string", &Value::Null));
    match value {
        Value::Map(pairs) => pairs
            .into_iter()
            .map(|(name, value)| Ok((text(name)?, text(value)?)))
            .collect(),
        Value::Array(elements) if elements.len().is_multiple_of(2) => {
            let mut elements = elements.into_iter();
            let mut pairs = Vec::with_capacity(elements.len() / 2);
            while let (Some(name), Some(value)) = (elements.next(), elements.next()) {
                pairs.push((text(name)?, text(value)?));
            }
            Ok(pairs)
        }
        other => Err(strange("a map", &other)),
    }
}

/// How long a key has to live.
///
/// ```
/// use brickyard_client::Ttl;
/// use std::time::Duration;
/// assert!(Ttl::Left(Duration::from_secs(1)) != Ttl::Forever);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// There is no such key.
    Missing,
    /// It has no expiry.
    Forever,
    /// It is gone after this time.
    Left(Duration),
}

pub(crate) fn ttl(value: Value) -> Result<Ttl, Error> {
    match integer(value)? {
        -2 => Ok(Ttl::Missing),
        -1 => Ok(Ttl::Forever),
        ms => match u64::try_from(ms) {
            Ok(ms) => Ok(Ttl::Left(Duration::from_millis(ms))),
            Err(_) => Err(strange("a time to live", &Value::Integer(ms))),
        },
    }
}

/// What `SCAN` gives: where to go on, and keys.
pub(crate) fn page(value: Value) -> Result<(Vec<u8>, Vec<Vec<u8>>), Error> {
    let mut elements = match value {
        Value::Array(elements) => elements.into_iter(),
        other => return Err(strange("a cursor and keys", &other)),
    };
    match (elements.next(), elements.next()) {
        (Some(Value::Bulk(cursor)), Some(Value::Array(keys))) => {
            let keys = keys.into_iter().filter_map(|key| bytes(key).transpose());
            Ok((cursor, keys.collect::<Result<_, _>>()?))
        }
        _ => Err(Error::protocol("expected a cursor and keys")),
    }
}

fn strange(expected: &str, got: &Value) -> Error {
    let mut got = format!("{got:?}");
    if let Some((end, _)) = got.char_indices().nth(100) {
        got.truncate(end);
        got.push_str("...");
    }
    Error::protocol(format!("expected {expected}, got {got}"))
}

#[cfg(test)]
mod convert_test {
    use super::*;

    #[test]
    fn replies_of_another_kind_are_refused_in_words() {
        let error = integer(Value::Bulk(vec![0; 1000])).expect_err("no integer");
        let text = error.to_string();
        assert!(
            text.contains("expected an integer") && text.len() < 250,
            "{text}"
        );
        assert!(count(Value::Integer(-1)).is_err());
        assert!(several(Value::Null).is_err());
        assert!(page(Value::Array(vec![Value::Null])).is_err());
    }

    #[test]
    fn pairs_come_as_a_map_or_one_behind_the_other() {
        let text = |it: &str| Value::Bulk(it.into());
        let expected = Ok(vec![(b"a".to_vec(), b"1".to_vec())]);
        assert_eq!(pairs(Value::Map(vec![(text("a"), text("1"))])), expected);
        assert_eq!(pairs(Value::Array(vec![text("a"), text("1")])), expected);
        assert!(pairs(Value::Array(vec![text("a")])).is_err());
        assert!(pairs(Value::Map(vec![(text("a"), Value::Null)])).is_err());
    }

    #[test]
    fn a_time_to_live_is_told_from_none() {
        assert_eq!(ttl(Value::Integer(-2)), Ok(Ttl::Missing));
        assert_eq!(ttl(Value::Integer(-1)), Ok(Ttl::Forever));
        assert_eq!(
            ttl(Value::Integer(5)),
            Ok(Ttl::Left(Duration::from_millis(5)))
        );
        assert!(ttl(Value::Integer(-3)).is_err());
    }
}
