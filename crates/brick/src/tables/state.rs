//! One table, as far as it is on this brick.
//!
//! In:  what the catalog says of it. Out: its partitions here, how their operations commit, and whether it may be used.

use super::partition::Partition;
use super::room::{Room, evicts, memory_max};
use crate::append::BatchId;
use crate::key_stats::KeyStats;
use crate::log::{KeyRef, Prepared, Votes};
use crate::stats::TableStats;
use brickyard_metadata::{CatalogVersion, Layout, TableStatus, TopologyReplies};
use brickyard_routing::graph::RoutingTables;
use brickyard_routing::{MapVersion, Member, TableMap};
use brickyard_table::{LocalPartition, Put, TableData, ValueRef};
use brickyard_types::record::Kind;
use brickyard_types::{
    Durability, Op, PartitionId, Position, TableAttributes, TableId, UnixMillis,
};
use std::sync::Arc;

/// Where a table's records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unloaded {
    /// In memory.
    Held,
    /// In the log alone.
    Away,
    /// In the log, and more and more of them in memory; nothing of it is joined yet.
    Reading,
}

/// Whether a table may be used, and whether it is in memory.
#[derive(Debug)]
pub(crate) struct Availability {
    /// What the catalog says.
    pub(crate) status: TableStatus,
    pub(crate) unloaded: Unloaded,
    /// The last return to service that it was read for.
    pub(crate) returned: CatalogVersion,
}

/// What is told of the map, made once a version.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    /// `CLUSTER SLOTS` and the like, rendered for a version of the catalog.
    pub(crate) topology: Option<(CatalogVersion, TopologyReplies)>,
    /// Which routing tables this brick has, at a version of the map.
    pub(crate) of_brick: Option<(MapVersion, RoutingTables)>,
    /// The same of all bricks of the node.
    pub(crate) of_node: Option<(MapVersion, RoutingTables)>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) attributes: TableAttributes,
    pub(crate) layout: Layout,
    pub(crate) availability: Availability,
    pub(crate) map: Arc<TableMap>,
    pub(crate) table: TableData,
    /// Partitions of it were split or merged: the log has records of them.
    pub(crate) is_divided: bool,
    /// By leaf of the map; `None`: another brick's.
    pub(crate) partitions: Vec<Option<Partition>>,
    pub(crate) stats: Arc<TableStats>,
    pub(crate) drawn: Drawn,
    /// The table was altered from `fsync` to `log` while batches up to this one were not synced:
    /// until they are its writes wait for the sync too, or they would commit before older ones.
    /// 0: nothing to wait for.
    pub(crate) syncing: BatchId,
    pub(crate) room: Room,
    pub(crate) key_stats: KeyStats,
    /// Partitions that are catching up: deletions are remembered in them, since older records of the same
    /// keys may still come.
    pub(crate) learning: Vec<LocalPartition>,
}

impl TableState {
    /// The number by which `SELECT` chooses the table, if it has one.
    pub(crate) fn database(&self) -> Option<u16> {
        match self.name.as_str() {
            "default" => Some(0),
            name => name.parse().ok().filter(|number| (1..16).contains(number)),
        }
    }

    #[inline]
    pub(crate) fn is_logged(&self) -> bool {
        self.attributes.durability != Durability::Memory
    }

    #[inline]
    pub(crate) fn is_fsync(&self) -> bool {
        self.attributes.durability == Durability::Fsync || self.syncing.0 > 0
    }

    /// How durable an operation must be to commit: as the attribute says, once what was promised before has been kept.
    pub(crate) fn durability(&self) -> Durability {
        match self.is_fsync() {
            true => Durability::Fsync,
            false => self.attributes.durability,
        }
    }

    /// Its storage anew, without records.
    pub(crate) fn fresh_storage(&self) -> TableData {
        let mut table = TableData::new(storage(&self.map, &self.attributes));
        table.set_memory_max(self.table.memory_max());
        table
    }

    /// Its attributes may have changed: what its storage goes by is as they say.
    pub(crate) fn bound_memory(&mut self, bricks: u32) {
        self.table.set_evicts(evicts(&self.attributes));
        self.table
            .set_memory_max(memory_max(&self.attributes, bricks));
    }

    /// What an operation of the partition commits by; `None` where there is nothing to wait for, neither a log nor another
    /// replica.
    #[inline]
    pub(crate) fn votes(&self, partition: &Partition) -> Option<Votes> {
        let is_logged = self.is_logged();
        let is_alone = partition.status.is_alone && partition.uncommitted.submitted.is_empty();
        (is_logged || !is_alone).then(|| Votes {
            partition: partition.id,
            is_logged,
            fsync: self.is_fsync(),
        })
    }

    /// In-sync backups of the partition that has the fewest.
    pub(crate) fn backups_min(&self) -> i64 {
        let backups = self.map.groups().iter().map(|group| group.backups.len());
        backups.min().map_or(0, |it| it as i64)
    }

    /// The brick that is primary for a leaf.
    #[inline]
    pub(crate) fn owner(&self, leaf: u32) -> Member {
        self.map
            .groups()
            .get(leaf as usize)
            .map(|group| group.primary.member)
            .unwrap_or_default()
    }

    /// Leaves of whose partitions this brick is the primary.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = usize> {
        self.partitions
            .iter()
            .enumerate()
            .filter(|(_, it)| it.as_ref().is_some_and(Partition::is_primary))
            .map(|(leaf, _)| leaf)
    }

    /// Keys in partitions of which this brick is the primary.
    pub(crate) fn keys(&self) -> usize {
        let own = self
            .leaves()
            .filter_map(|leaf| self.partitions[leaf].as_ref());
        own.map(|partition| self.table.len(partition.local) - self.table.leaving(partition.local))
            .sum()
    }

    pub(crate) fn partition_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        let leaf = self.map.partitions().index_of(id)?;
        self.partitions.get_mut(leaf)?.as_mut()
    }

    /// Applies a committed operation, whose bytes these are and whose record stands there. It was admitted: it fits, and its
    /// op is above all of the key's that were applied before.
    #[inline]
    pub(super) fn apply(&mut self, prepared: &Prepared, bytes: &[u8], position: Position) {
        let KeyRef {
            partition, hash, ..
        } = prepared.key;
        assert!(prepared.op > Op(0), "ops are numbered from 1: {prepared:?}");
        let key_at = prepared.key_at as usize;
        let key = &bytes[key_at..key_at + usize::from(prepared.key_len)];
        if prepared.kind == Kind::Delete {
            self.note_end_of_value((partition, hash), key, None);
        }
        match prepared.kind {
            Kind::Put => {
                let value_at = prepared.value_at as usize;
                let value = &bytes[value_at..value_at + prepared.value_len as usize];
                let after = Some((prepared.value_type, value));
                self.note_end_of_value((partition, hash), key, after);
                let put = Put {
                    value: ValueRef::Hot(value),
                    expires_at: prepared.expires_at,
                    op: prepared.op,
                    position,
                    value_type: prepared.value_type,
                };
                let applied = self.table.put(partition, hash, key, &put);
                // Admission refused every put that would not fit before it was prepared.
                assert!(
                    applied.is_ok(),
                    "committed put of {} bytes: {applied:?}",
                    value.len()
                );
            }
            Kind::Clear => {
                self.table.clear(partition, prepared.op);
                let cleared = self
                    .partitions
                    .iter_mut()
                    .flatten()
                    .find(|it| it.local == partition);
                if let Some(cleared) = cleared {
                    cleared.note_cleared(prepared.op);
                    if cleared.clear.is_some_and(|clear| clear.op == prepared.op) {
                        cleared.clear = None;
                        // What the log had lost of it is gone as well.
                        cleared.gaps.clear(prepared.op);
                    }
                }
            }
            _ if self.learning.contains(&partition) => {
                let tombstone =
                    self.table
                        .put_tombstone(partition, hash, key, prepared.op, position);
                assert!(tombstone.is_ok(), "a tombstone fits: {tombstone:?}");
            }
            _ => {
                self.table.remove(partition, hash, key, prepared.op);
            }
        }
        self.stats.writes.add(1);
    }

    /// Copies the figures that anybody may read.
    pub(crate) fn publish(&self, now: UnixMillis) {
        self.stats.keys.set(self.keys() as u64);
        self.stats
            .expires
            .set(self.table.expires_count_total() as u64);
        self.stats.ttl_mean_ms.set(self.table.average_ttl_ms(now));
        self.stats.memory.set(self.table.memory_used() as u64);
    }

    #[inline]
    pub(crate) const fn is_offline(&self) -> bool {
        matches!(self.availability.status, TableStatus::Offline)
    }

    /// Whether nobody may serve the partition in the view in effect.
    pub(crate) fn is_suspended(&self, partition: PartitionId) -> bool {
        match &self.availability.status {
            TableStatus::Online => false,
            TableStatus::Offline => true,
            TableStatus::Returning { suspended, .. } => suspended.contains_key(&partition),
        }
    }

    /// Which return to service is under way; 0: none.
    pub(crate) const fn return_since(&self) -> CatalogVersion {
        match &self.availability.status {
            TableStatus::Returning { since, .. } => *since,
            TableStatus::Online | TableStatus::Offline => CatalogVersion(0),
        }
    }
}

/// How a table's storage is made.
pub(crate) fn storage(
    map: &TableMap,
    attributes: &TableAttributes,
) -> brickyard_table::TableConfig {
    brickyard_table::TableConfig {
        seed: map.hasher().seed(),
        medium: attributes.medium,
        evicts: evicts(attributes),
    }
}
