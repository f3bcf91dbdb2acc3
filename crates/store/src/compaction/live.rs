//! How much of each segment is still needed, and which one to clean next.
//!
//! In:  what the brick adds and takes back as records are written and superseded. Out: a segment.
//!
//! Source: The Log-Structured File System (Rosenblum & Ousterhout, 1992), section 3.5: the benefit of
//! cleaning a segment is the space gained times the age of what is in it, the cost is reading all of
//! it and writing what is live: (1 - u) * age / (1 + u).

use brickyard_types::SegmentId;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    total: u64,
    live: u64,
    /// Part of `live`: tombstones that are still kept.
    tombstones: u64,
}

/// When cleaning is worth its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PickPolicy {
    /// Clean only while this share of the log is dead. Default 0.35: the log is then at most 1.5
    /// times what is live in it.
    pub dead_share_min: f64,
    /// Clean the oldest segment, whatever is live in it, while tombstones take this share of the
    /// log: only the end of older segments lets them go. Default 0.1.
    pub tombstone_share_max: f64,
    /// The disk is nearly full: clean whatever gives back anything.
    pub is_urgent: bool,
}

impl Default for PickPolicy {
    fn default() -> Self {
        Self {
            dead_share_min: 0.35,
            tombstone_share_max: 0.1,
            is_urgent: false,
        }
    }
}

/// Live bytes by segment.
#[derive(Clone, Debug, Default)]
pub struct LiveBytes {
    segments: BTreeMap<SegmentId, Usage>,
    /// Damaged: evidence, not to be cleaned.
    pinned: BTreeSet<SegmentId>,
}

impl LiveBytes {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A record of `len` bytes was written to `segment` and is live.
    pub fn add(&mut self, segment: SegmentId, len: u64) {
        let usage = self.segments.entry(segment).or_default();
        usage.total += len;
        usage.live += len;
    }

    /// A tombstone of `len` bytes was written to `segment` and is kept.
    pub fn add_tombstone(&mut self, segment: SegmentId, len: u64) {
        self.add(segment, len);
        self.segments.entry(segment).or_default().tombstones += len;
    }

    /// A record of `len` bytes was written to `segment` and is of no use any more: a horizon, or one
    /// that recovery found superseded.
    pub fn add_dead(&mut self, segment: SegmentId, len: u64) {
        self.segments.entry(segment).or_default().total += len;
    }

    /// A record of `len` bytes in `segment` was superseded or removed.
    pub fn remove(&mut self, segment: SegmentId, len: u64) {
        if let Some(usage) = self.segments.get_mut(&segment) {
            debug_assert!(
                usage.live >= len,
                "segment {segment} has less than was removed"
            );
            usage.live = usage.live.saturating_sub(len);
        }
    }

    /// A tombstone of `len` bytes in `segment` is not needed any more.
    pub fn remove_tombstone(&mut self, segment: SegmentId, len: u64) {
        self.remove(segment, len);
        if let Some(usage) = self.segments.get_mut(&segment) {
            usage.tombstones = usage.tombstones.saturating_sub(len);
        }
    }

    /// The segment is damaged and must stay.
    pub fn pin(&mut self, segment: SegmentId) {
        self.pinned.insert(segment);
    }

    /// The segment was deleted.
    pub fn forget(&mut self, segment: SegmentId) {
        self.segments.remove(&segment);
        self.pinned.remove(&segment);
    }

    /// Live bytes of one segment.
    #[must_use]
    pub fn live(&self, segment: SegmentId) -> u64 {
        self.segments.get(&segment).map_or(0, |usage| usage.live)
    }

    /// Each segment with the bytes of its records and how many of them are live, oldest first.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentId, u64, u64)> {
        let segments = self.segments.iter();
        segments.map(|(id, usage)| (*id, usage.total, usage.live))
    }

    /// Bytes of all records, and how many of them are live.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        self.segments.values().fold((0, 0), |(total, live), usage| {
            (total + usage.total, live + usage.live)
        })
    }

    /// The oldest segment there is besides `except`; what [`super::is_droppable`] wants to know.
    ///
    /// Segments without a record are unknown here and hide nothing.
    #[must_use]
    pub fn oldest_other(&self, except: SegmentId) -> Option<SegmentId> {
        self.segments.keys().copied().find(|id| *id != except)
    }

    /// The segment to clean next, if any is worth it. Only segments before `active` are considered.
    #[must_use]
    pub fn pick(&self, active: SegmentId, policy: &PickPolicy) -> Option<SegmentId> {
        let candidates = || {
            self.segments
                .range(..active)
                .filter(|(id, _)| !self.pinned.contains(id))
        };
        let (total, live) = self.totals();
        if total == 0 {
            return None;
        }
        let tombstones: u64 = self.segments.values().map(|usage| usage.tombstones).sum();
        if tombstones as f64 > policy.tombstone_share_max * total as f64 {
            // The oldest has no older one that its own tombstones must wait for, and those of the
            // next wait for it alone.
            return candidates().next().map(|(id, _)| *id);
        }
        let dead_share = (total - live) as f64 / total as f64;
        if dead_share < policy.dead_share_min && !policy.is_urgent {
            return None;
        }
        candidates()
            .filter(|(_, usage)| usage.live < usage.total)
            .map(|(id, usage)| (benefit(*id, usage, active), *id))
            .max_by(|(left, _), (right, _)| left.total_cmp(right))
            .map(|(_, id)| id)
    }
}

/// Benefit over cost. Age is counted in segments: a clock of writes rather than of hours, and the same
/// in every run.
fn benefit(id: SegmentId, usage: &Usage, active: SegmentId) -> f64 {
    let live_share = usage.live as f64 / usage.total as f64;
    let age = f64::from(active.0 - id.0);
    (1.0 - live_share) * age / (1.0 + live_share)
}

#[cfg(test)]
#[path = "live_test.rs"]
mod live_test;
