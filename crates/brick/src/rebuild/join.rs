//! Partitions that were merged while this brick was away, or at its last moment: the log has the halves alone.
//!
//! In:  what the log says of the halves, and the catalog, which says where they ended. Out: their records in the whole;
//!      the claim of the whole, if both are here to their ends, given to the replicator and written into the log.
//!
//! Invariants (PROTOCOL rules 9 and 31):
//! - What a half had up to its end has committed, whether this brick knew that or not. What it had beyond counts for
//!   nothing. Where the end is not here, what is not known to be committed counts for nothing either.
//! - A whole is claimed by its own records in the log, or by both halves' ends. Else nothing is claimed of it.

use super::{Kept, Rebuild};
use crate::core::Core;
use crate::heirs::halves_of;
use crate::joining::base_of;
use brickyard_replication::{Base, Restored};
use brickyard_types::{Op, PartitionId};
use std::collections::{BTreeMap, BTreeSet};

/// A partition that others were merged into, or that came from one, and of which the log has nothing of its own.
pub(super) struct Joined {
    pub(super) id: PartitionId,
    /// Where it begins, if both halves are here.
    base: Option<Base>,
}

impl Core {
    /// Up to which op what a partition has may be of partitions that were merged; `None`: nothing of it is.
    pub(super) fn merged_upto(&self, partition: PartitionId) -> Option<Op> {
        let prefix = self.prefix_of(partition)?;
        let (table, _) = self.place_of(partition).ok()?;
        let table = self.table(table)?.id;
        let merged = self.catalog.all_merged().filter(|(half, _)| {
            let former = self.catalog.former(*half);
            former.is_some_and(|it| it.table == table && it.prefix().overlaps(prefix))
        });
        merged.map(|(_, it)| it.base.1).max()
    }

    /// The log has no more of a partition that was merged; whether all of it was there.
    pub(super) fn end_half(&mut self, half: PartitionId, rebuild: &mut Rebuild<Kept>) -> bool {
        let Some(merged) = self.catalog.merged(half).copied() else {
            return false;
        };
        let is_held = rebuild.holds(merged.last);
        let upto = if is_held {
            merged.last.1
        } else {
            rebuild.committed()
        };
        let mut committed = Vec::new();
        rebuild.end_at(upto, &mut |entry| committed.push(entry.payload));
        for kept in committed {
            self.put_back_kept(&kept);
        }
        is_held
    }

    /// Takes the halves out of those that were read; which of them were here to their ends.
    pub(super) fn take_halves(&mut self) -> BTreeSet<PartitionId> {
        let ids: Vec<PartitionId> = self.rebuilds.keys().copied().collect();
        let merged = ids
            .into_iter()
            .filter(|id| self.catalog.merged(*id).is_some());
        let mut held = BTreeSet::new();
        for half in merged.collect::<Vec<_>>() {
            if let Some(mut rebuild) = self.rebuilds.remove(&half)
                && self.end_half(half, &mut rebuild)
            {
                held.insert(half);
            }
        }
        held
    }

    /// The partitions that are claimed by their halves, or not at all.
    pub(super) fn joined(
        &self,
        held: &BTreeSet<PartitionId>,
        taken: &BTreeSet<PartitionId>,
    ) -> Vec<Joined> {
        let read = self.offline.table_read();
        let states = self.tables.iter().flatten();
        let states = states.filter(|state| read.is_none_or(|read| state.id == read));
        let logged = states.filter(|state| state.is_logged());
        let all = logged.flat_map(|state| state.partitions.iter().flatten());
        let own =
            all.filter(|it| it.is_replicated && !self.has_begun(it.id) && !taken.contains(&it.id));
        own.filter(|it| self.merged_upto(it.id).is_some())
            .map(|it| {
                let halves = halves_of(&self.catalog, it.id);
                let is_whole = halves.iter().all(|half| held.contains(half));
                let merged = self.catalog.merged(halves[0]).filter(|_| is_whole);
                Joined {
                    id: it.id,
                    base: merged.map(base_of),
                }
            })
            .collect()
    }

    /// Claims of a partition what its halves had.
    pub(super) fn claim_joined(&mut self, joined: Joined) {
        let Joined { id, base } = joined;
        let upto = self.merged_upto(id).unwrap_or_default();
        let mut op = upto;
        self.for_heirs(id, |it| {
            op = op.max(it.op);
            it.op = op;
            it.committed = op;
        });
        let is_torn = self.torn.contains(&id);
        let restored = match base.filter(|_| !is_torn) {
            Some(mut base) => {
                // A half that was alone here went on until both were put together.
                base.op = base.op.max(op);
                Restored {
                    lineage: base.lineage,
                    committed: base.op,
                    last: (base.view, base.op),
                    horizon: base.op,
                    history: base.runs.clone(),
                    base,
                    ..Restored::default()
                }
            }
            None => nothing(op),
        };
        self.restore(id, &restored);
        self.claim_first(id);
    }

    /// Deletions of a merged partition's halves are remembered by none of the others: no difference goes back behind
    /// its beginning.
    pub(super) fn raise_merged_horizons(&mut self) {
        let read = self.offline.table_read();
        let states = self.tables.iter().flatten();
        let states = states.filter(|state| read.is_none_or(|read| state.id == read));
        let all = states.flat_map(|state| state.partitions.iter().flatten());
        let ids: Vec<PartitionId> = all.map(|it| it.id).collect();
        for id in ids {
            if let Some(upto) = self.merged_upto(id) {
                self.for_heirs(id, |it| {
                    it.horizon = it.horizon.max(upto);
                    it.op = it.op.max(upto);
                });
            }
        }
    }

    /// A brick's copy of a former partition ends here, and what was read of it counts for nothing: that goes out of an
    /// heir which has keys of others as well.
    pub(super) fn sweep_former(&mut self, heir: PartitionId, former: PartitionId) {
        let prefix = self.prefix_of(former);
        self.former_clears.remove(&former);
        if let (Some(prefix), Ok((table, leaf))) = (prefix, self.place_of(heir))
            && let Some(state) = self.table_mut(table)
            && let Some(Some(held)) = state.partitions.get(leaf)
        {
            let (local, hasher) = (held.local, state.map.hasher());
            state
                .table
                .sweep_partition(local, |key, _| !prefix.contains(hasher.routing_hash(key)));
        }
    }

    /// What merged partitions were cleared of goes, now that all of the log is read.
    pub(crate) fn apply_former_clears(&mut self) {
        let mut wide: BTreeMap<PartitionId, Vec<_>> = BTreeMap::new();
        let read = self.offline.table_read();
        for (former, op) in &self.former_clears {
            let is_its = |read| {
                let former = self.catalog.former(*former);
                former.is_some_and(|it| it.table == read)
            };
            if !read.is_none_or(is_its) {
                continue;
            }
            let Some(prefix) = self.prefix_of(*former) else {
                continue;
            };
            for heir in self.heirs(*former) {
                wide.entry(heir).or_default().push((prefix, *op));
            }
        }
        for (heir, clears) in wide {
            if let Ok((table, leaf)) = self.place_of(heir)
                && let Some(state) = self.table_mut(table)
                && let Some(Some(held)) = state.partitions.get(leaf)
            {
                let (local, hasher) = (held.local, state.map.hasher());
                state.table.sweep_partition(local, |key, op| {
                    let hash = hasher.routing_hash(key);
                    let mut clears = clears.iter();
                    !clears.any(|(prefix, cleared)| op <= *cleared && prefix.contains(hash))
                });
            }
        }
    }
}

/// Nothing is claimed, and what is written from here on is above what is there.
pub(super) fn nothing(op: Op) -> Restored {
    Restored {
        committed: op,
        is_complete: false,
        horizon: op,
        ..Restored::default()
    }
}
