//! Asking whether keys are there: EXISTS, TOUCH, TYPE.

use crate::args::Args;
use crate::error::Failure;
use crate::keyspace::Keyspace;
use brickyard_wire::Reply;

/// EXISTS and TOUCH; a key that is named twice counts twice.
pub(crate) fn exists<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut count = 0;
    for key in args.from(1) {
        count += i64::from(keyspace.probe(key)?.is_some());
    }
    reply.integer(count);
    Ok(())
}

/// TYPE.
pub(crate) fn type_of<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let probe = keyspace.probe(args.at(1))?;
    reply.simple(probe.map_or("none", |probe| probe.value_type.name()));
    Ok(())
}

#[cfg(test)]
#[path = "exists_test.rs"]
mod exists_test;
