//! Reading fields: HGET, HMGET, HEXISTS, HLEN, HSTRLEN, HGETALL, HKEYS, HVALS.

use super::fields::{DAMAGED, Field, Fields};
use super::{Found, Head, parts, read, with_field, with_whole};
use crate::args::Args;
use crate::error::Failure;
use crate::keyspace::Keyspace;
use brickyard_wire::Reply;
use std::collections::BTreeMap;

/// A request for so many fields of so many looks them up in a map.
const INDEXED_FROM: usize = 256;

#[inline]
pub(crate) fn hget<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    with_field(keyspace, args.at(1), args.at(2), |field| {
        bulk_or_null(field, reply);
    })
}

pub(super) fn bulk_or_null(field: Option<Field<'_>>, reply: &mut Reply<'_>) {
    match field {
        Some(field) => reply.bulk(field.value),
        None => reply.null(),
    }
}

pub(crate) fn hmget<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    several(args.at(1), args.from(2), keyspace, reply)
}

/// An array of the values of several fields.
pub(super) fn several<'n, K: Keyspace>(
    key: &[u8],
    names: impl ExactSizeIterator<Item = &'n [u8]> + Clone,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let start = reply.position();
    // Bytes that are told of fields that were named more than once.
    let repeated = with_whole(keyspace, key, |fields| {
        reply.array(names.len());
        let there = fields.map_or(0, |it| it.bytes());
        let mut told = 0;
        each_of(fields, names.clone(), |field| {
            told += field.map_or(0, |it| it.value.len());
            if told <= there {
                bulk_or_null(field, reply);
            }
        });
        told.saturating_sub(there)
    })?;
    match repeated {
        Found::Whole(0) => Ok(()),
        Found::Whole(bytes) => {
            reply.truncate(start);
            keyspace.reserve(bytes)?;
            let fields = read(keyspace, key)?;
            reply.array(names.len());
            each_of(fields, names, |field| bulk_or_null(field, reply));
            Ok(())
        }
        Found::InParts((head, _)) => {
            reply.array(names.len());
            each_in_parts((key, &head), names, keyspace, |field| {
                bulk_or_null(field, reply);
            })
        }
    }
}

/// Calls `f` with what there is of each name in the hash at `key`.
pub(super) fn each_named<'n, K: Keyspace>(
    key: &[u8],
    names: impl ExactSizeIterator<Item = &'n [u8]> + Clone,
    keyspace: &mut K,
    mut f: impl FnMut(Option<Field<'_>>),
) -> Result<(), Failure> {
    let found = with_whole(keyspace, key, |fields| {
        each_of(fields, names.clone(), &mut f)
    })?;
    match found {
        Found::Whole(()) => Ok(()),
        Found::InParts((head, _)) => each_in_parts((key, &head), names, keyspace, f),
    }
}

fn each_in_parts<'n, K: Keyspace>(
    (key, head): (&[u8], &Head),
    names: impl Iterator<Item = &'n [u8]>,
    keyspace: &mut K,
    mut f: impl FnMut(Option<Field<'_>>),
) -> Result<(), Failure> {
    let now = keyspace.now();
    let mut is_suspended = false;
    for name in names {
        match keyspace.read_part(head.part_with(key, name)) {
            Ok(part) => f(Fields::of_part(part)?.hiding_due(now).find(name)),
            // All parts that it needs are read at once.
            Err(Failure::Suspend) => is_suspended = true,
            Err(error) => return Err(error),
        }
    }
    match is_suspended {
        true => Err(Failure::Suspend),
        false => Ok(()),
    }
}

/// Calls `f` with what there is of each name.
pub(super) fn each_of<'a, 'n>(
    fields: Option<Fields<'a>>,
    names: impl ExactSizeIterator<Item = &'n [u8]>,
    mut f: impl FnMut(Option<Field<'a>>),
) {
    let Some(fields) = fields else {
        return names.for_each(|_| f(None));
    };
    if names.len() > 2 && names.len().saturating_mul(fields.count_max()) >= INDEXED_FROM {
        let found: BTreeMap<&[u8], Field<'_>> = fields.map(|it| (it.name, it)).collect();
        names.for_each(|name| f(found.get(name).copied()));
    } else {
        names.for_each(|name| f(fields.find(name)));
    }
}

pub(crate) fn hexists<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let is_there = with_field(keyspace, args.at(1), args.at(2), |field| field.is_some())?;
    reply.integer(i64::from(is_there));
    Ok(())
}

pub(crate) fn hlen<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let len = with_whole(keyspace, args.at(1), |fields| fields.map_or(0, Fields::len))?;
    let len = match len {
        Found::Whole(len) => len as u64,
        Found::InParts((head, _)) => parts::len(keyspace, args.at(1), &head)?,
    };
    reply.integer(len.cast_signed());
    Ok(())
}

pub(crate) fn hstrlen<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let len = with_field(keyspace, args.at(1), args.at(2), |field| {
        field.map_or(0, |it| it.value.len())
    })?;
    reply.integer(len as i64);
    Ok(())
}

pub(crate) fn hgetall<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let fields = read(keyspace, args.at(1))?;
    reply.map(fields.map_or(0, Fields::len));
    all(fields, |field| {
        reply.bulk(field.name);
        reply.bulk(field.value);
    })
}

pub(crate) fn hkeys<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let fields = read(keyspace, args.at(1))?;
    reply.array(fields.map_or(0, Fields::len));
    all(fields, |field| reply.bulk(field.name))
}

pub(crate) fn hvals<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let fields = read(keyspace, args.at(1))?;
    reply.array(fields.map_or(0, Fields::len));
    all(fields, |field| reply.bulk(field.value))
}

/// Calls `f` with every field; it is an error if there are others than the hash says.
fn all<'a>(fields: Option<Fields<'a>>, f: impl FnMut(Field<'a>)) -> Result<(), Failure> {
    let Some(fields) = fields else {
        return Ok(());
    };
    let said = fields.len();
    let there = fields.map(f).count();
    if there == said {
        Ok(())
    } else {
        Err(DAMAGED.into())
    }
}

#[cfg(test)]
#[path = "read_test.rs"]
mod read_test;
