//! Which partitions a segment has records of, and which of their ops (rule `a damaged header taints its segment`).
//!
//! Kept for the active segment while it is written, stored in the footer when it is sealed.

use brickyard_types::record::{HEADER_BYTES, Header, Kind};
use brickyard_types::{Op, PartitionHasher, PartitionId, TableId, View};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The records of one partition in one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRange {
    /// The partition's table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// Highest view among the records.
    pub view_max: View,
    /// Lowest op among the records, moved ones included.
    pub op_min: Op,
    /// Highest op among the records.
    pub op_max: Op,
    /// How many records.
    pub records: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Whether any may have a key's value: a put or a batch. (Values of all others are in hint files too.)
    pub has_values: bool,
}

impl PartitionRange {
    fn first(header: &Header, len: usize) -> Self {
        Self {
            table: header.table,
            partition: header.partition,
            view_max: header.view,
            op_min: header.op,
            op_max: header.op,
            records: 1,
            bytes: len as u64,
            has_values: may_have_value(header.kind),
        }
    }

    /// Whether some records can have been counted so.
    pub(crate) fn is_sound(&self) -> bool {
        let bytes_min = self.records.checked_mul(HEADER_BYTES as u64);
        let has_bytes = bytes_min.is_some_and(|least| least <= self.bytes);
        self.records > 0 && self.op_min <= self.op_max && has_bytes
    }

    fn add(&mut self, header: &Header, len: usize) {
        assert_eq!(
            self.partition, header.partition,
            "a record of another partition"
        );
        self.view_max = self.view_max.max(header.view);
        self.op_min = self.op_min.min(header.op);
        self.op_max = self.op_max.max(header.op);
        self.records += 1;
        self.bytes += len as u64;
        self.has_values |= may_have_value(header.kind);
    }
}

const fn may_have_value(kind: Kind) -> bool {
    matches!(kind, Kind::Put | Kind::Batch)
}

/// The ranges of one segment, by partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeTable {
    /// Only looked up, never iterated as it lies: [`Self::sorted`] orders.
    ranges: HashMap<PartitionId, PartitionRange, BuildHasherDefault<PartitionHasher>>,
}

impl RangeTable {
    #[inline]
    pub(crate) fn add(&mut self, header: &Header, len: usize) {
        assert!(
            len >= HEADER_BYTES,
            "a record of {len} bytes is shorter than its header"
        );
        self.ranges
            .entry(header.partition)
            .and_modify(|range| range.add(header, len))
            .or_insert_with(|| PartitionRange::first(header, len));
    }

    pub(crate) fn records_of(&self, partition: PartitionId) -> u64 {
        self.ranges.get(&partition).map_or(0, |range| range.records)
    }

    /// Whether there is no record.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges in order of their partitions.
    pub(crate) fn sorted(&self) -> Vec<PartitionRange> {
        let mut ranges: Vec<_> = self.ranges.values().copied().collect();
        ranges.sort_by_key(|range| range.partition);
        assert!(
            ranges.iter().all(PartitionRange::is_sound),
            "records were counted: {ranges:?}"
        );
        ranges
    }
}
