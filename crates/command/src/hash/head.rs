//! The record of a key whose hash is in parts.
//!
//! In:  its value. Out: [`Head`], and the names of the parts.
//!
//! ```text
//! u8  form    2: the fields are in parts
//! u8  flags   0
//! u32 fields  how many there are
//! u64 value   which of the key's values this is, as the names of its parts have it
//! u32 parts   how many there are
//! u64 bytes   of all fields, as they stand in the parts
//! ```

use super::place::{part_of, place};
use brickyard_types::limits::VALUE_BYTES_MAX;
use brickyard_types::part::PartName;

/// The fields are in parts.
const PARTS: u8 = 2;

/// A hash has so many parts for each field, at most: it shrinks when half of them are too many.
const PARTS_A_FIELD: u64 = 2;

/// The lengths of its name and its value.
const FIELD_BYTES_MIN: u64 = 2;

/// Bytes before the fields of a hash that is one value, none of which has an expiry.
pub(super) const WHOLE_HEADER_BYTES: usize = 6;

/// What the record of a key says whose hash is in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many fields there are.
    pub fields: u32,
    /// Which of the key's values this is.
    pub value: u64,
    /// How many parts there are.
    pub parts: u32,
    /// Bytes of all fields.
    pub bytes: u64,
}

impl Head {
    /// Bytes of a head.
    pub const BYTES: usize = 26;

    /// Reads a hash's value; `None`: it is no head.
    #[inline]
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        match value {
            [PARTS, 0, rest @ ..] => Self::decode(rest),
            _ => None,
        }
    }

    #[cold]
    fn decode(rest: &[u8]) -> Option<Self> {
        let (fields, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let (parts, rest) = rest.split_first_chunk()?;
        let bytes = <[u8; 8]>::try_from(rest).ok()?;
        let head = Self {
            fields: u32::from_le_bytes(*fields),
            value: u64::from_le_bytes(*value),
            parts: u32::from_le_bytes(*parts),
            bytes: u64::from_le_bytes(bytes),
        };
        head.is_sound().then_some(head)
    }

    /// Whether there may be such a hash: a disk or a peer may say anything, and who believes it may look for a long time.
    fn is_sound(&self) -> bool {
        let fields = u64::from(self.fields);
        let are_parts = self.parts > 0 && u64::from(self.parts) <= fields * PARTS_A_FIELD;
        are_parts && fields * FIELD_BYTES_MIN <= self.bytes && self.bytes <= VALUE_BYTES_MAX as u64
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::BYTES);
        out.extend_from_slice(&[PARTS, 0]);
        out.extend_from_slice(&self.fields.to_le_bytes());
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(&self.parts.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out
    }

    /// Bytes that the value has when it is read as a whole.
    #[must_use]
    pub const fn whole_len(&self) -> usize {
        WHOLE_HEADER_BYTES + self.bytes as usize
    }

    /// A part of the hash at `key`.
    #[must_use]
    pub const fn part<'k>(&self, key: &'k [u8], number: u32) -> PartName<'k> {
        PartName {
            key,
            value: self.value,
            number,
        }
    }

    /// The part that has the field of that name, if it is there.
    pub(super) fn part_with<'k>(&self, key: &'k [u8], field: &[u8]) -> PartName<'k> {
        self.part(key, part_of(place(field), self.parts))
    }
}
