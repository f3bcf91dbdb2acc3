//! A single value with its type, version and checksum, as DUMP gives it and RESTORE takes it.
//!
//! In:  values. Out: bytes, and values again.
//!
//! ```text
//! type u8 | the value as in a snapshot | version u16 | CRC-64 of all before it
//! ```

use super::crc64;
use super::input::Input;
use super::value::{self, FieldRef, RdbValue, Taken};
use super::version::{VALKEY_VERSIONS, VERSION_MAX};
use brickyard_types::limits::VALUE_BYTES_MAX;

/// Bytes of the version and the checksum.
const FOOTER_BYTES: usize = 10;

/// What is written: the first version of a server that reads it. All still in use read the former.
const VERSION: u16 = 9;
const VERSION_WITH_TIMES: u16 = 12;

/// Why a payload is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// It has another length or checksum, or was written by a later version.
    VersionOrChecksum,
    /// The value makes no sense, or is of a type that is not known here.
    Format,
    /// The value is longer than a table takes.
    TooLong,
}

/// A string's payload.
#[must_use]
pub fn dump_string(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + 9 + bytes.len() + FOOTER_BYTES);
    out.push(value::STRING);
    value::put_text(&mut out, bytes);
    finish(out, VERSION)
}

/// A hash's payload.
#[must_use]
pub fn dump_hash<'a>(fields: impl ExactSizeIterator<Item = FieldRef<'a>> + Clone) -> Vec<u8> {
    let least = fields.clone().filter_map(|(.., at)| at).min();
    let (kind, version) = match least {
        None => (value::HASH, VERSION),
        Some(_) => (value::HASH_WITH_TIMES, VERSION_WITH_TIMES),
    };
    let mut out = vec![kind];
    value::put_fields(&mut out, least, fields);
    finish(out, version)
}

/// A payload of this body.
pub(super) fn finish(mut out: Vec<u8>, version: u16) -> Vec<u8> {
    out.extend_from_slice(&version.to_le_bytes());
    let sum = crc64::update(0, &out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// The body of a payload whose checksum is right, and whether Valkey wrote it.
pub(super) fn body_of(payload: &[u8]) -> Result<(&[u8], bool), PayloadError> {
    let wrong = PayloadError::VersionOrChecksum;
    let (summed, sum) = payload.split_last_chunk::<8>().ok_or(wrong)?;
    let (body, version) = summed.split_last_chunk::<2>().ok_or(wrong)?;
    let version = u32::from(u16::from_le_bytes(*version));
    let is_valkey = VALKEY_VERSIONS.contains(&version);
    let sum = u64::from_le_bytes(*sum);
    // As in Redis, 0 says that there is none.
    let is_whole = sum == 0 || sum == crc64::update(0, summed);
    if !(is_valkey || version <= VERSION_MAX) || !is_whole {
        return Err(wrong);
    }
    Ok((body, is_valkey))
}

/// The value of a payload.
///
/// # Errors
/// [`PayloadError`]. Any bytes may come.
pub fn restore(payload: &[u8]) -> Result<RdbValue, PayloadError> {
    let (body, is_valkey) = body_of(payload)?;
    let mut input = Input::new(body);
    let kind = input.byte().map_err(|_| PayloadError::Format)?;
    if !value::is_read(kind, is_valkey) {
        return Err(PayloadError::Format);
    }
    let taken = value::read(&mut input, kind, is_valkey, VALUE_BYTES_MAX);
    let is_all = input.offset() == body.len() as u64;
    match taken {
        Ok(Taken::TooLong(_)) => Err(PayloadError::TooLong),
        Ok(Taken::Whole(value)) if is_all => Ok(value),
        Ok(Taken::Whole(_)) | Err(_) => Err(PayloadError::Format),
    }
}

#[cfg(test)]
#[path = "payload_test.rs"]
mod payload_test;
