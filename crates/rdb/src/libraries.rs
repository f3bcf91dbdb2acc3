//! Libraries of functions, as FUNCTION DUMP gives them and FUNCTION RESTORE takes them.
//!
//! In:  texts of libraries. Out: bytes, and texts again.
//!
//! ```text
//! (opcode 245 | text)* | version u16 | CRC-64 of all before it
//! ```

use super::input::{Input, Text};
use super::op;
use super::payload::{PayloadError, body_of, finish};
use super::value;

/// What is written: the version of Redis 7.0, which was the first to know libraries.
const VERSION: u16 = 10;

/// A payload of libraries.
#[must_use]
pub fn dump_libraries<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        out.push(op::FUNCTION);
        value::put_text(&mut out, text);
    }
    finish(out, VERSION)
}

/// Why a payload of libraries is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibrariesError {
    /// It has another checksum, or was written by a later version.
    VersionOrChecksum,
    /// It has something else than libraries.
    Other,
    /// It is cut off, or makes no sense.
    Format,
    /// Its libraries are longer than they may be. A few bytes of a payload can stand for very many.
    TooLong,
}

/// The libraries of a payload, of at most `bytes_max` bytes all together.
///
/// # Errors
/// [`LibrariesError`]. Any bytes may come.
pub fn restore_libraries(payload: &[u8], bytes_max: usize) -> Result<Vec<Vec<u8>>, LibrariesError> {
    let (body, _) = body_of(payload).map_err(|error| match error {
        PayloadError::VersionOrChecksum => LibrariesError::VersionOrChecksum,
        PayloadError::Format | PayloadError::TooLong => LibrariesError::Format,
    })?;
    let mut input = Input::new(body);
    let mut texts = Vec::new();
    let mut left = bytes_max;
    while input.offset() < body.len() as u64 {
        match input.byte() {
            Ok(op::FUNCTION) => {}
            Ok(_) => return Err(LibrariesError::Other),
            Err(_) => return Err(LibrariesError::Format),
        }
        match input.text(left) {
            Ok(Text::Whole(text)) => {
                left -= text.len();
                texts.push(text);
            }
            Ok(Text::TooLong(_)) => return Err(LibrariesError::TooLong),
            Err(_) => return Err(LibrariesError::Format),
        }
    }
    Ok(texts)
}

#[cfg(test)]
#[path = "libraries_test.rs"]
mod libraries_test;
