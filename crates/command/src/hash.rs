//! Hashes: a key's value as fields with values of their own, each with an expiry if it wants one.
//!
//! In:  the commands that begin with H. Out: as of all commands, puts and deletes and a reply.
//!
//! A small hash is one record, and its value is a run of fields (`fields`). A command that changes some writes the whole anew
//! (`draft`). Fields stay in the order in which they came, as in Redis's small hashes. A large one has parts, each a record of its
//! own, and a command reads and writes those that it touches (`parts`).
//!
//! A field whose time is over is not there, for readers and for writers; it goes when the hash is written next, or
//! when a reader has met it (the keyspace sees to that, by [`first_expiry`], [`without_due`], [`drop_due`] and [`prune`]). When every field has an
//! expiry, the key has that of the last one, so that a hash is never there without a field. The key's own
//! expiry, which TTL tells, then stands in the value.
//!
//! Invariants:
//! - A hash has at least one field, and no field twice.
//! - A value that is no hash as this file writes them is refused, never guessed at.

mod draft;
mod expire;
mod fields;
mod head;
mod parts;
mod place;
mod random;
mod read;
mod scan;
mod stored;
mod write;

pub(crate) use expire::{hexpire, hgetex, hpersist, httl};
pub(crate) use fields::encoding;
pub use head::Head;
pub use parts::{Whole, drop_due, prune};
pub(crate) use random::hrandfield;
pub(crate) use read::{hexists, hget, hgetall, hkeys, hlen, hmget, hstrlen, hvals};
pub(crate) use scan::hscan;
pub use stored::{first_expiry, has_due, key_expiry};
pub(crate) use write::{hdel, hgetdel, hincrby, hincrbyfloat, hmset, hset, hsetex, hsetnx};

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::Keyspace;
use crate::number::parse_integer;
use brickyard_rdb::FieldRef;
use brickyard_types::{UnixMillis, ValueType};
use draft::Draft;
use fields::{Field, Fields};
use std::ops::Range;

/// A hash as it is to be stored: its bytes, and when its record is gone.
pub type HashRecord = (Vec<u8>, Option<UnixMillis>);

/// The hash without the fields whose time is over at `now`; `None` if that leaves nothing.
///
/// # Errors
/// The value, with its record's expiry, is no hash.
pub fn without_due(
    value: &[u8],
    expires_at: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<Option<HashRecord>, ErrorReply> {
    Ok(Draft::of(Fields::read(value, expires_at)?, now).stored())
}

/// The fields of a hash that are there at `now`, as a snapshot has them.
///
/// # Errors
/// As [`without_due`].
pub(crate) fn listed(
    value: &[u8],
    expires_at: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<Vec<FieldRef<'_>>, ErrorReply> {
    let fields = Fields::read(value, expires_at)?.hiding_due(now);
    let listed = fields.map(|it| (it.name, it.value, it.expires_at.map(|at| at.0)));
    Ok(listed.collect())
}

/// A hash of fields from a snapshot; `None` if none of them is there at `now`.
///
/// # Errors
/// A field comes twice, or there is none.
pub(crate) fn restored<'a>(
    fields: impl ExactSizeIterator<Item = FieldRef<'a>>,
    expires_at: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<Option<HashRecord>, ErrorReply> {
    const BAD: ErrorReply = ErrorReply::constant("ERR Bad data format");
    if fields.len() == 0 {
        return Err(BAD);
    }
    let mut draft = Draft::new();
    draft.key_expires_at = expires_at;
    draft.expect(fields.len());
    for (name, value, at) in fields {
        let field = Field {
            name,
            value,
            expires_at: at.map(UnixMillis),
        };
        if field.is_due(now) {
            continue;
        }
        if !draft.set(field) {
            return Err(BAD);
        }
    }
    Ok(draft.stored())
}

/// The hash with another expiry of the key's own.
///
/// # Errors
/// As [`without_due`].
pub(crate) fn with_key_expiry(
    value: &[u8],
    before: Option<UnixMillis>,
    expires_at: Option<UnixMillis>,
) -> Result<HashRecord, ErrorReply> {
    if let Some(head) = Head::read(value) {
        return Ok(head.stored(expires_at));
    }
    let mut draft = Draft::of(Fields::read(value, before)?, UnixMillis(0));
    draft.key_expires_at = expires_at;
    draft.stored().ok_or(fields::DAMAGED)
}

/// The fields of the hash at `key`; `None` if there is no such key.
fn read<'a, K: Keyspace>(keyspace: &'a mut K, key: &[u8]) -> Result<Option<Fields<'a>>, Failure> {
    let now = keyspace.now();
    let Some(entry) = keyspace.read_any(key)? else {
        return Ok(None);
    };
    if entry.value_type != ValueType::Hash {
        return Err(ErrorReply::WRONG_TYPE.into());
    }
    Ok(Some(
        Fields::read(entry.value, entry.expires_at)?.hiding_due(now),
    ))
}

/// What a command has found at a key.
enum Found<R> {
    /// What came of the hash, which is one value, or of no hash.
    Whole(R),
    /// The head of a hash in parts, and its key's own expiry.
    InParts((Head, Option<UnixMillis>)),
}

/// Calls `f` with the fields of the hash at `key`, unless it is in parts.
#[inline]
fn with_whole<K: Keyspace, R>(
    keyspace: &mut K,
    key: &[u8],
    f: impl FnOnce(Option<Fields<'_>>) -> R,
) -> Result<Found<R>, Failure> {
    let now = keyspace.now();
    let Some(entry) = keyspace.read_stored(key)? else {
        return Ok(Found::Whole(f(None)));
    };
    if entry.value_type != ValueType::Hash {
        return Err(ErrorReply::WRONG_TYPE.into());
    }
    if let Some(head) = Head::read(entry.value) {
        return Ok(Found::InParts((head, head.key_expiry(entry.expires_at))));
    }
    let fields = Fields::read(entry.value, entry.expires_at)?.hiding_due(now);
    Ok(Found::Whole(f(Some(fields))))
}

/// Calls `f` with the field of that name, if there is one.
#[inline]
fn with_field<K: Keyspace, R>(
    keyspace: &mut K,
    key: &[u8],
    name: &[u8],
    mut f: impl FnMut(Option<Field<'_>>) -> R,
) -> Result<R, Failure> {
    match with_whole(keyspace, key, |fields| {
        f(fields.and_then(|it| it.find(name)))
    })? {
        Found::Whole(done) => Ok(done),
        Found::InParts((head, _)) => {
            let now = keyspace.now();
            let part = keyspace.read_part(head.part_with(key, name))?;
            Ok(f(Fields::of_part(part)?.hiding_due(now).find(name)))
        }
    }
}

/// The number of fields that a command says are to follow at `at`, and where they begin: `FIELDS count field ...`.
///
/// `words` to a field: 1, or 2 with its value.
fn counted(args: Args<'_>, at: usize, words: usize) -> Result<Range<usize>, ErrorReply> {
    let is_there = args
        .get(at)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"fields"));
    if !is_there {
        return Err(ErrorReply::constant(
            "ERR Mandatory argument FIELDS is missing or not at the right position",
        ));
    }
    const COUNT: ErrorReply =
        ErrorReply::constant("ERR Parameter `numFields` should be greater than 0");
    let count = args.get(at + 1).and_then(parse_integer);
    let count = count.and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| *count > 0).ok_or(COUNT)?;
    let first = at + 2;
    if args.len().saturating_sub(first) != count.saturating_mul(words) {
        return Err(ErrorReply::constant(
            "ERR The `numfields` parameter must match the number of arguments",
        ));
    }
    Ok(first..args.len())
}
