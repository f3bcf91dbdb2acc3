//! What is noted of operations as they commit, in tables that keep their changes.
//!
//! In:  ops that commit, and what they make of keys; tables that are altered; partitions that are split and merged. Out: rings.
//!
//! A brick hears of commits one partition after the other, and of what they change when they are applied, right behind. So ops are noted first, then
//! their changes. What a learner is copied is no commit: its ring begins with the first op that it hears of in order.
//!
//! Invariants:
//! - An op that does not follow the last one begins the ring anew (rule `a change is told once, in order, or compacted`).
//! - An intent is no change, nor is what puts a key back to what it held before it: what a transaction has made of a key is told when it is resolved.
//! - A table that keeps nothing pays for one look at a flag.

use super::ring::{Change, ChangeRing};
use crate::distributed::Intent;
use crate::log::{KeyRef, Prepared};
use crate::tables::{Partition, TableState, Tables};
use brickyard_command::hash::Head;
use brickyard_routing::Member;
use brickyard_table::ValueRef;
use brickyard_types::part::is_part;
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, UnixMillis, ValueType, View};
use std::sync::Arc;

/// What an operation makes of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) op: Op,
    pub(crate) kind: Kind,
    pub(crate) value_type: ValueType,
    pub(crate) expires_at: Option<UnixMillis>,
    pub(crate) name: &'a [u8],
    /// In pieces.
    pub(crate) value: &'a [&'a [u8]],
}

/// Whether a key becomes a hash in parts, or such a one changes. In a table that keeps its changes none is written.
fn is_head(outcome: &Outcome<'_>) -> bool {
    let is_hash = outcome.kind == Kind::Put && outcome.value_type == ValueType::Hash;
    is_hash
        && outcome
            .value
            .first()
            .is_some_and(|it| Head::read(it).is_some())
}

impl Outcome<'static> {
    /// All keys of the partition are gone.
    pub(crate) const fn cleared(op: Op) -> Self {
        Self {
            op,
            kind: Kind::Clear,
            value_type: ValueType::String,
            expires_at: None,
            name: b"",
            value: &[],
        }
    }
}

impl TableState {
    /// Whether it keeps its changes.
    #[inline]
    pub(crate) fn keeps_changes(&self) -> bool {
        self.attributes.history > 0
    }

    fn history_bytes(&self) -> usize {
        usize::try_from(self.attributes.history).unwrap_or(usize::MAX)
    }

    /// Ops of the leaf's partition commit. `view_at` is for those that the replicator has heard of.
    pub(crate) fn note_ops(
        &mut self,
        leaf: usize,
        (first, upto): (Op, Op),
        view_at: impl Fn(Op) -> Option<View>,
    ) {
        let prefix = self.map.partitions().leaves()[leaf].prefix;
        let Some(Some(held)) = self.partitions.get_mut(leaf) else {
            return;
        };
        let now = held.status.view;
        let view_of = |op: Op| match op {
            Op(0) => View(0),
            _ => view_at(op).unwrap_or(now),
        };
        assert!(
            Op(0) < first && first <= upto,
            "{}: ops {first} to {upto} commit",
            held.id
        );
        let before = Op(first.0 - 1);
        let generation = held.generation;
        let follows = |it: &ChangeRing| it.upto == before && it.generation == generation;
        let ring = match &mut held.changes {
            Some(ring) if follows(ring) => ring,
            anew => anew.insert(Box::new(ChangeRing::new(
                prefix,
                generation,
                (view_of(before), before),
            ))),
        };
        let last = view_of(upto);
        if view_of(first) == last {
            return ring.extend((last, first), upto);
        }
        // What was inherited commits with what is new.
        for op in first.0..=upto.0 {
            ring.extend((view_of(Op(op)), Op(op)), Op(op));
        }
    }

    /// An op that was noted makes this of a key, or of all keys of the leaf's partition. It has not been applied.
    pub(crate) fn note_change(&mut self, leaf: usize, key: KeyRef, outcome: &Outcome<'_>) {
        if is_part(outcome.name) || !self.changes_something(key, outcome) {
            return;
        }
        if is_head(outcome) {
            // It was written before the table kept its changes, and says nothing by itself: they are kept from the next one on.
            if let Some(Some(held)) = self.partitions.get_mut(leaf) {
                held.changes = None;
            }
            return;
        }
        let bytes_max = self.history_bytes();
        let held = self.partitions.get_mut(leaf).and_then(Option::as_mut);
        let Some(held) = held.filter(|it| it.local == key.partition) else {
            return;
        };
        if let Some(ring) = &mut held.changes {
            let Outcome {
                op,
                kind,
                value_type,
                expires_at,
                name,
                value,
            } = *outcome;
            let change = Change::new((op, kind), (value_type, expires_at), name, value);
            ring.push(change, bytes_max);
        }
    }

    /// Whether the key holds something else than whoever follows it has been told.
    fn changes_something(&self, key: KeyRef, outcome: &Outcome<'_>) -> bool {
        if outcome.kind == Kind::Clear {
            return true;
        }
        let is_put = outcome.kind == Kind::Put;
        if is_put && outcome.value_type == ValueType::Intent {
            return false;
        }
        let found = self.table.peek(key.partition, key.hash, outcome.name);
        let Some(found) = found.filter(|it| it.value_type == ValueType::Intent) else {
            return true;
        };
        let intent = match found.value {
            ValueRef::Hot(bytes) => Intent::decode(bytes),
            // What it held is in the log alone: it is told again.
            ValueRef::Cold { .. } => None,
        };
        let Some(intent) = intent.filter(|it| it.decided.is_none()) else {
            return true;
        };
        match intent.before {
            None => is_put,
            Some(before) => {
                !is_put
                    || before.value_type() != outcome.value_type
                    || before.expires_at() != outcome.expires_at
                    || before.value.0 != outcome.value.concat()
            }
        }
    }

    /// How much it keeps has changed, or may have.
    pub(crate) fn bound_changes(&mut self) {
        let bytes_max = self.history_bytes();
        for held in self.partitions.iter_mut().flatten() {
            match &mut held.changes {
                Some(ring) if bytes_max > 0 => ring.make_room(bytes_max),
                changes => *changes = None,
            }
        }
    }

    /// Bytes that it keeps of changes.
    pub(crate) fn changes_memory(&self) -> usize {
        let held = self.partitions.iter().flatten();
        held.filter_map(|it| it.changes.as_ref())
            .map(|ring| ring.memory())
            .sum()
    }

    /// What a partition that ends keeps for those that go on from it, if it has all of it: up to its last op.
    pub(crate) fn freeze_changes(&self, held: &mut Partition, last: Op) -> Option<Arc<ChangeRing>> {
        let ring = held.changes.take()?;
        let is_whole = ring.upto == last && ring.generation == held.generation;
        assert!(
            ring.upto <= held.op || !is_whole,
            "{} ends at {} and has changes up to {}",
            held.id,
            held.op,
            ring.upto
        );
        (is_whole && self.keeps_changes()).then(|| ring.frozen(self.history_bytes()))
    }
}

impl Tables {
    /// Whether there is a table that keeps its changes.
    #[inline]
    pub(crate) fn keep_changes(&self) -> bool {
        self.followed.is_kept
    }

    /// Tables were altered.
    pub(crate) fn look_for_histories(&mut self) {
        for state in self.iter_mut() {
            state.bound_changes();
        }
        let is_kept = self.iter().any(TableState::keeps_changes);
        self.followed.is_kept = is_kept;
    }

    /// Who waits for what has committed since this was asked last, each with what names its wait.
    pub(crate) fn take_woken(&mut self) -> Vec<((Member, u64), u64)> {
        let changed = self.followed.take();
        if changed.is_empty() {
            return Vec::new();
        }
        let mut waiters = std::mem::take(&mut self.followed.waiters);
        let before = waiters.len();
        let at = |(table, leaf): (usize, usize)| {
            let state = self.get(table)?;
            let held = state.partitions.get(leaf)?.as_ref()?;
            Some((state.id, held.id, held.changes.as_deref()))
        };
        let changed: Vec<_> = changed.into_iter().filter_map(at).collect();
        let woken = waiters.wake(&changed);
        assert_eq!(
            waiters.len() + woken.len(),
            before,
            "who waits is woken, or waits on"
        );
        self.followed.waiters = waiters;
        woken
    }

    /// Ops of a partition commit.
    pub(crate) fn note_committed(
        &mut self,
        partition: PartitionId,
        ops: (Op, Op),
        view_at: impl Fn(Op) -> Option<View>,
    ) {
        let Some((table, leaf)) = self.place_of(partition) else {
            return;
        };
        let views = std::mem::take(&mut self.followed.views);
        if let Some(state) = self.get_mut(table).filter(|it| it.keeps_changes()) {
            let of_ended = |op| views.get(&(partition, op)).copied();
            state.note_ops(leaf, ops, |op| view_at(op).or_else(|| of_ended(op)));
            self.followed.note((table, leaf));
        }
        self.followed.views = views;
    }

    /// An operation that was noted is about to be applied.
    pub(crate) fn note_change(&mut self, prepared: &Prepared, bytes: &[u8]) {
        let Prepared { key, kind, op, .. } = *prepared;
        if prepared.is_void || kind == Kind::Batch {
            return;
        }
        let state = self.get_mut(key.table as usize);
        let Some(state) = state.filter(|it| it.keeps_changes()) else {
            return;
        };
        assert!(op > Op(0), "ops are numbered from 1: {prepared:?}");
        let key_at = prepared.key_at as usize;
        let name = &bytes[key_at..key_at + usize::from(prepared.key_len)];
        let value_at = prepared.value_at as usize;
        let value = match kind {
            Kind::Put => &bytes[value_at..value_at + prepared.value_len as usize],
            _ => &[],
        };
        let leaf = match kind {
            Kind::Clear => {
                let mut held = state.partitions.iter();
                held.position(|it| it.as_ref().is_some_and(|it| it.local == key.partition))
            }
            _ => Some(state.map.locate(name).leaf as usize),
        };
        if let Some(leaf) = leaf {
            let outcome = Outcome {
                op,
                kind,
                value_type: prepared.value_type,
                expires_at: prepared.expires_at,
                name,
                value: &[value],
            };
            state.note_change(leaf, key, &outcome);
        }
    }
}
