//! HRANDFIELD.

use super::fields::{DAMAGED, Field, Fields};
use super::{Found, read, with_whole};
use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::Keyspace;
use crate::number::integer;
use brickyard_wire::Reply;

/// Bytes that a reply may have in which fields come again and again: a request of a few bytes can ask for any number.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// Bytes of a bulk string beside its own, at most.
const BULK_BYTES: usize = 16;

pub(crate) fn hrandfield<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let Some(count) = args.get(2) else {
        return one(args.at(1), keyspace, reply);
    };
    let count = integer(count)?;
    if count == i64::MIN {
        return Err(ErrorReply::constant(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )
        .into());
    }
    let has_values = args.len() == 4 && args.at(3).eq_ignore_ascii_case(b"withvalues");
    if args.len() > 4 || args.len() == 4 && !has_values {
        return Err(ErrorReply::SYNTAX.into());
    }
    if has_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(ErrorReply::constant("ERR value is out of range").into());
    }
    let mut random = keyspace.random();
    if count < 0 {
        let bytes = repeated_bytes(args.at(1), count.unsigned_abs(), has_values, keyspace)?;
        keyspace.reserve(bytes)?;
    }
    let fields: Vec<Field<'_>> = read(keyspace, args.at(1))?.into_iter().flatten().collect();
    if count < 0 && !fields.is_empty() {
        // So many that they have been reserved for.
        let count = count.unsigned_abs() as usize;
        let chosen = (0..count).map(|_| fields[below(&mut random, fields.len())]);
        write(chosen, has_values, reply);
    } else {
        let chosen = distinct(fields, count.unsigned_abs(), &mut random);
        write(chosen.into_iter(), has_values, reply);
    }
    Ok(())
}

/// One of them. Of a hash in parts a part is drawn first: they have about as many fields each.
fn one<K: Keyspace>(key: &[u8], keyspace: &mut K, reply: &mut Reply<'_>) -> Result<(), Failure> {
    let mut random = keyspace.random();
    let drawn = with_whole(keyspace, key, |fields| {
        let at = fields.map(|it| random % (it.len() as u64).max(1));
        let field = fields.zip(at).and_then(|(mut it, at)| it.nth(at as usize));
        match field {
            Some(field) => reply.bulk(field.name),
            None => reply.null(),
        }
    })?;
    let Found::InParts((head, _)) = drawn else {
        return Ok(());
    };
    let now = keyspace.now();
    let first = below(&mut random, head.parts as usize) as u32;
    // Some may be empty, but not all.
    for number in (first..head.parts).chain(0..first) {
        let part = keyspace.read_part(head.part(key, number))?;
        let mut fields = Fields::of_part(part)?.hiding_due(now);
        let len = fields.len();
        if len > 0
            && let Some(field) = fields.nth(below(&mut random, len))
        {
            reply.bulk(field.name);
            return Ok(());
        }
    }
    Err(DAMAGED.into())
}

/// Bytes that a reply of so many fields has at most.
fn repeated_bytes<K: Keyspace>(
    key: &[u8],
    count: u64,
    has_values: bool,
    keyspace: &mut K,
) -> Result<usize, Failure> {
    let bytes_of = |field: Field<'_>| {
        let value = if has_values {
            field.value.len() + BULK_BYTES
        } else {
            0
        };
        field.name.len() + BULK_BYTES + value
    };
    let longest = read(keyspace, key)?.and_then(|fields| fields.map(bytes_of).max());
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let bytes = longest.unwrap_or(0).saturating_mul(count);
    if bytes > REPLY_BYTES_MAX {
        return Err(ErrorReply::constant(
            "ERR the reply could be longer than 64 MiB; ask for fewer fields at a time",
        )
        .into());
    }
    Ok(bytes)
}

/// So many different ones, or all.
fn distinct<'a>(mut fields: Vec<Field<'a>>, count: u64, random: &mut u64) -> Vec<Field<'a>> {
    let all = fields.len();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count >= all {
        return fields;
    }
    for at in 0..count {
        let other = at + below(random, all - at);
        fields.swap(at, other);
    }
    fields.truncate(count);
    fields
}

fn write<'a>(
    fields: impl ExactSizeIterator<Item = Field<'a>>,
    has_values: bool,
    reply: &mut Reply<'_>,
) {
    if !has_values {
        reply.array(fields.len());
        return fields.for_each(|field| reply.bulk(field.name));
    }
    let has_pairs = reply.protocol() == brickyard_wire::Protocol::Resp3;
    reply.array(fields.len() * if has_pairs { 1 } else { 2 });
    for field in fields {
        if has_pairs {
            reply.array(2);
        }
        reply.bulk(field.name);
        reply.bulk(field.value);
    }
}

/// A number below `bound`, which is not 0; the state moves on (Marsaglia's xorshift).
fn below(random: &mut u64, bound: usize) -> usize {
    // It stays where it is at 0.
    let mut state = (*random).max(1);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    *random = state;
    ((u128::from(state) * bound as u128) >> 64) as usize
}

#[cfg(test)]
#[path = "random_test.rs"]
mod random_test;
