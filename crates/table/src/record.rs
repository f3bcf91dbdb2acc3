//! How a record lies in the arena.
//!
//! In: a record's fields. Out: 16 bytes of header, and where the rest is.
//!
//! Layout, little-endian; the whole is padded to a multiple of 8 bytes:
//! ```text
//!  0  u32 value_len (27 bits: one above 2^26 is of no string, and 2^26 more than it has bytes), flags (5 bits)
//!  4  u16 key_len
//!  6  u16 partition     the table's own number of it
//!  8  u16 segment       the table's own number of it (segments.rs)
//! 10  u48 op
//! 16  [u64 expiry]      if it has one ([`Expiry`])
//!     [u32 offset]      in the segment, if the medium is `disk`
//!     key
//!     [value]           unless it is cold or a tombstone
//! ```
//! The partition is there because walking the arena (compaction, eviction) must find the way back
//! to the index.
//!
//! Dead space starts with one u32: both `COLD` and `TOMBSTONE`, which no record is, and its length
//! in units of 8 bytes in place of a value's length.

use crate::id::LocalPartition;
use brickyard_types::{Medium, Op, Position, UnixMillis, ValueType};

/// Bytes of a record before its optional fields.
pub(crate) const HEADER_BYTES: usize = 16;

/// Records start and end at multiples of this.
pub(crate) const UNIT_BYTES: usize = 8;

/// Bits of a header's length field.
const LEN_BITS: u32 = 27;

/// The bits of a length, and of the size of dead space.
const LEN_MASK: usize = (1 << LEN_BITS) - 1;

/// Most bytes of a string. What says more is no string, and has so many bytes fewer: no bit had to be found for that.
pub(crate) const STRING_LEN_MAX: usize = 1 << (LEN_BITS - 1);

/// Most bytes of a value that is no string; it has one at least.
pub(crate) const OTHER_LEN_MAX: usize = LEN_MASK - STRING_LEN_MAX;

const COLD: u32 = 1 << 27;
const TOMBSTONE: u32 = 1 << 28;
const EXPIRES: u32 = 1 << 29;
const RAW: u32 = 1 << 30;
const REFERENCED: u32 = 1 << 31;
const DEAD: u32 = COLD | TOMBSTONE;

/// What a record holds; exclusive states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The value is here.
    Hot,
    /// The value is in the log alone.
    Cold,
    /// The key was deleted at the record's op.
    Tombstone,
}

/// The fixed fields of a record, as they are stored: reading one is a shift, and most are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    first: u64,
    second: u64,
}

impl Header {
    /// A header whose key's length and segment are set later.
    ///
    /// # Panics
    /// If the value's length or `op` needs more bits than there are, or a value that is no string is empty.
    #[inline]
    pub(crate) fn new(
        state: State,
        (value_type, value_len): (ValueType, usize),
        partition: LocalPartition,
        op: Op,
    ) -> Self {
        let coded = if value_type.is_string() {
            assert!(value_len <= STRING_LEN_MAX, "a value of {value_len} bytes");
            value_len
        } else {
            assert!(
                (1..=OTHER_LEN_MAX).contains(&value_len),
                "a {value_type:?} of {value_len} bytes"
            );
            value_len + STRING_LEN_MAX
        };
        assert!(op.0 >> 48 == 0, "op {op} needs more than 48 bits");
        Self {
            first: coded as u64 | u64::from(partition.0) << 48,
            second: op.0 << 16,
        }
        .with_state(state)
        .with_flag(
            RAW,
            matches!(value_type, ValueType::BuiltString | ValueType::Intent),
        )
    }

    #[inline]
    pub(crate) const fn state(self) -> State {
        match self.first as u32 & DEAD {
            0 => State::Hot,
            COLD => State::Cold,
            _ => State::Tombstone,
        }
    }

    #[inline]
    pub(crate) const fn value_type(self) -> ValueType {
        let is_string = self.first as usize & LEN_MASK <= STRING_LEN_MAX;
        match (is_string, self.first as u32 & RAW != 0) {
            (true, false) => ValueType::String,
            (true, true) => ValueType::BuiltString,
            (false, false) => ValueType::Hash,
            (false, true) => ValueType::Intent,
        }
    }

    #[inline]
    pub(crate) const fn is_referenced(self) -> bool {
        self.first as u32 & REFERENCED != 0
    }

    #[inline]
    pub(crate) const fn has_expiry(self) -> bool {
        self.first as u32 & EXPIRES != 0
    }

    /// Whether it is a key's, without an expiry, and no intent.
    #[inline]
    pub(crate) const fn is_plain_key(self) -> bool {
        self.first as u32 & (TOMBSTONE | EXPIRES) == 0
            && (self.first as u32 & RAW == 0 || self.first as usize & LEN_MASK <= STRING_LEN_MAX)
    }

    #[inline]
    pub(crate) const fn value_len(self) -> usize {
        let coded = self.first as usize & LEN_MASK;
        if coded > STRING_LEN_MAX {
            coded - STRING_LEN_MAX
        } else {
            coded
        }
    }

    #[inline]
    pub(crate) const fn key_len(self) -> usize {
        (self.first >> 32) as u16 as usize
    }

    #[inline]
    pub(crate) const fn partition(self) -> LocalPartition {
        LocalPartition((self.first >> 48) as u32)
    }

    #[inline]
    pub(crate) const fn with_partition(self, partition: LocalPartition) -> Self {
        Self {
            first: self.first & !(0xffff << 48) | (partition.0 as u64) << 48,
            ..self
        }
    }

    #[inline]
    pub(crate) const fn segment(self) -> u16 {
        self.second as u16
    }

    #[inline]
    pub(crate) const fn op(self) -> Op {
        Op(self.second >> 16)
    }

    #[inline]
    pub(crate) const fn with_state(self, state: State) -> Self {
        let bits = match state {
            State::Hot => 0,
            State::Cold => COLD,
            State::Tombstone => TOMBSTONE,
        };
        Self {
            first: self.first & !(DEAD as u64) | bits as u64,
            ..self
        }
    }

    #[inline]
    pub(crate) const fn with_referenced(self, is_referenced: bool) -> Self {
        self.with_flag(REFERENCED, is_referenced)
    }

    #[inline]
    pub(crate) const fn with_expiry(self, has_expiry: bool) -> Self {
        self.with_flag(EXPIRES, has_expiry)
    }

    #[inline]
    pub(crate) const fn with_key_len(self, key_len: u16) -> Self {
        Self {
            first: self.first & !(0xffff << 32) | (key_len as u64) << 32,
            ..self
        }
    }

    #[inline]
    pub(crate) const fn with_segment(self, segment: u16) -> Self {
        Self {
            second: self.second & !0xffff | segment as u64,
            ..self
        }
    }

    #[inline]
    const fn with_flag(self, flag: u32, is_set: bool) -> Self {
        let bits = if is_set { flag as u64 } else { 0 };
        Self {
            first: self.first & !(flag as u64) | bits,
            ..self
        }
    }

    #[inline]
    const fn is_dead(self) -> bool {
        self.first as u32 & DEAD == DEAD
    }
}

/// What stands at a place of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// A record, or what is left of one that the index no longer leads to.
    Record(Header),
    /// So many bytes that nothing uses.
    Dead(usize),
}

/// Reads what starts at `bytes`.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Occupant {
    let header = words(bytes);
    if header.is_dead() {
        return Occupant::Dead((header.first as usize & LEN_MASK) * UNIT_BYTES);
    }
    Occupant::Record(header)
}

/// Reads the header at `bytes`, where a record is known to be.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Header {
    let header = words(bytes);
    debug_assert!(!header.is_dead(), "the index leads to dead space");
    header
}

/// Dead space may be the last 8 bytes of a chunk; then the second word is not looked at.
#[inline]
fn words(bytes: &[u8]) -> Header {
    let (words, _) = bytes.as_chunks::<8>();
    match words {
        [first, second, ..] => Header {
            first: u64::from_le_bytes(*first),
            second: u64::from_le_bytes(*second),
        },
        [first] => Header {
            first: u64::from_le_bytes(*first),
            second: 0,
        },
        [] => panic!("a record starts past the end of its chunk"),
    }
}

/// Writes `header` to the front of `bytes`.
#[inline]
pub(crate) fn write_header(bytes: &mut [u8], header: Header) {
    bytes[..8].copy_from_slice(&header.first.to_le_bytes());
    bytes[8..16].copy_from_slice(&header.second.to_le_bytes());
}

/// Declares the first `size` bytes (a multiple of [`UNIT_BYTES`]) dead.
#[inline]
pub(crate) fn write_dead(bytes: &mut [u8], size: usize) {
    assert!(size.is_multiple_of(UNIT_BYTES) && size > 0);
    let units = (size / UNIT_BYTES) as u32;
    bytes[..4].copy_from_slice(&(units | DEAD).to_le_bytes());
}

/// Sets or clears the mark of recent use.
#[inline]
pub(crate) fn mark_referenced(bytes: &mut [u8], is_referenced: bool) {
    let bit = (REFERENCED >> 24) as u8;
    if is_referenced {
        bytes[3] |= bit;
    } else {
        bytes[3] &= !bit;
    }
}

/// A record's expiry as it is stored: a time in milliseconds, and which sweep of the timers last
/// saw the record.
///
/// The sweep is in bits 56..63; times beyond two million years need those bits and set bit 63, and
/// have no timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry(u64);

impl Expiry {
    const NEVER_DUE: u64 = 1 << 63;
    const SWEEP_AT: u32 = 56;

    /// How many sweeps can be told apart, 0 ("none") included.
    pub(crate) const SWEEPS: u8 = 1 << 7;

    #[inline]
    pub(crate) const fn new(at: UnixMillis) -> Self {
        Self(if at.0 >> Self::SWEEP_AT == 0 {
            at.0
        } else {
            at.0 | Self::NEVER_DUE
        })
    }

    #[inline]
    pub(crate) const fn at(self) -> UnixMillis {
        let bits = if self.0 & Self::NEVER_DUE == 0 {
            Self::SWEEP_AT
        } else {
            63
        };
        UnixMillis(self.0 & ((1 << bits) - 1))
    }

    /// Whether the time is one that can come.
    #[inline]
    pub(crate) const fn has_timer(self) -> bool {
        self.0 & Self::NEVER_DUE == 0
    }

    /// The sweep that last saw the record.
    pub(crate) const fn sweep(self) -> u8 {
        if self.has_timer() {
            (self.0 >> Self::SWEEP_AT) as u8
        } else {
            0
        }
    }

    /// The same time, last seen by `sweep`.
    pub(crate) const fn with_sweep(self, sweep: u8) -> Self {
        assert!(sweep < Self::SWEEPS);
        if self.has_timer() {
            Self(self.at().0 | (sweep as u64) << Self::SWEEP_AT)
        } else {
            self
        }
    }
}

/// The expiry of the record at `bytes`, which has one.
#[inline]
pub(crate) fn expiry(bytes: &[u8]) -> Expiry {
    let at = bytes[HEADER_BYTES..].first_chunk::<8>();
    Expiry(at.map_or(0, |at| u64::from_le_bytes(*at)))
}

/// Writes the expiry of the record at `bytes`, which has one.
#[inline]
pub(crate) fn write_expiry(bytes: &mut [u8], expiry: Expiry) {
    bytes[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&expiry.0.to_le_bytes());
}

/// A record to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRecord<'a> {
    /// All but the segment, which is the number of that in `position`.
    pub(crate) header: Header,
    pub(crate) key: &'a [u8],
    /// Empty, unless the record is hot.
    pub(crate) value: &'a [u8],
    pub(crate) expiry: Option<Expiry>,
    pub(crate) position: Position,
}

/// Where a record's parts are, from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// 4 if records carry their offset in the log (medium `disk`), else 0.
    offset_bytes: usize,
}

impl Layout {
    pub(crate) const fn new(medium: Medium) -> Self {
        Self {
            offset_bytes: if matches!(medium, Medium::Disk) { 4 } else { 0 },
        }
    }

    /// Bytes of that.
    pub(crate) const fn offset_bytes(self) -> usize {
        self.offset_bytes
    }

    /// Whether records carry their offset in the log.
    #[inline]
    pub(crate) const fn has_offset(self) -> bool {
        self.offset_bytes > 0
    }

    /// Bytes before the key.
    #[inline]
    pub(crate) const fn key_at(self, header: Header) -> usize {
        HEADER_BYTES + 8 * header.has_expiry() as usize + self.offset_bytes
    }

    /// Bytes before the value.
    #[inline]
    pub(crate) const fn value_at(self, header: Header) -> usize {
        self.key_at(header) + header.key_len()
    }

    /// Bytes that the record takes, padding included.
    #[inline]
    pub(crate) const fn size(self, header: Header) -> usize {
        let stored = match header.state() {
            State::Hot => header.value_len(),
            State::Cold | State::Tombstone => 0,
        };
        (self.value_at(header) + stored).next_multiple_of(UNIT_BYTES)
    }

    /// When the record at `bytes` expires.
    #[inline]
    pub(crate) fn expires_at(self, header: Header, bytes: &[u8]) -> Option<UnixMillis> {
        if header.has_expiry() {
            Some(expiry(bytes).at())
        } else {
            None
        }
    }

    /// The record's offset in its segment; 0 if it carries none.
    #[inline]
    pub(crate) fn offset(self, header: Header, bytes: &[u8]) -> u32 {
        if !self.has_offset() {
            return 0;
        }
        let at = self.key_at(header) - 4;
        bytes[at..]
            .first_chunk::<4>()
            .map_or(0, |offset| u32::from_le_bytes(*offset))
    }

    /// The key of the record at `bytes`.
    #[inline]
    pub(crate) fn key(self, header: Header, bytes: &[u8]) -> &[u8] {
        &bytes[self.key_at(header)..self.value_at(header)]
    }

    /// Whether the key of the record at `bytes` is `key`.
    #[inline]
    pub(crate) fn is_key(self, header: Header, bytes: &[u8], key: &[u8]) -> bool {
        header.key_len() == key.len() && are_equal(self.key(header, bytes), key)
    }

    /// The value of the hot record at `bytes`.
    #[inline]
    pub(crate) fn value(self, header: Header, bytes: &[u8]) -> &[u8] {
        let at = self.value_at(header);
        &bytes[at..at + header.value_len()]
    }

    /// Writes a record to the front of `bytes`, with `header` for its own.
    #[inline]
    pub(crate) fn write(self, bytes: &mut [u8], header: Header, new: &NewRecord<'_>) {
        let key_at = self.key_at(header);
        let value_at = self.value_at(header);
        write_header(bytes, header);
        if let Some(expiry) = new.expiry {
            write_expiry(bytes, expiry);
        }
        self.write_offset(header, bytes, new.position.offset);
        bytes[key_at..value_at].copy_from_slice(new.key);
        bytes[value_at..value_at + new.value.len()].copy_from_slice(new.value);
    }

    /// Writes the offset of the record at `bytes`, if it has one.
    #[inline]
    pub(crate) fn write_offset(self, header: Header, bytes: &mut [u8], offset: u32) {
        if self.has_offset() {
            let at = self.key_at(header);
            bytes[at - 4..at].copy_from_slice(&offset.to_le_bytes());
        }
    }
}

/// Whether two slices of one length are equal. Eight bytes at a time in place, since most keys are
/// too short for a call to pay.
#[inline]
fn are_equal(left: &[u8], right: &[u8]) -> bool {
    let (Some(left_tail), Some(right_tail)) = (left.last_chunk::<8>(), right.last_chunk::<8>())
    else {
        return left == right;
    };
    let (left_words, _) = left.as_chunks::<8>();
    let (right_words, _) = right.as_chunks::<8>();
    // The last word may overlap the one before it.
    left_tail == right_tail
        && left_words
            .iter()
            .zip(right_words)
            .all(|(left, right)| left == right)
}

#[cfg(test)]
#[path = "record_test.rs"]
mod record_test;
