//! The footer of a sealed segment: its partitions' ranges, and a trailer at the very end of the file
//! through which it is found.
//!
//! ```text
//! footer   0  8 bytes  magic "BRKYFOOT"
//!          8  u32      segment
//!         12  u32      number of ranges, n
//!         16  u64      number of records
//!         24  u32      flags: 1 the segment was damaged when it was sealed, so that the counts
//!                      prove nothing about what is missing
//!         28  u32      0
//!         32  n ranges of 48 bytes, ascending by partition:
//!               0 u32 table     8 u32 view_max              16 u64 op_min   32 u64 records
//!               4 u32 partition 12 u32 flags: 1 tombstones  24 u64 op_max   40 u64 bytes
//! trailer  0  u32      offset of the footer = end of the records
//!          4  u32      length of the footer without the trailer
//!          8  u32      CRC-32 of the footer without the trailer
//!         12  u32      segment
//!         16  u32      format, 1
//!         20  u32      CRC-32 of bytes 0..20 of the trailer
//!         24  8 bytes  magic "BRKYSEAL"
//! ```

use super::header::SEGMENT_HEADER_BYTES;
use super::range::PartitionRange;
use crate::FORMAT_VERSION;
use crate::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::disk::DiskFile;
use brickyard_types::{Op, PartitionId, SegmentId, TableId, View};
use std::io;

pub(crate) const TRAILER_BYTES: usize = 32;
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"BRKYFOOT";
const TRAILER_MAGIC: [u8; 8] = *b"BRKYSEAL";
const HEAD_BYTES: usize = 32;
const RANGE_BYTES: usize = 48;
const FLAG_VALUES: u32 = 1;
const FLAG_DAMAGED: u32 = 1;

/// What a sealed segment says about its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Where the records end and the footer starts.
    pub(crate) records_end: u32,
    /// How many records there are, marks not counted.
    pub(crate) records: u64,
    /// The segment had unreadable records already when it was sealed.
    pub(crate) was_damaged: bool,
    /// Ascending by partition.
    pub(crate) ranges: Vec<PartitionRange>,
}

/// What the end of a segment's file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FooterState {
    /// Sealed, and the footer can be believed.
    Sound(Footer),
    /// The trailer is sound and the footer is not: sealed, records end at `records_end`.
    Damaged { records_end: u32 },
    /// There is no sound trailer: active, or cut short, or damaged there.
    Absent,
}

impl FooterState {
    /// The footer, if it can be believed.
    pub(crate) fn sound(&self) -> Option<&Footer> {
        match self {
            Self::Sound(footer) => Some(footer),
            Self::Damaged { .. } | Self::Absent => None,
        }
    }

    /// Where the records end; `None`: where the file does.
    pub(crate) fn records_end(&self) -> Option<u64> {
        match self {
            Self::Sound(footer) => Some(u64::from(footer.records_end)),
            Self::Damaged { records_end } => Some(u64::from(*records_end)),
            Self::Absent => None,
        }
    }
}

/// Footer and trailer, ready to be written at `records_end`.
pub(crate) fn encode(
    segment: SegmentId,
    records_end: u32,
    was_damaged: bool,
    ranges: &[PartitionRange],
) -> Vec<u8> {
    assert!(segment.0 > 0, "0 stands for no segment");
    assert!(
        is_sound(records_end, ranges),
        "the ranges of segment {segment}, which ends at {records_end}, contradict one another: {ranges:?}"
    );
    let len = HEAD_BYTES + ranges.len() * RANGE_BYTES;
    assert!(
        u32::try_from(records_end as usize + len + TRAILER_BYTES).is_ok(),
        "the footer of segment {segment} fits behind {records_end}"
    );
    let mut bytes = vec![0; len + TRAILER_BYTES];
    let (footer, trailer) = bytes.split_at_mut(len);
    let (head, body) = footer.split_at_mut(HEAD_BYTES);
    head[..8].copy_from_slice(&FOOTER_MAGIC);
    put_u32(head, 8, segment.0);
    put_u32(head, 12, ranges.len() as u32);
    put_u64(head, 16, ranges.iter().map(|range| range.records).sum());
    put_u32(head, 24, if was_damaged { FLAG_DAMAGED } else { 0 });
    for (range, bytes) in ranges.iter().zip(body.chunks_exact_mut(RANGE_BYTES)) {
        put_u32(bytes, 0, range.table.0);
        put_u32(bytes, 4, range.partition.0);
        put_u32(bytes, 8, range.view_max.0);
        put_u32(bytes, 12, if range.has_values { FLAG_VALUES } else { 0 });
        put_u64(bytes, 16, range.op_min.0);
        put_u64(bytes, 24, range.op_max.0);
        put_u64(bytes, 32, range.records);
        put_u64(bytes, 40, range.bytes);
    }
    put_u32(trailer, 0, records_end);
    put_u32(trailer, 4, len as u32);
    put_u32(trailer, 8, crc32fast::hash(footer));
    put_u32(trailer, 12, segment.0);
    put_u32(trailer, 16, FORMAT_VERSION);
    let crc = crc32fast::hash(&trailer[..20]);
    put_u32(trailer, 20, crc);
    trailer[24..].copy_from_slice(&TRAILER_MAGIC);
    assert!(
        is_whole(&bytes),
        "a footer that was interrupted is told from this one"
    );
    bytes
}

/// What is true of every footer: its writer asserts it, and its reader believes no other.
///
/// Ranges ascend by partition. Each has a record, and its records lie between the header and the end.
fn is_sound(records_end: u32, ranges: &[PartitionRange]) -> bool {
    let room = u64::from(records_end).saturating_sub(SEGMENT_HEADER_BYTES as u64);
    let bytes = ranges
        .iter()
        .try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
    let are_in_order = ranges
        .windows(2)
        .all(|pair| pair[0].partition < pair[1].partition);
    let fits = bytes.is_some_and(|bytes| bytes <= room);
    fits && are_in_order && ranges.iter().all(PartitionRange::is_sound)
}

/// Whether `bytes`, which follow a segment's records and are no sound footer, were written as a whole:
/// then they rotted. Otherwise their writing was interrupted.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let claimed = bytes.get(..HEAD_BYTES).map(|head| {
        let ranges = u32_at(head, 12) as usize * RANGE_BYTES;
        HEAD_BYTES + ranges + TRAILER_BYTES
    });
    // Of a footer that was not begun there may be zeros (`append.rs`).
    if bytes.iter().all(|byte| *byte == 0) {
        return false;
    }
    // Two witnesses, so that one byte cannot silence both.
    claimed.is_some_and(|len| len <= bytes.len()) || bytes.ends_with(&TRAILER_MAGIC)
}

/// Reads the footer through the trailer at the end of a file of `file_len` bytes.
pub(crate) fn read<F: DiskFile>(
    file: &F,
    segment: SegmentId,
    file_len: u64,
) -> io::Result<FooterState> {
    let smallest = (SEGMENT_HEADER_BYTES + HEAD_BYTES + TRAILER_BYTES) as u64;
    if file_len < smallest {
        return Ok(FooterState::Absent);
    }
    let mut trailer = [0; TRAILER_BYTES];
    let trailer_at = file_len - TRAILER_BYTES as u64;
    file.read_full_at(&mut trailer, trailer_at)?;
    let records_end = u32_at(&trailer, 0);
    let len = u32_at(&trailer, 4);
    let sound = trailer[24..] == TRAILER_MAGIC
        && crc32fast::hash(&trailer[..20]) == u32_at(&trailer, 20)
        && u32_at(&trailer, 12) == segment.0
        && u32_at(&trailer, 16) == FORMAT_VERSION
        && len as usize >= HEAD_BYTES
        && records_end as usize >= SEGMENT_HEADER_BYTES
        && u64::from(records_end) + u64::from(len) == trailer_at;
    if !sound {
        return Ok(FooterState::Absent);
    }
    let mut bytes = vec![0; len as usize];
    file.read_full_at(&mut bytes, u64::from(records_end))?;
    if crc32fast::hash(&bytes) != u32_at(&trailer, 8) {
        return Ok(FooterState::Damaged { records_end });
    }
    Ok(decode(&bytes, segment, records_end)
        .map_or(FooterState::Damaged { records_end }, FooterState::Sound))
}

fn decode(bytes: &[u8], segment: SegmentId, records_end: u32) -> Option<Footer> {
    let count = u32_at(bytes, 12) as usize;
    let body = &bytes[HEAD_BYTES..];
    if bytes[..8] != FOOTER_MAGIC
        || u32_at(bytes, 8) != segment.0
        || body.len() != count.checked_mul(RANGE_BYTES)?
    {
        return None;
    }
    let ranges = body.chunks_exact(RANGE_BYTES).map(|bytes| PartitionRange {
        table: TableId(u32_at(bytes, 0)),
        partition: PartitionId(u32_at(bytes, 4)),
        view_max: View(u32_at(bytes, 8)),
        has_values: u32_at(bytes, 12) & FLAG_VALUES != 0,
        op_min: Op(u64_at(bytes, 16)),
        op_max: Op(u64_at(bytes, 24)),
        records: u64_at(bytes, 32),
        bytes: u64_at(bytes, 40),
    });
    let ranges: Vec<PartitionRange> = ranges.collect();
    let records = u64_at(bytes, 16);
    let sum = ranges
        .iter()
        .try_fold(0_u64, |sum, it| sum.checked_add(it.records));
    if sum != Some(records) || !is_sound(records_end, &ranges) {
        return None;
    }
    Some(Footer {
        records_end,
        records,
        was_damaged: u32_at(bytes, 24) & FLAG_DAMAGED != 0,
        ranges,
    })
}

#[cfg(test)]
#[path = "footer_test.rs"]
mod footer_test;
