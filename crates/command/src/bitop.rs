//! BITOP: combines values bit by bit.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue, read_all};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let name = args.at(1);
        if name.eq_ignore_ascii_case(b"and") {
            Ok(Self::And)
        } else if name.eq_ignore_ascii_case(b"or") {
            Ok(Self::Or)
        } else if name.eq_ignore_ascii_case(b"xor") {
            Ok(Self::Xor)
        } else if !name.eq_ignore_ascii_case(b"not") {
            Err(ErrorReply::SYNTAX)
        } else if args.len() == 4 {
            Ok(Self::Not)
        } else {
            Err(ErrorReply::constant(
                "ERR BITOP NOT must be called with a single source key.",
            ))
        }
    }

    /// Combines `value` into `result`; the shorter of the two counts as if zeros followed it.
    fn combine(self, result: &mut Vec<u8>, value: &[u8]) {
        if result.len() < value.len() {
            result.resize(value.len(), 0);
        }
        let (shared, rest) = result.split_at_mut(value.len());
        let pairs = shared.iter_mut().zip(value);
        match self {
            Self::And => {
                pairs.for_each(|(result, byte)| *result &= byte);
                rest.fill(0);
            }
            Self::Or => pairs.for_each(|(result, byte)| *result |= byte),
            Self::Xor => pairs.for_each(|(result, byte)| *result ^= byte),
            Self::Not => pairs.for_each(|(result, byte)| *result = !byte),
        }
    }
}

pub(crate) fn bitop<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let operation = Operation::parse(args)?;
    let target = args.at(2);
    let mut result = Vec::new();
    read_all(args.from(3), keyspace, |at, entry| {
        if entry.is_some_and(|entry| !entry.value_type.is_string()) {
            return Err(ErrorReply::WRONG_TYPE);
        }
        let value = entry.map_or(&[][..], |entry| entry.value);
        if at == 0 && operation != Operation::Not {
            result.extend_from_slice(value);
        } else {
            operation.combine(&mut result, value);
        }
        Ok(())
    })?;
    if result.is_empty() {
        keyspace.delete(target)?;
    } else {
        let put = NewValue {
            value: &[&result],
            expires_at: None,
            value_type: ValueType::BuiltString,
        };
        keyspace.put(target, put)?;
    }
    reply.integer(result.len() as i64);
    Ok(())
}

#[cfg(test)]
#[path = "bitop_test.rs"]
mod bitop_test;
