//! The two shapes in which an index keeps references: the bucket and the overflow cell.
//!
//! In: a tag. Out: the slots that have it.
//!
//! A bucket is one cache line, so that finding a key costs one miss here and one at the record; a
//! cell is half of one, because most buckets overflow by a few records only. Layout, little-endian:
//! ```text
//! bucket   0 tags [u8; 12]   12 references [u32; 12]                60 link u32
//! cell     0 tags [u8; 5]     5 nothing [3]    8 references [u32; 5]  28 link u32
//! ```
//! A tag of 0 marks a free slot. A link is the number of the next cell; 0: none.

/// A bucket's bytes: a cache line.
pub(crate) const BUCKET_BYTES: usize = 64;
/// References in a bucket.
pub(crate) const BUCKET_SLOTS: usize = 12;
/// A cell's bytes.
pub(crate) const CELL_BYTES: usize = 32;

/// Slots of one line: slot `k` is bit `8k`, or bit `8(k-8)+4` from 8 on, which is how comparing
/// eight bytes at once leaves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots(u64);

impl Slots {
    const OF_BUCKET: Self = Self(0x0101_0101_1111_1111);
    const OF_CELL: Self = Self(0x0000_0001_0101_0101);

    /// The first slot, in no particular order, if there is any.
    #[inline]
    pub(crate) fn first(self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        (self.0 != 0).then_some((bit / 8) | ((bit & 4) << 1))
    }

    #[inline]
    pub(crate) const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let slot = self.first()?;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

/// What buckets and cells have in common.
pub(crate) trait Line {
    /// Slots in the line.
    const SLOTS: Slots;
    /// Where the references start.
    const REFERENCES_AT: usize;

    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    /// The slots whose tag is `tag`.
    fn matches(&self, tag: u8) -> Slots;

    /// The slots in use.
    #[inline]
    fn taken(&self) -> Slots {
        Slots(!self.matches(0).0 & Self::SLOTS.0)
    }

    #[inline]
    fn tag(&self, slot: usize) -> u8 {
        self.bytes()[slot]
    }

    /// The references of all slots, little-endian.
    #[inline]
    fn references(&self) -> &[[u8; 4]] {
        self.bytes()[Self::REFERENCES_AT..].as_chunks().0
    }

    #[inline]
    fn reference(&self, slot: usize) -> u32 {
        load(self.bytes(), Self::REFERENCES_AT + slot * 4)
    }

    #[inline]
    fn set(&mut self, slot: usize, tag: u8, reference: u32) {
        self.bytes_mut()[slot] = tag;
        store(self.bytes_mut(), Self::REFERENCES_AT + slot * 4, reference);
    }

    /// The next cell of the chain; 0: none.
    #[inline]
    fn link(&self) -> u32 {
        load(self.bytes(), self.bytes().len() - 4)
    }

    #[inline]
    fn set_link(&mut self, cell: u32) {
        let at = self.bytes().len() - 4;
        store(self.bytes_mut(), at, cell);
    }
}

#[inline]
fn load(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk::<4>()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn store(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

impl Line for [u8; BUCKET_BYTES] {
    const SLOTS: Slots = Slots::OF_BUCKET;
    const REFERENCES_AT: usize = 12;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn matches(&self, tag: u8) -> Slots {
        let tags = self
            .first_chunk::<16>()
            .map_or(0, |tags| u128::from_le_bytes(*tags));
        let high = equal_bytes((tags >> 64) as u64, tag) << 4;
        Slots((equal_bytes(tags as u64, tag) | high) & Self::SLOTS.0)
    }
}

impl Line for [u8; CELL_BYTES] {
    const SLOTS: Slots = Slots::OF_CELL;
    const REFERENCES_AT: usize = 8;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn matches(&self, tag: u8) -> Slots {
        let tags = self
            .first_chunk::<8>()
            .map_or(0, |tags| u64::from_le_bytes(*tags));
        Slots(equal_bytes(tags, tag) & Self::SLOTS.0)
    }
}

/// Which of the eight bytes of `word` equal `byte`: bit `8k` for byte `k`.
///
/// A byte of `word ^ pattern` is zero where they are equal. Adding 0x7f to its lower seven bits
/// sets the top bit exactly if one of them is set, without a carry into the next byte; so the top
/// bit of `sum | difference` is clear for a zero byte alone (Warren, Hacker's Delight, 6-1).
#[inline]
const fn equal_bytes(word: u64, byte: u8) -> u64 {
    const LOW_BITS: u64 = u64::from_le_bytes([0x7f; 8]);
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let difference = word ^ (ONES * byte as u64);
    let sum = (difference & LOW_BITS) + LOW_BITS;
    !(sum | difference | LOW_BITS) >> 7
}

#[cfg(test)]
#[path = "bucket_test.rs"]
mod bucket_test;
