//! Builds a hint file in memory.

use super::{HINT_MAGIC, entry};
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
}

impl HintWriter {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; SEGMENT_HEADER_BYTES],
            count: 0,
        }
    }

    /// Adds the record at `offset`; offsets must grow.
    pub(crate) fn add(&mut self, offset: u32, record: &Record<'_>) {
        entry::encode(&mut self.bytes, offset, record);
        self.count += 1;
    }

    /// The whole file.
    pub(crate) fn finish(mut self, segment: SegmentId, records_end: u32) -> Vec<u8> {
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
        self.bytes
    }
}
