//! One way through the brick's log, chunk by chunk: what copies to others, reads a table back or cleans has one of its own.
//!
//! In:  the segments to read; chunks, as they come. Out: what to read next, and where damage was met.
//!
//! Invariants:
//! - At most one chunk is asked for at a time, and only that one is accepted: several readers are under way at once, and one
//!   that was given up may leave an answer behind.
//! - Within a segment positions rise.
//!
//! Not here: what becomes of a record. At a start the store reads the log itself, before there are threads that could be asked
//! (`store/recovery`).

use crate::log_chunk::LogChunk;
use brickyard_types::SegmentId;
use std::collections::{BTreeSet, VecDeque};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LogReader {
    /// Segments that come after the one at hand.
    segments: VecDeque<SegmentId>,
    /// The segment at hand, and where to go on in it.
    at: Option<(SegmentId, u32)>,
    /// A chunk was asked for.
    is_asked: bool,
    /// Segments of which something is unreadable.
    damaged: BTreeSet<SegmentId>,
}

impl LogReader {
    /// Begins with the first of these segments.
    pub(crate) fn over(segments: impl IntoIterator<Item = SegmentId>) -> Self {
        Self {
            segments: segments.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Whether a chunk is on its way.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Where the next chunk starts, which is to be asked for now; `None`: all is read.
    pub(crate) fn ask(&mut self) -> Option<(SegmentId, u32)> {
        assert!(!self.is_asked, "two chunks of one reader: {self:?}");
        if self.at.is_none() {
            self.at = self.segments.pop_front().map(|segment| (segment, 0));
        }
        self.is_asked = self.at.is_some();
        self.at
    }

    /// Whether what is to be read next begins at that place of the log, or behind it.
    pub(crate) fn has_reached(&self, (segment, offset): (SegmentId, u64)) -> bool {
        match (self.at, self.segments.front()) {
            (Some((at, from)), _) => (at, u64::from(from)) >= (segment, offset),
            (None, Some(next)) => *next > segment,
            (None, None) => true,
        }
    }

    /// More segments, which come after those that it knows.
    pub(crate) fn go_on_with(&mut self, segments: impl IntoIterator<Item = SegmentId>) {
        self.segments.extend(segments);
    }

    /// A chunk has come; whether this reader has asked for it.
    pub(crate) fn accept(&mut self, chunk: &LogChunk<'_>) -> bool {
        let LogChunk {
            segment,
            from,
            next,
            ..
        } = *chunk;
        if !self.is_asked || self.at != Some((segment, from)) {
            return false;
        }
        assert!(
            next.is_none_or(|next| next > from),
            "{segment} goes on at {next:?} behind {from}"
        );
        self.is_asked = false;
        self.at = next.map(|next| (segment, next));
        if chunk.is_damaged {
            self.damaged.insert(segment);
        }
        true
    }

    /// Where it met damage: what stood there it has not seen.
    pub(crate) fn damaged(&self) -> &BTreeSet<SegmentId> {
        &self.damaged
    }
}

#[cfg(test)]
mod log_reader_test {
    use super::*;
    use brickyard_types::record::VerifiedRecords;
    use std::sync::LazyLock;

    static NONE: LazyLock<VerifiedRecords> = LazyLock::new(VerifiedRecords::default);

    fn chunk(segment: u32, from: u32, next: Option<u32>) -> LogChunk<'static> {
        LogChunk {
            segment: SegmentId(segment),
            from,
            records: &NONE,
            next,
            is_damaged: false,
            is_known: true,
        }
    }

    #[test]
    fn segments_are_read_in_their_order_chunk_by_chunk() {
        let mut reader = LogReader::over([SegmentId(3), SegmentId(5)]);
        let mut asked = Vec::new();
        for next in [Some(10), None, None] {
            let (segment, from) = reader.ask().unwrap();
            asked.push((segment.0, from));
            assert!(reader.accept(&chunk(segment.0, from, next)));
        }
        assert_eq!(asked, [(3, 0), (3, 10), (5, 0)]);
        assert_eq!(reader.ask(), None);
    }

    #[test]
    fn a_place_is_reached_when_nothing_before_it_is_left_to_read() {
        let mut reader = LogReader::over([SegmentId(3), SegmentId(5)]);
        let places = [(3, 7), (3, 10), (3, 99), (5, 0), (5, 1), (6, 0)];
        let mut reached = |next: Option<u32>| {
            let (segment, from) = reader.ask().unwrap();
            assert!(reader.accept(&chunk(segment.0, from, next)));
            places.map(|(segment, offset)| reader.has_reached((SegmentId(segment), offset)))
        };
        assert_eq!(reached(Some(10)), [true, true, false, false, false, false]);
        assert_eq!(reached(None), [true, true, true, false, false, false]);
        assert_eq!(reached(None), [true; 6]);
        reader.go_on_with([SegmentId(6)]);
        assert!(!reader.has_reached((SegmentId(6), 0)));
        assert!(reader.has_reached((SegmentId(5), 900)));
    }

    #[test]
    fn chunk_of_another_reader_is_not_accepted() {
        let mut reader = LogReader::over([SegmentId(3)]);
        assert!(!reader.accept(&chunk(3, 0, None)), "nothing was asked for");
        reader.ask();
        assert!(!reader.accept(&chunk(3, 7, None)));
        assert!(!reader.accept(&chunk(4, 0, None)));
        assert!(reader.accept(&chunk(3, 0, None)));
        assert!(!reader.accept(&chunk(3, 0, None)), "it has come already");
    }

    #[test]
    fn damage_is_remembered() {
        let mut reader = LogReader::over([SegmentId(3)]);
        reader.ask();
        let damaged = LogChunk {
            is_damaged: true,
            ..chunk(3, 0, None)
        };
        assert!(reader.accept(&damaged));
        assert_eq!(reader.damaged().len(), 1);
    }
}
