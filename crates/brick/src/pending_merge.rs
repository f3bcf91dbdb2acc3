//! Putting two halves together: what this brick has of both goes to the partition that takes their place.
//!
//! In:  a catalog in which siblings were merged. Out: the whole, with the records, the request windows and the watermark of
//!      both; and with a log summary, if both were held here to their ends.
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - The whole's ops begin above all of both, at the op that the catalog says: so the records of a key keep their order.
//! - The log is not rewritten: records of the halves belong to the whole. What one half was cleared of says nothing of
//!   the other one: such a record stays the half's own, here and in the cleaner.
//!
//! Not here: coming to rest, taking a partition apart (`pending_split`), halves that are put together from the log after a
//! restart (`recovery`).

use crate::changes::ChangeRing;
use crate::log::Log;
use crate::replica::Replication;
use crate::tables::{Partition, Tables, halves_of};
use brickyard_metadata::{Catalog, Merged};
use brickyard_replication::{Baseline, Half, Run};
use brickyard_types::{Op, PartitionId};

/// Where a merged partition's operations begin, by what the catalog says of one of its halves.
pub(crate) fn baseline_of(merged: &Merged) -> Baseline {
    let (view, op) = merged.baseline;
    Baseline {
        generation: merged.generation,
        view,
        op,
        // Which views the halves went through says nothing of the whole.
        runs: vec![Run { view, first: Op(1) }],
    }
}

/// The whole, of the halves that are at these leaves.
pub(crate) fn join_halves(
    replication: &mut Replication<'_>,
    table: usize,
    leaves: [usize; 2],
    whole: PartitionId,
    catalog: &Catalog,
) -> Option<Partition> {
    let id = replication.tables.get(table)?.id;
    let halves = halves_of(catalog, whole);
    let baseline = baseline_of(catalog.merged(halves[0])?);
    let mut ends = Vec::new();
    for (half, leaf) in halves.iter().zip(leaves) {
        let state = replication.tables.get(table)?;
        let held = state.partitions.get(leaf)?.as_ref()?;
        assert_eq!(held.id, *half, "the half of {whole} at leaf {leaf}");
        ends.push(Half {
            partition: *half,
            view: catalog.parent(*half)?.view,
            last: catalog.merged(*half)?.last,
        });
    }
    let ends: [Half; 2] = ends.try_into().ok()?;
    replication.replicate(|replicator| replicator.merge(id, &ends, whole, &baseline));
    for half in halves {
        replication.tables.unplace(half);
    }
    let (tables, log) = (&mut *replication.tables, &mut *replication.log);
    let kept = join_changes(tables, table, leaves, (&ends, &baseline));
    let joined = join_contents(tables, log, table, leaves, (whole, &baseline))?;
    Some(Partition {
        changes: kept,
        ..joined
    })
}

/// What the halves keep of their changes, as what the whole goes on from.
fn join_changes(
    tables: &mut Tables,
    table: usize,
    leaves: [usize; 2],
    (ends, baseline): (&[Half; 2], &Baseline),
) -> Option<Box<ChangeRing>> {
    let state = tables.get_mut(table).filter(|it| it.keeps_changes())?;
    let prefix = state.map.partitions().leaves()[leaves[0]].prefix.parent()?;
    let mut parents = Vec::new();
    for (leaf, end) in leaves.into_iter().zip(ends) {
        let mut held = state.partitions.get_mut(leaf)?.take()?;
        parents.extend(state.freeze_changes(&mut held, end.last.1));
        state.partitions[leaf] = Some(held);
    }
    let begin = (baseline.view, baseline.op);
    let whole = ChangeRing::behind(prefix, baseline.generation, begin, parents);
    Some(Box::new(whole))
}

fn join_contents(
    tables: &mut Tables,
    log: &mut Log,
    table: usize,
    leaves: [usize; 2],
    (whole, baseline): (PartitionId, &Baseline),
) -> Option<Partition> {
    let state = tables.get_mut(table)?;
    let mut left = state.partitions.get_mut(leaves[0])?.take()?;
    let mut right = state.partitions.get_mut(leaves[1])?.take()?;
    let local = state.table.add_partition();
    let locals = [left.local, right.local];
    state.table.merge_partitions(&locals, local);
    for half in [&left, &right] {
        assert!(
            half.uncommitted.submitted.is_empty(),
            "{} is not at rest",
            half.id
        );
        log.disown(table as u32, half.local);
    }
    let was_learner = state.learning.iter().any(|it| locals.contains(it));
    state.learning.retain(|it| !locals.contains(it));
    if was_learner {
        state.learning.push(local);
    }
    let windows = [left.requests.take(), right.requests.take()];
    let gone = windows.iter().flatten().map(|it| it.len()).sum();
    // Rule `requests are executed once`: whatever was asked of either was asked of the whole.
    let windows = windows.into_iter().flatten();
    let requests = windows.reduce(|a, b| Box::new(a.with(*b)));
    let op = baseline.op;
    tables.recount_requests(gone, requests.as_ref().map_or(0, |it| it.len()));
    for half in [&left, &right] {
        tables.note_parent_clear(half.id, half.cleared);
    }
    let anew = Partition::new(whole, local, left.status.view.max(right.status.view));
    Some(Partition {
        op,
        gaps: left.gaps.joined(right.gaps, op),
        committed: op,
        cleared: left.cleared.min(right.cleared),
        generation: left.generation.max(right.generation),
        requests,
        ..anew
    })
}

#[cfg(test)]
#[path = "pending_merge_test.rs"]
mod pending_merge_test;
