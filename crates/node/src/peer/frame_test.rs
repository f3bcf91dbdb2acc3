//! What is written is read; what is damaged, cut off or too long is not.

use super::*;

#[test]
fn what_is_written_is_read_and_what_follows_stays() {
    for body in [&b""[..], b"x", &[7; 100_000]] {
        let mut received = frame(body);
        received.extend_from_slice(b"more");
        let taken = take_frame(&mut received, 100_000).expect("read");
        assert_eq!(taken.as_deref(), Some(body));
        assert_eq!(received, b"more");
    }
}

#[test]
fn damaged_short_and_long_frames_are_not_taken() {
    let good = frame(b"some bytes");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        // A length that grew by a little waits for bytes that do not come.
        let taken = take_frame(&mut bad, 64);
        assert!(!matches!(taken, Ok(Some(_))), "byte {at}");
        let mut short = good[..at].to_vec();
        assert_eq!(take_frame(&mut short, 64), Ok(None), "cut at {at}");
    }
    let too_long = PeerFrameError::TooLong { len: 10, max: 9 };
    assert_eq!(take_frame(&mut good.clone(), 9), Err(too_long));
}
