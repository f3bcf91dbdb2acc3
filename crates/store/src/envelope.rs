//! The envelope of small files that are replaced as a whole, such as the catalog.
//!
//! ```text
//!  0  8 bytes  magic, the file's own      16  u32  CRC-32 of the body
//!  8  u32      version of the body        20  u32  CRC-32 of bytes 0..20
//! 12  u32      length of the body         24  body
//! ```

use crate::bytes::{put_u32, u32_at};
use std::fmt;

const HEAD_BYTES: usize = 24;

/// Why an envelope's body cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeError {
    /// It is another kind of file.
    Magic,
    /// A checksum or the length does not match.
    Damaged,
    /// The body is of a newer version than the caller knows.
    Newer {
        /// The body's version.
        found: u32,
        /// The newest that the caller knows.
        supported: u32,
    },
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "it is another kind of file"),
            Self::Damaged => write!(f, "it is damaged: its checksum does not match"),
            Self::Newer { found, supported } => write!(
                f,
                "it has version {found} and this program reads up to {supported}; start the newer \
                 brickyard on this directory"
            ),
        }
    }
}

impl std::error::Error for EnvelopeError {}

/// Wraps a body, ready for [`crate::replace_file`].
///
/// # Panics
/// If the body is 4 GiB or more (a caller bug).
#[must_use]
pub fn seal_envelope(magic: &[u8; 8], version: u32, body: &[u8]) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "these files are small; see Panics")]
    let len = u32::try_from(body.len()).expect("a small file");
    let mut bytes = vec![0; HEAD_BYTES];
    bytes[..8].copy_from_slice(magic);
    put_u32(&mut bytes, 8, version);
    put_u32(&mut bytes, 12, len);
    put_u32(&mut bytes, 16, crc32fast::hash(body));
    let crc = crc32fast::hash(&bytes[..20]);
    put_u32(&mut bytes, 20, crc);
    bytes.extend_from_slice(body);
    bytes
}

/// Checks an envelope and returns its version and its body.
///
/// # Errors
/// [`EnvelopeError`].
pub fn open_envelope<'b>(
    magic: &[u8; 8],
    version_max: u32,
    bytes: &'b [u8],
) -> Result<(u32, &'b [u8]), EnvelopeError> {
    let (head, body) = bytes
        .split_first_chunk::<HEAD_BYTES>()
        .ok_or(EnvelopeError::Damaged)?;
    if crc32fast::hash(&head[..20]) != u32_at(head, 20) {
        return Err(EnvelopeError::Damaged);
    }
    if head[..8] != magic[..] {
        return Err(EnvelopeError::Magic);
    }
    let found = u32_at(head, 8);
    if found > version_max {
        return Err(EnvelopeError::Newer {
            found,
            supported: version_max,
        });
    }
    if body.len() as u64 != u64::from(u32_at(head, 12)) || crc32fast::hash(body) != u32_at(head, 16)
    {
        return Err(EnvelopeError::Damaged);
    }
    Ok((found, body))
}

#[cfg(test)]
#[path = "envelope_test.rs"]
mod envelope_test;
