//! Frames of the control plane's connections, on sockets.

use brickyard_node::peer::{FrameHeader, HEADER_BYTES};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Room that is made before the bytes are there: a length that is a lie costs no more.
const ROOM_BYTES: usize = 64 << 10;

/// Writes a frame that is ready.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    stream.write_all(frame).await?;
    // What was encrypted may wait in a buffer.
    stream.flush().await
}

/// Reads one frame, no byte further, and returns its body.
pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    bytes_max: usize,
) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).await?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let header = FrameHeader::read(header, bytes_max).map_err(invalid)?;
    let len = header.body_len();
    let mut body = Vec::with_capacity(len.min(ROOM_BYTES));
    let got = stream.take(len as u64).read_to_end(&mut body).await?;
    if got < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    header.check(&body).map_err(invalid)?;
    Ok(body)
}

#[cfg(test)]
#[path = "frame_test.rs"]
mod frame_test;
