//! Moving and copying a key: RENAME, RENAMENX, COPY.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use crate::number::integer_32;
use brickyard_wire::Reply;

pub(crate) fn rename<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (source, target) = (args.at(1), args.at(2));
    if keyspace.probe(source)?.is_none() {
        return Err(ErrorReply::NO_SUCH_KEY.into());
    }
    if source != target {
        put_copy(source, target, keyspace)?;
        keyspace.delete(source)?;
    }
    reply.ok();
    Ok(())
}

pub(crate) fn renamenx<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (source, target) = (args.at(1), args.at(2));
    if keyspace.probe(source)?.is_none() {
        return Err(ErrorReply::NO_SUCH_KEY.into());
    }
    // A key that is to get its own name finds it taken.
    let is_free = keyspace.probe(target)?.is_none();
    if is_free {
        put_copy(source, target, keyspace)?;
        keyspace.delete(source)?;
    }
    reply.integer(i64::from(is_free));
    Ok(())
}

/// Tables with a number that `SELECT` and `COPY .. DB` take.
const DATABASES: i32 = 16;

/// The options of COPY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CopyOptions {
    /// `REPLACE`
    replaces: bool,
    /// `DB`
    database: Option<u16>,
}

impl CopyOptions {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        let mut options = args.from(3);
        while let Some(option) = options.next() {
            if option.eq_ignore_ascii_case(b"replace") {
                parsed.replaces = true;
            } else if option.eq_ignore_ascii_case(b"db") {
                let number = integer_32(options.next().ok_or(ErrorReply::SYNTAX)?)?;
                if !(0..DATABASES).contains(&number) {
                    return Err(ErrorReply::constant("ERR DB index is out of range"));
                }
                parsed.database = u16::try_from(number).ok();
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(parsed)
    }
}

pub(crate) fn copy<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let options = CopyOptions::parse(args)?;
    if options.database.is_some() && options.database != keyspace.database() {
        // A table is another log on other partitions: nothing could make the two one operation.
        return Err(ErrorReply::constant(
            "ERR Copying to another database is not allowed in cluster mode",
        )
        .into());
    }
    let (source, target) = (args.at(1), args.at(2));
    if source == target {
        return Err(ErrorReply::constant("ERR source and destination objects are the same").into());
    }
    let is_copied = keyspace.probe(source)?.is_some()
        && (options.replaces || keyspace.probe(target)?.is_none())
        && put_copy(source, target, keyspace)?;
    reply.integer(i64::from(is_copied));
    Ok(())
}

/// Gives `target` what `source` holds, its expiry included, and says whether there was anything.
fn put_copy<K: Keyspace>(source: &[u8], target: &[u8], keyspace: &mut K) -> Result<bool, Failure> {
    let Some(entry) = keyspace.read_any(source)? else {
        return Ok(false);
    };
    let (expires_at, value_type) = (entry.expires_at, entry.value_type);
    let value = entry.value.to_vec();
    let put = NewValue {
        value: &[&value],
        expires_at,
        value_type,
    };
    keyspace.put(target, put)?;
    Ok(true)
}

#[cfg(test)]
#[path = "rename_test.rs"]
mod rename_test;
