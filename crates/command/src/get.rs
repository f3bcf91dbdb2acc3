//! Reading a value, whole or in part: GET, GETDEL, GETEX, MGET, STRLEN, GETRANGE, SUBSTR, LEASE GET.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expire::set_expiry;
use crate::expiry::ExpiryOption;
use crate::keyspace::{Keyspace, read_all};
use crate::number::integer;
use brickyard_wire::Reply;

#[inline]
pub(crate) fn get<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    get_key(args.at(1), keyspace, reply).map(|_| ())
}

/// LEASE GET: the value, and for how many milliseconds its client may keep it; 0: not at all.
pub(crate) fn lease_get<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let key = args.at(2);
    let entry = keyspace.read(key)?;
    reply.array(2);
    let expires_at = match entry {
        Some(entry) => {
            reply.bulk(entry.value);
            entry.expires_at
        }
        None => {
            reply.null();
            None
        }
    };
    reply.integer(keyspace.lease(key, expires_at) as i64);
    Ok(())
}

/// Replies with the key's value and says whether there is one.
#[inline]
fn get_key<K: Keyspace>(
    key: &[u8],
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<bool, Failure> {
    if let Some(entry) = keyspace.read(key)? {
        reply.bulk(entry.value);
        Ok(true)
    } else {
        reply.null();
        Ok(false)
    }
}

pub(crate) fn mget<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let keys = args.from(1);
    reply.array(keys.len());
    read_all(keys, keyspace, |_, entry| {
        match entry {
            // What is no string counts as nothing, as in Redis.
            Some(entry) if entry.value_type.is_string() => reply.bulk(entry.value),
            _ => reply.null(),
        }
        Ok(())
    })
}

pub(crate) fn getdel<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    if get_key(args.at(1), keyspace, reply)? {
        keyspace.delete(args.at(1))?;
    }
    Ok(())
}

/// What GETEX does to the expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpiryChange<'a> {
    Leave,
    /// `PERSIST`
    Remove,
    Set(ExpiryOption<'a>),
}

impl<'a> ExpiryChange<'a> {
    fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut change = Self::Leave;
        let mut options = args.from(2);
        while let Some(option) = options.next() {
            if option.eq_ignore_ascii_case(b"persist") && !matches!(change, Self::Set(_)) {
                change = Self::Remove;
                continue;
            }
            let kind = ExpiryOption::kind(option).ok_or(ErrorReply::SYNTAX)?;
            let is_new = match change {
                Self::Leave => true,
                Self::Remove => false,
                Self::Set(earlier) => earlier.is(kind),
            };
            let text = options.next().filter(|_| is_new);
            let text = text.ok_or(ErrorReply::SYNTAX)?;
            change = Self::Set(ExpiryOption::new(kind, text));
        }
        Ok(change)
    }
}

pub(crate) fn getex<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let change = ExpiryChange::parse(args)?;
    let key = args.at(1);
    let now = keyspace.now();
    let Some(entry) = keyspace.read(key)? else {
        // A number that is no number goes unnoticed then, as in Redis.
        reply.null();
        return Ok(());
    };
    let expires_at = match change {
        ExpiryChange::Leave => {
            reply.bulk(entry.value);
            return Ok(());
        }
        ExpiryChange::Remove => None,
        ExpiryChange::Set(option) => Some(option.resolve(now, "getex")?),
    };
    let is_changed = entry.expires_at != expires_at;
    reply.bulk(entry.value);
    if expires_at.is_some_and(|at| at <= now) {
        keyspace.delete(key)?;
    } else if is_changed {
        set_expiry(keyspace, key, expires_at)?;
    }
    Ok(())
}

pub(crate) fn strlen<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let probe = keyspace.probe_string(args.at(1))?;
    reply.integer(probe.map_or(0, |probe| probe.value_len as i64));
    Ok(())
}

pub(crate) fn getrange<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (start, end) = (integer(args.at(2))?, integer(args.at(3))?);
    let entry = keyspace.read(args.at(1))?;
    let value = entry.map_or(&[][..], |entry| entry.value);
    reply.bulk(range_of(value.len(), start, end).map_or(&[], |range| &value[range]));
    Ok(())
}

/// The part of `len` elements from `start` to `end`, both included, where negative numbers count
/// from the end; `None` if it is empty.
pub(crate) fn range_of(len: usize, start: i64, end: i64) -> Option<std::ops::Range<usize>> {
    if start < 0 && end < 0 && start > end {
        return None;
    }
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_front = |at: i64| if at < 0 { (len + at).max(0) } else { at };
    let start = from_front(start);
    let end = from_front(end).min(len - 1);
    (start <= end).then(|| start as usize..end as usize + 1)
}

#[cfg(test)]
#[path = "get_test.rs"]
mod get_test;
