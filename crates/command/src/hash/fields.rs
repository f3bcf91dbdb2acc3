//! How a hash's fields stand in its value, or in a part of it.
//!
//! In:  a record's value. Out: [`Fields`], read in place.
//!
//! ```text
//! u8  form      1: all fields are here (2: see `parts`)
//! u8  flags     1: some field has an expiry; 2: the key's own expiry stands here
//! u32 count     of fields
//! [u64 first    flag 1: when the first field expires]
//! [u64 key      flag 2: when the key expires by itself, 2^64-1: never]
//! each field:   length of the name, length of the value, [u64 expiry, 0: never, with flag 1], name, value
//! ```
//! Fixed numbers are little-endian; lengths are in groups of seven bits, the lowest first, the eighth bit says that more
//! follow.

use super::head::{Head, WHOLE_HEADER_BYTES};
use crate::error::ErrorReply;
use brickyard_types::UnixMillis;

/// All fields are in this value.
const WHOLE: u8 = 1;

/// Bytes before what the flags announce.
pub(super) const HEADER_BYTES: usize = WHOLE_HEADER_BYTES;

const HAS_EXPIRIES: u8 = 1;
const HAS_KEY_EXPIRY: u8 = 2;

/// Bytes of a length, at most.
const LENGTH_BYTES_MAX: usize = 5;

/// The key's own expiry, where it has none.
const NEVER: u64 = u64::MAX;

/// Fields and bytes up to which Redis keeps a hash as one run of bytes, and calls it so.
const LISTPACK_FIELDS_MAX: usize = 512;
const LISTPACK_BYTES_MAX: usize = 64;

/// The value is none that is written here.
pub(super) const DAMAGED: ErrorReply = ErrorReply::constant(
    "DAMAGED the value of this hash is none that this program writes; DEL the key, or restore it from a backup",
);

/// More than one key's value may have.
pub(super) const TOO_LARGE: ErrorReply = ErrorReply::constant(
    "ERR the fields of one hash may have 64 MiB at most, or value_bytes_max if that is less; use several keys",
);

/// A field of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    /// When it is gone; `None`: with its key.
    pub(super) expires_at: Option<UnixMillis>,
}

impl Field<'_> {
    /// Whether it has that name. Names of one hash are often as long as one another, begin alike, and differ at the end.
    #[inline]
    fn is_named(&self, name: &[u8]) -> bool {
        self.name.len() == name.len() && self.name.last() == name.last() && self.name == name
    }

    /// Whether its time is over.
    #[inline]
    pub(super) fn is_due(&self, now: UnixMillis) -> bool {
        self.expires_at.is_some_and(|at| at < now)
    }
}

/// The fields of a hash, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    /// How many there are, those included whose time is over.
    count: usize,
    has_expiries: bool,
    /// The key's own expiry.
    pub(super) key_expires_at: Option<UnixMillis>,
    /// Fields whose time was over at this moment are passed over.
    now: UnixMillis,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads the front of a hash's value; `expires_at` is its record's.
    #[inline]
    pub(super) fn read(
        value: &'a [u8],
        expires_at: Option<UnixMillis>,
    ) -> Result<Self, ErrorReply> {
        let (header, mut rest) = value.split_first_chunk::<HEADER_BYTES>().ok_or(DAMAGED)?;
        let [form, flags, count @ ..] = *header;
        if form != WHOLE || flags & !(HAS_EXPIRIES | HAS_KEY_EXPIRY) != 0 {
            return Err(DAMAGED);
        }
        let has_expiries = flags & HAS_EXPIRIES != 0;
        if has_expiries {
            (_, rest) = number(rest).ok_or(DAMAGED)?;
        }
        let mut key_expires_at = expires_at;
        if flags & HAS_KEY_EXPIRY != 0 {
            let (at, after) = number(rest).ok_or(DAMAGED)?;
            key_expires_at = (at != NEVER).then_some(UnixMillis(at));
            rest = after;
        }
        Ok(Self {
            count: u32::from_le_bytes(count) as usize,
            has_expiries,
            key_expires_at,
            now: UnixMillis(0),
            rest,
        })
    }

    /// Reads a part of a hash, or a whole one: no field of it has an expiry.
    #[inline]
    pub(super) fn of_part(value: &'a [u8]) -> Result<Self, ErrorReply> {
        match value {
            [WHOLE, 0, ..] => Self::read(value, None),
            _ => Err(DAMAGED),
        }
    }

    /// The same fields but those whose time was over at `now`.
    #[inline]
    pub(super) const fn hiding_due(self, now: UnixMillis) -> Self {
        Self { now, ..self }
    }

    /// How many there are at most: those whose time is over may be among them.
    pub(super) const fn count_max(&self) -> usize {
        self.count
    }

    /// All of them, as they are stored.
    pub(super) const fn run(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes of all of them.
    pub(super) const fn bytes(&self) -> usize {
        self.rest.len()
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        if self.has_expiries {
            self.count()
        } else {
            self.count
        }
    }

    /// The value with one field set, which has no expiry; and whether it is new. All else is copied as it stands.
    ///
    /// `None`: some field has an expiry, so that more than this one may change.
    pub(super) fn with_one(mut self, name: &[u8], value: &[u8]) -> Option<(Vec<u8>, bool)> {
        if self.has_expiries {
            return None;
        }
        let all = self.rest;
        let mut before = all.len();
        let mut is_new = true;
        loop {
            let at = all.len() - self.rest.len();
            match self.next() {
                Some(field) if field.is_named(name) => {
                    (before, is_new) = (at, false);
                    break;
                }
                Some(_) => {}
                None => break,
            }
        }
        let after = if is_new { &[][..] } else { self.rest };
        let room = HEADER_BYTES + all.len() + name.len() + value.len() + 2 * LENGTH_BYTES_MAX;
        let mut out = Vec::with_capacity(room);
        out.extend_from_slice(&[WHOLE, 0]);
        let count = self.count + usize::from(is_new);
        out.extend_from_slice(&(count as u32).to_le_bytes());
        out.extend_from_slice(&all[..before]);
        put_length(&mut out, name.len());
        put_length(&mut out, value.len());
        out.extend_from_slice(name);
        out.extend_from_slice(value);
        out.extend_from_slice(after);
        Some((out, is_new))
    }

    /// The field of that name.
    #[inline]
    pub(super) fn find(mut self, name: &[u8]) -> Option<Field<'a>> {
        Iterator::find(&mut self, |field| field.is_named(name))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    /// What is no field ends them.
    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let (name_len, rest) = length(self.rest)?;
            let (value_len, rest) = length(rest)?;
            let (at, rest) = match self.has_expiries {
                true => number(rest)?,
                false => (0, rest),
            };
            let (name, rest) = rest.split_at_checked(name_len)?;
            let (value, rest) = rest.split_at_checked(value_len)?;
            self.rest = rest;
            let field = Field {
                name,
                value,
                expires_at: (at != 0).then_some(UnixMillis(at)),
            };
            if !field.is_due(self.now) {
                return Some(field);
            }
        }
    }
}

/// When the first field of a hash expires; `None`: none does.
#[inline]
#[must_use]
pub fn first_expiry(value: &[u8]) -> Option<UnixMillis> {
    let (header, rest) = value.split_first_chunk::<HEADER_BYTES>()?;
    if header[1] & HAS_EXPIRIES == 0 {
        return None;
    }
    number(rest).map(|(at, _)| UnixMillis(at))
}

/// When the key of a hash expires by itself; `expires_at` is its record's.
///
/// # Errors
/// The value is no hash.
pub fn key_expiry(
    value: &[u8],
    expires_at: Option<UnixMillis>,
) -> Result<Option<UnixMillis>, ErrorReply> {
    match Head::read(value) {
        Some(_) => Ok(expires_at),
        None => Ok(Fields::read(value, expires_at)?.key_expires_at),
    }
}

/// Redis's word for how it would keep this hash.
pub(crate) fn encoding(value: &[u8]) -> Result<&'static str, ErrorReply> {
    let fields = Fields::read(value, None)?;
    let is_small = |field: Field<'_>| {
        field.name.len() <= LISTPACK_BYTES_MAX && field.value.len() <= LISTPACK_BYTES_MAX
    };
    let is_listpack = fields.count <= LISTPACK_FIELDS_MAX && { fields }.all(is_small);
    Ok(match (is_listpack, fields.has_expiries) {
        (false, _) => "hashtable",
        (true, true) => "listpackex",
        (true, false) => "listpack",
    })
}

/// Writes a hash: its key's own expiry if that is to stand in it, then its fields. Their number and first expiry are
/// those of `fields`.
pub(super) fn write<'a>(
    key_expires_at: Option<Option<UnixMillis>>,
    fields: impl Iterator<Item = &'a Field<'a>> + Clone,
) -> Vec<u8> {
    let (mut count, mut bytes): (u32, usize) = (0, 0);
    let mut first: Option<UnixMillis> = None;
    for field in fields.clone() {
        count += 1;
        bytes += field.name.len() + field.value.len();
        first = match (first, field.expires_at) {
            (Some(first), Some(at)) => Some(first.min(at)),
            (first, at) => first.or(at),
        };
    }
    let per_field = 4 + if first.is_some() { 8 } else { 0 };
    let mut out = Vec::with_capacity(HEADER_BYTES + 16 + bytes + count as usize * per_field);
    let expiries = if first.is_some() { HAS_EXPIRIES } else { 0 };
    let own = if key_expires_at.is_some() {
        HAS_KEY_EXPIRY
    } else {
        0
    };
    out.extend_from_slice(&[WHOLE, expiries | own]);
    out.extend_from_slice(&count.to_le_bytes());
    if let Some(first) = first {
        out.extend_from_slice(&first.0.to_le_bytes());
    }
    if let Some(at) = key_expires_at {
        out.extend_from_slice(&at.map_or(NEVER, |at| at.0).to_le_bytes());
    }
    for field in fields {
        put_length(&mut out, field.name.len());
        put_length(&mut out, field.value.len());
        if first.is_some() {
            let at = field.expires_at.map_or(0, |at| at.0);
            out.extend_from_slice(&at.to_le_bytes());
        }
        out.extend_from_slice(field.name);
        out.extend_from_slice(field.value);
    }
    out
}

#[inline]
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}

#[inline]
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let mut length = usize::from(*first & 0x7f);
    let mut has_more = *first & 0x80 != 0;
    let mut shift = 7;
    while has_more {
        let (next, after) = rest.split_first()?;
        // More groups are more than any value has bytes.
        if shift > 7 * (LENGTH_BYTES_MAX - 1) {
            return None;
        }
        length |= usize::from(*next & 0x7f) << shift;
        has_more = *next & 0x80 != 0;
        shift += 7;
        rest = after;
    }
    Some((length, rest))
}

#[inline]
fn put_length(out: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

#[cfg(test)]
#[path = "fields_test.rs"]
mod fields_test;
