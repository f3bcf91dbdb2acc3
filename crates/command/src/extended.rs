//! The 80-bit floating point numbers that INCRBYFLOAT counts in.
//!
//! Redis adds with its processor's `long double`, which on x86-64 has 64 bits of mantissa: `0.1`
//! plus `0.2` is `0.3` there and `0.30000000000000004` in 64-bit doubles. Replies are to be the same,
//! so the format is kept here in software: a number is `mantissa * 2^exponent` and every result is
//! the exact one, rounded once to the nearest number of the format, to even when between two.
//!
//! In:  text as C's `strtold` takes it. Out: a sum, or text as Redis shows it.
//!
//! Invariants:
//! - A mantissa of a normal number has its highest bit set; [`EXPONENT_MIN`] bounds the others.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, section 4.2.2.

use num_bigint::BigUint;
use std::cmp::Ordering;

const MANTISSA_BITS: u64 = 64;

/// Exponent of the smallest number, 2^-16445.
const EXPONENT_MIN: i64 = -16_445;

/// Exponent of the largest numbers: (2^64 - 1) * 2^16320.
const EXPONENT_MAX: i64 = 16_320;

/// A decimal exponent past this is past every number of the format, however many digits stand
/// before it: the numbers are between 10^-4951 and 10^4933, and text has at most 5,119 digits.
const DECIMAL_EXPONENT_MAX: i64 = 10_100;

/// The same for a binary exponent, with four bits to a digit.
const BINARY_EXPONENT_MAX: i64 = 40_000;

/// Where the sum of an exponent's digits stops; past both bounds even if a fraction is taken off.
const EXPONENT_TEXT_MAX: i64 = 1_000_000;

/// Redis reads no number that is longer.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;

/// Digits after the point in a reply, before trailing zeros are cut.
const FRACTION_DIGITS: usize = 17;

/// A finite number, or one past all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    Finite {
        is_negative: bool,
        mantissa: u64,
        exponent: i64,
    },
    Infinite,
}

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutOfRange;

impl Extended {
    pub(crate) const ZERO: Self = Self::Finite {
        is_negative: false,
        mantissa: 0,
        exponent: EXPONENT_MIN,
    };

    /// Reads a whole text; `None` if it is no number, too large or too near to zero.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (is_negative, unsigned) = match text {
            [b'-', unsigned @ ..] => (true, unsigned),
            [b'+', unsigned @ ..] => (false, unsigned),
            unsigned => (false, unsigned),
        };
        if unsigned.eq_ignore_ascii_case(b"inf") || unsigned.eq_ignore_ascii_case(b"infinity") {
            return Some(Self::Infinite);
        }
        let (mantissa, exponent) = match unsigned {
            [b'0', b'x' | b'X', digits @ ..] => parse_hexadecimal(digits)?,
            digits => parse_decimal(digits)?,
        }
        .ok()?;
        Some(Self::Finite {
            is_negative,
            mantissa,
            exponent,
        })
    }

    /// The sum, rounded once; infinite if it is past the largest number or not a number at all.
    pub(crate) fn add(self, other: Self) -> Self {
        let (
            Self::Finite {
                is_negative,
                mantissa,
                exponent,
            },
            Self::Finite {
                is_negative: is_other_negative,
                mantissa: other_mantissa,
                exponent: other_exponent,
            },
        ) = (self, other)
        else {
            return Self::Infinite;
        };
        let common = exponent.min(other_exponent);
        let own = BigUint::from(mantissa) << (exponent - common).unsigned_abs();
        let other = BigUint::from(other_mantissa) << (other_exponent - common).unsigned_abs();
        let (is_negative, sum) = if is_negative == is_other_negative {
            (is_negative, own + other)
        } else {
            match own.cmp(&other) {
                Ordering::Less => (is_other_negative, other - own),
                Ordering::Equal => (false, BigUint::ZERO),
                Ordering::Greater => (is_negative, own - other),
            }
        };
        round(sum, common, false).map_or(Self::Infinite, |(mantissa, exponent)| Self::Finite {
            is_negative,
            mantissa,
            exponent,
        })
    }

    /// The number with up to 17 digits after the point, without zeros at the end; `None` for
    /// infinity.
    pub(crate) fn to_text(self) -> Option<String> {
        let Self::Finite {
            is_negative,
            mantissa,
            exponent,
        } = self
        else {
            return None;
        };
        let scaled = BigUint::from(mantissa) * BigUint::from(10_u8).pow(FRACTION_DIGITS as u32);
        let scaled = if exponent >= 0 {
            scaled << exponent.unsigned_abs()
        } else {
            shift_right_rounded(scaled, exponent.unsigned_abs(), false)
        };
        let digits = scaled.to_string();
        let digits = format!("{digits:0>width$}", width = FRACTION_DIGITS + 1);
        let (whole, fraction) = digits.split_at(digits.len() - FRACTION_DIGITS);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        let is_zero = whole == "0" && fraction.is_empty();
        let sign = if is_negative && !is_zero { "-" } else { "" };
        Some(format!("{sign}{whole}{point}{fraction}"))
    }
}

/// A magnitude as mantissa and exponent.
type Magnitude = Result<(u64, i64), OutOfRange>;

/// Reads `12.5e-3`; `None` if it is no decimal number.
fn parse_decimal(text: &[u8]) -> Option<Magnitude> {
    let (digits, exponent) = split_exponent(text, b'e')?;
    let (digits, fraction_digits) = join_fraction(digits, u8::is_ascii_digit)?;
    let number = BigUint::parse_bytes(&digits, 10)?;
    if number == BigUint::ZERO {
        return Some(Ok((0, EXPONENT_MIN)));
    }
    let exponent = exponent - fraction_digits as i64;
    if exponent.abs() > DECIMAL_EXPONENT_MAX {
        return Some(Err(OutOfRange));
    }
    let power = BigUint::from(10_u8).pow(exponent.unsigned_abs() as u32);
    let (numerator, denominator) = if exponent >= 0 {
        (number * power, BigUint::from(1_u8))
    } else {
        (number, power)
    };
    // Two bits more than a mantissa has, so that rounding sees where the rest lies.
    let wanted = MANTISSA_BITS + 2 + denominator.bits();
    let shift = wanted.saturating_sub(numerator.bits());
    let numerator = numerator << shift;
    let quotient = &numerator / &denominator;
    let is_exact = &quotient * &denominator == numerator;
    Some(in_range(round(quotient, -(shift as i64), !is_exact)))
}

/// Reads `1.8p3` after its `0x`; `None` if it is no hexadecimal number.
fn parse_hexadecimal(text: &[u8]) -> Option<Magnitude> {
    let (digits, exponent) = split_exponent(text, b'p')?;
    let (digits, fraction_digits) = join_fraction(digits, u8::is_ascii_hexdigit)?;
    let number = BigUint::parse_bytes(&digits, 16)?;
    if number == BigUint::ZERO {
        return Some(Ok((0, EXPONENT_MIN)));
    }
    let exponent = exponent - 4 * fraction_digits as i64;
    if exponent.abs() > BINARY_EXPONENT_MAX {
        return Some(Err(OutOfRange));
    }
    Some(in_range(round(number, exponent, false)))
}

/// A magnitude that is not zero must not have become zero or infinite.
fn in_range(rounded: Option<(u64, i64)>) -> Magnitude {
    rounded
        .filter(|(mantissa, _)| *mantissa != 0)
        .ok_or(OutOfRange)
}

/// Cuts the exponent off; no exponent is 0, an immense one is clipped.
fn split_exponent(text: &[u8], letter: u8) -> Option<(&[u8], i64)> {
    let is_letter = |byte: &u8| byte.eq_ignore_ascii_case(&letter);
    let Some(at) = text.iter().position(is_letter) else {
        return Some((text, 0));
    };
    let (is_negative, digits) = match &text[at + 1..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = digits.iter().fold(0_i64, |exponent, digit| {
        (exponent * 10 + i64::from(digit - b'0')).min(EXPONENT_TEXT_MAX)
    });
    Some((&text[..at], if is_negative { -exponent } else { exponent }))
}

/// Takes the point out of `12.5` and says how many digits were behind it.
fn join_fraction(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<(Vec<u8>, usize)> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    let digits = [whole, fraction].concat();
    let is_number = !digits.is_empty() && digits.iter().all(is_digit);
    is_number.then_some((digits, fraction.len()))
}

/// The number of the format nearest to `number * 2^exponent`, or to a bit more if `has_rest`;
/// `None` if it is past the largest.
fn round(number: BigUint, exponent: i64, has_rest: bool) -> Option<(u64, i64)> {
    if number == BigUint::ZERO {
        return Some((0, EXPONENT_MIN));
    }
    let surplus = number.bits() as i64 - MANTISSA_BITS as i64;
    // Numbers near zero have fewer bits, because the exponent can sink no further.
    let surplus = surplus.max(EXPONENT_MIN - exponent);
    let (number, exponent) = if surplus <= 0 {
        // Exact: `has_rest` comes only with more bits than a mantissa has.
        (number << surplus.unsigned_abs(), exponent + surplus)
    } else {
        let rounded = shift_right_rounded(number, surplus.unsigned_abs(), has_rest);
        (rounded, exponent + surplus)
    };
    let (number, exponent) = if number.bits() > MANTISSA_BITS {
        // Rounded up to a power of two.
        (number >> 1_u8, exponent + 1)
    } else {
        (number, exponent)
    };
    let mantissa = u64::try_from(number).ok()?;
    (exponent <= EXPONENT_MAX).then_some((mantissa, exponent))
}

/// `number / 2^shift` to the nearest integer, to even when between two; `has_rest` says that the
/// number is a bit larger than it looks.
fn shift_right_rounded(number: BigUint, shift: u64, has_rest: bool) -> BigUint {
    if shift == 0 {
        return number;
    }
    let half = number.bit(shift - 1);
    let is_past_half = has_rest
        || number
            .trailing_zeros()
            .is_some_and(|zeros| zeros < shift - 1);
    let quotient = number >> shift;
    if half && (is_past_half || quotient.bit(0)) {
        quotient + 1_u8
    } else {
        quotient
    }
}

#[cfg(test)]
#[path = "extended_test.rs"]
mod extended_test;
