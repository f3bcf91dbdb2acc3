//! The segments of the log that hold this table's records, and how many bytes of each are live.
//!
//! In:  [`SegmentId`]s of records that come and go. Out: a 16-bit number for each, which records
//! carry in place of the id, and sums of live bytes.
//!
//! Invariant: a number stands for the same segment as long as any record carries it.
//!
//! [`SegmentId`] 0, "in no log", is always number 0.

use crate::full::Full;
use brickyard_types::SegmentId;
use std::collections::BTreeMap;

const NUMBERS_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    id: SegmentId,
    records: u32,
    log_bytes: u64,
}

/// A record of the log that is no longer live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The segment that it is in; 0 if in none.
    pub segment: SegmentId,
    /// Its length there in bytes; of [`poll_replaced`](crate::TableData::poll_replaced), the sum over several.
    pub log_len: usize,
}

/// Numbers and live bytes by segment.
#[derive(Debug)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    numbers: BTreeMap<SegmentId, u16>,
    free_numbers: Vec<u16>,
    /// The number given last: records come in runs from one segment.
    last: u16,
}

impl Segments {
    pub(crate) fn new() -> Self {
        Self {
            segments: vec![Segment::default()],
            numbers: BTreeMap::from([(SegmentId(0), 0)]),
            free_numbers: Vec::new(),
            last: 0,
        }
    }

    /// The segment that `number` stands for.
    #[inline]
    pub(crate) fn id(&self, number: u16) -> SegmentId {
        self.segments[usize::from(number)].id
    }

    /// The number of `id`, a new one if need be.
    ///
    /// # Errors
    /// [`Full::Segments`].
    #[inline]
    pub(crate) fn number(&mut self, id: SegmentId) -> Result<u16, Full> {
        if self.segments[usize::from(self.last)].id == id {
            return Ok(self.last);
        }
        self.find_number(id)
    }

    /// Counts a record of `log_bytes` in.
    #[inline]
    pub(crate) fn add(&mut self, number: u16, log_bytes: usize) {
        let segment = &mut self.segments[usize::from(number)];
        segment.records += 1;
        segment.log_bytes += log_bytes as u64;
    }

    /// Counts a record of `log_bytes` out.
    #[inline]
    pub(crate) fn subtract(&mut self, number: u16, log_bytes: usize) {
        let segment = &mut self.segments[usize::from(number)];
        assert!(segment.records > 0, "a record that was not counted");
        segment.records -= 1;
        segment.log_bytes -= log_bytes as u64;
        if segment.records == 0 && number != 0 && number != self.last {
            self.release(number);
        }
    }

    /// The segments with live records, and their bytes.
    pub(crate) fn live(&self) -> impl Iterator<Item = (SegmentId, u64)> + '_ {
        let live = |&number: &u16| {
            let segment = self.segments[usize::from(number)];
            (segment.records > 0).then_some((segment.id, segment.log_bytes))
        };
        self.numbers.values().filter_map(live)
    }

    #[cold]
    fn find_number(&mut self, id: SegmentId) -> Result<u16, Full> {
        let number = match (self.numbers.get(&id), self.free_numbers.last()) {
            (Some(&number), _) => number,
            (None, Some(&number)) => {
                self.free_numbers.pop();
                self.segments[usize::from(number)].id = id;
                self.numbers.insert(id, number);
                number
            }
            (None, None) if self.segments.len() < NUMBERS_MAX => {
                let number = self.segments.len() as u16;
                self.segments.push(Segment {
                    id,
                    ..Segment::default()
                });
                self.numbers.insert(id, number);
                number
            }
            (None, None) => return Err(Full::Segments),
        };
        let before = std::mem::replace(&mut self.last, number);
        if before != 0 && before != number && self.segments[usize::from(before)].records == 0 {
            self.release(before);
        }
        Ok(number)
    }

    fn release(&mut self, number: u16) {
        let segment = self.segments[usize::from(number)];
        assert_eq!((segment.records, segment.log_bytes), (0, 0));
        let known = self.numbers.remove(&segment.id);
        assert_eq!(known, Some(number), "the number of another segment");
        self.free_numbers.push(number);
    }
}

#[cfg(test)]
#[path = "segments_test.rs"]
mod segments_test;
