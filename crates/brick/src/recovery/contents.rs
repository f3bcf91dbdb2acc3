//! What the log holds goes back into the tables.
//!
//! In:  records that count, in log order. Out: keys, request windows, gaps and ops of the partitions that have them now.

use crate::effect::Effect;
use crate::log_health::LogHealth;
use crate::log_record::LogRecord;
use crate::outside::Outside;
use crate::replica::Replication;
use crate::tables::Tables;
use brickyard_table::{KeyHash, Put, ValueRef};
use brickyard_types::record::{Header, Kind, flag};
use brickyard_types::{Medium, Op, PartitionId, Position, TableId, UnixMillis, ValueType};
use std::collections::VecDeque;

/// What of a brick changes while the log is read.
pub(crate) struct Ground<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) now: UnixMillis,
    log_health: &'a mut LogHealth,
    effects: &'a mut VecDeque<Effect>,
}

impl<'a> Ground<'a> {
    /// For a fold of the log.
    pub(crate) fn of(replication: &'a mut Replication<'_>, outside: &'a mut Outside<'_>) -> Self {
        Self {
            tables: replication.tables,
            now: replication.unix,
            log_health: &mut replication.segments.health,
            effects: outside.effects,
        }
    }
}

impl Ground<'_> {
    /// All partitions of a table that are here: of which of them something is unreadable nobody knows, nor which ops.
    pub(crate) fn partitions_of(&self, table: TableId) -> Vec<(PartitionId, Option<Op>)> {
        let held = self.tables.of(table).map(|state| &state.partitions);
        let held = held.into_iter().flatten().flatten();
        held.map(|it| (it.id, None)).collect()
    }

    /// Puts a record back.
    pub(super) fn put_back(&mut self, found: &LogRecord<'_>) {
        let header = found.header();
        if let Some(id) = header.request {
            self.tables
                .note_request(header, id, found.outcome(), self.now);
        }
        let position = found.position();
        if found.is_empty() {
            self.tables
                .for_children(header.partition, |held| held.gaps.resume(position, header));
            return self.note_op(header);
        }
        found.for_items(|header, key, value| match header.kind {
            Kind::Put | Kind::Delete => {
                let owner = self.tables.child(header.table, header.partition, key);
                if let Some(owner) = owner {
                    self.put_back_at(owner, header, key, value, position);
                }
            }
            kind => {
                for owner in self.tables.children(header.partition) {
                    if kind == Kind::Clear && self.tables.is_wider(owner, header.partition) {
                        // Keys of others are none of its business: what it removes is seen to at the end.
                        self.tables.note_parent_clear(header.partition, header.op);
                        self.note_op(header);
                    } else {
                        self.put_back_at(owner, header, key, value, position);
                    }
                }
            }
        });
    }

    /// An op that changed nothing, or nothing that is put back now.
    fn note_op(&mut self, header: &Header) {
        self.tables.for_children(header.partition, |held| {
            held.op = held.op.max(header.op);
        });
    }

    fn put_back_at(
        &mut self,
        owner: PartitionId,
        header: &Header,
        key: &[u8],
        value: Result<&[u8], usize>,
        position: Position,
    ) {
        // A table that is not in the catalog was dropped.
        let Some((table, leaf)) = self.tables.place_of(owner) else {
            return;
        };
        let Some(state) = self.tables.get_mut(table) else {
            return;
        };
        let Some(Some(held)) = state.partitions.get_mut(leaf) else {
            return;
        };
        held.gaps.resume(position, header);
        if header.flags & flag::COPIED != 0 {
            held.gaps.note_copied(position.segment);
        }
        held.op = held.op.max(header.op);
        let hash = KeyHash(state.map.hasher().key_hash(key));
        let applied = match header.kind {
            Kind::Put => {
                let value = match (state.attributes.medium, value) {
                    // Values of a `disk` table come back as they are asked for.
                    (Medium::Disk, Ok(value)) => ValueRef::Cold { len: value.len() },
                    (Medium::Ram, Ok(value)) => ValueRef::Hot(value),
                    (_, Err(len)) => ValueRef::Cold { len },
                };
                let put = Put {
                    value,
                    expires_at: header.expires_at,
                    op: header.op,
                    position,
                    value_type: ValueType::of_flags(header.flags),
                };
                state.table.put(held.local, hash, key, &put).map(|_| ())
            }
            Kind::Delete => state
                .table
                .put_tombstone(held.local, hash, key, header.op, position)
                .map(|_| ()),
            Kind::Clear => {
                state.table.clear(held.local, header.op);
                held.note_cleared(header.op);
                held.gaps.clear(header.op);
                Ok(())
            }
            Kind::Watermark => {
                held.gaps.raise_watermark(header.op);
                Ok(())
            }
            // What these say is for the replicator.
            Kind::ViewStart | Kind::Cut | Kind::Baseline | Kind::Drop => Ok(()),
            Kind::Batch => unreachable!("taken apart before"),
        };
        if let Err(full) = applied {
            // The table is as large as when the log was written, so this is a smaller machine.
            let text = format!(
                "table '{}' does not fit into this machine's memory: {full}",
                state.name
            );
            if self.log_health.note_lack_of_room(&text) {
                self.effects.push_back(Effect::Stop(text));
            }
        }
    }
}
