//! One byte of a header that has rotted, or of a mark, is set right again.
//!
//! In:  bytes from where a record or mark begins to where the next one does. Out: the same bytes, of which one was changed so that
//!      every checksum matches; or nothing, where that cannot be.
//!
//! A header's checksum says that one of its bytes is wrong, and with the checksum of the body, which is whole, there is one way
//! only in which it can have been. So a flipped bit in a header costs no record; without that it would not even be known whose
//! record it was.
//!
//! Invariants:
//! - What is changed is a header; a body with a wrong byte stays as it is. A body has so many bytes that another one than was
//!   written could verify.
//! - A record is believed only if it fills the bytes exactly and has a body, whose own checksum matches; a mark only if every
//!   byte of it is what would be written.
//! - Where there are two ways, there is none.

use super::mark::{MARK_BYTES, Mark};
use brickyard_types::record::{self, HEADER_BYTES};

/// Sets the one wrong byte of a header right; whether there was one.
pub(crate) fn mend(bytes: &mut [u8]) -> bool {
    if bytes.len() < HEADER_BYTES {
        return false;
    }
    let mut found = None;
    for at in 0..HEADER_BYTES {
        let rotten = bytes[at];
        for flipped in 1..=u8::MAX {
            bytes[at] = rotten ^ flipped;
            if is_whole(bytes) {
                if found.is_some() {
                    bytes[at] = rotten;
                    return false;
                }
                found = Some((at, bytes[at]));
            }
        }
        bytes[at] = rotten;
    }
    let Some((at, byte)) = found else {
        return false;
    };
    bytes[at] = byte;
    assert!(is_whole(bytes), "byte {at} was set right");
    true
}

fn is_whole(bytes: &[u8]) -> bool {
    // Nearly always this says no, at the price of one checksum of 44 bytes.
    let crc = crc32fast::hash(&bytes[4..HEADER_BYTES]);
    if bytes[..4] != crc.to_le_bytes() {
        return false;
    }
    if bytes.len() == MARK_BYTES {
        return Mark::decode(bytes).is_some();
    }
    record::verify(bytes).is_ok_and(|found| found.record().len == bytes.len())
}

#[cfg(test)]
#[path = "mend_test.rs"]
mod mend_test;
