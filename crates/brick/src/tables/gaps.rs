//! What of a partition the log may lack: damaged records, and tombstones that the cleaner has dropped.
//!
//! In:  damage as recovery meets it, the first op behind it, horizons. Out: whether a key's record can be missing.
//!
//! Invariant: the watermark is lowered only to undo a pass of the cleaner that was given up.

use brickyard_types::{Op, Position, SegmentId};

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Records at or below this op may be missing because the log is damaged: a key that is not
    /// known from a later op is not served (`Op(0)`: nothing is damaged).
    damaged: Op,
    /// While recovery is under way: where there is damage behind the last readable op, and how many
    /// records it can have held at most.
    unreadable: Option<(Position, u64)>,
    /// Tombstones up to here may be missing from the log (rule `tombstones reach down to the watermark`).
    watermark: Op,
    /// Up to this segment there may be copies that came behind deletions which they do not outlive.
    copied: SegmentId,
}

impl Gaps {
    /// Nothing is missing but tombstones up to `op`.
    pub(crate) fn below(op: Op) -> Self {
        Self {
            watermark: op,
            ..Self::default()
        }
    }

    /// Whether records were lost.
    #[inline]
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged > Op(0)
    }

    /// Whether something newer than the record of `op` can have been lost.
    #[inline]
    pub(crate) fn reach(&self, op: Op) -> bool {
        op <= self.damaged
    }

    /// Records at or below this op may be lost.
    pub(crate) fn damaged(&self) -> Op {
        self.damaged
    }

    /// Tombstones up to this op may be missing.
    pub(crate) fn watermark(&self) -> Op {
        self.watermark
    }

    /// Raises the watermark; what it was before.
    pub(crate) fn raise_watermark(&mut self, op: Op) -> Op {
        let before = self.watermark;
        self.watermark = before.max(op);
        before
    }

    /// Deletions are needed while there is a segment up to this one.
    pub(crate) fn copied(&self) -> SegmentId {
        self.copied
    }

    /// Copies have come, the last of them to this segment.
    pub(crate) fn note_copied(&mut self, upto: SegmentId) {
        self.copied = self.copied.max(upto);
    }

    /// The tombstones above `op` still stand where they stood.
    pub(crate) fn lower_watermark(&mut self, op: Op) {
        self.watermark = self.watermark.min(op);
    }

    /// The record of this op is lost.
    pub(crate) fn lose_op(&mut self, op: Op) {
        self.damaged = self.damaged.max(op);
    }

    /// Up to so many records are lost that stood at a position; the next op tells which.
    pub(crate) fn lose_records(&mut self, position: Position, records_max: u64) {
        assert!(records_max > 0, "damage at {position} that held no record");
        let (_, earlier) = self.unreadable.unwrap_or_default();
        self.unreadable = Some((position, earlier + records_max));
    }

    /// A record of the partition stands behind damage: its op says which ones that can have held.
    pub(crate) fn resume(&mut self, position: Position, op: Op) {
        if let Some((damage, _)) = self.unreadable
            && damage < position
        {
            self.lose_op(Op(op.0.saturating_sub(1)));
            self.unreadable = None;
        }
    }

    /// What was lost has been written again, from the first op on.
    pub(crate) fn mend(&mut self) {
        self.damaged = Op(0);
        self.unreadable = None;
    }

    /// The partition was cleared by this op: what was lost before is gone anyway.
    pub(crate) fn clear(&mut self, op: Op) {
        if op > self.damaged && self.unreadable.is_none() {
            self.damaged = Op(0);
        }
    }

    /// All of the log is read. As many ops as fit into what is unreadable may have been there behind the last one, `op`;
    /// their numbers must not be given out again: the op to go on from.
    #[must_use]
    pub(crate) fn end_recovery(&mut self, op: Op) -> Op {
        match self.unreadable.take() {
            None => op,
            Some((_, records)) => {
                let last = Op(op.0 + records);
                self.damaged = last;
                last
            }
        }
    }

    /// Those of a partition that takes the place of two.
    pub(crate) fn joined(self, other: Self, watermark: Op) -> Self {
        assert!(
            self.unreadable.is_none() && other.unreadable.is_none(),
            "partitions are merged while the log is read"
        );
        Self {
            damaged: self.damaged.max(other.damaged),
            unreadable: None,
            watermark,
            copied: self.copied.max(other.copied),
        }
    }
}

#[cfg(test)]
mod gaps_test {
    use super::*;
    use brickyard_types::SegmentId;

    fn at(offset: u32) -> Position {
        Position {
            segment: SegmentId(1),
            offset,
        }
    }

    #[test]
    fn next_op_says_what_damage_can_have_held() {
        let mut gaps = Gaps::default();
        gaps.lose_records(at(100), 7);
        gaps.resume(at(50), Op(3));
        assert!(!gaps.is_damaged(), "a record before the damage");
        gaps.resume(at(200), Op(9));
        assert_eq!((gaps.damaged(), gaps.reach(Op(9))), (Op(8), false));
        assert_eq!(gaps.end_recovery(Op(9)), Op(9));
    }

    #[test]
    fn damage_at_the_end_takes_as_many_ops_as_fit() {
        let mut gaps = Gaps::default();
        gaps.lose_records(at(100), 7);
        gaps.lose_records(at(200), 5);
        gaps.clear(Op(4));
        assert_eq!(gaps.end_recovery(Op(4)), Op(16));
        assert!(gaps.reach(Op(16)));
        gaps.clear(Op(17));
        assert!(!gaps.is_damaged());
    }

    #[test]
    fn watermark_comes_back_when_a_pass_is_given_up() {
        let mut gaps = Gaps::below(Op(5));
        let before = gaps.raise_watermark(Op(9));
        gaps.lower_watermark(before);
        assert_eq!(gaps.watermark(), Op(5));
    }

    #[test]
    fn joined_partition_may_lack_what_either_part_may_lack() {
        let mut left = Gaps::default();
        left.lose_op(Op(7));
        left.note_copied(SegmentId(3));
        let mut right = Gaps::below(Op(5));
        right.lose_op(Op(2));
        right.note_copied(SegmentId(9));
        for joined in [left.joined(right, Op(11)), right.joined(left, Op(11))] {
            assert_eq!((joined.damaged(), joined.watermark()), (Op(7), Op(11)));
            assert_eq!(joined.copied(), SegmentId(9), "of the later copies");
        }
    }
}
