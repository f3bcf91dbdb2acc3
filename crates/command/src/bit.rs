//! Single bits of a value and counting them: SETBIT, GETBIT, BITCOUNT, BITPOS.
//!
//! Bit 0 is the highest bit of the first byte. What is past the end of a value is zero.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::get::range_of;
use crate::keyspace::{Keyspace, NewValue};
use crate::number::{integer, parse_integer};
use brickyard_types::ValueType;
use brickyard_wire::Reply;
use std::ops::Range;

const BAD_OFFSET: ErrorReply =
    ErrorReply::constant("ERR bit offset is not an integer or out of range");
const BAD_BIT: ErrorReply = ErrorReply::constant("ERR bit is not an integer or out of range");

/// Reads the offset of a bit; `width` is the width of the field that `#n` counts in, if it may.
pub(crate) fn offset<K: Keyspace>(
    text: &[u8],
    width: Option<u8>,
    keyspace: &K,
) -> Result<u64, ErrorReply> {
    let (digits, factor) = match (text, width) {
        ([b'#', digits @ ..], Some(width)) => (digits, i64::from(width)),
        _ => (text, 1),
    };
    let offset = parse_integer(digits).ok_or(BAD_OFFSET)?;
    // The product wraps as it does in Redis: what comes out is checked like any other offset.
    let offset = u64::try_from(offset.wrapping_mul(factor)).map_err(|_| BAD_OFFSET)?;
    if offset / 8 >= keyspace.value_bytes_max() as u64 {
        return Err(BAD_OFFSET);
    }
    Ok(offset)
}

/// The bit at `offset` as 0 or 1.
fn bit_at(value: &[u8], offset: u64) -> u8 {
    let byte = value.get((offset / 8) as usize).copied().unwrap_or(0);
    byte >> (7 - offset % 8) & 1
}

pub(crate) fn getbit<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let offset = offset(args.at(2), None, keyspace)?;
    let entry = keyspace.read(args.at(1))?;
    reply.integer(entry.map_or(0, |entry| i64::from(bit_at(entry.value, offset))));
    Ok(())
}

pub(crate) fn setbit<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let key = args.at(1);
    let offset = offset(args.at(2), None, keyspace)?;
    let bit = match parse_integer(args.at(3)) {
        Some(0) => 0,
        Some(1) => 1,
        _ => return Err(BAD_BIT.into()),
    };
    let byte = (offset / 8) as usize;
    let entry = keyspace.read(key)?;
    let old = entry.map_or(0, |entry| bit_at(entry.value, offset));
    let is_inside = entry.is_some_and(|entry| byte < entry.value.len());
    if old != bit || !is_inside {
        let expires_at = entry.and_then(|entry| entry.expires_at);
        let mut value = entry.map_or_else(Vec::new, |entry| entry.value.to_vec());
        if !is_inside {
            value.resize(byte + 1, 0);
        }
        if old != bit {
            value[byte] ^= 0x80 >> (offset % 8);
        }
        let put = NewValue {
            value: &[&value],
            expires_at,
            value_type: ValueType::BuiltString,
        };
        keyspace.put(key, put)?;
    }
    reply.integer(i64::from(old));
    Ok(())
}

/// What a range of BITCOUNT and BITPOS is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeUnit {
    Byte,
    Bit,
}

impl RangeUnit {
    fn parse(text: Option<&[u8]>) -> Result<Self, ErrorReply> {
        match text {
            None => Ok(Self::Byte),
            Some(text) if text.eq_ignore_ascii_case(b"byte") => Ok(Self::Byte),
            Some(text) if text.eq_ignore_ascii_case(b"bit") => Ok(Self::Bit),
            Some(_) => Err(ErrorReply::SYNTAX),
        }
    }

    /// The bits of a value of `len` bytes that the range names, `None` if there are none.
    fn bits(self, len: usize, start: i64, end: i64) -> Option<Range<usize>> {
        match self {
            Self::Byte => {
                let bytes = range_of(len, start, end)?;
                Some(bytes.start * 8..bytes.end * 8)
            }
            Self::Bit => range_of(len * 8, start, end),
        }
    }
}

pub(crate) fn bitcount<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let Some(entry) = keyspace.read(args.at(1))? else {
        // Nothing else of the request is looked at then, as in Redis.
        reply.integer(0);
        return Ok(());
    };
    let value = entry.value;
    let bits = match args.len() {
        2 => Some(0..value.len() * 8),
        4 | 5 => {
            let (start, end) = (integer(args.at(2))?, integer(args.at(3))?);
            if start < 0 && end < 0 && start > end {
                None
            } else {
                RangeUnit::parse(args.get(4))?.bits(value.len(), start, end)
            }
        }
        _ => return Err(ErrorReply::SYNTAX.into()),
    };
    reply.integer(bits.map_or(0, |bits| count_ones(value, bits) as i64));
    Ok(())
}

/// The number of ones among `bits` of `value`.
fn count_ones(value: &[u8], bits: Range<usize>) -> u64 {
    if bits.is_empty() {
        return 0;
    }
    let bytes = &value[bits.start / 8..bits.end.div_ceil(8)];
    let (words, rest) = bytes.as_chunks::<8>();
    let in_words = words
        .iter()
        .map(|word| u64::from(u64::from_ne_bytes(*word).count_ones()))
        .sum::<u64>();
    let in_rest = rest
        .iter()
        .map(|byte| u64::from(byte.count_ones()))
        .sum::<u64>();
    // The first and the last byte may have bits outside the range.
    let before = value[bits.start / 8] & !(0xff_u8 >> (bits.start % 8));
    let after = match bits.end % 8 {
        0 => 0,
        inside => value[bits.end / 8] & (0xff_u8 >> inside),
    };
    in_words + in_rest - u64::from(before.count_ones() + after.count_ones())
}

pub(crate) fn bitpos<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let bit = match integer(args.at(2))? {
        0 => false,
        1 => true,
        _ => {
            return Err(ErrorReply::constant("ERR The bit argument must be 1 or 0.").into());
        }
    };
    let Some(entry) = keyspace.read(args.at(1))? else {
        // A key that is not there is zeros without end.
        reply.integer(if bit { -1 } else { 0 });
        return Ok(());
    };
    let value = entry.value;
    let bits = match args.len() {
        3 => RangeUnit::Byte.bits(value.len(), 0, -1),
        4..=6 => {
            let start = integer(args.at(3))?;
            let unit = RangeUnit::parse(args.get(5))?;
            let end = args.get(4).map_or(Ok(-1), integer)?;
            bitpos_range(value.len(), unit, start, end)
        }
        _ => return Err(ErrorReply::SYNTAX.into()),
    };
    let has_end = args.len() > 4;
    reply.integer(match bits {
        None => -1,
        Some(bits) => match find(value, bits.clone(), bit) {
            Some(position) => position as i64,
            // Zeros follow the value, but not the end that was asked for.
            None if !bit && !has_end => bits.end as i64,
            None => -1,
        },
    });
    Ok(())
}

/// As [`RangeUnit::bits`], but that two negative ends in the wrong order are clipped like others.
fn bitpos_range(len: usize, unit: RangeUnit, start: i64, end: i64) -> Option<Range<usize>> {
    let total = match unit {
        RangeUnit::Byte => len,
        RangeUnit::Bit => len * 8,
    } as i64;
    let from_front = |at: i64| if at < 0 { (total + at).max(0) } else { at };
    unit.bits(len, from_front(start), from_front(end))
}

/// The first position among `bits` where `value` has `bit`.
fn find(value: &[u8], bits: Range<usize>, bit: bool) -> Option<usize> {
    let skipped = if bit { 0x00 } else { 0xff };
    let mut at = bits.start;
    while at < bits.end {
        if at.is_multiple_of(8) {
            // Whole bytes without the bit are passed over at memory speed.
            let rest = &value[at / 8..bits.end.div_ceil(8)];
            let run = rest.iter().position(|byte| *byte != skipped);
            at += run.unwrap_or(rest.len()) * 8;
            if at >= bits.end {
                return None;
            }
        }
        if (bit_at(value, at as u64) == 1) == bit {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
#[path = "bit_test.rs"]
mod bit_test;
