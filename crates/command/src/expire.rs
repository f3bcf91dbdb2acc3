//! Setting and reading when a key expires: EXPIRE and its kin, PERSIST, TTL and its kin.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::{Base, Unit, point_in_time, signed};
use crate::hash;
use crate::keyspace::{Keyspace, NewValue};
use crate::number::integer;
use brickyard_types::{UnixMillis, ValueType};
use brickyard_wire::Reply;

/// Which expiry the key must have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// `NX`: none.
    missing: bool,
    /// `XX`: one.
    exists: bool,
    /// `GT`: an earlier one.
    greater: bool,
    /// `LT`: a later one, or none.
    less: bool,
}

impl Conditions {
    /// Reads the words that name them.
    pub(crate) fn of<'a>(options: impl Iterator<Item = &'a [u8]>) -> Result<Self, ErrorReply> {
        let mut conditions = Self::default();
        for option in options {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"nx") {
                conditions.missing = true;
            } else if is(b"xx") {
                conditions.exists = true;
            } else if is(b"gt") {
                conditions.greater = true;
            } else if is(b"lt") {
                conditions.less = true;
            } else {
                return Err(ErrorReply::new(
                    [b"ERR Unsupported option ", until_nul(option)].concat(),
                ));
            }
        }
        if conditions.missing && (conditions.exists || conditions.greater || conditions.less) {
            return Err(ErrorReply::constant(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.greater && conditions.less {
            return Err(ErrorReply::constant(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// Whether a key with the expiry `current` may get the expiry `at`, in signed milliseconds.
    pub(crate) fn allow(self, current: Option<UnixMillis>, at: i64) -> bool {
        let Some(current) = current.map(signed) else {
            // No expiry counts as one that never comes.
            return !self.exists && !self.greater;
        };
        !self.missing && (!self.greater || at > current) && (!self.less || at < current)
    }
}

/// The part of an argument before its first zero byte, which is where Redis's messages end it.
pub(crate) fn until_nul(argument: &[u8]) -> &[u8] {
    argument.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// When the key expires by itself, if it exists: a hash is gone earlier when all of its fields are.
fn key_expiry<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
) -> Result<Option<Option<UnixMillis>>, Failure> {
    let Some(probe) = keyspace.probe(key)? else {
        return Ok(None);
    };
    if probe.value_type.is_string() || probe.expires_at.is_none() {
        return Ok(Some(probe.expires_at));
    }
    match keyspace.read_stored(key)? {
        Some(entry) => Ok(Some(hash::key_expiry(entry.value, entry.expires_at)?)),
        None => Ok(None),
    }
}

/// Gives an existing key another expiry and leaves its value; says whether the key was there.
pub(crate) fn set_expiry<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    expires_at: Option<UnixMillis>,
) -> Result<bool, Failure> {
    let Some(entry) = keyspace.read_stored(key)? else {
        return Ok(false);
    };
    let value_type = entry.value_type;
    let (value, expires_at) = match value_type {
        ValueType::Hash => hash::with_key_expiry(entry.value, entry.expires_at, expires_at)?,
        ValueType::String | ValueType::BuiltString => (entry.value.to_vec(), expires_at),
        ValueType::Intent => return Err(ErrorReply::WRONG_TYPE.into()),
    };
    let put = NewValue {
        value: &[&value],
        expires_at,
        value_type,
    };
    keyspace.put(key, put)?;
    Ok(true)
}

/// EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT.
pub(crate) fn expire<K: Keyspace>(
    args: Args<'_>,
    command: &'static str,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let conditions = Conditions::of(args.from(3))?;
    let number = integer(args.at(2))?;
    let at = point_in_time(number, unit, base, keyspace.now());
    let at = at.ok_or_else(|| ErrorReply::invalid_expiry(command))?;
    let now = signed(keyspace.now());
    let key = args.at(1);
    let is_set = match key_expiry(keyspace, key)? {
        Some(expires_at) if conditions.allow(expires_at, at) => {
            if at <= now {
                keyspace.delete(key)?
            } else {
                set_expiry(keyspace, key, Some(UnixMillis(at.unsigned_abs())))?
            }
        }
        _ => false,
    };
    reply.integer(i64::from(is_set));
    Ok(())
}

pub(crate) fn persist<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let key = args.at(1);
    let has_expiry = key_expiry(keyspace, key)?.flatten().is_some();
    reply.integer(i64::from(has_expiry && set_expiry(keyspace, key, None)?));
    Ok(())
}

/// TTL, PTTL, EXPIRETIME, PEXPIRETIME: -2 for no key, -1 for no expiry.
pub(crate) fn ttl<K: Keyspace>(
    args: Args<'_>,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let now = signed(keyspace.now());
    let number = match key_expiry(keyspace, args.at(1))? {
        None => -2,
        Some(expires_at) => match expires_at.map(signed) {
            None => -1,
            Some(at) => {
                let milliseconds = match base {
                    Base::Now => (at - now).max(0),
                    Base::Epoch => at,
                };
                match unit {
                    Unit::Milliseconds => milliseconds,
                    // Rounded to the nearest second.
                    Unit::Seconds => ((milliseconds.unsigned_abs() + 500) / 1000).cast_signed(),
                }
            }
        },
    };
    reply.integer(number);
    Ok(())
}

#[cfg(test)]
#[path = "expire_test.rs"]
mod expire_test;
