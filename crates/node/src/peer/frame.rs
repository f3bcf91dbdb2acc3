//! Frames of the control plane's connections: a length, a checksum, a body.
//!
//! ```text
//!  0  u32  body's length, little-endian
//!  4  u32  CRC-32 of the body
//!  8  body
//! ```

use thiserror::Error;

/// Longest body of a message: a snapshot of a catalog fits.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Longest body before it is known who speaks.
pub const HELLO_BYTES_MAX: usize = 4 << 10;

/// What stands before the body.
pub const HEADER_BYTES: usize = 8;

/// Why a frame is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PeerFrameError {
    /// It says that it is longer than any may be.
    #[error("a frame of {len} bytes, and {max} are the most")]
    TooLong {
        /// What it says.
        len: usize,
        /// What may be.
        max: usize,
    },
    /// It was damaged on its way.
    #[error("a frame whose checksum is wrong")]
    Checksum,
}

/// What a frame says of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    len: u32,
    crc: u32,
}

impl FrameHeader {
    /// Reads it, if its body may be that long.
    ///
    /// # Errors
    /// [`PeerFrameError::TooLong`].
    pub fn read(bytes: [u8; HEADER_BYTES], bytes_max: usize) -> Result<Self, PeerFrameError> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let header = Self {
            len: u32::from_le_bytes([a, b, c, d]),
            crc: u32::from_le_bytes([e, f, g, h]),
        };
        let (len, max) = (header.body_len(), bytes_max);
        if len > max {
            return Err(PeerFrameError::TooLong { len, max });
        }
        Ok(header)
    }

    /// How long the body is.
    #[must_use]
    pub const fn body_len(self) -> usize {
        self.len as usize
    }

    /// Whether that is the body.
    ///
    /// # Errors
    /// [`PeerFrameError::Checksum`].
    pub fn check(self, body: &[u8]) -> Result<(), PeerFrameError> {
        if crc32fast::hash(body) == self.crc {
            Ok(())
        } else {
            Err(PeerFrameError::Checksum)
        }
    }
}

/// The frame of a body.
#[must_use]
pub fn frame(body: &[u8]) -> Vec<u8> {
    assert!(
        body.len() <= MESSAGE_BYTES_MAX,
        "a frame of {} bytes would be refused",
        body.len()
    );
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Takes the first frame's body out of what was received; `None` if not all of it is there.
///
/// # Errors
/// What was received is no frame.
pub fn take_frame(
    received: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<Option<Vec<u8>>, PeerFrameError> {
    let Some((header, rest)) = received.split_first_chunk() else {
        return Ok(None);
    };
    let header = FrameHeader::read(*header, bytes_max)?;
    let Some(body) = rest.get(..header.body_len()) else {
        return Ok(None);
    };
    header.check(body)?;
    let body = body.to_vec();
    received.drain(..HEADER_BYTES + body.len());
    Ok(Some(body))
}

#[cfg(test)]
#[path = "frame_test.rs"]
mod frame_test;
