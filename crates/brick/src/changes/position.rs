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

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::{Op, TableId, View, limits::PARTITION_DEPTH_MAX};

const VERSION: u8 = 1;

/// Longest text that is looked at: room for some 200,000 places. Each brick reads it in each round.
const TEXT_BYTES_MAX: usize = 4 << 20;

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
        URL_SAFE_NO_PAD.encode(&bytes)
    }

    /// Reads [`Self::text`].
    pub(crate) fn parse(text: &[u8]) -> Result<Self, PositionError> {
        let bytes = match text.len() {
            0..=TEXT_BYTES_MAX => URL_SAFE_NO_PAD.decode(text),
            _ => return Err(PositionError::Garbage),
        };
        let bytes = bytes.map_err(|_| PositionError::Garbage)?;
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

    /// Its places that are about keys of a range, wholly or in part.
    pub(crate) fn within(&self, prefix: Prefix) -> &[Place] {
        overlapping(&self.places, prefix)
    }

    /// Places of several bricks as one position.
    pub(crate) fn of(table: TableId, mut places: Vec<Place>) -> Self {
        places.sort_unstable_by_key(|it| it.prefix);
        Self { table, places }
    }
}

/// Of places that do not overlap, and are in the order of their keys, those that are about keys of a range.
pub(super) fn overlapping(places: &[Place], prefix: Prefix) -> &[Place] {
    let first = places.partition_point(|it| it.prefix.last() < prefix.first());
    let end = places.partition_point(|it| it.prefix.first() <= prefix.last());
    &places[first..end.max(first)]
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

#[cfg(test)]
#[path = "position_test.rs"]
mod position_test;
