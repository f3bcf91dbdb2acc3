//! A stretch of a segment, and the records in it.
//!
//! In:  whole records, back to back, and where each of them starts. Out: those that are wanted, in log order.

use brickyard_types::record::{self, Header, Record};
use brickyard_types::{Position, SegmentId};

/// Records of a segment, as they were read.
#[derive(Debug, Clone, Copy)]
pub struct LogChunk<'a> {
    /// Which segment.
    pub segment: SegmentId,
    /// Where in it the chunk was asked for.
    pub from: u32,
    /// Whole records, back to back; damage was skipped and reported by the store.
    pub bytes: &'a [u8],
    /// Where in the segment each of them starts: what is no record stands between them.
    pub offsets: &'a [u32],
    /// Where to go on; `None`: that was the end.
    pub next: Option<u32>,
    /// The segment has damage: it must not be deleted.
    pub is_damaged: bool,
}

/// What is left of the records of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) segment: SegmentId,
    pub(crate) bytes: &'a [u8],
    pub(crate) offsets: &'a [u32],
}

impl<'a> LogChunk<'a> {
    /// All of them.
    pub(crate) fn records(&self) -> Records<'a> {
        Records {
            segment: self.segment,
            bytes: self.bytes,
            offsets: self.offsets,
        }
    }
}

impl<'a> Records<'a> {
    /// The next record and where it stands in the log; `None`: there is no more, or none that can be read
    /// ([`Self::is_empty`] tells them apart).
    pub(crate) fn take(&mut self) -> Option<(Position, Record<'a>)> {
        let offset = *self.offsets.first()?;
        let record = record::decode(self.bytes).ok()?;
        self.skip(record.len);
        let segment = self.segment;
        Some((Position { segment, offset }, record))
    }

    /// The same of the next record of which this is true; of the bodies of others nothing is looked at.
    pub(crate) fn take_of(
        &mut self,
        is_wanted: impl Fn(&Header) -> bool,
    ) -> Option<(Position, Record<'a>)> {
        while let Ok(head) = record::decode_header(self.bytes)
            && head.len <= self.bytes.len()
            && !is_wanted(&head.header)
        {
            self.skip(head.len);
        }
        self.take()
    }

    fn skip(&mut self, len: usize) {
        self.bytes = &self.bytes[len..];
        self.offsets = self.offsets.get(1..).unwrap_or_default();
    }

    /// Whether all records were taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Where records start that stand back to back from `from` on.
#[cfg(test)]
pub(crate) fn offsets(from: u32, mut bytes: &[u8]) -> Vec<u32> {
    let mut at = from;
    let mut offsets = Vec::new();
    while let Ok(record) = record::decode(bytes) {
        offsets.push(at);
        at += record.len as u32;
        bytes = &bytes[record.len..];
    }
    offsets
}
