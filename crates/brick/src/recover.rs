//! From the log to the tables, at start.
//!
//! In:  what the log holds, in log order ([`Recovered`]), and what of it is unreadable
//!      ([`Damage`]). Out: tables as they were, and partitions that know what they may lack.
//!
//! Invariants:
//! - Of each key the record with the highest op counts, wherever in the log it stands: the cleaner
//!   moves records to later segments.
//! - Nothing is cut here: a torn tail was cut by the store, where nothing valid follows it.
//! - A partition whose log has damage serves only keys that it knows from later ops.

use crate::brick::Brick;
use crate::core::Core;
use crate::effect::{BatchId, Damage, HintItem, Recovered};
use crate::offline::Shelf;
use brickyard_table::{KeyHash, Put, Value};
use brickyard_types::record::{self, HEADER_BYTES, Header, Kind, Record, flag};
use brickyard_types::{Medium, Op, PartitionId, Position, SegmentId};

/// Something of a log that is put back into a table.
struct Item<'a> {
    table: usize,
    leaf: usize,
    header: Header,
    key: &'a [u8],
    value: Value<'a>,
    position: Position,
}

impl Brick {
    /// Whether the partition's values live in memory, so that recovery must read them.
    #[must_use]
    pub fn needs_values(&self, partition: PartitionId) -> bool {
        let former = self.core.catalog.former(partition);
        let mut held = self.core.tables.iter().flatten();
        let holder = held.find(|state| {
            state.map.partitions().index_of(partition).is_some()
                || former.is_some_and(|former| former.table == state.id)
        });
        holder.is_some_and(|state| {
            state.attributes.medium == Medium::Ram && state.shelf != Shelf::Away
        })
    }

    /// Puts back what the log holds; in log order, before any connection.
    pub fn recover(&mut self, recovered: Recovered<'_>) {
        if self.core.stays_away(&recovered) {
            return;
        }
        let Some(recovered) = self.core.recover_replica(recovered) else {
            return;
        };
        match recovered {
            Recovered::Hint {
                header,
                outcome,
                items,
                position,
            } => self.core.recover_hint(&header, outcome, items, position),
            Recovered::Record { record, position } => self.core.recover_record(&record, position),
        }
    }

    /// Where records are of which more than a hint is needed: they may have to be sent to other replicas. Each is
    /// to be handed in ([`Self::recover_tail`]) before recovery is done; what cannot be read is not claimed.
    pub fn tails_wanted(&mut self) -> Vec<Position> {
        self.core.tails_wanted()
    }

    /// A record that was wanted.
    pub fn recover_tail(&mut self, position: Position, record: &Record<'_>) {
        self.core.take_tail(position, record);
    }

    /// Takes note that a part of the log is unreadable.
    pub fn on_damage(&mut self, damage: Damage) {
        let now = self.core.unix;
        let records_max = damage.len / HEADER_BYTES as u64 + 1;
        // What a partition had that was split or merged is missing in its heirs.
        let concerned = damage.partitions.iter().flat_map(|(id, op)| {
            let heirs = self.core.heirs(*id).into_iter();
            heirs.map(move |heir| (heir, *op))
        });
        let concerned: Vec<(PartitionId, Option<Op>)> = concerned.collect();
        for (id, op) in &concerned {
            if self.core.is_replicated(*id) {
                // It claims nothing (PROTOCOL rule 15), whatever stands behind: others have what is missing.
                self.core.torn.insert(*id);
                continue;
            }
            for state in self.core.tables.iter_mut().flatten() {
                let Some(partition) = state.partition_mut(*id) else {
                    continue;
                };
                partition.doubt_requests(now);
                match op {
                    Some(op) => {
                        partition.damaged = partition.damaged.max(*op);
                        partition.op = partition.op.max(*op);
                    }
                    None => {
                        let (_, earlier) = partition.unreadable.unwrap_or_default();
                        partition.unreadable = Some((damage.position, earlier + records_max));
                    }
                }
            }
        }
        self.core.segments.mark_damaged(damage.position.segment);
        self.core.damage.push(damage.text);
    }

    /// Recovery is done: the log's sealed segments with their lengths, and the one that is written to.
    pub fn finish_recovery(&mut self, sealed: &[(SegmentId, u64)], active: SegmentId) {
        for (segment, bytes) in sealed {
            self.core.segments.seal(*segment, *bytes);
        }
        self.core.segments.open(active);
        self.core.keep_segments();
        self.core.finish_rebuilds();
        self.core.apply_former_clears();
        for state in self.core.tables.iter_mut().flatten() {
            state.table.purge_tombstones();
            for partition in state.partitions.iter_mut().flatten() {
                partition.end_unreadable();
            }
        }
        self.core.take_seat(self.incarnation);
        crate::upkeep::publish(&self.core, &self.clients);
    }
}

impl Core {
    /// Whether a record is of a table that is not to be in memory: its segment stays.
    fn stays_away(&mut self, recovered: &Recovered<'_>) -> bool {
        let (table, position) = match recovered {
            Recovered::Record { record, position } => (record.header.table, position),
            Recovered::Hint {
                header, position, ..
            } => (header.table, position),
        };
        let index = self.table_by_id.get(&table);
        let state = index.and_then(|index| self.table(*index));
        let is_away = state.is_some_and(|state| state.shelf == Shelf::Away);
        if is_away {
            self.note_away(table, position.segment);
            return true;
        }
        false
    }

    /// Puts a whole record back.
    pub(crate) fn recover_record(&mut self, record: &Record<'_>, position: Position) {
        self.segments.reach(position, record.len);
        self.note_record(record, BatchId(0));
        if record.value.is_empty() && record.header.kind == Kind::Batch {
            return self.recover_op(&record.header);
        }
        if record.header.kind != Kind::Batch {
            let value = Value::Hot(record.value);
            return self.recover_item(record.header, record.key, value, position);
        }
        for entry in record::entries(record.value) {
            let Ok(entry) = entry else { return };
            let header = Header {
                kind: entry.kind,
                flags: (record.header.flags & flag::MOVED) | entry.flags,
                expires_at: entry.expires_at,
                ..record.header
            };
            self.recover_item(header, entry.key, Value::Hot(entry.value), position);
        }
    }

    /// Puts back what a hint file knows of a record.
    pub(crate) fn recover_hint(
        &mut self,
        header: &Header,
        outcome: Option<&[u8]>,
        items: &[HintItem<'_>],
        position: Position,
    ) {
        if let Some(id) = header.request {
            self.note_id(header, id, outcome, BatchId(0));
        }
        if items.is_empty() {
            self.recover_op(header);
        }
        for item in items {
            let header = Header {
                kind: item.kind,
                flags: item.flags,
                expires_at: item.expires_at,
                ..*header
            };
            let value = Value::Cold {
                len: item.value_len as usize,
            };
            self.recover_item(header, item.key, value, position);
        }
    }

    /// Takes note of an op that changed nothing.
    fn recover_op(&mut self, header: &Header) {
        self.for_heirs(header.partition, |partition| {
            partition.op = partition.op.max(header.op);
        });
    }

    pub(crate) fn recover_item(
        &mut self,
        header: Header,
        key: &[u8],
        value: Value<'_>,
        position: Position,
    ) {
        // A table that is not in the catalog was dropped.
        let Some(&table) = self.table_by_id.get(&header.table) else {
            return;
        };
        let mut owners = if matches!(header.kind, Kind::Put | Kind::Delete) {
            let owner = self.heir(header.table, header.partition, key);
            owner.into_iter().collect()
        } else {
            self.heirs(header.partition)
        };
        if header.kind == Kind::Clear {
            let before = owners.len();
            owners.retain(|owner| !self.is_wider(*owner, header.partition));
            if owners.len() < before {
                // Keys of others are none of its business: what it removes is seen to at the end.
                let cleared = self.former_clears.entry(header.partition).or_default();
                *cleared = (*cleared).max(header.op);
                self.recover_op(&header);
            }
        }
        for owner in owners {
            let leaf = self
                .table(table)
                .and_then(|it| it.map.partitions().index_of(owner));
            let Some(leaf) = leaf else { continue };
            self.put_back(&Item {
                table,
                leaf,
                header,
                key,
                value,
                position,
            });
        }
    }

    fn put_back(&mut self, item: &Item<'_>) {
        let Item {
            table,
            leaf,
            header,
            key,
            value,
            position,
        } = *item;
        let Some(state) = self.table_mut(table) else {
            return;
        };
        let Some(Some(partition)) = state.partitions.get_mut(leaf) else {
            return;
        };
        if header.flags & flag::MOVED == 0
            && let Some((damage, _)) = partition.unreadable
            && damage < position
        {
            // The first op behind the damage says which ones it can have held.
            partition.damaged = partition.damaged.max(Op(header.op.0.saturating_sub(1)));
            partition.unreadable = None;
        }
        partition.op = partition.op.max(header.op);
        let local = partition.local;
        let hash = KeyHash(state.map.hasher().key_hash(key));
        let applied = match header.kind {
            Kind::Put => {
                // Values of a `disk` table come back as they are asked for.
                let value = match state.attributes.medium {
                    Medium::Disk => Value::Cold { len: value.len() },
                    Medium::Ram => value,
                };
                let put = Put {
                    value,
                    expires_at: header.expires_at,
                    op: header.op,
                    position,
                    is_raw: header.flags & flag::RAW != 0,
                };
                state.table.put(local, hash, key, &put).map(|_| ())
            }
            Kind::Delete => state
                .table
                .put_tombstone(local, hash, key, header.op, position)
                .map(|_| ()),
            Kind::Clear => {
                state.table.clear(local, header.op);
                partition.note_cleared(header.op);
                if header.op > partition.damaged && partition.unreadable.is_none() {
                    // What the log has lost of it would be gone as well.
                    partition.damaged = Op(0);
                }
                Ok(())
            }
            Kind::Horizon => {
                partition.horizon = partition.horizon.max(header.op);
                Ok(())
            }
            // What these say is for the replicator.
            Kind::ViewStart | Kind::Cut | Kind::Base | Kind::Drop => Ok(()),
            Kind::Batch => unreachable!("taken apart before"),
        };
        if let Err(full) = applied {
            // The table is as large as when the log was written, so this is a smaller machine.
            let text = format!(
                "table '{}' does not fit into this machine's memory: {full}",
                state.name
            );
            if self.damage.last() != Some(&text) {
                self.damage.push(text.clone());
                self.effects.push_back(crate::effect::Effect::Stop(text));
            }
        }
    }

    /// Wins back some of the memory of cleared partitions and dropped tables; whether there is more of it is
    /// then in `has_buried`. Of cleared ones writes do that by themselves, but a full table takes none.
    pub(crate) fn count_out_cleared(&mut self) {
        const BYTES: usize = 1 << 20;
        const FREED_BYTES: usize = 4 << 20;
        if std::mem::take(&mut self.has_buried) {
            for state in self.tables.iter_mut().flatten() {
                self.has_buried |= state.table.compact(BYTES);
            }
            if let Some(leftovers) = self.leftovers.last_mut()
                && !leftovers.free(FREED_BYTES)
            {
                self.leftovers.pop();
            }
            self.has_buried |= !self.leftovers.is_empty();
        }
    }

    /// Lets tables that were altered from `fsync` to `log` go, once nothing of theirs waits for a sync.
    pub(crate) fn settle_durability(&mut self) {
        let synced = self.log.frontier().synced;
        for state in self.tables.iter_mut().flatten() {
            if state.syncing <= synced {
                state.syncing = BatchId(0);
            }
        }
    }

    /// A table that lost its keys one by one has memory to give back as well.
    pub(crate) fn find_leftovers(&mut self) {
        let mut states = self.tables.iter().flatten();
        self.has_buried |= states.any(|state| state.table.has_leftovers());
    }

    /// Counts out what clears have removed.
    pub(crate) fn settle_clears(&mut self) {
        for state in self.tables.iter_mut().flatten() {
            while state.table.poll_replaced().is_some() {}
        }
    }
}
