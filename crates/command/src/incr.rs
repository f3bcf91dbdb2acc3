//! Arithmetic on integers: INCR, INCRBY, DECR, DECRBY.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use crate::number::{IntegerText, integer};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

pub(crate) fn incr<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    add(args.at(1), 1, keyspace, reply)
}

pub(crate) fn decr<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    add(args.at(1), -1, keyspace, reply)
}

pub(crate) fn incrby<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    add(args.at(1), integer(args.at(2))?, keyspace, reply)
}

pub(crate) fn decrby<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let decrement = integer(args.at(2))?;
    let increment = decrement
        .checked_neg()
        .ok_or(ErrorReply::constant("ERR decrement would overflow"))?;
    add(args.at(1), increment, keyspace, reply)
}

/// Adds to the key's integer; a key that is not there counts as 0.
#[inline]
fn add<K: Keyspace>(
    key: &[u8],
    increment: i64,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (number, expires_at) = match keyspace.read(key)? {
        Some(entry) => (integer(entry.value)?, entry.expires_at),
        None => (0, None),
    };
    let sum = number.checked_add(increment).ok_or(ErrorReply::constant(
        "ERR increment or decrement would overflow",
    ))?;
    let text = IntegerText::new(sum);
    let put = NewValue {
        value: &[text.as_bytes()],
        expires_at,
        value_type: ValueType::String,
    };
    keyspace.put(key, put)?;
    reply.integer(sum);
    Ok(())
}

#[cfg(test)]
#[path = "incr_test.rs"]
mod incr_test;
