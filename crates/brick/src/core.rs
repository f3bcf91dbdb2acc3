//! What a brick is besides its connections: tables, log, clock, neighbours.
//!
//! Kept apart from the connections so that a request can borrow its bytes from a connection's
//! input, write its reply to the same connection's output, and change everything here.

use crate::catch_up::CatchUps;
use crate::drops::Drops;
use crate::effect::{BatchId, Effect};
use crate::executed::Window;
use crate::forward::Outbox;
use crate::heat::Heat;
use crate::log::{Commits, Committed, KeyRef, Log, Prepared};
use crate::membership::evicts;
use crate::offline::{Offline, Shelf};
use crate::output::Gate;
use crate::parting::Partings;
use crate::random::Random;
use crate::rebuild::Rebuilds;
use crate::replica::Replicas;
use crate::requests::Requests;
use crate::resize::Shrunk;
use crate::segments::Segments;
use crate::shared::Shared;
use crate::staging::Staging;
use crate::stats::{Stats, TableStats};
use crate::view::PendingClear;
use crate::watch::Absences;
use brickyard_metadata::{Catalog, CatalogVersion, Layout, TableStatus, TopologyReplies};
use brickyard_replication::{Role, Status};
use brickyard_routing::{Location, Member, Prefix, TableMap};
use brickyard_table::{Leftovers, LocalPartition, Put, Table, Value};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{
    BrickId, Durability, Instant, Op, PartitionId, Position, TableAttributes, TableId, UnixMillis,
    View,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Operations whose memory is asked for before the first of them is applied.
const AHEAD: usize = 32;

/// One partition that this brick holds.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) id: PartitionId,
    pub(crate) local: LocalPartition,
    pub(crate) view: View,
    /// The newest op that was prepared.
    pub(crate) op: Op,
    /// Records at or below this op may be missing because the log is damaged: a key that is not
    /// known from a later op is not served (`Op(0)`: nothing is damaged).
    pub(crate) damaged: Op,
    /// While recovery is under way: where there is damage behind the last readable op, and how many
    /// records it can have held at most.
    pub(crate) unreadable: Option<(Position, u64)>,
    /// Tombstones up to here may be missing from the log (PROTOCOL rule 14).
    pub(crate) horizon: Op,
    /// A clear that has not committed.
    pub(crate) clear: Option<PendingClear>,
    /// The replicator decides when its operations commit.
    pub(crate) is_replicated: bool,
    /// What this brick may do with it, given a lease.
    pub(crate) status: Status,
    /// The highest op that is known to be committed; for replicated partitions.
    pub(crate) committed: Op,
    /// Ops up to this one that have not committed were prepared in an older view: a read waits for them
    /// (PROTOCOL rule 5).
    pub(crate) inherited: Op,
    /// The op up to which a base record in the log claims it.
    pub(crate) claimed: Op,
    /// The highest committed clear.
    pub(crate) cleared: Op,
    /// The history that its requests belong to; the first has number 1.
    pub(crate) lineage: u32,
    /// Requests with ids that it has executed; `None`: there were none.
    pub(crate) requests: Option<Box<Window>>,
    pub(crate) heat: Heat,
}

impl Partition {
    /// Whether nobody here knows yet if a prepared op commits: it came from another brick, or from an older
    /// view (PROTOCOL rule 5).
    #[inline]
    pub(crate) fn is_unsettled(&self, op: Op) -> bool {
        let is_inherited = op <= self.inherited;
        self.is_replicated && op > self.committed && (!self.is_primary() || is_inherited)
    }

    /// Whether this brick orders its operations.
    #[inline]
    pub(crate) fn is_primary(&self) -> bool {
        self.status.role == Role::Primary
    }
}

/// One table, as far as it is on this brick.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) attributes: TableAttributes,
    pub(crate) layout: Layout,
    pub(crate) standing: TableStatus,
    /// Whether it is in memory.
    pub(crate) shelf: Shelf,
    /// The last return to service that it was read for.
    pub(crate) returned: CatalogVersion,
    pub(crate) map: Arc<TableMap>,
    pub(crate) table: Table,
    /// Partitions of it were split or merged: the log has records of them.
    pub(crate) is_divided: bool,
    /// By leaf of the map; `None`: another brick's.
    pub(crate) partitions: Vec<Option<Partition>>,
    pub(crate) stats: Arc<TableStats>,
    /// `CLUSTER SLOTS` and the like, rendered for a version of the catalog.
    pub(crate) topology: Option<(CatalogVersion, TopologyReplies)>,
    /// Open once the removals that made room last have committed.
    pub(crate) evicting: Gate,
    /// The table was altered from `fsync` to `log` while batches up to this one were not synced:
    /// until they are its writes wait for the sync too, or they would commit before older ones.
    /// 0: nothing to wait for.
    pub(crate) syncing: BatchId,
    /// This brick's part of `MAXMEMORY`, in bytes.
    pub(crate) memory_max: u64,
    /// Partitions that are catching up: deletions are remembered in them, since older records of the same
    /// keys may still come.
    pub(crate) learning: Vec<LocalPartition>,
}

impl TableState {
    #[inline]
    pub(crate) fn is_logged(&self) -> bool {
        self.attributes.durability != Durability::Memory
    }

    #[inline]
    pub(crate) fn is_fsync(&self) -> bool {
        self.attributes.durability == Durability::Fsync || self.syncing.0 > 0
    }

    /// How its storage is made.
    pub(crate) fn config(&self) -> brickyard_table::Config {
        brickyard_table::Config {
            seed: self.map.hasher().seed(),
            medium: self.attributes.medium,
            evicts: evicts(&self.attributes),
        }
    }

    /// What makes an operation of the partition commit; `None` where there is nothing to wait for.
    #[inline]
    pub(crate) fn commits(&self, partition: &Partition) -> Option<Commits> {
        if partition.is_replicated {
            Some(Commits::Voted {
                partition: partition.id,
                is_logged: self.is_logged(),
                fsync: self.is_fsync(),
            })
        } else if !self.is_logged() {
            None
        } else if self.is_fsync() {
            Some(Commits::Synced)
        } else {
            Some(Commits::Appended)
        }
    }

    /// In-sync backups of the partition that has the fewest.
    pub(crate) fn backups_min(&self) -> i64 {
        let backups = self.map.groups().iter().map(|group| group.backups.len());
        backups.min().map_or(0, |it| it as i64)
    }

    /// Bytes that count against `MAXMEMORY`: live records and their index. Dead space, up to an
    /// eighth more, does not, or a table would go on evicting until it was compacted.
    #[inline]
    pub(crate) fn memory_counted(&self) -> u64 {
        const INDEX_BYTES_PER_KEY: usize = 8;
        (self.table.records_bytes() + self.table.len_total() * INDEX_BYTES_PER_KEY) as u64
    }

    #[inline]
    pub(crate) fn is_over_memory(&self) -> bool {
        self.memory_counted() > self.memory_max
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
        own.map(|partition| self.table.len(partition.local)).sum()
    }

    pub(crate) fn partition_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        let leaf = self.map.partitions().index_of(id)?;
        self.partitions.get_mut(leaf)?.as_mut()
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
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) id: BrickId,
    pub(crate) bricks: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    pub(crate) catalog: Arc<Catalog>,
    /// Slots are never reused: a connection's table index stays good after a drop.
    pub(crate) tables: Vec<Option<TableState>>,
    pub(crate) table_by_name: BTreeMap<String, usize>,
    pub(crate) table_by_id: BTreeMap<TableId, usize>,
    pub(crate) log: Log,
    pub(crate) segments: Segments,
    pub(crate) absences: Absences,
    pub(crate) requests: Requests,
    pub(crate) outbox: Outbox,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) staging: Staging,
    pub(crate) random: Random,
    /// What says that partitions are here no more, and is not in the log yet.
    pub(crate) drops: Drops,
    /// Cleared partitions and dropped tables still have memory to be won back.
    pub(crate) has_buried: bool,
    /// Of tables that were dropped.
    pub(crate) leftovers: Vec<Leftovers>,
    /// What recovery could not read, for `INFO` and for errors.
    pub(crate) damage: Vec<String>,
    /// The log refused a batch: writes that need room are refused with this text until then, so that
    /// the cleaner's batches and deletes get through between them.
    pub(crate) log_refusal: Option<(Instant, String)>,
    pub(crate) replicas: Replicas,
    pub(crate) catch_ups: CatchUps,
    /// Replicated partitions while the log is read.
    pub(crate) rebuilds: Rebuilds,
    /// Those of them that were split or merged, and of whose heirs no record was read yet; with the hashes of heirs that
    /// were dropped.
    pub(crate) open_formers: BTreeMap<PartitionId, Vec<Prefix>>,
    /// Up to which op partitions that were merged had been cleared: a clear in the log above that was cut.
    pub(crate) former_clears: BTreeMap<PartitionId, Op>,
    /// Replicated partitions of which something in the log is unreadable.
    pub(crate) torn: BTreeSet<PartitionId>,
    /// Partitions that the log has records of, and that are not this brick's any more: the last of them.
    pub(crate) passed_over: BTreeMap<PartitionId, Header>,
    /// Ids of requests that all partitions together remember.
    pub(crate) requests_known: usize,
    /// Adopted when every record that was prepared under the one before is in the log.
    pub(crate) waiting_catalog: Option<Arc<Catalog>>,
    pub(crate) partings: Partings,
    pub(crate) shrunk: Shrunk,
    pub(crate) offline: Offline,
}

impl Core {
    #[inline]
    pub(crate) fn stats(&self) -> &Stats {
        &self.shared.stats[self.id.0 as usize]
    }

    #[inline]
    pub(crate) fn member(&self) -> Member {
        Member {
            node: self.shared.identity.node,
            brick: self.id,
        }
    }

    #[inline]
    pub(crate) fn table(&self, index: usize) -> Option<&TableState> {
        self.tables.get(index)?.as_ref()
    }

    #[inline]
    pub(crate) fn table_mut(&mut self, index: usize) -> Option<&mut TableState> {
        self.tables.get_mut(index)?.as_mut()
    }

    /// Finds a key: its table's map is right for as long as the catalog is.
    #[inline]
    pub(crate) fn locate(&self, table: usize, key: &[u8]) -> Option<Location> {
        Some(self.table(table)?.map.locate(key))
    }

    /// Applies committed operations to their tables.
    pub(crate) fn apply(&mut self, committed: Committed) {
        // As requests are: first all buckets are asked for, then all records, then they are used.
        for group in committed.operations.chunks(AHEAD) {
            self.look_ahead(group, Table::prefetch_bucket);
            self.look_ahead(group, Table::prefetch_record);
            for prepared in group {
                apply_one(
                    &mut self.tables,
                    &mut self.has_buried,
                    prepared,
                    &committed.bytes,
                    committed.position,
                );
            }
        }
        self.log.recycle(committed);
    }

    /// What is void may name a place in the table that is no more.
    #[inline]
    fn look_ahead(
        &self,
        group: &[Prepared],
        prefetch: impl Fn(&Table, LocalPartition, brickyard_table::KeyHash),
    ) {
        if group.len() > 1 {
            for KeyRef {
                table,
                partition,
                hash,
            } in group.iter().filter(|it| !it.is_void).map(|it| it.key)
            {
                if let Some(state) = self.table(table as usize) {
                    prefetch(&state.table, partition, hash);
                }
            }
        }
    }

    /// The log refused operations: their numbers are free again, since nothing after them was
    /// accepted either (a gap would be read as something missing, PROTOCOL rule 15).
    pub(crate) fn rewind(&mut self, refused: &[Prepared]) {
        let mut lowest: BTreeMap<(u32, LocalPartition), Op> = BTreeMap::new();
        for prepared in refused {
            assert!(prepared.op > Op(0), "ops are numbered from 1: {prepared:?}");
            let key = (prepared.key.table, prepared.key.partition);
            let op = lowest.entry(key).or_insert(prepared.op);
            *op = (*op).min(prepared.op);
        }
        for ((table, local), op) in lowest {
            let Some(Some(state)) = self.tables.get_mut(table as usize) else {
                continue;
            };
            let partition = state
                .partitions
                .iter_mut()
                .flatten()
                .find(|it| it.local == local);
            if let Some(partition) = partition {
                partition.op = partition.op.min(Op(op.0 - 1));
                partition.cut_requests(&mut self.requests_known, op);
            }
        }
    }

    /// Prepares an operation on a whole partition (a clear) and applies it once it is in the log.
    pub(crate) fn header(&self, table: usize, leaf: usize, kind: Kind, op: Op) -> Option<Header> {
        let state = self.table(table)?;
        let partition = state.partitions.get(leaf)?.as_ref()?;
        Some(Header {
            kind,
            flags: 0,
            table: state.id,
            partition: partition.id,
            view: partition.view,
            op,
            expires_at: None,
            request: None,
            origin: None,
            committed: partition.is_replicated.then_some(partition.committed),
        })
    }

    /// Whether a newer catalog waits to be adopted: nothing is prepared under the old one any more.
    #[inline]
    pub(crate) fn is_adopting(&self) -> bool {
        self.waiting_catalog.is_some()
    }

    /// Whether no write waits for anything.
    pub(crate) fn is_settled(&self) -> bool {
        self.log.is_idle() && self.requests.values.is_idle()
    }

    /// The batch that is being built, for tests and statistics.
    pub(crate) fn building(&self) -> BatchId {
        self.log.building_id()
    }
}

/// Applies a committed operation to its table.
#[inline]
pub(crate) fn apply_one(
    tables: &mut [Option<TableState>],
    has_buried: &mut bool,
    prepared: &Prepared,
    bytes: &[u8],
    batch: Position,
) {
    let KeyRef {
        table,
        partition,
        hash,
    } = prepared.key;
    if prepared.is_void {
        return;
    }
    // A table that was dropped while the write was on its way took the write with it.
    let Some(Some(state)) = tables.get_mut(table as usize) else {
        return;
    };
    let position = if batch == Position::NONE {
        batch
    } else {
        Position {
            segment: batch.segment,
            offset: batch.offset + prepared.record_at,
        }
    };
    if prepared.kind == Kind::Batch {
        // A request that changed nothing.
        return;
    }
    assert!(prepared.op > Op(0), "ops are numbered from 1: {prepared:?}");
    let key_at = prepared.key_at as usize;
    let key = &bytes[key_at..key_at + usize::from(prepared.key_len)];
    match prepared.kind {
        Kind::Put => {
            let value_at = prepared.value_at as usize;
            let value = &bytes[value_at..value_at + prepared.value_len as usize];
            let put = Put {
                value: Value::Hot(value),
                expires_at: prepared.expires_at,
                op: prepared.op,
                position,
                is_raw: prepared.raw,
            };
            let applied = state.table.put(partition, hash, key, &put);
            // Admission refused every put that would not fit before it was prepared.
            assert!(
                applied.is_ok(),
                "committed put of {} bytes: {applied:?}",
                value.len()
            );
        }
        Kind::Clear => {
            state.table.clear(partition, prepared.op);
            *has_buried = true;
            let cleared = state
                .partitions
                .iter_mut()
                .flatten()
                .find(|it| it.local == partition);
            if let Some(cleared) = cleared {
                cleared.note_cleared(prepared.op);
                if cleared.clear.is_some_and(|clear| clear.op == prepared.op) {
                    cleared.clear = None;
                    // What the log had lost of it is gone as well.
                    cleared.damaged = Op(0);
                }
            }
        }
        _ if state.learning.contains(&partition) => {
            let tombstone = state
                .table
                .put_tombstone(partition, hash, key, prepared.op, position);
            assert!(tombstone.is_ok(), "a tombstone fits: {tombstone:?}");
        }
        _ => {
            state.table.remove(partition, hash, key, prepared.op);
        }
    }
    state.stats.writes.add(1);
}
