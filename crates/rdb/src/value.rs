//! Values of the types that there are here.
//!
//! In:  the number of a type, and bytes. Out: [`RdbValue`], and its bytes again.

use super::error::RdbError;
use super::input::{Input, Text};
use super::pack;
use std::io::Read;

/// A value of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RdbValue {
    /// Bytes.
    String(Vec<u8>),
    /// Fields, in their order.
    Hash(Vec<RdbField>),
}

/// A field of a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdbField {
    /// Its name.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// When it is gone, in milliseconds since 1970; `None` means with its key.
    pub expires_at: Option<u64>,
}

impl RdbValue {
    /// Bytes of it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::String(bytes) => bytes.len(),
            Self::Hash(fields) => fields.iter().map(|it| it.name.len() + it.value.len()).sum(),
        }
    }
}

/// What was read: a value, or the length of one that is too long.
pub(super) enum Taken {
    Whole(RdbValue),
    TooLong(u64),
}

/// Numbers of types that are written.
pub(super) const STRING: u8 = 0;
pub(super) const HASH: u8 = 4;
pub(super) const HASH_WITH_TIMES: u8 = 24;

/// How the fields of a hash stand in a snapshot.
#[derive(Clone, Copy)]
enum Form {
    /// Names and values, counted.
    Pairs,
    /// For each field a time, counted from the earliest one, or from 1970.
    Timed {
        has_least: bool,
    },
    /// Valkey: for each field 8 bytes of time behind it.
    TimedBehind,
    Listpack,
    /// A listpack of names, values and times.
    TimedListpack {
        has_least: bool,
    },
    Ziplist,
}

const fn form(kind: u8, is_valkey: bool) -> Option<Form> {
    Some(match kind {
        HASH => Form::Pairs,
        13 => Form::Ziplist,
        16 => Form::Listpack,
        // The number 22 means one thing to Valkey and another to early builds of Redis 7.4.
        22 if is_valkey => Form::TimedBehind,
        22 => Form::Timed { has_least: false },
        23 if !is_valkey => Form::TimedListpack { has_least: false },
        HASH_WITH_TIMES if !is_valkey => Form::Timed { has_least: true },
        25 if !is_valkey => Form::TimedListpack { has_least: true },
        _ => return None,
    })
}

/// Whether values of the type are read.
pub(super) const fn is_read(kind: u8, is_valkey: bool) -> bool {
    kind == STRING || form(kind, is_valkey).is_some()
}

/// Reads a value of a type that [`is_read`], of at most `most` bytes.
pub(super) fn read<R: Read>(
    input: &mut Input<R>,
    kind: u8,
    is_valkey: bool,
    most: usize,
) -> Result<Taken, RdbError> {
    let Some(form) = form(kind, is_valkey) else {
        return Ok(match input.text(most)? {
            Text::Whole(bytes) => Taken::Whole(RdbValue::String(bytes)),
            Text::TooLong(bytes) => Taken::TooLong(bytes),
        });
    };
    match form {
        Form::Pairs | Form::Timed { .. } | Form::TimedBehind => counted(input, form, most),
        Form::Listpack | Form::TimedListpack { .. } | Form::Ziplist => packed(input, form, most),
    }
}

/// Fields one after the other. Memory grows with what has arrived, up to `most` bytes.
fn counted<R: Read>(input: &mut Input<R>, form: Form, most: usize) -> Result<Taken, RdbError> {
    let least = match form {
        Form::Timed { has_least: true } => u64::from_le_bytes(input.array()?),
        _ => 0,
    };
    let mut fields = Vec::new();
    let mut bytes: u64 = 0;
    for _ in 0..input.length()? {
        let before = match form {
            Form::Timed { .. } => input.length()?,
            _ => 0,
        };
        // Past the bound nothing is kept: it is only passed over.
        let left = most.saturating_sub(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut texts = [Vec::new(), Vec::new()];
        for text in &mut texts {
            match input.text(left)? {
                Text::Whole(whole) => {
                    bytes += whole.len() as u64;
                    *text = whole;
                }
                Text::TooLong(long) => bytes = bytes.saturating_add(long),
            }
        }
        let expires_at = match form {
            // One more than the time from the earliest.
            Form::Timed { has_least: true } => match before {
                0 => None,
                after => Some(least.saturating_add(after - 1)),
            },
            Form::TimedBehind => {
                let at = i64::from_le_bytes(input.array()?);
                u64::try_from(at).ok()
            }
            _ => Some(before).filter(|at| *at != 0),
        };
        if bytes > most as u64 {
            fields = Vec::new();
            continue;
        }
        let [name, value] = texts;
        fields.push(RdbField {
            name,
            value,
            expires_at,
        });
    }
    Ok(if bytes > most as u64 {
        Taken::TooLong(bytes)
    } else {
        Taken::Whole(RdbValue::Hash(fields))
    })
}

/// Fields in one string.
fn packed<R: Read>(input: &mut Input<R>, form: Form, most: usize) -> Result<Taken, RdbError> {
    if let Form::TimedListpack { has_least: true } = form {
        // The earliest time, which stands with its field too.
        input.skip(8)?;
    }
    let at = input.offset();
    let bytes = match input.text(most)? {
        Text::Whole(bytes) => bytes,
        Text::TooLong(bytes) => return Ok(Taken::TooLong(bytes)),
    };
    let elements = match form {
        Form::Ziplist => pack::ziplist(&bytes),
        _ => pack::listpack(&bytes),
    };
    let elements = elements.map_err(|what| input.damaged(at, what))?;
    let step = match form {
        Form::TimedListpack { .. } => 3,
        _ => 2,
    };
    if !elements.len().is_multiple_of(step) {
        return Err(input.damaged(at, "a hash whose last field is incomplete"));
    }
    let mut elements = elements.into_iter();
    let mut fields = Vec::new();
    while let (Some(name), Some(value)) = (elements.next(), elements.next()) {
        let expires_at = match step {
            3 => {
                let text = elements.next().unwrap_or_default();
                let time = std::str::from_utf8(&text).ok();
                let time: Option<u64> = time.and_then(|it| it.parse().ok());
                time.ok_or_else(|| input.damaged(at, "a field's time that is no number"))?
            }
            _ => 0,
        };
        fields.push(RdbField {
            name,
            value,
            expires_at: Some(expires_at).filter(|at| *at != 0),
        });
    }
    Ok(Taken::Whole(RdbValue::Hash(fields)))
}

/// A field to write: its name, its value, and when it is gone.
pub type FieldRef<'a> = (&'a [u8], &'a [u8], Option<u64>);

/// Appends a string.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_length(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Appends the fields of a hash, of the type [`HASH`], or [`HASH_WITH_TIMES`] if `least` is the earliest time.
pub(super) fn put_fields<'a>(
    out: &mut Vec<u8>,
    least: Option<u64>,
    fields: impl ExactSizeIterator<Item = FieldRef<'a>>,
) {
    if let Some(least) = least {
        out.extend_from_slice(&least.to_le_bytes());
    }
    put_length(out, fields.len() as u64);
    for (name, value, expires_at) in fields {
        if let Some(least) = least {
            put_length(out, expires_at.map_or(0, |at| at - least + 1));
        }
        put_text(out, name);
        put_text(out, value);
    }
}

fn put_length(out: &mut Vec<u8>, length: u64) {
    match length {
        0..0x40 => out.push(length as u8),
        0x40..0x4000 => out.extend_from_slice(&(length as u16 | 0x4000).to_be_bytes()),
        0x4000..=0xffff_ffff => {
            out.push(0x80);
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
        _ => {
            out.push(0x81);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
}
