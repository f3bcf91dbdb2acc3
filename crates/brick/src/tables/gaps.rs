//! What of a partition the log may lack: damaged records, and tombstones that the cleaner has dropped.
//!
//! In:  damage as recovery meets it, the records before and behind it, horizons. Out: whether a key's record can be missing.
//!
//! Damage without a readable header may have held records of any partition. Ops are given out one after the other, and their
//! records are written in that order: where the last record of a partition before the damage and the first one behind it have
//! consecutive ops of one view, none of its records stood in between, but for what the cleaner may have moved there.
//!
//! Invariants:
//! - The watermark is lowered only to undo a pass of the cleaner that was given up.
//! - Records that were moved, or copied from another brick, prove nothing: they stand in no order of ops.

use brickyard_types::record::{Header, Kind, flag};
use brickyard_types::{Op, PartitionId, Position, SegmentId, View};

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Records at or below this op may be missing because the log is damaged: a key that is not
    /// known from a later op is not served (`Op(0)`: nothing is damaged).
    damaged: Op,
    /// While recovery is under way: damage behind the last readable op.
    unreadable: Option<Unreadable>,
    /// While recovery is under way: the last record that stands in the order of ops, if the one before that did too.
    last: Option<InOrder>,
    /// Tombstones up to here may be missing from the log (rule `tombstones reach down to the watermark`).
    watermark: Op,
    /// Up to this segment there may be copies that came behind deletions which they do not outlive.
    copied: SegmentId,
}

/// Whose records damage can have held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// Some of the partition's: they were counted.
    Certain,
    /// Anybody's, or nobody's: it is a mark, or the record of another partition.
    Possible,
}

/// Damage that no later record has explained yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unreadable {
    /// Of the first of it, and of the last.
    position: Position,
    upto: Position,
    /// How many records it can have held at most.
    records_max: u64,
    suspicion: Suspicion,
    /// The last record in the order of ops before it.
    before: Option<InOrder>,
}

/// A record that stands in the order of ops. What was split or merged has records of several partitions, each with an order
/// of its own.
type InOrder = (PartitionId, View, Op);

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

    /// Up to so many records are lost that stood at a position; the next op tells which, if any.
    pub(crate) fn lose_records(
        &mut self,
        position: Position,
        records_max: u64,
        suspicion: Suspicion,
    ) {
        assert!(records_max > 0, "damage at {position} that held no record");
        self.unreadable = Some(match self.unreadable {
            None => Unreadable {
                position,
                upto: position,
                records_max,
                suspicion,
                before: self.last,
            },
            Some(earlier) => Unreadable {
                position: earlier.position,
                upto: position,
                records_max: earlier.records_max + records_max,
                suspicion: match earlier.suspicion {
                    Suspicion::Certain => Suspicion::Certain,
                    Suspicion::Possible => suspicion,
                },
                before: earlier.before,
            },
        });
    }

    /// A record of the partition. One that stands behind damage says by its op which ones that can have held.
    pub(crate) fn resume(&mut self, position: Position, header: &Header) {
        if header.flags & flag::MOVED != 0 {
            return;
        }
        let is_in_order = header.flags & flag::COPIED == 0
            && matches!(
                header.kind,
                Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear
            );
        let now = is_in_order.then_some((header.partition, header.view, header.op));
        match &mut self.unreadable {
            Some(damage) if damage.position < position => {
                let is_next =
                    |(of, view, op): InOrder| now.is_some_and(|now| now == (of, view, op.next()));
                let is_proven =
                    damage.suspicion == Suspicion::Possible && damage.before.is_some_and(is_next);
                if !is_proven {
                    let lost = Op(header.op.0.saturating_sub(1));
                    self.damaged = self.damaged.max(lost);
                }
                if damage.upto < position {
                    self.unreadable = None;
                } else {
                    // It was held back, too, and there is more damage behind it.
                    damage.before = None;
                }
            }
            // It was held back until it was known to be committed.
            Some(damage) => damage.before = now,
            None => {}
        }
        self.last = now;
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
        self.last = None;
        match self.unreadable.take() {
            None => op,
            Some(damage) => {
                let last = Op(op.0 + damage.records_max);
                assert!(last > op, "an op that may be lost is given out again");
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
            last: None,
            watermark,
            copied: self.copied.max(other.copied),
        }
    }
}

#[cfg(test)]
mod gaps_test {
    use super::*;
    use brickyard_types::TableId;

    /// The header of a put.
    fn put(view: u32, op: u64) -> Header {
        Header {
            kind: Kind::Put,
            flags: 0,
            table: TableId(1),
            partition: PartitionId(1),
            view: View(view),
            op: Op(op),
            expires_at: None,
            request: None,
            origin: None,
            committed: None,
        }
    }

    fn at(offset: u32) -> Position {
        Position {
            segment: SegmentId(1),
            offset,
        }
    }

    #[test]
    fn next_op_says_what_damage_can_have_held() {
        let mut gaps = Gaps::default();
        gaps.lose_records(at(100), 7, Suspicion::Certain);
        gaps.resume(at(50), &put(1, 3));
        assert!(!gaps.is_damaged(), "a record before the damage");
        gaps.resume(at(200), &put(1, 9));
        assert_eq!((gaps.damaged(), gaps.reach(Op(9))), (Op(8), false));
        assert_eq!(gaps.end_recovery(Op(9)), Op(9));
    }

    /// Damage that may be anybody's, between records with these headers; up to which op something may be lost.
    fn between(before: Header, after: Header) -> Op {
        let mut gaps = Gaps::default();
        gaps.resume(at(50), &before);
        gaps.lose_records(at(100), 7, Suspicion::Possible);
        gaps.resume(at(200), &after);
        gaps.damaged()
    }

    #[test]
    fn consecutive_ops_prove_that_nothing_was_in_between() {
        assert_eq!(between(put(1, 8), put(1, 9)), Op(0));
        assert_eq!(between(put(1, 7), put(1, 9)), Op(8));
        assert_eq!(between(put(1, 8), put(2, 9)), Op(8), "of another view");
        let other = Header {
            partition: PartitionId(2),
            ..put(1, 8)
        };
        assert_eq!(
            between(other, put(1, 9)),
            Op(8),
            "of what was merged with it"
        );
        for flags in [flag::MOVED, flag::COPIED] {
            let unordered = Header { flags, ..put(1, 8) };
            assert_eq!(between(unordered, put(1, 9)), Op(8));
        }
        let cut = Header {
            kind: Kind::Cut,
            ..put(1, 8)
        };
        assert_eq!(between(cut, put(1, 9)), Op(8));
    }

    #[test]
    fn what_was_counted_is_missing_whatever_the_ops_say() {
        let mut gaps = Gaps::default();
        gaps.resume(at(50), &put(1, 8));
        gaps.lose_records(at(100), 7, Suspicion::Possible);
        gaps.lose_records(at(150), 7, Suspicion::Certain);
        gaps.resume(at(200), &put(1, 9));
        assert_eq!(gaps.damaged(), Op(8));
    }

    /// Records are held back until they are known to be committed.
    #[test]
    fn records_before_damage_may_be_told_after_it() {
        let mut gaps = Gaps::default();
        gaps.lose_records(at(100), 7, Suspicion::Possible);
        gaps.resume(at(50), &put(1, 8));
        gaps.resume(at(200), &put(1, 9));
        assert_eq!(gaps.damaged(), Op(0));
    }

    #[test]
    fn record_between_two_damages_explains_the_first_alone() {
        let mut gaps = Gaps::default();
        gaps.resume(at(50), &put(1, 8));
        gaps.lose_records(at(100), 1, Suspicion::Possible);
        gaps.lose_records(at(300), 1, Suspicion::Possible);
        gaps.resume(at(200), &put(1, 9));
        assert_eq!(gaps.damaged(), Op(0));
        gaps.resume(at(400), &put(1, 11));
        assert_eq!(gaps.damaged(), Op(10));
    }

    #[test]
    fn damage_at_the_end_takes_as_many_ops_as_fit() {
        let mut gaps = Gaps::default();
        gaps.lose_records(at(100), 7, Suspicion::Certain);
        gaps.lose_records(at(200), 5, Suspicion::Possible);
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
