//! The files of the brick's log: how long each is, and which is worth cleaning.
//!
//! How much of a segment is live is not counted here: the tables know what they have where.

use brickyard_types::SegmentId;
use std::collections::BTreeMap;

/// A sealed file of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Bytes of its records.
    pub(crate) bytes: u64,
    /// It has damage that was not repaired: it is neither cleaned nor removed.
    pub(crate) is_damaged: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    sealed: BTreeMap<SegmentId, Segment>,
}

/// A segment is cleaned once less than this share of it is live (in percent): then cleaning it
/// frees as much as it moves.
const LIVE_PERCENT_MAX: u64 = 50;

/// Every so many cleanings the oldest segment is taken, whatever is live in it: tombstones can go
/// only when nothing older than the deletion is left.
const OLDEST_EVERY: u64 = 8;

/// The oldest segment is worth moving for its tombstones if at most this share of it is live.
const OLDEST_LIVE_PERCENT_MAX: u64 = 90;

impl Segments {
    pub(crate) fn seal(&mut self, id: SegmentId, bytes: u64) {
        self.sealed.entry(id).or_default().bytes = bytes;
    }

    pub(crate) fn mark_damaged(&mut self, id: SegmentId) {
        self.sealed.entry(id).or_default().is_damaged = true;
    }

    pub(crate) fn remove(&mut self, id: SegmentId) {
        self.sealed.remove(&id);
    }

    pub(crate) fn len(&self) -> usize {
        self.sealed.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.sealed.values().map(|segment| segment.bytes).sum()
    }

    /// Whether a sealed segment besides `except` has a number up to `upto`.
    pub(crate) fn has_older(&self, upto: SegmentId, except: SegmentId) -> bool {
        self.sealed.range(..=upto).any(|(id, _)| *id != except)
    }

    /// The segment whose cleaning pays most, by LFS's cost-benefit: free space gained times age,
    /// over the cost of reading and moving. Only those below `before` are looked at.
    ///
    /// Source: Rosenblum & Ousterhout, "The Design and Implementation of a Log-Structured File
    /// System" (1992), section 3.6.
    pub(crate) fn pick(
        &self,
        live: &BTreeMap<SegmentId, u64>,
        before: SegmentId,
        cleaned: u64,
    ) -> Option<SegmentId> {
        let newest = self.sealed.keys().next_back().map_or(0, |id| id.0);
        let candidates = self
            .sealed
            .range(..before)
            .filter(|(_, segment)| !segment.is_damaged);
        let live_percent = |id: &SegmentId, segment: &Segment| {
            let live = live.get(id).copied().unwrap_or(0);
            (live * 100)
                .checked_div(segment.bytes)
                .unwrap_or(0)
                .min(100)
        };
        if cleaned % OLDEST_EVERY == OLDEST_EVERY - 1
            && let Some((id, segment)) = candidates.clone().next()
            && live_percent(id, segment) <= OLDEST_LIVE_PERCENT_MAX
        {
            return Some(*id);
        }
        candidates
            .map(|(id, segment)| (*id, live_percent(id, segment)))
            .filter(|(_, percent)| *percent < LIVE_PERCENT_MAX)
            .max_by_key(|(id, percent)| {
                let age = u64::from(newest - id.0) + 1;
                ((100 - percent) * age * 1000) / (100 + percent)
            })
            .map(|(id, _)| id)
    }
}

#[cfg(test)]
mod segments_test {
    use super::*;

    fn segments(bytes: &[u64]) -> Segments {
        let mut segments = Segments::default();
        for (at, bytes) in bytes.iter().enumerate() {
            segments.seal(SegmentId(at as u32 + 1), *bytes);
        }
        segments
    }

    #[test]
    fn emptiest_old_segment_is_picked_and_full_ones_never() {
        let live = BTreeMap::from([(SegmentId(1), 90), (SegmentId(2), 40), (SegmentId(3), 40)]);
        let segments = segments(&[100, 100, 100]);
        assert_eq!(segments.pick(&live, SegmentId(9), 0), Some(SegmentId(2)));
        let live = BTreeMap::from([(SegmentId(1), 90), (SegmentId(2), 60), (SegmentId(3), 70)]);
        assert_eq!(segments.pick(&live, SegmentId(9), 0), None);
    }

    #[test]
    fn oldest_gets_its_turn_for_the_sake_of_tombstones() {
        let live = BTreeMap::from([(SegmentId(1), 80), (SegmentId(2), 10)]);
        assert_eq!(
            segments(&[100, 100]).pick(&live, SegmentId(9), 7),
            Some(SegmentId(1))
        );
    }

    #[test]
    fn damaged_and_recent_segments_are_left_alone() {
        let mut segments = segments(&[100, 100]);
        segments.mark_damaged(SegmentId(1));
        assert_eq!(segments.pick(&BTreeMap::new(), SegmentId(2), 0), None);
    }
}
