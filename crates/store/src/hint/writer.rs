//! Builds a hint file in memory.

use super::{HINT_MAGIC, Hints, entry};
use crate::FORMAT_VERSION;
use crate::bytes::{put_u32, put_u64};
use crate::segment::header::SEGMENT_HEADER_BYTES;
use brickyard_types::SegmentId;
use brickyard_types::record::Record;

/// Collects the hints of one segment.
#[derive(Debug, Default)]
pub(crate) struct HintWriter {
    bytes: Vec<u8>,
    count: u64,
    /// Where the last record begins.
    last: Option<u32>,
}

impl HintWriter {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; SEGMENT_HEADER_BYTES],
            count: 0,
            last: None,
        }
    }

    /// Adds the record at `offset`; offsets must grow.
    pub(crate) fn add(&mut self, offset: u32, record: &Record<'_>) {
        assert!(
            self.last < Some(offset),
            "a record at {offset} after {:?}",
            self.last
        );
        self.last = Some(offset);
        entry::encode(&mut self.bytes, offset, record);
        self.count += 1;
    }

    /// The whole file.
    pub(crate) fn finish(mut self, segment: SegmentId, records_end: u32) -> Vec<u8> {
        assert!(segment.0 > 0, "0 stands for no segment");
        assert!(
            self.last < Some(records_end),
            "a record at {:?} of segment {segment}, which ends at {records_end}",
            self.last
        );
        let (head, entries) = self.bytes.split_at_mut(SEGMENT_HEADER_BYTES);
        head[..8].copy_from_slice(&HINT_MAGIC);
        put_u32(head, 8, FORMAT_VERSION);
        put_u32(head, 12, segment.0);
        put_u32(head, 16, records_end);
        put_u32(head, 20, crc32fast::hash(entries));
        put_u64(head, 24, self.count);
        put_u64(head, 32, entries.len() as u64);
        let crc = crc32fast::hash(&head[..60]);
        put_u32(head, 60, crc);
        let read = Hints::check_for(&self.bytes, segment, records_end, self.count);
        assert!(
            read.is_ok(),
            "a hint file is read as it was written: {:?}",
            read.err()
        );
        self.bytes
    }
}
