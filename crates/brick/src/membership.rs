//! What this brick is to each partition: adopting a newer catalog.
//!
//! In:  catalogs, in order. Out: tables and partitions made, changed and dropped; the replicator told of every
//!      group that names this brick; each partition's [`Status`].
//!
//! Invariants:
//! - A catalog is adopted when every record that was prepared under the one before is in the log: a view
//!   begins behind all records of the view before it.
//! - Only the control plane's catalog makes this brick a member of anything (rule
//!   `acknowledged views are remembered`).

use crate::append::BatchId;
use crate::groups::{names, of_nobody, take_in};
use crate::key_stats::KeyStats;
use crate::offline::Offline;
use crate::outside::Outside;
use crate::pending_split::{PendingSplits, has_other_leaves, take_apart};
use crate::replica::Replication;
use crate::stats::TableStats;
use crate::tables::{Availability, Drawn, Room, TableState, Unloaded, memory_max, storage};
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, TableMap};
use brickyard_table::TableData;
use brickyard_types::{Durability, Incarnation, PartitionId, TableId};
use std::sync::Arc;

/// What of a brick a newer catalog changes.
///
/// It borrows for the time of one event.
pub(crate) struct Adoption<'a> {
    pub(crate) replication: Replication<'a>,
    pub(crate) offline: &'a mut Offline,
    pub(crate) pending_splits: &'a mut PendingSplits,
    pub(crate) outside: Outside<'a>,
    /// How many bricks the node has.
    pub(crate) bricks: u32,
}

impl Adoption<'_> {
    /// Takes over a newer catalog: tables made, altered and dropped, partitions gained and lost.
    pub(crate) fn adopt(&mut self, catalog: Arc<Catalog>) {
        let dropped: Vec<TableId> = self
            .replication
            .tables
            .ids()
            .filter(|id| !catalog.tables().any(|table| table.id == *id))
            .collect();
        for id in dropped {
            self.drop_table(id);
        }
        for table in catalog.tables() {
            match self.replication.tables.index_of(table.id) {
                None => self.add_table(table, &catalog),
                Some(index) => self.alter_table(index, table, &catalog),
            }
        }
        let version = catalog.version().0;
        let (here, wanted) = (self.replication.tables.ids(), catalog.tables());
        assert_eq!(here.count(), wanted.count(), "tables of {version}");
        let Self {
            replication,
            pending_splits,
            outside,
            ..
        } = self;
        replication.tables.look_for_histories();
        let before = replication.tables.replace_catalog(catalog);
        assert!(
            before.version().0 <= version,
            "version {version} of the catalog is adopted after {}",
            before.version()
        );
        pending_splits.note_rests(&before, replication);
        // What the log says of partitions that were dropped, split, merged or moved away is dead.
        let tables = &*replication.tables;
        let retained = &mut replication.segments.retained;
        retained.retain(|partition| tables.is_here(partition));
        replication.end_adoption(version, outside.now);
    }

    fn alter_table(&mut self, index: usize, table: &TableEntry, catalog: &Catalog) {
        let bricks = self.bricks;
        let building = self.replication.log.building_id();
        let Some(state) = self.replication.tables.get_mut(index) else {
            return;
        };
        assert_eq!(state.id, table.id, "the table that is altered");
        if state.is_fsync() && table.attributes.durability == Durability::Log {
            state.syncing = building;
        }
        let is_taken_apart = has_other_leaves(&state.map, &table.map);
        state.is_divided |= is_taken_apart;
        let is_same = !is_taken_apart
            && state.map.groups() == table.map.groups()
            && state.attributes.durability == table.attributes.durability
            && state.attributes.min_in_sync == table.attributes.min_in_sync
            && state.availability.status == table.status;
        state.attributes = table.attributes.clone();
        state.layout = table.layout.clone();
        state.availability.status = table.status.clone();
        state.bound_memory(bricks);
        if is_same {
            return;
        }
        let map = Arc::new(table.map.clone());
        if !self.change_state(index, table, &map, is_taken_apart) {
            return;
        }
        if is_taken_apart {
            take_apart(&mut self.replication, index, &map, catalog);
        } else if let Some(state) = self.replication.tables.get_mut(index) {
            state.map = map;
        }
        adopt_groups(&mut self.replication, index);
    }

    /// Takes a table out of memory, or has it read again, as its state says; whether it is in memory then.
    fn change_state(
        &mut self,
        index: usize,
        table: &TableEntry,
        map: &Arc<TableMap>,
        is_taken_apart: bool,
    ) -> bool {
        let since = table.return_since();
        let Some(state) = self.replication.tables.get(index) else {
            return false;
        };
        let is_new_return = since.is_some_and(|since| since != state.availability.returned);
        let is_read_in_vain = is_taken_apart && state.availability.unloaded == Unloaded::Reading;
        let must_go = table.is_offline() || is_new_return || is_read_in_vain;
        if must_go && state.availability.unloaded != Unloaded::Away {
            self.offline
                .shelve(&mut self.replication, &mut self.outside, index);
        }
        let Some(state) = self.replication.tables.get_mut(index) else {
            return false;
        };
        state.availability.returned = since.unwrap_or(state.availability.returned);
        if state.availability.unloaded == Unloaded::Held {
            return true;
        }
        if state.availability.unloaded == Unloaded::Away {
            state.partitions = map.groups().iter().map(|_| None).collect();
        }
        state.map = Arc::clone(map);
        let is_away = state.availability.unloaded == Unloaded::Away;
        if table.is_offline() {
            self.offline.end_return_of(table.id);
        } else if is_away {
            self.offline.begin_return(table.id);
        }
        false
    }

    fn add_table(&mut self, table: &TableEntry, catalog: &Catalog) {
        // At a start the log is read anyway; later it has nothing of a table that this brick has not heard of, which is
        // found out like anything else.
        let is_start = self.replication.replicas.me().incarnation == Incarnation(0);
        let unloaded = match table.is_offline() || (!table.is_online() && !is_start) {
            true => Unloaded::Away,
            false => Unloaded::Held,
        };
        let map = Arc::new(table.map.clone());
        let mut memory = TableData::new(storage(&map, &table.attributes));
        memory.set_memory_max(memory_max(&table.attributes, self.bricks));
        let stats = Arc::new(TableStats::default());
        if let Ok(mut tables) = self.outside.stats.tables.write() {
            tables.insert(table.id, Arc::clone(&stats));
        }
        let index = self.replication.tables.add(TableState {
            id: table.id,
            name: table.name.clone(),
            is_divided: is_divided(catalog, table.id),
            drawn: Drawn::default(),
            syncing: BatchId(0),
            room: Room::default(),
            key_stats: KeyStats::default(),
            learning: Vec::new(),
            attributes: table.attributes.clone(),
            layout: table.layout.clone(),
            availability: Availability {
                status: table.status.clone(),
                unloaded,
                returned: table.return_since().unwrap_or_default(),
            },
            partitions: map.groups().iter().map(|_| None).collect(),
            map,
            table: memory,
            stats,
        });
        if unloaded == Unloaded::Away && !table.is_offline() {
            self.offline.begin_return(table.id);
        }
        adopt_groups(&mut self.replication, index);
    }

    fn drop_table(&mut self, id: TableId) {
        let Some(state) = self.replication.tables.of(id) else {
            return;
        };
        let held: Vec<PartitionId> = state.partitions.iter().flatten().map(|it| it.id).collect();
        for partition in held {
            self.replication.forget(partition);
        }
        let Some(state) = self.replication.tables.remove(id) else {
            return;
        };
        self.offline.forget(id, self.replication.segments);
        if let Ok(mut tables) = self.outside.stats.tables.write() {
            tables.remove(&id);
        }
        self.replication
            .tables
            .leave_behind([state.table.into_lazy_free()]);
        // The catalog is the durable record of the drop: ids are never reused, so whatever the
        // log still holds of this table is recognised as dead (rule `forced recovery begins a generation`).
    }

    /// From now on this brick acts as its node's present life: what the catalog says of it counts.
    pub(crate) fn take_replica(&mut self, incarnation: Incarnation) {
        let replication = &mut self.replication;
        replication.register(incarnation, self.outside.now);
        for table in 0..replication.tables.len() {
            adopt_groups(replication, table);
        }
        let version = replication.tables.catalog().version().0;
        replication.end_adoption(version, self.outside.now);
    }

    /// A turn's worth of bringing tables back.
    pub(crate) fn bring_back(&mut self) {
        let Self {
            replication,
            offline,
            outside,
            ..
        } = self;
        if let Some(index) = offline.purge_on(replication.tables, replication.segments) {
            adopt_groups(replication, index);
            let version = replication.tables.catalog().version().0;
            replication.end_adoption(version, outside.now);
            let replicator = replication.replicas.replicator();
            offline.tell_returns(replication.tables, replicator, outside);
        }
        offline.begin_next_return(replication.tables, replication.log, outside);
    }
}

/// Looks at every group of a table that is in memory.
pub(crate) fn adopt_groups(replication: &mut Replication<'_>, table: usize) {
    let state = replication.tables.get(table);
    let Some(state) = state.filter(|it| it.availability.unloaded == Unloaded::Held) else {
        return;
    };
    let me = replication.replicas.me().member;
    let map = Arc::clone(&state.map);
    for (leaf, (place, group)) in map
        .partitions()
        .leaves()
        .iter()
        .zip(map.groups())
        .enumerate()
    {
        let id = place.partition;
        let state = replication.tables.get(table);
        let is_mine = names(group, me);
        if !is_mine {
            replication.leave(table, leaf);
        } else if state.is_some_and(|it| it.is_suspended(id)) {
            park(replication, (table, leaf), id, group);
        } else {
            join(replication, (table, leaf), id, group);
        }
        assert_eq!(replication.tables.is_here(id), is_mine, "{id}: {group:?}");
    }
}

/// A partition that nobody serves in the view in effect.
fn park(
    replication: &mut Replication<'_>,
    (table, leaf): (usize, usize),
    id: PartitionId,
    group: &Group,
) {
    take_in(replication.tables, (table, leaf), id, group);
    if replication.replicas.me().incarnation == Incarnation(0) {
        // The log is being read.
        return;
    }
    replication.adopt(table, id, &of_nobody(group));
}

/// Until the log was read this brick is nobody, and joins only to know what the records are about.
fn join(
    replication: &mut Replication<'_>,
    (table, leaf): (usize, usize),
    id: PartitionId,
    group: &Group,
) {
    take_in(replication.tables, (table, leaf), id, group);
    if replication.replicas.me().incarnation > Incarnation(0) {
        replication.adopt(table, id, group);
    }
}

/// Whether partitions of the table were split or merged.
fn is_divided(catalog: &Catalog, table: TableId) -> bool {
    catalog.parents().any(|(_, parent)| parent.table == table)
}
