//! Writing a part of a value: APPEND, SETRANGE.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue, check_growth, check_length};
use crate::number::integer;
use brickyard_types::ValueType;
use brickyard_wire::Reply;

pub(crate) fn append<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (key, tail) = (args.at(1), args.at(2));
    let entry = keyspace.read(key)?;
    // A new key is an ordinary one; only what was there and grew is `raw`.
    let value_type = match entry {
        Some(_) => ValueType::BuiltString,
        None => ValueType::String,
    };
    let expires_at = entry.and_then(|entry| entry.expires_at);
    let head = entry.map_or_else(Vec::new, |entry| entry.value.to_vec());
    let len = head.len() + tail.len();
    check_length(keyspace, len as u64)?;
    let put = NewValue {
        value: &[&head, tail],
        expires_at,
        value_type,
    };
    keyspace.put(key, put)?;
    reply.integer(len as i64);
    Ok(())
}

pub(crate) fn setrange<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (key, part) = (args.at(1), args.at(3));
    let offset = u64::try_from(integer(args.at(2))?)
        .map_err(|_| ErrorReply::constant("ERR offset is out of range"))?;
    if part.is_empty() {
        let probe = keyspace.probe_string(key)?;
        reply.integer(probe.map_or(0, |probe| probe.value_len as i64));
        return Ok(());
    }
    check_growth(keyspace, key, offset + part.len() as u64)?;
    let (start, end) = (offset as usize, offset as usize + part.len());
    let entry = keyspace.read(key)?;
    let expires_at = entry.and_then(|entry| entry.expires_at);
    let mut value = entry.map_or_else(Vec::new, |entry| entry.value.to_vec());
    if value.len() < end {
        value.resize(end, 0);
    }
    value[start..end].copy_from_slice(part);
    let put = NewValue {
        value: &[&value],
        expires_at,
        value_type: ValueType::BuiltString,
    };
    keyspace.put(key, put)?;
    reply.integer(value.len() as i64);
    Ok(())
}

#[cfg(test)]
#[path = "append_test.rs"]
mod append_test;
