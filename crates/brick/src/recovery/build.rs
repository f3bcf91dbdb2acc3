//! What recovery has found goes to the replicator, and into the log where that does not say it yet.
//!
//! In:  a fold that has read all there is. Out: partitions that the replicator knows; claims, tails of parts and drops
//!      in the batch that is being built.
//!
//! Invariant: nothing is cut. Where a record of a tail cannot be put back, what stands behind it is not claimed.

use super::fold::{Fold, Rebuilt, Source};
use super::kept::Kept;
use crate::core::Core;
use brickyard_replication::{Base, LogMark, Restored, TailEntry};
use brickyard_types::PartitionId;
use brickyard_types::record;
use std::collections::VecDeque;

impl Core {
    /// The log is read, or what it has of one table.
    pub(crate) fn build_all(&mut self, fold: Fold) {
        let table = fold.table;
        for rebuilt in fold.end(&mut self.ground()) {
            match rebuilt {
                Rebuilt::Replica {
                    id,
                    restored,
                    source,
                } => self.build(id, restored, source),
                Rebuilt::Gone { table, id, last } => self.append_drop_of(table, id, last),
            }
        }
        self.tables.sweep_former_clears(table);
        let states = self.tables.iter_mut();
        let states = states.filter(|state| table.is_none_or(|table| state.id == table));
        for partition in states.flat_map(|state| state.partitions.iter_mut().flatten()) {
            partition.end_recovery();
        }
    }

    fn build(&mut self, id: PartitionId, restored: Restored<Kept>, source: Source) {
        let is_whole = restored.tail.iter().all(|it| it.payload.raw().is_some());
        let mark = LogMark(self.log.building_id().0);
        let is_based = source == Source::Split
            && restored.is_complete
            && is_whole
            && self.append_part_base(id, &restored);
        let mut tail: VecDeque<TailEntry<()>> = VecDeque::new();
        for entry in &restored.tail {
            let Some(mark) = self.build_pending(&entry.payload, source) else {
                // What cannot be sent to others cannot be claimed either.
                break;
            };
            tail.push_back(TailEntry {
                view: entry.view,
                op: entry.op,
                mark,
                payload: (),
            });
        }
        let is_whole = tail.len() == restored.tail.len();
        let last = match tail.back() {
            _ if is_whole => restored.last,
            Some(entry) => (entry.view, entry.op),
            None => (restored.last.0, restored.committed),
        };
        let mut horizon = restored.horizon;
        if let Some(held) = self.tables.partition_mut(id) {
            held.committed = restored.committed;
            held.op = held.op.max(last.1);
            held.gaps.raise_horizon(horizon);
            horizon = held.gaps.horizon().max(held.cleared);
        }
        let built = Restored {
            lineage: restored.lineage,
            base: restored.base,
            committed: restored.committed,
            last,
            tail,
            is_complete: restored.is_complete && is_whole,
            horizon,
            history: restored.history,
        };
        self.restore(id, &built);
        if is_based {
            self.replicas.based_in(id, mark);
        }
        if source == Source::Merged {
            self.claim_first(id);
        }
    }

    /// Takes a record of a tail into the batches that wait for their outcome: the mark of its batch. `None`: it cannot be
    /// had whole.
    fn build_pending(&mut self, kept: &Kept, source: Source) -> Option<LogMark> {
        let raw = kept.raw()?;
        let record = record::decode(raw).ok()?;
        let mark = self.take_found(&record, raw).ok()?;
        if source != Source::Own {
            return Some(mark);
        }
        // It stands in the log already, and what recovery has read it has synced.
        self.log.put_back(kept.position(), self.now);
        Some(LogMark::NONE)
    }

    /// Writes what a part may claim of its whole: from here on the log speaks of the part. False if that is nothing.
    fn append_part_base(&mut self, part: PartitionId, whole: &Restored<Kept>) -> bool {
        let op = whole.committed;
        let runs = whole.history.iter().copied().filter(|run| run.first <= op);
        let runs: Vec<_> = runs.collect();
        let Some(view) = runs.last().map(|run| run.view) else {
            return false;
        };
        let base = Base {
            lineage: whole.lineage,
            view,
            op,
            runs,
        };
        self.append_base(part, &base)
    }
}
