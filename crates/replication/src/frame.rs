//! Frames of the streams between bricks: bytes ⇄ [`Frame`].
//!
//! In:  bytes from a peer, one whole frame at a time ([`frame_len`] says how long it is). Out: checked
//! fields that borrow from them; and the other way round ([`encode`](Frame::encode)).
//!
//! Invariants:
//! - No length in a frame is believed before it was compared with a bound and with what is there; nothing
//!   is allocated on its word.
//! - A frame whose fields leave bytes over is refused: it is of another protocol.
//! - What is written is read back as it was.
//!
//! ```text
//!  0  u32 len    of what follows the checksum: the kind byte and the body; little-endian, like all of it
//!  4  u32 crc    CRC-32 (IEEE) of those bytes
//!  8  u8  kind
//!  9  body
//! ```
//! Not here: the records within (`brickyard_types::record`), what is done with a frame (`follow.rs`,
//! `lead.rs`).

mod begin;
mod kind;
mod reader;

pub use begin::{Begin, CopyStart};
pub use kind::{Commits, Frame, Reason, Refuse, Vote};
pub(crate) use kind::{byte, put_sequence};

use std::fmt;

/// Bytes before a frame's body.
pub const HEAD_BYTES: usize = 9;

/// Longest record that can be replicated, in bytes: a value and a key of the greatest size, and room for
/// the rest. An owner refuses writes whose record would be longer.
pub const RECORD_BYTES_MAX: usize = 64 * 1024 * 1024 + 128 * 1024;

/// Longest frame, head included.
pub const FRAME_BYTES_MAX: usize = RECORD_BYTES_MAX + 1024;

/// Why bytes from a peer are not a frame that may be there; the owner closes the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The length is 0, or past [`FRAME_BYTES_MAX`].
    Length {
        /// What it says.
        len: u32,
    },
    /// The checksum does not match.
    Checksum {
        /// What the frame says.
        expected: u32,
        /// What its bytes add up to.
        got: u32,
    },
    /// The fields are impossible, or of a newer protocol.
    Field {
        /// Which field.
        what: &'static str,
    },
    /// The frame is sound and may not come now, or not on this link.
    Protocol {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => {
                write!(
                    f,
                    "frame length is {len}, at most {FRAME_BYTES_MAX} is allowed"
                )
            }
            Self::Checksum { expected, got } => {
                write!(
                    f,
                    "frame checksum is {got:#010x}, expected {expected:#010x}"
                )
            }
            Self::Field { what } => write!(f, "frame field {what} is impossible in this protocol"),
            Self::Protocol { what } => write!(f, "the peer broke the protocol: {what}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Length of the frame at the start of `bytes`, head included, once all of it is there.
///
/// # Errors
/// [`FrameError::Length`].
pub fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(len) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let len = u32::from_le_bytes(*len);
    let whole = HEAD_BYTES - 1 + len as usize;
    if len == 0 || whole > FRAME_BYTES_MAX {
        return Err(FrameError::Length { len });
    }
    Ok((bytes.len() >= whole).then_some(whole))
}

/// A frame that is being written at the end of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    start: usize,
}

impl Writer {
    pub(crate) fn begin(out: &mut Vec<u8>, kind: u8) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD_BYTES]);
        out[start + HEAD_BYTES - 1] = kind;
        Self { start }
    }

    /// Bytes so far, head included.
    pub(crate) fn len(self, out: &[u8]) -> usize {
        out.len() - self.start
    }

    pub(crate) fn end(self, out: &mut [u8]) {
        let crc = crc32fast::hash(&out[self.start + HEAD_BYTES - 1..]);
        let len = (out.len() - self.start - (HEAD_BYTES - 1)) as u32;
        out[self.start..self.start + 4].copy_from_slice(&len.to_le_bytes());
        out[self.start + 4..self.start + 8].copy_from_slice(&crc.to_le_bytes());
    }
}

#[cfg(test)]
#[path = "frame_test.rs"]
mod frame_test;
