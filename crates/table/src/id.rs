//! What callers name: a partition, a place in one.
//!
//! In:  nothing. Out: [`LocalPartition`], [`ScanPosition`].

/// A partition of the table on this brick: the table's own dense number of it, below 65,536, given
/// by [`crate::TableData::add_partition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalPartition(pub u32);

impl LocalPartition {
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where in a partition a scan is: every key with a lower hash has been visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScanPosition(pub u64);

impl ScanPosition {
    /// Where a scan begins.
    pub const START: Self = Self(0);

    /// Positions that [`crate::TableData::scan`] returns have only their top so many bits set, so that a
    /// cursor need not carry more. Buckets are finer only in partitions of a hundred million keys.
    pub const BITS: u32 = 24;
}
