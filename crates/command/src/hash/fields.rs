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

use crate::error::ErrorReply;
use brickyard_types::UnixMillis;

/// All fields are in this value.
const WHOLE: u8 = 1;

/// Bytes before what the flags announce.
const HEADER_BYTES: usize = 6;

pub(super) const HAS_EXPIRIES: u8 = 1;
pub(super) const HAS_KEY_EXPIRY: u8 = 2;

/// Bytes of a field's expiry.
pub(super) const EXPIRY_BYTES: usize = 8;

/// Bytes of a length, at most.
const LENGTH_BYTES_MAX: usize = 5;

/// The key's own expiry, where it has none.
pub(super) const NEVER: u64 = u64::MAX;

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

    /// Reads a part of a hash, or a whole one that has no expiry of its key's own.
    #[inline]
    pub(super) fn of_part(value: &'a [u8]) -> Result<Self, ErrorReply> {
        match value {
            [WHOLE, 0 | HAS_EXPIRIES, ..] => Self::read(value, None),
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

    /// Whether an expiry stands beside each of them.
    pub(super) const fn has_expiries(&self) -> bool {
        self.has_expiries
    }

    /// All of them, as they are stored.
    pub(super) const fn run(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes of all of them, as they stand here.
    pub(super) const fn bytes(&self) -> usize {
        self.rest.len()
    }

    /// Bytes of all of them without their expiries.
    pub(super) fn plain_bytes(&self) -> Result<usize, ErrorReply> {
        let expiries = match self.has_expiries {
            true => self.count.checked_mul(EXPIRY_BYTES).ok_or(DAMAGED)?,
            false => 0,
        };
        self.rest.len().checked_sub(expiries).ok_or(DAMAGED)
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        if self.has_expiries {
            self.count()
        } else {
            self.count
        }
    }

    /// The value with one field set to what `next` makes of it; what that is, and whether the field is new. No field has an expiry, and
    /// all others are copied as they stand.
    ///
    /// `None`: some field has an expiry, so that more than this one may change.
    pub(super) fn with_one<T: AsRef<[u8]>>(
        mut self,
        name: &[u8],
        next: impl Fn(Option<Field<'_>>) -> Result<T, ErrorReply>,
    ) -> Result<Option<(Vec<u8>, T, bool)>, ErrorReply> {
        if self.has_expiries {
            return Ok(None);
        }
        let all = self.rest;
        let (found, before) = loop {
            let at = all.len() - self.rest.len();
            match self.next() {
                Some(field) if field.is_named(name) => break (Some(field), at),
                Some(_) => {}
                None => break (None, all.len()),
            }
        };
        let is_new = found.is_none();
        let made = next(found)?;
        let value = made.as_ref();
        let after = if is_new { &[][..] } else { self.rest };
        let room = HEADER_BYTES + all.len() + name.len() + value.len() + 2 * LENGTH_BYTES_MAX;
        let mut out = Vec::with_capacity(room);
        let count = self.count + usize::from(is_new);
        let front = Front {
            fields: count as u32,
            first: None,
            key_expires_at: None,
        };
        front.write(&mut out);
        out.extend_from_slice(&all[..before]);
        let field = Field {
            name,
            value,
            expires_at: None,
        };
        put_field(&mut out, &field, false);
        out.extend_from_slice(after);
        Ok(Some((out, made, is_new)))
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

/// When the first of the fields in a value, or in a part of one, expires; `None`: none does.
#[inline]
pub(super) fn first_of(value: &[u8]) -> Option<UnixMillis> {
    let (header, rest) = value.split_first_chunk::<HEADER_BYTES>()?;
    if header[0] != WHOLE || header[1] & HAS_EXPIRIES == 0 {
        return None;
    }
    number(rest).map(|(at, _)| UnixMillis(at))
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
    let mut bytes = 0;
    let mut front = Front {
        fields: 0,
        first: None,
        key_expires_at,
    };
    for field in fields.clone() {
        front.fields += 1;
        bytes += field.name.len() + field.value.len();
        front.first = earlier(front.first, field.expires_at);
    }
    let has_expiries = front.first.is_some();
    let per_field = 4 + if has_expiries { EXPIRY_BYTES } else { 0 };
    let mut out = Vec::with_capacity(front.len() + bytes + front.fields as usize * per_field);
    front.write(&mut out);
    for field in fields {
        put_field(&mut out, field, has_expiries);
    }
    out
}

/// The one that comes first; `None`: never.
pub(super) fn earlier(one: Option<UnixMillis>, other: Option<UnixMillis>) -> Option<UnixMillis> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// What stands before a hash's fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub(super) fields: u32,
    /// When the first field expires; `None`: none does, and no expiry stands beside them.
    pub(super) first: Option<UnixMillis>,
    /// The key's own expiry, if it is to stand here.
    pub(super) key_expires_at: Option<Option<UnixMillis>>,
}

impl Front {
    /// Bytes of it.
    pub(super) fn len(&self) -> usize {
        let first = self.first.map_or(0, |_| EXPIRY_BYTES);
        let own = self.key_expires_at.map_or(0, |_| EXPIRY_BYTES);
        HEADER_BYTES + first + own
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let expiries = if self.first.is_some() {
            HAS_EXPIRIES
        } else {
            0
        };
        let own = if self.key_expires_at.is_some() {
            HAS_KEY_EXPIRY
        } else {
            0
        };
        out.extend_from_slice(&[WHOLE, expiries | own]);
        out.extend_from_slice(&self.fields.to_le_bytes());
        if let Some(first) = self.first {
            out.extend_from_slice(&first.0.to_le_bytes());
        }
        if let Some(at) = self.key_expires_at {
            out.extend_from_slice(&at.map_or(NEVER, |at| at.0).to_le_bytes());
        }
    }
}

/// Writes a field, with its expiry if one stands beside each.
pub(super) fn put_field(out: &mut Vec<u8>, field: &Field<'_>, has_expiries: bool) {
    put_length(out, field.name.len());
    put_length(out, field.value.len());
    if has_expiries {
        let at = field.expires_at.map_or(0, |at| at.0);
        out.extend_from_slice(&at.to_le_bytes());
    }
    out.extend_from_slice(field.name);
    out.extend_from_slice(field.value);
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
