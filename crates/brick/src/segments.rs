//! The files of the brick's log: how long each is, and which is worth cleaning.
//!
//! How much of a segment is live is not counted here: the tables know what they have where.

use crate::log_health::LogHealth;
use crate::retained::Retained;
use brickyard_types::{Instant, Position, SegmentId};
use std::collections::{BTreeMap, BTreeSet};

/// What of a segment is not dead, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Records that tables count as live, and others of which there are as many wherever they stand.
    pub(crate) live: u64,
    /// Tombstones that older segments need.
    pub(crate) tombstones: u64,
}

/// A sealed file of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Bytes of its records.
    pub(crate) bytes: u64,
    /// It has damage that has not healed: it is neither cleaned nor removed.
    pub(crate) is_damaged: bool,
    /// It has damage of which nothing is missing any more: it is cleaned before all others.
    pub(crate) is_healed: bool,
    /// Something in it must outlive every older segment: not cleaned before it is the oldest.
    pub(crate) is_pinned: bool,
    /// Nothing in it is needed any more: it goes with the next sync.
    pub(crate) is_leaving: bool,
    /// It has records of a partition that claims nothing yet: not cleaned before then.
    pub(crate) left_until: Instant,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    sealed: BTreeMap<SegmentId, Segment>,
    /// The one that is written to.
    active: SegmentId,
    /// The newest one that something is known of, and how long it is.
    newest: (SegmentId, u64),
    /// Those that have records of tables which are not in memory: only the index could tell what of them is live.
    pub(crate) shelved: BTreeSet<SegmentId>,
    pub(crate) health: LogHealth,
    /// What must stay although no table counts it.
    pub(crate) retained: Retained,
    /// Bytes of a full segment. Below so many a log is left as it is, whatever is live: together with the segment that
    /// is written to it is at most two segments longer than twice what it holds.
    segment_bytes: u64,
}

/// Nothing is cleaned while more than this share of all segments is live (in percent): the log is
/// then at most twice as long as what it holds, and cleaning would move more than it frees.
pub const LIVE_PERCENT_WANTED: u64 = 50;

/// A segment with more live than this (in percent) is never worth moving for its space.
const LIVE_PERCENT_MAX: u64 = 80;

/// Every so many cleanings the oldest segment is taken, whatever is live in it: tombstones can go
/// only when nothing older than the deletion is left.
const OLDEST_EVERY: u64 = 8;

/// The oldest segment is worth moving for its tombstones if at most this share of it is live.
const OLDEST_LIVE_PERCENT_MAX: u64 = 90;

impl Segments {
    /// Those of a log whose segments are full after so many bytes.
    pub(crate) fn new(segment_bytes: u64) -> Self {
        Self {
            segment_bytes,
            ..Self::default()
        }
    }

    pub(crate) fn seal(&mut self, id: SegmentId, bytes: u64) {
        assert!(id.0 > 0, "segments are numbered from 1");
        self.active = self.active.max(SegmentId(id.0 + 1));
        self.sealed.entry(id).or_default().bytes = bytes;
    }

    pub(crate) fn mark_damaged(&mut self, id: SegmentId) {
        let segment = self.sealed.entry(id).or_default();
        segment.is_damaged = true;
        segment.is_healed = false;
    }

    /// Nothing is missing any more that its damage can have held.
    pub(crate) fn mark_healed(&mut self, id: SegmentId) {
        // One that is not there was given back.
        if let Some(segment) = self.sealed.get_mut(&id) {
            segment.is_damaged = false;
            segment.is_healed = true;
        }
    }

    /// Whether its damage is no reason to keep it.
    pub(crate) fn is_healed(&self, id: SegmentId) -> bool {
        self.sealed.get(&id).is_some_and(|it| it.is_healed)
    }

    pub(crate) fn pin(&mut self, id: SegmentId) {
        self.sealed.entry(id).or_default().is_pinned = true;
    }

    pub(crate) fn set_leaving(&mut self, id: SegmentId, is_leaving: bool) {
        self.sealed.entry(id).or_default().is_leaving = is_leaving;
    }

    /// It cannot be cleaned before then.
    pub(crate) fn leave_until(&mut self, id: SegmentId, until: Instant) {
        self.sealed.entry(id).or_default().left_until = until;
    }

    pub(crate) fn remove(&mut self, id: SegmentId) {
        let removed = self.sealed.remove(&id);
        self.retained.remove(id);
        assert!(
            removed.is_some_and(|it| !it.is_damaged && !it.is_leaving),
            "segment {id} goes as {removed:?}"
        );
    }

    /// So many bytes were written, or found, at a position.
    pub(crate) fn reach(&mut self, position: Position, bytes: usize) {
        let end = u64::from(position.offset) + bytes as u64;
        self.newest = self.newest.max((position.segment, end));
    }

    /// Where the log ends, as far as it was told: in the newest segment that something is known of. Sealed ones are read as a whole.
    pub(crate) fn end(&self) -> (SegmentId, u64) {
        let sealed = self.sealed.last_key_value();
        let sealed = sealed.map(|(id, _)| (*id, u64::MAX));
        self.newest.max(sealed.unwrap_or_default())
    }

    /// The log's files: how many there are, and their bytes.
    pub(crate) fn files(&self) -> (u64, u64) {
        let open = self.open_bytes();
        let files = self.sealed.len() as u64 + u64::from(open > 0);
        (files, self.bytes() + open)
    }

    /// Bytes of the one that is written to, as far as something was written to it.
    pub(crate) fn open_bytes(&self) -> u64 {
        let (segment, bytes) = self.newest;
        if segment == self.active { bytes } else { 0 }
    }

    /// Bytes of a full one.
    pub(crate) fn full_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// The sealed ones, oldest first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SegmentId> {
        self.sealed.keys().copied()
    }

    /// The log is open: this one is written to. (The sealed ones do not tell: the last of them may be gone.)
    pub(crate) fn open(&mut self, active: SegmentId) {
        self.active = active;
    }

    /// The one that is written to.
    pub(crate) fn active(&self) -> SegmentId {
        self.active
    }

    /// Bytes of the sealed ones.
    pub(crate) fn bytes(&self) -> u64 {
        self.sealed.values().map(|segment| segment.bytes).sum()
    }

    /// Bytes of the longest sealed one, or of a full one if all are shorter.
    pub(crate) fn longest(&self) -> u64 {
        let bytes = self.sealed.values().map(|segment| segment.bytes);
        bytes.fold(self.segment_bytes, u64::max)
    }

    /// Whether there are some that cannot be cleaned before an operator does something.
    pub(crate) fn is_held_up(&self) -> bool {
        !self.shelved.is_empty() || self.sealed.values().any(|segment| segment.is_damaged)
    }

    /// Whether a sealed segment besides `except` has a number up to `upto`.
    pub(crate) fn has_older(&self, upto: SegmentId, except: SegmentId) -> bool {
        self.sealed.range(..=upto).any(|(id, _)| *id != except)
    }

    /// By how many bytes the log is longer than what it holds is worth; nothing is cleaned while it is not. On a full disk
    /// that is any length: whatever gains something is cleaned, however little the log holds.
    pub(crate) fn excess(&self, usage: &BTreeMap<SegmentId, Usage>, now: Instant) -> u64 {
        if self.health.is_pressed(now) {
            return u64::MAX;
        }
        let live = self.sealed.keys().filter_map(|id| usage.get(id));
        let live: u64 = live.map(|usage| usage.live).sum();
        let wanted = live.saturating_mul(100) / LIVE_PERCENT_WANTED;
        (self.bytes()).saturating_sub(wanted.max(self.segment_bytes))
    }

    /// The segment whose cleaning pays most, by LFS's cost-benefit: free space gained times age,
    /// over the cost of reading and moving. Only those below `before` are looked at.
    ///
    /// Source: Rosenblum & Ousterhout, "The Design and Implementation of a Log-Structured File
    /// System" (1992), section 3.6.
    pub(crate) fn pick(
        &self,
        usage: &BTreeMap<SegmentId, Usage>,
        before: SegmentId,
        cleaned: u64,
        now: Instant,
    ) -> Option<SegmentId> {
        let of = |id: &SegmentId| usage.get(id).copied().unwrap_or_default();
        let newest = self.sealed.keys().next_back().map_or(0, |id| id.0);
        let candidates = self.sealed.range(..before).filter(|(id, segment)| {
            let is_free = !segment.is_pinned || !self.has_older(**id, **id);
            let is_wanted = self.shelved.contains(id) || now < segment.left_until;
            is_free && !is_wanted && !segment.is_damaged && !segment.is_leaving
        });
        if let Some((id, _)) = candidates.clone().find(|(_, segment)| segment.is_healed) {
            return Some(*id);
        }
        if self.excess(usage, now) == 0 {
            return None;
        }
        let used_percent = |id: &SegmentId, segment: &Segment| {
            let Usage { live, tombstones } = of(id);
            ((live + tombstones) * 100)
                .checked_div(segment.bytes)
                .unwrap_or(0)
                .min(100)
        };
        let oldest = candidates.clone().next();
        if cleaned % OLDEST_EVERY == OLDEST_EVERY - 1
            && let Some((id, segment)) = oldest
            && used_percent(id, segment) <= OLDEST_LIVE_PERCENT_MAX
        {
            return Some(*id);
        }
        let best = candidates
            .map(|(id, segment)| (*id, used_percent(id, segment)))
            .filter(|(_, percent)| *percent < LIVE_PERCENT_MAX)
            .max_by_key(|(id, percent)| {
                let age = u64::from(newest - id.0) + 1;
                ((100 - percent) * age * 1000) / (100 + percent)
            });
        if let Some((id, _)) = best {
            return Some(id);
        }
        // What is left is dead, but for the sake of older segments: those go first, full as they are.
        let (first, _) = oldest?;
        let holds_up = |(id, segment): (&SegmentId, &Segment)| {
            id != first && (segment.is_pinned || of(id).tombstones > 0)
        };
        let is_oldest = self.sealed.keys().next() == Some(first);
        (is_oldest && self.sealed.iter().any(holds_up)).then_some(*first)
    }
}

#[cfg(test)]
mod segments_test {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn segments(mebibytes: &[u64]) -> Segments {
        let mut segments = Segments::new(64 * MIB);
        for (at, mebibytes) in mebibytes.iter().enumerate() {
            segments.seal(SegmentId(at as u32 + 1), mebibytes * MIB);
        }
        segments
    }

    fn live(mebibytes: &[u64]) -> BTreeMap<SegmentId, Usage> {
        let live = mebibytes.iter().enumerate();
        live.map(|(at, mebibytes)| (SegmentId(at as u32 + 1), used(*mebibytes, 0)))
            .collect()
    }

    fn used(live: u64, tombstones: u64) -> Usage {
        Usage {
            live: live * MIB,
            tombstones: tombstones * MIB,
        }
    }

    fn pick(segments: &Segments, usage: &BTreeMap<SegmentId, Usage>) -> Option<SegmentId> {
        segments.pick(usage, SegmentId(9), 0, Instant(0))
    }

    #[test]
    fn emptiest_old_segment_is_picked() {
        let segments = segments(&[100, 100, 100]);
        assert_eq!(pick(&segments, &live(&[70, 30, 30])), Some(SegmentId(2)));
    }

    #[test]
    fn what_is_dead_in_an_old_segment_is_worth_more_than_in_a_young_one() {
        // The youngest has least live, but what is left of it dies soon; the oldest has settled.
        let segments = segments(&[100, 100, 100, 100]);
        assert_eq!(
            pick(&segments, &live(&[60, 70, 40, 20])),
            Some(SegmentId(1))
        );
    }

    #[test]
    fn young_segment_that_is_nearly_dead_goes_before_an_old_one_that_is_not() {
        let segments = segments(&[100, 100, 100]);
        assert_eq!(pick(&segments, &live(&[75, 60, 10])), Some(SegmentId(3)));
    }

    #[test]
    fn log_is_too_long_by_what_is_beyond_twice_its_live_bytes_and_a_full_segment() {
        let excess = |mebibytes: &[u64], live_mebibytes: &[u64]| {
            let segments = segments(mebibytes);
            segments.excess(&live(live_mebibytes), Instant(0)) / MIB
        };
        assert_eq!(excess(&[100, 100, 100], &[50, 40, 30]), 60);
        assert_eq!(excess(&[100, 100, 100], &[50, 50, 50]), 0);
        assert_eq!(excess(&[100, 100, 100], &[10, 10, 0]), 300 - 64);
        assert_eq!(excess(&[64], &[0]), 0);
    }

    #[test]
    fn any_log_is_too_long_for_a_full_disk() {
        let mut segments = segments(&[10, 10]);
        let usage = live(&[9, 7]);
        assert_eq!(pick(&segments, &usage), None);
        segments.health.on_refused(Instant(0), "full".to_owned());
        assert_eq!(segments.excess(&usage, Instant(0)), u64::MAX);
        assert_eq!(pick(&segments, &usage), Some(SegmentId(2)));
    }

    #[test]
    fn log_that_is_mostly_live_is_left_alone() {
        let segments = segments(&[100, 100, 100]);
        assert_eq!(pick(&segments, &live(&[90, 30, 70])), None);
    }

    #[test]
    fn one_full_segment_is_left_alone_whatever_its_size() {
        let mut segments = Segments::new(4 * MIB);
        segments.seal(SegmentId(1), 4 * MIB);
        assert_eq!(pick(&segments, &live(&[0])), None);
        segments.seal(SegmentId(2), 4 * MIB);
        assert_eq!(pick(&segments, &live(&[0, 0])), Some(SegmentId(1)));
    }

    #[test]
    fn oldest_gets_its_turn_for_the_sake_of_tombstones() {
        let live = live(&[80, 10]);
        assert_eq!(
            segments(&[100, 100]).pick(&live, SegmentId(9), 7, Instant(0)),
            Some(SegmentId(1))
        );
    }

    #[test]
    fn needed_tombstones_are_not_moved_again_while_there_is_something_better() {
        let mut usage = BTreeMap::from([
            (SegmentId(1), used(95, 0)),
            (SegmentId(2), used(0, 90)),
            (SegmentId(3), used(20, 0)),
        ]);
        let segments = segments(&[100, 100, 100]);
        assert_eq!(pick(&segments, &usage), Some(SegmentId(3)));
        // What needed them is gone.
        usage.insert(SegmentId(2), used(0, 0));
        assert_eq!(pick(&segments, &usage), Some(SegmentId(2)));
    }

    #[test]
    fn oldest_goes_though_it_is_live_if_it_holds_up_what_is_dead() {
        let usage = BTreeMap::from([
            (SegmentId(1), used(95, 0)),
            (SegmentId(2), used(0, 90)),
            (SegmentId(3), used(0, 0)),
        ]);
        let mut segments = segments(&[100, 100, 100]);
        segments.pin(SegmentId(3));
        assert_eq!(pick(&segments, &usage), Some(SegmentId(1)));
        segments.remove(SegmentId(1));
        // They hold up nothing but each other, oldest first.
        assert_eq!(pick(&segments, &usage), Some(SegmentId(2)));
    }

    #[test]
    fn full_segments_that_hold_up_nothing_stay() {
        let usage = live(&[40, 40]);
        let mut segments = segments(&[45, 45]);
        segments.mark_damaged(SegmentId(3));
        segments.seal(SegmentId(3), 100 * MIB);
        assert_eq!(pick(&segments, &usage), None);
    }

    #[test]
    fn segment_of_an_unfinished_copy_waits() {
        let mut segments = segments(&[100]);
        segments.leave_until(SegmentId(1), Instant(5));
        let pick = |now| segments.pick(&BTreeMap::new(), SegmentId(9), 0, Instant(now));
        assert_eq!((pick(4), pick(5)), (None, Some(SegmentId(1))));
    }

    #[test]
    fn segment_that_is_written_to_is_a_file_too() {
        let at = |segment, offset| Position {
            segment: SegmentId(segment),
            offset,
        };
        let mut segments = segments(&[100, 100]);
        assert_eq!(segments.files(), (2, 200 * MIB));
        segments.reach(at(3, 4096), 100);
        segments.reach(at(1, 8192), 100);
        assert_eq!(segments.files(), (3, 200 * MIB + 4196));
        segments.seal(SegmentId(3), 5000);
        assert_eq!(segments.files(), (3, 200 * MIB + 5000));
    }

    #[test]
    fn segment_whose_damage_has_healed_goes_before_all_others() {
        let mut segments = segments(&[100, 100]);
        segments.mark_damaged(SegmentId(2));
        assert!(segments.is_held_up());
        segments.mark_healed(SegmentId(2));
        assert!(!segments.is_held_up());
        let all_live = live(&[100, 100]);
        assert_eq!(pick(&segments, &all_live), Some(SegmentId(2)));
        // It turned out that something in it is still wanted.
        segments.mark_damaged(SegmentId(2));
        assert_eq!(pick(&segments, &all_live), None);
    }

    #[test]
    fn damaged_and_recent_segments_are_left_alone() {
        let mut segments = segments(&[100, 100]);
        segments.mark_damaged(SegmentId(1));
        let picked = segments.pick(&BTreeMap::new(), SegmentId(2), 0, Instant(0));
        assert_eq!(picked, None);
    }
}
