//! Frames of the control plane's connections: a length, a checksum, a body.
//!
//! ```text
//!  0  u32  body's length, little-endian
//!  4  u32  CRC-32 of the body
//!  8  body
//! ```

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest body of a message: a snapshot of a catalog fits.
pub(crate) const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Longest body before it is known who speaks.
pub(crate) const HELLO_BYTES_MAX: usize = 4 << 10;

const HEADER_BYTES: usize = 8;

/// Room that is made before the bytes are there: a length that is a lie costs no more.
const ROOM_BYTES: usize = 64 << 10;

/// The frame of a body.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Writes a frame that is ready.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    stream.write_all(frame).await
}

/// Reads one frame, no byte further, and returns its body.
pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    bytes_max: usize,
) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).await?;
    let [a, b, c, d, e, f, g, h] = header;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    let crc = u32::from_le_bytes([e, f, g, h]);
    if len > bytes_max {
        let what = format!("a frame of {len} bytes, and {bytes_max} are the most");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut body = Vec::with_capacity(len.min(ROOM_BYTES));
    let got = stream.take(len as u64).read_to_end(&mut body).await?;
    if got < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if crc32fast::hash(&body) != crc {
        let what = "a frame whose checksum is wrong";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(body)
}

#[cfg(test)]
#[path = "frame_test.rs"]
mod frame_test;
