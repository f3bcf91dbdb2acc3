//! Removing keys: DEL, UNLINK, DELIFEQ.

use crate::args::Args;
use crate::error::Failure;
use crate::keyspace::Keyspace;
use brickyard_wire::Reply;

/// DEL and UNLINK, which are one: nothing that a value is made of takes long to free.
pub(crate) fn del<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut count = 0;
    for key in args.from(1) {
        count += i64::from(keyspace.delete(key)?);
    }
    reply.integer(count);
    Ok(())
}

pub(crate) fn delifeq<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let entry = keyspace.read(args.at(1))?;
    let is_equal = entry.is_some_and(|entry| entry.value == args.at(2));
    if is_equal {
        keyspace.delete(args.at(1))?;
    }
    reply.integer(i64::from(is_equal));
    Ok(())
}

#[cfg(test)]
#[path = "del_test.rs"]
mod del_test;
