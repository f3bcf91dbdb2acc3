//! Integers as commands read and store them.
//!
//! Invariants:
//! - What [`parse_integer`] reads, [`IntegerText`] writes back byte for byte, which is why a value
//!   that is an integer needs no form of its own.

use crate::error::ErrorReply;

/// Reads a 64-bit integer in its one canonical form: no plus, no leading zeros, no spaces, no `-0`.
#[inline]
#[must_use]
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'0'] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > 19 || !matches!(digits.first(), Some(b'1'..=b'9')) {
        return None;
    }
    // 19 digits cannot overflow 64 unsigned bits.
    let mut magnitude: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    if is_negative {
        0_i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// [`parse_integer`], with Redis's error.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Result<i64, ErrorReply> {
    parse_integer(text).ok_or(ErrorReply::NOT_AN_INTEGER)
}

/// A 32-bit integer, with Redis's errors, which tell no number from one out of range.
pub(crate) fn integer_32(text: &[u8]) -> Result<i32, ErrorReply> {
    i32::try_from(integer(text)?).map_err(|_| {
        ErrorReply::constant(
            "ERR value is out of range, value must between -2147483648 and 2147483647",
        )
    })
}

/// An integer in decimal, without an allocation.
#[derive(Clone, Copy, Debug)]
pub struct IntegerText {
    bytes: [u8; 20],
    start: u8,
}

impl IntegerText {
    /// Writes `number` in decimal.
    #[inline]
    #[must_use]
    pub const fn new(number: i64) -> Self {
        let mut bytes = [0; 20];
        let mut start = bytes.len();
        let mut rest = number.unsigned_abs();
        loop {
            start -= 1;
            bytes[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            start -= 1;
            bytes[start] = b'-';
        }
        Self {
            bytes,
            start: start as u8,
        }
    }

    /// The digits.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

#[cfg(test)]
#[path = "number_test.rs"]
mod number_test;
