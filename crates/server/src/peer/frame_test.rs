//! What is written is read; what is damaged, cut off or too long is not.

use super::*;
use brickyard_node::peer::frame;

fn read_all(mut bytes: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(read(&mut bytes, bytes_max))
}

#[test]
fn what_is_written_is_read() {
    for body in [&b""[..], b"x", &[7; 100_000]] {
        assert_eq!(read_all(&frame(body), 100_000).expect("read"), body);
    }
}

#[test]
fn damaged_short_and_long_frames_are_refused() {
    let good = frame(b"some bytes");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(read_all(&bad, 64).is_err(), "byte {at}");
        assert!(read_all(&good[..at], 64).is_err(), "cut at {at}");
    }
    assert!(read_all(&good, 9).is_err());
}
