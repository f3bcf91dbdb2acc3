//! How a value is kept: OBJECT and MEMORY USAGE.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::hash;
use crate::keyspace::{KeyValue, Keyspace};
use crate::number::{integer, parse_integer};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

/// Longest string that Redis keeps in one allocation with its header; a longer one is `raw`.
const EMBEDDED_BYTES_MAX: usize = 44;

/// Integers below this are shared objects in Redis, whose reference count is this constant.
const SHARED_INTEGERS: i64 = 10_000;
const SHARED_REFERENCES: i64 = i32::MAX as i64;

/// The word that Redis has for how it would keep this value.
fn encoding(entry: &KeyValue<'_>) -> Result<&'static str, ErrorReply> {
    Ok(if entry.value_type == ValueType::Hash {
        hash::encoding(entry.value)?
    } else if entry.value_type == ValueType::BuiltString {
        "raw"
    } else if parse_integer(entry.value).is_some() {
        "int"
    } else if entry.value.len() <= EMBEDDED_BYTES_MAX {
        "embstr"
    } else {
        "raw"
    })
}

pub(crate) fn object_encoding<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    match keyspace.read_any(args.at(2))? {
        Some(entry) => reply.bulk(encoding(&entry)?.as_bytes()),
        None => reply.null(),
    }
    Ok(())
}

pub(crate) fn object_refcount<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let Some(entry) = keyspace.read_stored(args.at(2))? else {
        reply.null();
        return Ok(());
    };
    let number = parse_integer(entry.value).filter(|_| entry.value_type == ValueType::String);
    let is_shared = number.is_some_and(|number| (0..SHARED_INTEGERS).contains(&number));
    reply.integer(if is_shared { SHARED_REFERENCES } else { 1 });
    Ok(())
}

pub(crate) fn object_idletime<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    if keyspace.probe(args.at(2))?.is_some() {
        let seconds = keyspace.idle_seconds(args.at(2));
        reply.integer(i64::try_from(seconds).unwrap_or(i64::MAX));
    } else {
        reply.null();
    }
    Ok(())
}

pub(crate) fn object_freq<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    if keyspace.probe(args.at(2))?.is_some() {
        return Err(ErrorReply::constant(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please \
             note that when switching between policies at runtime LRU and LFU data will take some \
             time to adjust.",
        )
        .into());
    }
    reply.null();
    Ok(())
}

pub(crate) fn memory_usage<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut options = args.from(3);
    while let Some(option) = options.next() {
        // A string has no elements to take samples of; the option is only checked.
        let samples = options
            .next()
            .filter(|_| option.eq_ignore_ascii_case(b"samples"))
            .ok_or(ErrorReply::SYNTAX)?;
        if integer(samples)? < 0 {
            return Err(ErrorReply::SYNTAX.into());
        }
    }
    match keyspace.memory_bytes(args.at(2))? {
        Some(bytes) => reply.integer(bytes as i64),
        None => reply.null(),
    }
    Ok(())
}

#[cfg(test)]
#[path = "object_test.rs"]
mod object_test;
