//! A stretch of a segment, and the records in it.
//!
//! In:  records that were verified where they were read. Out: those that are wanted, in log order.

use brickyard_types::record::{Header, Record, VerifiedRecords};
use brickyard_types::{Position, SegmentId};

/// Records of a segment, as they were read.
#[derive(Debug, Clone, Copy)]
pub struct LogChunk<'a> {
    /// Which segment.
    pub segment: SegmentId,
    /// Where in it the chunk was asked for.
    pub from: u32,
    /// Whole records; what is no record stands between them, and damage was skipped and reported by the store.
    pub records: &'a VerifiedRecords,
    /// Where to go on; `None`: that was the end.
    pub next: Option<u32>,
    /// The segment has damage: it must not be deleted.
    pub is_damaged: bool,
    /// All of that damage was met at the start, so it is known what it can have held: once it has healed the segment may go.
    pub is_known: bool,
}

/// What is left of the records of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) segment: SegmentId,
    pub(crate) all: &'a VerifiedRecords,
    /// So many were taken.
    pub(crate) taken: usize,
}

impl<'a> LogChunk<'a> {
    /// All of them.
    pub(crate) fn records(&self) -> Records<'a> {
        Records {
            segment: self.segment,
            all: self.records,
            taken: 0,
        }
    }
}

impl<'a> Records<'a> {
    /// The next record and where it stands in the log; `None`: there is no more.
    pub(crate) fn take(&mut self) -> Option<(Position, Record<'a>)> {
        let (offset, record) = self.all.get(self.taken)?;
        self.taken += 1;
        let segment = self.segment;
        Some((Position { segment, offset }, record))
    }

    /// The same of the next record of which this is true; of the bodies of others nothing is looked at.
    pub(crate) fn take_of(
        &mut self,
        is_wanted: impl Fn(&Header) -> bool,
    ) -> Option<(Position, Record<'a>)> {
        while let Some(header) = self.all.header(self.taken)
            && !is_wanted(&header)
        {
            self.taken += 1;
        }
        self.take()
    }
}

/// The records that stand back to back from `from` on, up to the first one that is damaged; and whether there is one.
#[cfg(test)]
pub(crate) fn verified(from: u32, mut bytes: &[u8]) -> (VerifiedRecords, bool) {
    let mut at = from;
    let mut records = VerifiedRecords::default();
    while let Ok(found) = brickyard_types::record::verify(bytes) {
        records.push(at, &found);
        let len = found.record().len;
        at += len as u32;
        bytes = &bytes[len..];
    }
    (records, !bytes.is_empty())
}
