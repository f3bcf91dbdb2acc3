//! MSET and MSETNX.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue, check_length};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

pub(crate) fn mset<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    check_pairs(args, "mset")?;
    put_pairs(args, keyspace)?;
    reply.ok();
    Ok(())
}

pub(crate) fn msetnx<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    check_pairs(args, "msetnx")?;
    for key in args.from(1).step_by(2) {
        if keyspace.probe(key)?.is_some() {
            reply.integer(0);
            return Ok(());
        }
    }
    put_pairs(args, keyspace)?;
    reply.integer(1);
    Ok(())
}

/// Refuses a key without a value, which the arity does not.
pub(crate) fn check_pairs(args: Args<'_>, command: &str) -> Result<(), ErrorReply> {
    if args.len().is_multiple_of(2) {
        return Err(ErrorReply::wrong_arity(command));
    }
    Ok(())
}

fn put_pairs<K: Keyspace>(args: Args<'_>, keyspace: &mut K) -> Result<(), Failure> {
    for value in args.from(2).step_by(2) {
        check_length(keyspace, value.len() as u64)?;
    }
    for (key, value) in args.from(1).step_by(2).zip(args.from(2).step_by(2)) {
        let put = NewValue {
            value: &[value],
            expires_at: None,
            value_type: ValueType::String,
        };
        keyspace.put(key, put)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "mset_test.rs"]
mod mset_test;
