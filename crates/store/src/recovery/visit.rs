//! Goes through one segment after the other; what the parts of recovery share.

use super::plan::Planned;
use super::report::{RecoveryReport, SegmentSummary};
use crate::config::PageCache;
use crate::damage::{Damage, Part, Tainted};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::file_name;
use crate::hint::HintRecord;
use crate::segment::footer::Footer;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use crate::segment::range::{PartitionRange, RangeTable};
use crate::segment::scanner::Unreadable;
use brickyard_types::record::Record;
use brickyard_types::{PartitionId, Position, SegmentId};
use std::io;

/// One record, as recovery finds it.
#[derive(Clone, Copy, Debug)]
pub enum RecoveredRecord<'a> {
    /// From a segment, with its value.
    Record {
        /// The record; its checksums matched.
        record: Record<'a>,
        /// Where it is.
        position: Position,
    },
    /// From a hint file, without its value. (Records of what a replica holds have theirs there too.)
    Hint {
        /// The record but for its value.
        record: HintRecord<'a>,
        /// Where it is.
        position: Position,
    },
}

/// How a segment ended.
pub(crate) enum Ending<F> {
    /// It takes no more records. `without_hint`: where its records end, and its ranges, if a hint
    /// file would have helped and there is none.
    Sealed {
        without_hint: Option<(u32, Vec<PartitionRange>)>,
    },
    /// It has no footer.
    Unsealed(Unsealed<F>),
    /// It was being created; nothing is in it.
    Empty,
    /// The log was torn in its header; it was removed and the log ends before it.
    Gone,
}

/// A segment without a footer.
pub(crate) struct Unsealed<F> {
    pub(crate) file: F,
    /// Where its records end.
    pub(crate) end: u32,
    pub(crate) ranges: RangeTable,
    /// Records may be appended: it has no damage of any kind and no seal was under way.
    pub(crate) is_open: bool,
    /// It has its end mark.
    pub(crate) is_ended: bool,
    /// Records in it are unreadable.
    pub(crate) is_damaged: bool,
    /// The log was torn in it and ends with it now.
    pub(crate) is_cut: bool,
}

/// What was found of a segment, to compare with its footer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Sound records by partition.
    pub(crate) sound: RangeTable,
    /// Unreadable records whose header is sound.
    pub(crate) known: Vec<PartitionId>,
}

/// Whom a stretch with unreadable headers taints: the partitions of which the footer counts more
/// records than were found.
pub(crate) fn taint(unreadable: &Unreadable, footer: Option<&Footer>, counts: &Counts) -> Tainted {
    if let Some((partition, op)) = unreadable.known {
        return Tainted::Op(partition, op);
    }
    let Some(footer) = footer.filter(|footer| !footer.was_damaged) else {
        return Tainted::All;
    };
    let missing = footer.ranges.iter().filter(|range| {
        let known = counts
            .known
            .iter()
            .filter(|known| **known == range.partition);
        counts.sound.records_of(range.partition) + (known.count() as u64) < range.records
    });
    let missing: Vec<_> = missing.map(|range| range.partition).collect();
    if missing.is_empty() {
        // Nobody's record is missing: it was a mark.
        return Tainted::Nothing;
    }
    Tainted::Partitions(missing)
}

pub(crate) struct Visitor<'v, D: Disk> {
    pub(super) disk: &'v D,
    pub(super) page_cache: PageCache,
    pub(super) needs_values: &'v dyn Fn(PartitionId) -> bool,
    pub(super) visit: &'v mut dyn FnMut(RecoveredRecord<'_>),
    pub(super) buffer: Vec<u8>,
    /// The newest mark seen.
    pub(super) synced: Position,
    /// Whether marks after the current place were taken into `synced`.
    pub(super) has_looked_ahead: bool,
}

impl<'v, D: Disk> Visitor<'v, D> {
    pub(crate) fn new(
        disk: &'v D,
        page_cache: PageCache,
        needs_values: &'v dyn Fn(PartitionId) -> bool,
        visit: &'v mut dyn FnMut(RecoveredRecord<'_>),
    ) -> Self {
        Self {
            disk,
            page_cache,
            needs_values,
            visit,
            buffer: Vec::new(),
            synced: Position::NONE,
            has_looked_ahead: false,
        }
    }

    pub(crate) fn segment(
        &mut self,
        planned: &Planned,
        later: &[Planned],
        report: &mut RecoveryReport,
    ) -> Result<Ending<D::File>, StoreError> {
        if planned.is_sealed {
            self.sealed(planned, report)
        } else {
            self.unsealed(planned, later, report)
        }
    }

    #[cold]
    pub(super) fn read_error(&self, id: SegmentId, source: io::Error) -> StoreError {
        StoreError::io("read", self.describe(id))(source)
    }

    pub(super) fn describe(&self, id: SegmentId) -> String {
        self.disk.describe(&file_name::segment(id))
    }
}

pub(super) fn summarize(id: SegmentId, ranges: &RangeTable, report: &mut RecoveryReport) {
    let ranges = ranges.sorted();
    let records = ranges.iter().map(|range| range.records).sum();
    report.records += records;
    report.segments.push(SegmentSummary {
        segment: id,
        record_bytes: ranges.iter().map(|range| range.bytes).sum(),
        records,
        ranges,
        is_damaged: false,
    });
}

pub(crate) fn header_damage(planned: &Planned) -> Damage {
    Damage {
        segment: planned.id,
        offset: 0,
        len: planned.file_len.min(SEGMENT_HEADER_BYTES as u64) as u32,
        part: Part::Header,
        tainted: Tainted::Nothing,
        cause: None,
    }
}

/// The damage of a stretch in a segment without a footer.
pub(crate) fn record_damage(segment: SegmentId, unreadable: &Unreadable) -> Damage {
    Damage {
        segment,
        offset: unreadable.offset,
        len: unreadable.len,
        part: Part::Record,
        tainted: unreadable
            .known
            .map_or(Tainted::All, |(partition, op)| Tainted::Op(partition, op)),
        cause: Some(unreadable.cause),
    }
}
