//! What recovery has found goes to the replicator, and into the log where that does not say it yet.
//!
//! In:  a fold that has read all there is. Out: partitions that the replicator knows; claims, tails of parts and drops
//!      in the batch that is being built.
//!
//! Invariant: nothing is cut. Where a record of a suffix cannot be put back, what stands behind it is not claimed.

use super::contents::Ground;
use super::fold::{Fold, Rebuilt, Source};
use super::kept::Kept;
use crate::baselines::{append_baseline, append_first_baseline};
use crate::outside::Outside;
use crate::replica::Replication;
use brickyard_replication::{Baseline, LogMark, Restored, Run, SuffixEntry};
use brickyard_types::{Instant, Op, PartitionId, record};
use std::collections::VecDeque;

/// The log is read, or what it has of one table.
pub(crate) fn build_all(replication: &mut Replication<'_>, outside: &mut Outside<'_>, fold: Fold) {
    let table = fold.table;
    let mut ground = Ground::of(replication, outside);
    for rebuilt in fold.end(&mut ground) {
        match rebuilt {
            Rebuilt::Replica {
                id,
                restored,
                source,
            } => build(replication, outside.now, (id, source), restored),
            Rebuilt::Gone { table, id, last } => {
                let retained = &mut replication.segments.retained;
                replication
                    .removals
                    .append(replication.log, retained, table, id, last);
            }
        }
    }
    let tables = &mut *replication.tables;
    tables.sweep_parent_clears(table);
    let states = tables.iter_mut();
    let states = states.filter(|state| table.is_none_or(|table| state.id == table));
    for partition in states.flat_map(|state| state.partitions.iter_mut().flatten()) {
        partition.end_recovery();
    }
}

fn build(
    replication: &mut Replication<'_>,
    now: Instant,
    (id, source): (PartitionId, Source),
    restored: Restored<Kept>,
) {
    if source == Source::Damaged {
        return build_damaged(replication, id, restored);
    }
    let is_whole = restored.suffix.iter().all(|it| it.payload.raw().is_some());
    let mark = LogMark(replication.log.building_id().0);
    let is_based = source == Source::Split
        && restored.is_complete
        && is_whole
        && append_part_baseline(replication, id, &restored);
    let mut suffix: VecDeque<SuffixEntry<()>> = VecDeque::new();
    for entry in &restored.suffix {
        let Some(mark) = build_pending(replication, now, &entry.payload, source) else {
            // What cannot be sent to others cannot be claimed either.
            break;
        };
        assert!(
            suffix.back().is_none_or(|before| before.op < entry.op),
            "{id}: op {} stands twice in the suffix",
            entry.op
        );
        suffix.push_back(SuffixEntry {
            view: entry.view,
            op: entry.op,
            mark,
            payload: (),
        });
    }
    let is_whole = suffix.len() == restored.suffix.len();
    let last = match suffix.back() {
        _ if is_whole => restored.last,
        Some(entry) => (entry.view, entry.op),
        None => (restored.last.0, restored.committed),
    };
    let mut watermark = restored.watermark;
    if let Some(held) = replication.tables.partition_mut(id) {
        held.committed = restored.committed;
        // Also where nothing is claimed of what has committed.
        held.op = held.op.max(last.1).max(restored.committed);
        held.gaps.raise_watermark(watermark);
        watermark = held.gaps.watermark().max(held.cleared);
    }
    let built = Restored {
        generation: restored.generation,
        baseline: restored.baseline,
        committed: restored.committed,
        last,
        suffix,
        is_complete: restored.is_complete && is_whole,
        watermark,
        history: restored.history,
    };
    replication.restore(id, &built);
    if is_based {
        replication.replicas.baseline_in(id, mark);
    }
    if source == Source::Merged {
        append_first_baseline(replication, id);
    }
}

/// What is left of a partition that has no other replica is all that there is of it.
fn build_damaged(replication: &mut Replication<'_>, id: PartitionId, restored: Restored<Kept>) {
    let Some(held) = replication.tables.partition_mut(id) else {
        return;
    };
    // What was put back may have smaller ops than what was overwritten, and cleaned away: the log's claims speak of those too.
    held.op = held.op.max(restored.last.1).max(restored.committed);
    held.end_recovery();
    held.committed = held.op;
    let (view, op) = (held.status.view.max(restored.last.0), held.op);
    let watermark = restored.watermark.max(held.gaps.watermark());
    let runs = vec![Run { view, first: Op(1) }];
    let baseline = Baseline {
        generation: restored.generation,
        view,
        op,
        runs: runs.clone(),
    };
    let whole: Restored = Restored {
        generation: restored.generation,
        baseline,
        committed: op,
        last: (view, op),
        suffix: VecDeque::new(),
        is_complete: true,
        watermark: watermark.max(op),
        history: runs,
    };
    replication.restore(id, &whole);
    append_first_baseline(replication, id);
}

/// Takes a record of a suffix into the batches that wait for their outcome: the mark of its batch. `None`: it cannot be
/// had whole.
fn build_pending(
    replication: &mut Replication<'_>,
    now: Instant,
    kept: &Kept,
    source: Source,
) -> Option<LogMark> {
    let raw = kept.raw()?;
    let record = record::decode(raw).ok()?;
    let mark = replication.take_found(&record, raw).ok()?;
    if source != Source::Own {
        return Some(mark);
    }
    // It stands in the log already, and what recovery has read it has synced.
    replication.log.put_back(kept.position(), now);
    Some(LogMark::NONE)
}

/// Writes what a part may claim of its whole: from here on the log speaks of the part. False if that is nothing.
fn append_part_baseline(
    replication: &mut Replication<'_>,
    part: PartitionId,
    whole: &Restored<Kept>,
) -> bool {
    let op = whole.committed;
    let runs = whole.history.iter().copied().filter(|run| run.first <= op);
    let runs: Vec<_> = runs.collect();
    let Some(view) = runs.last().map(|run| run.view) else {
        return false;
    };
    let baseline = Baseline {
        generation: whole.generation,
        view,
        op,
        runs,
    };
    let retained = &mut replication.segments.retained;
    append_baseline(
        replication.tables,
        replication.log,
        retained,
        part,
        &baseline,
    )
}
