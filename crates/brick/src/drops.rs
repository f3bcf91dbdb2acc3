//! Word that this brick has a partition no more, until it is in the log.
//!
//! In:  `Drop` records that are appended; what the log does with their batches. Out: the same records again, where a full
//!      disk has refused them, once there may be room.
//!
//! Without one the log has a beginning of the partition, or of the one that it was split from: should it come here again,
//! that would be claimed, though the cleaner has taken out of it what it liked (PROTOCOL rule 21).

use crate::append::BatchId;
use crate::core::Core;
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Owed {
    table: TableId,
    last: (View, Op),
    /// The batch that it is in; `None`: the log has refused that.
    batch: Option<BatchId>,
}

/// Those that are not in the log yet.
#[derive(Debug, Default)]
pub(crate) struct Drops(BTreeMap<PartitionId, Owed>);

impl Drops {
    /// The batch is in the log.
    #[inline]
    pub(crate) fn on_appended(&mut self, id: BatchId) {
        self.0
            .retain(|_, owed| owed.batch.is_none_or(|batch| batch > id));
    }

    /// The log has refused this batch, and what follows.
    pub(crate) fn on_refused(&mut self, from: BatchId) {
        for owed in self.0.values_mut() {
            owed.batch = owed.batch.filter(|batch| *batch < from);
        }
    }
}

impl Core {
    /// Durably notes that the brick holds the partition no more.
    pub(crate) fn append_drop(&mut self, table: usize, partition: &crate::tables::Partition) {
        if let Some(state) = self.table(table).filter(|state| state.is_logged()) {
            let last = (partition.view, partition.op);
            self.append_drop_of(state.id, partition.id, last);
        }
    }

    /// The same of a partition that is known from the log alone.
    pub(crate) fn append_drop_of(
        &mut self,
        table: TableId,
        partition: PartitionId,
        last: (View, Op),
    ) {
        self.segments.retained.forget(partition);
        let header = Header {
            kind: Kind::Drop,
            flags: 0,
            table,
            partition,
            view: last.0,
            op: last.1,
            expires_at: None,
            request: None,
            origin: None,
            committed: None,
        };
        self.log.append_bare(&header, b"", &[]);
        let batch = Some(self.log.building_id());
        self.moves
            .drops
            .0
            .insert(partition, Owed { table, last, batch });
    }

    /// Appends again what the log has refused.
    pub(crate) fn append_drops(&mut self) {
        if self.segments.health.refusal(self.now).is_some() {
            return;
        }
        let drops = self.moves.drops.0.iter();
        let owed: Vec<_> = drops.filter(|(_, owed)| owed.batch.is_none()).collect();
        let owed: Vec<_> = owed.into_iter().map(|(id, owed)| (*id, *owed)).collect();
        for (partition, Owed { table, last, .. }) in owed {
            // One that is here again has a log of its own by now, or a copy that is begun anew says the same.
            let is_here = self.tables.place_of(partition).is_some();
            let is_gone = self.tables.index_of(table).is_none();
            if is_here || is_gone {
                self.moves.drops.0.remove(&partition);
            } else if self.is_away(table) {
                // Who has what of it is seen when the table is in memory again.
            } else if !self.tables.heirs(partition).is_empty() {
                // It was split or merged, and some of it came here again: that must not go with it.
                self.moves.drops.0.remove(&partition);
                for (table, other, last) in self.tables.other_parts(partition) {
                    self.append_drop_of(table, other, last);
                }
            } else {
                self.append_drop_of(table, partition, last);
            }
        }
    }
}
