//! Partitions that were split or merged while this brick was away, or at its last moment: the log has their predecessors
//! alone.
//!
//! In:  what the log says of the predecessors, and the catalog, which says what became of them. Out: their records in the
//!      partitions in their place, and what those may claim.
//!
//! Invariants (rules `a restart cuts nothing` and `splits and merges are bound to views`):
//! - What a part may claim is what its whole could: its ops and views are the whole's. So the suffix, about which only
//!   the primary of a newer view can tell, is the suffix of each part: a record of another part is one that did nothing.
//! - What a part's record says of its whole counts unless that part's baseline has another view of it: the cleaner may have removed
//!   what cut it.
//! - What a half had up to its end has committed, whether this brick knew that or not. What it had beyond counts for
//!   nothing. Where the end is not here, what is not known to be committed counts for nothing either. It was here where the
//!   log goes on with what the halves became: then the cleaner may have taken some of it away, and says so of the whole alone.
//! - A merged partition is claimed by its own records in the log, or by both halves' ends. Else nothing is claimed of it.

use super::contents::Ground;
use super::fold::{Fold, nothing, put_back, read};
use super::kept::Kept;
use crate::pending_merge::baseline_of;
use crate::tables::{Tables, halves_of, is_split_from};
use brickyard_replication::{Baseline, Rebuild, Restored, SuffixEntry};
use brickyard_routing::Prefix;
use brickyard_types::record::{Header, Kind, flag};
use brickyard_types::{Op, PartitionId, TableId};
use std::collections::BTreeSet;

/// A partition that was split, out of the log.
pub(super) struct Whole {
    pub(super) id: PartitionId,
    pub(super) restored: Restored<Kept>,
    /// The parts of which the log has nothing of their own.
    pub(super) children: Vec<PartitionId>,
    /// No record of any part came after it.
    pub(super) is_open: bool,
}

impl Fold {
    /// A record of a part says that its whole was taken apart before it: what the part's base claims has committed,
    /// and what else the whole had prepared counts for nothing. So does a record of a whole of its halves.
    ///
    /// Not so a record behind a `Drop` of the part: from there on it has what others had, which says nothing of this log's
    /// whole. Nor has it anything of that whole any more (rule `tombstones reach down to the watermark`).
    pub(super) fn end_parents(&mut self, ground: &mut Ground<'_>, header: &Header) {
        // The cleaner writes claims behind what it moves, so what was moved says nothing of when.
        let is_moved = header.flags & flag::MOVED != 0;
        if is_moved || self.open_parents.is_empty() {
            return;
        }
        let upto = match header.kind {
            Kind::Baseline => Some(header.op),
            _ => header.committed,
        };
        let Some(prefix) = ground.tables.prefix_of(header.partition) else {
            return;
        };
        let tables = &*ground.tables;
        let is_around = |parent: PartitionId| {
            tables.is_around(parent, header.table, (header.partition, prefix))
        };
        let is_over = |parent: &PartitionId, dropped: &mut Vec<Prefix>| {
            let is_told = upto.is_some() && !dropped.iter().any(|it| it.covers(prefix));
            is_around(*parent) && (is_told || tables.catalog().merged(*parent).is_some())
        };
        let over: Vec<_> = self.open_parents.extract_if(.., is_over).collect();
        if header.kind == Kind::Drop {
            for (parent, dropped) in &mut self.open_parents {
                if is_around(*parent) {
                    dropped.push(prefix);
                }
            }
        }
        for (parent, dropped) in over {
            self.end_parent(ground, parent, header, (prefix, upto), &dropped);
        }
    }

    fn end_parent(
        &mut self,
        ground: &mut Ground<'_>,
        parent: PartitionId,
        header: &Header,
        (prefix, upto): (Prefix, Option<Op>),
        dropped: &[Prefix],
    ) {
        let Some(mut rebuild) = self.rebuilds.remove(&parent) else {
            return;
        };
        let catalog = ground.tables.catalog();
        if catalog.merged(parent).is_some() {
            // After a `Drop` it has what others had.
            let is_told = upto.is_some() && !dropped.iter().any(|it| it.covers(prefix));
            end_half(ground, parent, &mut rebuild, is_told);
        } else {
            let part = (header.partition, prefix);
            let is_part = is_split_from(catalog, header.table, parent, part);
            let upto = upto.filter(|_| is_part);
            let upto = upto.unwrap_or_else(|| rebuild.committed());
            let mut told = Vec::new();
            rebuild.end_at(upto, &mut |entry| told.push(entry));
            self.pass_on(ground, (header.table, parent), &told, dropped);
        }
        self.rebuilds.insert(parent, rebuild);
    }

    /// What a partition had when it was split waits for the baselines of its parts, unless these were dropped since: the cleaner
    /// may have removed what cut it. Merged ones have another history.
    fn pass_on(
        &mut self,
        ground: &mut Ground<'_>,
        (table, parent): (TableId, PartitionId),
        told: &[SuffixEntry<Kept>],
        dropped: &[Prefix],
    ) {
        for child in ground.tables.children(parent) {
            let Some(prefix) = ground.tables.prefix_of(child) else {
                continue;
            };
            if dropped.iter().any(|it| it.covers(prefix)) {
                continue;
            }
            if ground.tables.is_wider(child, parent) {
                for entry in told {
                    put_back(ground, &entry.payload);
                }
                continue;
            }
            let parts = told.iter().map(|entry| SuffixEntry {
                payload: entry.payload.part(child, ground.tables),
                ..*entry
            });
            let parts: Vec<SuffixEntry<Kept>> = parts.collect();
            if is_split_from(ground.tables.catalog(), table, parent, (child, prefix)) {
                self.rebuilds.entry(child).or_default().inherit(parts);
            } else {
                for part in &parts {
                    put_back(ground, &part.payload);
                }
            }
        }
    }

    /// Takes the halves out of those that were read; which of them were here to their ends.
    pub(super) fn take_halves(&mut self, ground: &mut Ground<'_>) -> BTreeSet<PartitionId> {
        let is_half = |id: &PartitionId, _: &mut _| ground.tables.catalog().merged(*id).is_some();
        let halves: Vec<_> = self.rebuilds.extract_if(.., is_half).collect();
        let mut held = BTreeSet::new();
        for (half, mut rebuild) in halves {
            if end_half(ground, half, &mut rebuild, false) {
                held.insert(half);
            }
        }
        held
    }

    /// Takes the partitions that were split out of those that were read, with the parts that have nothing but what
    /// these had.
    pub(super) fn take_wholes(&mut self, tables: &mut Tables) -> Vec<Whole> {
        let is_parent = |id: &PartitionId, _: &mut _| tables.is_parent(*id);
        let parents: Vec<_> = self.rebuilds.extract_if(.., is_parent).collect();
        let mut wholes: Vec<Whole> = Vec::new();
        // Of two that had a part's keys, the one with the higher number came later.
        for (id, rebuild) in parents.into_iter().rev() {
            let restored = rebuild.finish();
            tables.for_children(id, |part| {
                part.gaps.raise_watermark(restored.watermark);
            });
            let is_taken = |child: &PartitionId| {
                self.has_begun(*child) || wholes.iter().any(|whole| whole.children.contains(child))
            };
            let children = tables.children(id).into_iter();
            let children = children.filter(|child| {
                tables.is_here(*child) && is_part(tables, *child, id) && !is_taken(child)
            });
            wholes.push(Whole {
                id,
                children: children.collect(),
                is_open: self.open_parents.contains_key(&id),
                restored,
            });
        }
        wholes
    }

    /// Whether the log has anything of a partition that is not from before it became one.
    fn has_begun(&self, partition: PartitionId) -> bool {
        let rebuild = self.rebuilds.get(&partition);
        rebuild.is_some_and(Rebuild::has_begun)
    }

    /// The partitions of which the log has nothing of their own, and that others were merged into, or that came from such
    /// a one; with where they begin, if both halves are here.
    pub(super) fn joined(
        &self,
        tables: &Tables,
        held: &BTreeSet<PartitionId>,
        taken: &BTreeSet<PartitionId>,
    ) -> Vec<(PartitionId, Option<Baseline>)> {
        let all = read(tables, self.table);
        let own = all.filter(|it| !self.has_begun(it.id) && !taken.contains(&it.id));
        let merged = own.filter(|it| tables.merged_upto(it.id).is_some());
        merged
            .map(|it| {
                let halves = halves_of(tables.catalog(), it.id);
                let is_whole = halves.iter().all(|half| held.contains(half));
                let merged = tables.catalog().merged(halves[0]).filter(|_| is_whole);
                (it.id, merged.map(baseline_of))
            })
            .collect()
    }

    /// What a partition may claim of what its halves had.
    pub(super) fn of_baseline(
        &self,
        tables: &mut Tables,
        id: PartitionId,
        baseline: Option<Baseline>,
    ) -> Restored<Kept> {
        let mut op = tables.merged_upto(id).unwrap_or_default();
        tables.for_children(id, |it| {
            op = op.max(it.op);
            it.op = op;
            it.committed = op;
        });
        match baseline.filter(|_| !self.torn.contains(&id)) {
            Some(mut baseline) => {
                // What is unreadable may have been of later ops.
                baseline.op = baseline.op.max(op);
                Restored {
                    generation: baseline.generation,
                    committed: baseline.op,
                    last: (baseline.view, baseline.op),
                    watermark: baseline.op,
                    history: baseline.runs.clone(),
                    baseline,
                    ..Restored::default()
                }
            }
            None => nothing(op),
        }
    }

    /// Deletions of a merged partition's halves are remembered by none of the others: no difference goes back behind
    /// its beginning.
    pub(super) fn raise_merged_horizons(&self, tables: &mut Tables) {
        let states = tables.iter();
        let states = states.filter(|state| self.table.is_none_or(|table| state.id == table));
        let all = states.flat_map(|state| state.partitions.iter().flatten());
        let merged: Vec<(PartitionId, Op)> = all
            .filter_map(|it| Some((it.id, tables.merged_upto(it.id)?)))
            .collect();
        for (id, upto) in merged {
            if let Some(it) = tables.partition_mut(id) {
                it.gaps.raise_watermark(upto);
            }
        }
    }
}

/// The log has no more of a partition that was merged; whether all of it was there. `goes_on`: with what it became.
fn end_half(
    ground: &mut Ground<'_>,
    half: PartitionId,
    rebuild: &mut Rebuild<Kept>,
    goes_on: bool,
) -> bool {
    let Some(merged) = ground.tables.catalog().merged(half).copied() else {
        return false;
    };
    let is_held = rebuild.holds(merged.last);
    let upto = match is_held || (goes_on && rebuild.leads_to(merged.last)) {
        true => merged.last.1,
        false => rebuild.committed(),
    };
    for kept in end_at(rebuild, upto) {
        put_back(ground, &kept);
    }
    is_held
}

/// Everything up to `upto` has committed, and what is left of the suffix counts for nothing.
pub(super) fn end_at(rebuild: &mut Rebuild<Kept>, upto: Op) -> Vec<Kept> {
    let mut committed = Vec::new();
    rebuild.end_at(upto, &mut |entry| committed.push(entry.payload));
    committed
}

/// Whether a partition came from another one by splits alone.
fn is_part(tables: &Tables, part: PartitionId, whole: PartitionId) -> bool {
    let table = tables.catalog().parent(whole).map(|parent| parent.table);
    match (table, tables.prefix_of(part)) {
        (Some(table), Some(prefix)) => {
            is_split_from(tables.catalog(), table, whole, (part, prefix))
        }
        _ => false,
    }
}
