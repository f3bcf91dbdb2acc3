//! Moving and copying a key: RENAME, RENAMENX, COPY, MOVE.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use crate::number::integer_32;
use crate::table::CommandId;
use brickyard_types::{UnixMillis, ValueType};
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

/// Tables with a number that `SELECT`, `MOVE` and `COPY .. DB` take.
const DATABASES: u16 = 16;

/// Reads the number of a table.
fn database(argument: &[u8]) -> Result<u16, ErrorReply> {
    let number = u16::try_from(integer_32(argument)?).ok();
    number
        .filter(|number| *number < DATABASES)
        .ok_or(ErrorReply::constant("ERR DB index is out of range"))
}

/// The number of the table that a command names beside the one that it is sent to: that of MOVE, and of COPY with `DB`.
///
/// # Errors
/// The command's own, of arguments that are none.
pub fn database_named(id: CommandId, args: Args<'_>) -> Result<Option<u16>, ErrorReply> {
    match id {
        CommandId::Move => database(args.at(2)).map(Some),
        CommandId::Copy if args.len() > 3 => Ok(CopyOptions::parse(args)?.database),
        _ => Ok(None),
    }
}

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
                let number = options.next().ok_or(ErrorReply::SYNTAX)?;
                parsed.database = Some(database(number)?);
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
    let (source, target) = (args.at(1), args.at(2));
    if let Some(database) = options.database
        && keyspace.database() != Some(database)
    {
        let copied = take_across((source, target), database, options.replaces, keyspace)?;
        if let Some(copied) = &copied {
            copied.put(target, database, keyspace)?;
        }
        reply.integer(i64::from(copied.is_some()));
        return Ok(());
    }
    if source == target {
        return Err(ErrorReply::SAME_OBJECTS.into());
    }
    let is_copied = keyspace.probe(source)?.is_some()
        && (options.replaces || keyspace.probe(target)?.is_none())
        && put_copy(source, target, keyspace)?;
    reply.integer(i64::from(is_copied));
    Ok(())
}

/// Moves a key to another table, where it has the same name, unless there is one.
pub(crate) fn move_key<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (key, database) = (args.at(1), database(args.at(2))?);
    if keyspace.database() == Some(database) {
        return Err(ErrorReply::SAME_OBJECTS.into());
    }
    let moved = take_across((key, key), database, false, keyspace)?;
    if let Some(moved) = &moved {
        keyspace.delete(key)?;
        moved.put(key, database, keyspace)?;
    }
    reply.integer(i64::from(moved.is_some()));
    Ok(())
}

/// What a key holds that goes to another table.
struct Taken {
    value: Vec<u8>,
    expires_at: Option<UnixMillis>,
    value_type: ValueType,
}

impl Taken {
    fn put<K: Keyspace>(
        &self,
        target: &[u8],
        database: u16,
        keyspace: &mut K,
    ) -> Result<(), Failure> {
        let put = NewValue {
            value: &[&self.value],
            expires_at: self.expires_at,
            value_type: self.value_type,
        };
        keyspace.put_across(database, target, put)
    }
}

/// What `source` holds, if `target` of the other table is to get that: `None` where there is nothing, or where that is taken.
fn take_across<K: Keyspace>(
    (source, target): (&[u8], &[u8]),
    database: u16,
    replaces: bool,
    keyspace: &mut K,
) -> Result<Option<Taken>, Failure> {
    let is_taken = match replaces {
        true => Ok(false),
        false => keyspace.is_there_across(database, target),
    };
    if let Err(Failure::Error(error)) = is_taken {
        return Err(error.into());
    }
    // Both are asked for before either is waited for.
    let Some(entry) = keyspace.read_any(source)? else {
        return Ok(None);
    };
    let taken = Taken {
        value: entry.value.to_vec(),
        expires_at: entry.expires_at,
        value_type: entry.value_type,
    };
    Ok((!is_taken?).then_some(taken))
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
