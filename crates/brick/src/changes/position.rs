//! How far somebody has followed a table: of each range of keys, the last record whose changes were told.
//!
//! In:  places, or bytes of a client. Out: bytes that can be printed, or places; why bytes are none.
//!
//! ```text
//! version u8, 1 | table | count | of each place: depth u8, bits, generation, view, op | CRC-32 of all before it
//! ```
//! Numbers without a size take as many bytes as they need. All of it is base 64, as in addresses of pages.
//!
//! Invariants:
//! - A position names no partition: it is good whatever partitions its keys are in by now.
//! - Places do not overlap, and are in the order of their keys.
//! - What a client gives is believed in nothing before it was read as a whole.

use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::{Op, TableId, View, limits::PARTITION_DEPTH_MAX};

const VERSION: u8 = 1;

/// How far the keys of a range have been followed: up to that record, which the view and the op name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) prefix: Prefix,
    pub(crate) generation: u32,
    pub(crate) view: View,
    pub(crate) op: Op,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) table: TableId,
    pub(crate) places: Vec<Place>,
}

/// Why a client's bytes are no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PositionError {
    /// They are not what this program writes, or were changed since.
    Garbage,
    /// A later program wrote them.
    Version,
}

impl Position {
    /// As a client gets it.
    pub(crate) fn text(&self) -> String {
        let mut bytes = vec![VERSION];
        put(&mut bytes, self.table.0.into());
        put(&mut bytes, self.places.len() as u64);
        for place in &self.places {
            bytes.push(place.prefix.depth());
            put(&mut bytes, place.prefix.bits().into());
            put(&mut bytes, place.generation.into());
            put(&mut bytes, place.view.0.into());
            put(&mut bytes, place.op.0);
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        base64(&bytes)
    }

    /// Reads [`Self::text`].
    pub(crate) fn parse(text: &[u8]) -> Result<Self, PositionError> {
        let bytes = from_base64(text).ok_or(PositionError::Garbage)?;
        let (body, sum) = bytes
            .split_last_chunk::<4>()
            .ok_or(PositionError::Garbage)?;
        if u32::from_le_bytes(*sum) != crc32fast::hash(body) {
            return Err(PositionError::Garbage);
        }
        let (version, rest) = body.split_first().ok_or(PositionError::Garbage)?;
        if *version != VERSION {
            return Err(PositionError::Version);
        }
        read(rest).ok_or(PositionError::Garbage)
    }

    /// Whether no two of its places are about the same keys.
    pub(crate) fn is_sound(&self) -> bool {
        self.places
            .is_sorted_by(|a, b| a.prefix.last() < b.prefix.first())
    }

    /// Places of several bricks as one position.
    pub(crate) fn of(table: TableId, mut places: Vec<Place>) -> Self {
        places.sort_unstable_by_key(|it| it.prefix);
        Self { table, places }
    }
}

/// What stands behind the version.
fn read(bytes: &[u8]) -> Option<Position> {
    let mut left = Left(bytes);
    let table = TableId(left.number()?.try_into().ok()?);
    let count = left.number()?;
    let mut places: Vec<Place> = Vec::new();
    for _ in 0..count {
        let depth = left.byte().filter(|depth| *depth <= PARTITION_DEPTH_MAX)?;
        let bits = left.number()?;
        let is_short = bits < 1 << depth;
        let first = match depth {
            0 => 0,
            _ => bits.checked_shl(64 - u32::from(depth))?,
        };
        let prefix = Prefix::of(RoutingHash(first), depth);
        let is_behind = places
            .last()
            .is_none_or(|last| last.prefix.last() < prefix.first());
        if !is_short || !is_behind {
            return None;
        }
        places.push(Place {
            prefix,
            generation: left.number()?.try_into().ok()?,
            view: View(left.number()?.try_into().ok()?),
            op: Op(left.number()?),
        });
    }
    left.0.is_empty().then_some(Position { table, places })
}

/// Seven bits a byte, the lowest first; the last byte has no top bit.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// What is left to read.
struct Left<'a>(&'a [u8]);

impl Left<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for three in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=three.len()].copy_from_slice(three);
        let word = u32::from_be_bytes(word);
        for at in 0..=three.len() {
            let digit = (word >> (18 - 6 * at)) & 63;
            text.push(char::from(DIGITS[digit as usize]));
        }
    }
    text
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for four in text.chunks(4) {
        if four.len() == 1 {
            return None;
        }
        let mut word = 0_u32;
        for (at, digit) in four.iter().enumerate() {
            word |= value_of(*digit)? << (18 - 6 * at);
        }
        let [_, three @ ..] = word.to_be_bytes();
        let (whole, rest) = three.split_at(four.len() - 1);
        // There is one way to write it.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(whole);
    }
    Some(bytes)
}

fn value_of(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
#[path = "position_test.rs"]
mod position_test;
