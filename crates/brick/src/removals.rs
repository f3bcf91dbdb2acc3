//! Word that this brick has a partition no more, until it is in the log.
//!
//! In:  `Drop` records that are appended; what the log does with their batches. Out: the same records again, where a full
//!      disk has refused them, once there may be room.
//!
//! Without one the log has a beginning of the partition, or of the one that it was split from: should it come here again,
//! that would be claimed, though the cleaner has taken out of it what it liked (rule
//! `forced recovery begins a generation`).

use crate::append::BatchId;
use crate::log::Log;
use crate::retained::Retained;
use crate::tables::{Tables, Unloaded};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct PendingRemoval {
    table: TableId,
    last: (View, Op),
    /// The batch that it is in; `None`: the log has refused that.
    batch: Option<BatchId>,
}

/// Those that are not in the log yet.
#[derive(Debug, Default)]
pub(crate) struct Removals(BTreeMap<PartitionId, PendingRemoval>);

impl Removals {
    /// The batch is in the log.
    #[inline]
    pub(crate) fn on_appended(&mut self, id: BatchId) {
        self.0
            .retain(|_, pending| pending.batch.is_none_or(|batch| batch > id));
    }

    /// The log has refused this batch, and what follows.
    pub(crate) fn on_refused(&mut self, from: BatchId) {
        for pending in self.0.values_mut() {
            pending.batch = pending.batch.filter(|batch| *batch < from);
        }
    }

    /// Appends that the brick holds a partition no more, of which this was the last record.
    pub(crate) fn append(
        &mut self,
        log: &mut Log,
        retained: &mut Retained,
        table: TableId,
        partition: PartitionId,
        last: (View, Op),
    ) {
        retained.forget(partition);
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
        log.append_bare(&header, b"", &[]);
        let batch = Some(log.building_id());
        self.0
            .insert(partition, PendingRemoval { table, last, batch });
    }

    /// Appends again what the log has refused, now that it takes writes.
    pub(crate) fn append_again(&mut self, tables: &Tables, log: &mut Log, retained: &mut Retained) {
        let pending = self.0.iter().filter(|(_, pending)| pending.batch.is_none());
        let pending: Vec<_> = pending.map(|(id, pending)| (*id, *pending)).collect();
        for (partition, PendingRemoval { table, last, .. }) in pending {
            // One that is here again has a log of its own by now, or a copy that is begun anew says the same.
            let is_here = tables.place_of(partition).is_some();
            let state = tables.of(table);
            if is_here || state.is_none() {
                self.0.remove(&partition);
            } else if state.is_some_and(|it| it.availability.unloaded != Unloaded::Held) {
                // Who has what of it is seen when the table is in memory again.
            } else if !tables.children(partition).is_empty() {
                // It was split or merged, and some of it came here again: that must not go with it.
                self.0.remove(&partition);
                for (table, other, last) in tables.other_parts(partition) {
                    self.append(log, retained, table, other, last);
                }
            } else {
                self.append(log, retained, table, partition, last);
            }
        }
    }
}
