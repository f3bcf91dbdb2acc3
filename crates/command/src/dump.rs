//! A key's value as one string, and back: DUMP, RESTORE.
//!
//! In:  keys; payloads of this program, or of a Redis or Valkey. Out: payloads in Redis's serialization; values.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::put_or_expire;
use crate::hash;
use crate::keyspace::{KeyValue, Keyspace, NewValue};
use crate::number::integer;
use brickyard_rdb::{PayloadError, RdbValue, dump_hash, dump_string, restore};
use brickyard_types::{UnixMillis, ValueType};
use brickyard_wire::Reply;

/// A value's payload, as `DUMP` answers it.
///
/// # Errors
/// The value is none that this program writes.
pub fn payload_of(entry: &KeyValue<'_>, now: UnixMillis) -> Result<Vec<u8>, ErrorReply> {
    match entry.value_type {
        ValueType::String | ValueType::BuiltString => Ok(dump_string(entry.value)),
        ValueType::Hash => {
            let fields = hash::listed(entry.value, entry.expires_at, now)?;
            Ok(dump_hash(fields.iter().copied()))
        }
        ValueType::Intent => Err(ErrorReply::WRONG_TYPE),
    }
}

pub(crate) fn dump<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let now = keyspace.now();
    match keyspace.read_any(args.at(1))? {
        Some(entry) => reply.bulk(&payload_of(&entry, now)?),
        None => reply.null(),
    }
    Ok(())
}

/// `RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]`
struct Options {
    replaces: bool,
    is_absolute: bool,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let (mut replaces, mut is_absolute) = (false, false);
        let mut options = args.from(4);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            // What is not tracked here is only checked.
            let mut number = |least: i64, most: i64, text: &'static str| {
                let number = integer(options.next().ok_or(ErrorReply::SYNTAX)?)?;
                match (least..=most).contains(&number) {
                    true => Ok(()),
                    false => Err(ErrorReply::constant(text)),
                }
            };
            if is(b"replace") {
                replaces = true;
            } else if is(b"absttl") {
                is_absolute = true;
            } else if is(b"idletime") {
                number(0, i64::MAX, "ERR Invalid IDLETIME value, must be >= 0")?;
            } else if is(b"freq") {
                number(0, 255, "ERR Invalid FREQ value, must be >= 0 and <= 255")?;
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(Self {
            replaces,
            is_absolute,
        })
    }
}

pub(crate) fn restore_key<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let options = Options::parse(args)?;
    let key = args.at(1);
    if !options.replaces && keyspace.probe(key)?.is_some() {
        return Err(ErrorReply::constant("BUSYKEY Target key name already exists.").into());
    }
    let ttl = integer(args.at(2))?;
    if ttl < 0 {
        return Err(ErrorReply::constant("ERR Invalid TTL value, must be >= 0").into());
    }
    let ttl = ttl.unsigned_abs();
    let at = match options.is_absolute {
        true => ttl,
        false => keyspace.now().0.saturating_add(ttl),
    };
    let expires_at = (ttl != 0).then_some(UnixMillis(at));
    let value = restore(args.at(3)).map_err(|error| match error {
        PayloadError::VersionOrChecksum => {
            ErrorReply::constant("ERR DUMP payload version or checksum are wrong")
        }
        PayloadError::Format => ErrorReply::constant("ERR Bad data format"),
        PayloadError::TooLong => ErrorReply::TOO_LONG,
    })?;
    let (value, expires_at, value_type) = match value {
        RdbValue::String(bytes) => (bytes, expires_at, ValueType::String),
        RdbValue::Hash(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|it| (&it.name[..], &it.value[..], it.expires_at));
            let Some((value, expires_at)) = hash::restored(fields, expires_at, keyspace.now())?
            else {
                // Of fields whose time is over nothing is left.
                keyspace.delete(key)?;
                reply.ok();
                return Ok(());
            };
            (value, expires_at, ValueType::Hash)
        }
    };
    if value.len() >= keyspace.value_bytes_max() + usize::from(value_type.is_string()) {
        return Err(ErrorReply::TOO_LONG.into());
    }
    let put = NewValue {
        value: &[&value],
        expires_at,
        value_type,
    };
    put_or_expire(keyspace, key, put)?;
    reply.ok();
    Ok(())
}

#[cfg(test)]
#[path = "dump_test.rs"]
mod dump_test;
