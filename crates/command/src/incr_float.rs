//! INCRBYFLOAT.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::extended::Extended;
use crate::keyspace::{Keyspace, NewValue};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

pub(crate) fn incrbyfloat<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let key = args.at(1);
    let (number, expires_at) = match keyspace.read(key)? {
        Some(entry) => (float(entry.value)?, entry.expires_at),
        None => (Extended::ZERO, None),
    };
    let sum = number.add(float(args.at(2))?);
    let text = sum.to_text().ok_or(ErrorReply::constant(
        "ERR increment would produce NaN or Infinity",
    ))?;
    let put = NewValue {
        value: &[text.as_bytes()],
        expires_at,
        value_type: ValueType::String,
    };
    keyspace.put(key, put)?;
    reply.bulk(text.as_bytes());
    Ok(())
}

fn float(text: &[u8]) -> Result<Extended, ErrorReply> {
    Extended::parse(text).ok_or(ErrorReply::NOT_A_FLOAT)
}

#[cfg(test)]
#[path = "incr_float_test.rs"]
mod incr_float_test;
