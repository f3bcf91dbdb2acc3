//! What one partition keeps of its committed changes, and what those that it came from kept.
//!
//! In:  ops as they commit, with what they change. Out: the changes behind an op, and in which view an op was prepared.
//!
//! WHAT A RING COVERS. A ring that covers ops 8 to 12 has `after` 7 and `upto` 12, and all changes of those ops: some may have none.
//! Who has followed up to op 9 is told those of 10 to 12. Who has followed up to 7 has missed nothing either; who has followed up to
//! 6 may have: op 7 has made room for others. When the partition is split at op 12, each half begins a ring with `after` 12, and the
//! ring of the whole, which nobody changes any more, is the *parent* of both. When halves that ended at 12 and 30 are merged,
//! their whole begins at an op above both, 31 say: `after` is 31, and it has two parents.
//!
//! Invariants:
//! - Ops in a ring rise, and all changes of an op are in it or none.
//! - Parents cover the prefix up to where the ring begins, each its own part of it, or are not there.
//! - A ring's bytes are at most what the table keeps, but for those of its newest op. Those of its parents are let go when it has half
//!   as much itself.
//!
//! Not here: reading over rings and their parents (`follow`), which ops are noted (`keep`).

use super::position::Place;
use brickyard_routing::Prefix;
use brickyard_types::record::Kind;
use brickyard_types::{Op, UnixMillis, ValueType, View};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rings that stand behind one another: whoever has not been told of one of so many splits and merges is far behind.
const DEPTH_MAX: u32 = 32;

/// What an operation has made of a key, or of all keys of the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) op: Op,
    /// A put, a delete or a clear.
    pub(crate) kind: Kind,
    pub(crate) value_type: ValueType,
    pub(crate) expires_at: Option<UnixMillis>,
    /// The key, then the value.
    bytes: Box<[u8]>,
    key_len: u32,
}

impl Change {
    pub(crate) fn new(
        (op, kind): (Op, Kind),
        (value_type, expires_at): (ValueType, Option<UnixMillis>),
        key: &[u8],
        value: &[&[u8]],
    ) -> Self {
        let len = key.len() + value.iter().map(|it| it.len()).sum::<usize>();
        let mut bytes = Vec::with_capacity(len);
        bytes.extend_from_slice(key);
        value.iter().for_each(|it| bytes.extend_from_slice(it));
        Self {
            op,
            kind,
            value_type,
            expires_at,
            bytes: bytes.into_boxed_slice(),
            key_len: key.len() as u32,
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize]
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.bytes[self.key_len as usize..]
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRing {
    pub(crate) prefix: Prefix,
    pub(crate) generation: u32,
    /// It has the changes of all ops behind this one ...
    pub(crate) after: Op,
    /// ... up to this one.
    pub(crate) upto: Op,
    /// The ops from each of these on were prepared in its view, until the next; the first is that of `after`.
    views: VecDeque<(View, Op)>,
    changes: VecDeque<Change>,
    bytes: usize,
    parents: Vec<Arc<Self>>,
    parents_bytes: usize,
    depth: u32,
}

impl ChangeRing {
    /// One that begins behind that op.
    pub(crate) fn new(prefix: Prefix, generation: u32, (view, after): (View, Op)) -> Self {
        Self {
            prefix,
            generation,
            after,
            upto: after,
            views: VecDeque::from([(view, after)]),
            changes: VecDeque::new(),
            bytes: 0,
            parents: Vec::new(),
            parents_bytes: 0,
            depth: 0,
        }
    }

    /// One that begins there and goes on from these. Each of them ends where its partition did.
    pub(crate) fn behind(
        prefix: Prefix,
        generation: u32,
        begin: (View, Op),
        parents: Vec<Arc<Self>>,
    ) -> Self {
        let (_, after) = begin;
        for parent in &parents {
            assert!(
                parent.upto <= after && parent.prefix.overlaps(prefix),
                "{prefix} goes on at {after} from {} at {}",
                parent.prefix,
                parent.upto
            );
        }
        let depth = parents.iter().map(|it| it.depth + 1).max().unwrap_or(0);
        let parents_bytes = parents.iter().map(|it| it.memory()).sum();
        let is_far = depth > DEPTH_MAX;
        Self {
            parents: if is_far { Vec::new() } else { parents },
            parents_bytes: if is_far { 0 } else { parents_bytes },
            depth: if is_far { 0 } else { depth },
            ..Self::new(prefix, generation, begin)
        }
    }

    /// Of a part of a partition that was split: it goes on where the ring of the whole ends.
    pub(crate) fn of_part(whole: &Arc<Self>, prefix: Prefix) -> Option<Box<Self>> {
        assert!(
            whole.prefix.covers(prefix),
            "{prefix} is no part of {}",
            whole.prefix
        );
        let begin = (whole.view_at(whole.upto)?, whole.upto);
        let parents = vec![Arc::clone(whole)];
        Some(Box::new(Self::behind(
            prefix,
            whole.generation,
            begin,
            parents,
        )))
    }

    /// The partition ends, and others go on from it: nothing is added any more.
    pub(crate) fn frozen(mut self, bytes_max: usize) -> Arc<Self> {
        if self.memory() > bytes_max {
            self.drop_parents();
        }
        self.changes.shrink_to_fit();
        Arc::new(self)
    }

    /// Bytes of memory, with those of its parents.
    pub(crate) const fn memory(&self) -> usize {
        self.bytes + self.parents_bytes
    }

    /// The rings that it goes on from.
    pub(crate) fn parents(&self) -> &[Arc<Self>] {
        &self.parents
    }

    /// The place of who has been told all of it.
    pub(crate) fn end(&self) -> Place {
        let last = self.views.back();
        Place {
            prefix: self.prefix,
            generation: self.generation,
            view: last.map_or(View(0), |(view, _)| *view),
            op: self.upto,
        }
    }

    /// The view of an op between `after` and `upto`.
    pub(crate) fn view_at(&self, op: Op) -> Option<View> {
        if op < self.after || op > self.upto {
            return None;
        }
        let run = self.views.iter().rev().find(|(_, first)| *first <= op);
        run.map(|(view, _)| *view)
    }

    /// The ops up to this one have committed; those from `first` on were prepared in that view.
    pub(crate) fn extend(&mut self, (view, first): (View, Op), upto: Op) {
        assert_eq!(first, self.upto.next(), "an op is left out");
        assert!(upto >= first, "ops from {first} to {upto}");
        let last = self.views.back().map(|(view, _)| *view);
        assert!(last.is_some(), "a ring that begins in no view");
        if last != Some(view) {
            self.views.push_back((view, first));
        }
        self.upto = upto;
    }

    /// An op that is covered changes something.
    pub(crate) fn push(&mut self, change: Change, bytes_max: usize) {
        if change.op <= self.after || change.op > self.upto {
            // The ring has begun anew since it was prepared.
            return;
        }
        let last = self.changes.back().map(|it| it.op);
        assert!(
            last.is_none_or(|last| last <= change.op),
            "op {} comes behind {last:?}",
            change.op
        );
        self.bytes += change.memory();
        self.changes.push_back(change);
        self.make_room(bytes_max);
    }

    /// Lets the oldest go, as much as is too much.
    pub(crate) fn make_room(&mut self, bytes_max: usize) {
        let newest = self.changes.back().map(|it| it.op);
        while self.bytes > bytes_max
            && let Some(op) = self.changes.front().map(|it| it.op)
            && Some(op) != newest
        {
            while let Some(change) = self.changes.pop_front_if(|it| it.op == op) {
                assert!(self.bytes >= change.memory(), "more goes than there is");
                self.bytes -= change.memory();
            }
            assert!(self.after < op && op < self.upto, "op {op} goes");
            self.after = op;
            self.drop_parents();
        }
        while self.views.get(1).is_some_and(|it| it.1 <= self.after) {
            self.views.pop_front();
        }
        if self.bytes >= bytes_max / 2 {
            self.drop_parents();
        }
    }

    fn drop_parents(&mut self) {
        self.parents.clear();
        self.parents_bytes = 0;
        self.depth = 0;
    }

    /// The changes of ops behind that one, in order.
    pub(crate) fn changes_after(&self, op: Op) -> impl Iterator<Item = &Change> {
        let from = self.changes.partition_point(|it| it.op <= op);
        self.changes.range(from..)
    }
}

#[cfg(test)]
#[path = "ring_test.rs"]
pub(super) mod ring_test;
