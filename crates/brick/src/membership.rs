//! What this brick is to each partition: adopting a newer catalog.
//!
//! In:  catalogs, in order. Out: tables and partitions made, changed and dropped; the replicator told of every
//!      group that names this brick; each partition's [`Status`].
//!
//! Invariants:
//! - A catalog is adopted when every record that was prepared under the one before is in the log: a view
//!   begins behind all records of the view before it.
//! - Only the control plane's catalog makes this brick a member of anything (PROTOCOL rule 11).

use crate::append::BatchId;
use crate::core::Core;
use crate::parting::has_other_leaves;
use crate::stats::TableStats;
use crate::tables::{Availability, Partition, Room, Shelf, TableState, evicts, storage};
use brickyard_metadata::Catalog;
use brickyard_replication::{Base, Restored, Role, Status};
use brickyard_routing::{Group, Member, Seat, TableMap};
use brickyard_table::TableData;
use brickyard_types::{Durability, Incarnation, Op, PartitionId, TableId, View};
use std::sync::Arc;

impl Core {
    /// Takes over a newer catalog: tables made, altered and dropped, partitions gained and lost.
    pub(crate) fn adopt(&mut self, catalog: Arc<Catalog>) {
        let dropped: Vec<TableId> = self
            .tables
            .ids()
            .filter(|id| !catalog.tables().any(|table| table.id == *id))
            .collect();
        for id in dropped {
            self.drop_table(id);
        }
        for table in catalog.tables() {
            match self.tables.index_of(table.id) {
                None => self.add_table(table, &catalog),
                Some(index) => self.alter_table(index, table, &catalog),
            }
        }
        let version = catalog.version().0;
        let before = self.tables.replace_catalog(catalog);
        self.note_rests(&before);
        self.forget_marks();
        self.end_adoption(version);
    }

    fn alter_table(
        &mut self,
        index: usize,
        table: &brickyard_metadata::TableEntry,
        catalog: &Catalog,
    ) {
        let bricks = self.bricks();
        let building = self.log.building_id();
        let Some(state) = self.table_mut(index) else {
            return;
        };
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
        state.room.resize(&state.attributes, bricks);
        state.table.set_evicts(evicts(&state.attributes));
        if is_same {
            return;
        }
        let map = Arc::new(table.map.clone());
        if !self.see_to_standing(index, table, &map, is_taken_apart) {
            return;
        }
        if is_taken_apart {
            self.take_apart(index, &map, catalog);
        } else if let Some(state) = self.table_mut(index) {
            state.map = map;
        }
        self.adopt_groups(index);
    }

    /// Takes a table out of memory, or has it read again, as its standing says; whether it is in memory then.
    fn see_to_standing(
        &mut self,
        index: usize,
        table: &brickyard_metadata::TableEntry,
        map: &Arc<TableMap>,
        is_taken_apart: bool,
    ) -> bool {
        let since = table.return_since();
        let Some(state) = self.table(index) else {
            return false;
        };
        let is_new_return = since.is_some_and(|since| since != state.availability.returned);
        let is_read_in_vain = is_taken_apart && state.availability.shelf == Shelf::Reading;
        let must_go = table.is_offline() || is_new_return || is_read_in_vain;
        if must_go && state.availability.shelf != Shelf::Away {
            self.shelve(index);
        }
        let Some(state) = self.table_mut(index) else {
            return false;
        };
        state.availability.returned = since.unwrap_or(state.availability.returned);
        if state.availability.shelf == Shelf::Held {
            return true;
        }
        if state.availability.shelf == Shelf::Away {
            state.partitions = map.groups().iter().map(|_| None).collect();
        }
        state.map = Arc::clone(map);
        let is_away = state.availability.shelf == Shelf::Away;
        if table.is_offline() {
            self.end_return_of(table.id);
        } else if is_away {
            self.begin_return(table.id);
        }
        false
    }

    fn add_table(&mut self, table: &brickyard_metadata::TableEntry, catalog: &Catalog) {
        // At a start the log is read anyway; later it has nothing of a table that this brick has not heard of, which is
        // found out like anything else.
        let is_start = self.seat().incarnation == Incarnation(0);
        let shelf = match table.is_offline() || (!table.is_online() && !is_start) {
            true => Shelf::Away,
            false => Shelf::Held,
        };
        let map = Arc::new(table.map.clone());
        let memory = TableData::new(storage(&map, &table.attributes));
        let stats = Arc::new(TableStats::default());
        if let Ok(mut tables) = self.stats().tables.write() {
            tables.insert(table.id, Arc::clone(&stats));
        }
        let index = self.tables.add(TableState {
            id: table.id,
            name: table.name.clone(),
            is_divided: is_divided(catalog, table.id),
            topology: None,
            syncing: BatchId(0),
            room: Room::new(&table.attributes, self.bricks()),
            learning: Vec::new(),
            attributes: table.attributes.clone(),
            layout: table.layout.clone(),
            availability: Availability {
                status: table.status.clone(),
                shelf,
                returned: table.return_since().unwrap_or_default(),
            },
            partitions: map.groups().iter().map(|_| None).collect(),
            map,
            table: memory,
            stats,
        });
        if shelf == Shelf::Away && !table.is_offline() {
            self.begin_return(table.id);
        }
        self.adopt_groups(index);
    }

    fn drop_table(&mut self, id: TableId) {
        let Some(state) = self.tables.of(id) else {
            return;
        };
        let held: Vec<PartitionId> = state.partitions.iter().flatten().map(|it| it.id).collect();
        for partition in held {
            self.forget_replica(partition);
        }
        let Some(state) = self.tables.remove(id) else {
            return;
        };
        self.forget_offline(id);
        if let Ok(mut tables) = self.stats().tables.write() {
            tables.remove(&id);
        }
        self.tables.leave_behind([state.table.into_leftovers()]);
        // The catalog is the durable record of the drop: ids are never reused, so whatever the
        // log still holds of this table is recognised as dead (PROTOCOL rule 21).
    }

    /// Looks at every group of a table that is in memory.
    pub(crate) fn adopt_groups(&mut self, table: usize) {
        let state = self.table(table);
        let Some(state) = state.filter(|it| it.availability.shelf == Shelf::Held) else {
            return;
        };
        let map = Arc::clone(&state.map);
        for (leaf, (place, group)) in map
            .partitions()
            .leaves()
            .iter()
            .zip(map.groups())
            .enumerate()
        {
            let id = place.partition;
            if !self.is_named(group) {
                self.leave(table, leaf);
            } else if self.table(table).is_some_and(|it| it.is_parked(id)) {
                self.park(table, leaf, id, group);
            } else {
                self.join(table, leaf, id, group);
            }
        }
    }

    /// Whether the group, or the change under way, names this brick in any role and life.
    pub(crate) fn is_named(&self, group: &Group) -> bool {
        names(group, self.member())
    }

    /// A partition that is this brick's, be it new to it or not.
    pub(crate) fn take_in(&mut self, table: usize, leaf: usize, id: PartitionId, group: &Group) {
        let is_known = matches!(
            self.table(table).and_then(|it| it.partitions.get(leaf)),
            Some(Some(_))
        );
        let Some(state) = self.table_mut(table) else {
            return;
        };
        if !is_known {
            let local = state.table.add_partition();
            let is_replicated = state.attributes.replicas > 1 || is_shared(group);
            state.partitions[leaf] = Some(Partition::new(id, local, group.view, is_replicated));
            self.tables.place(id, table, leaf);
        }
    }

    /// Until the log was read this brick is nobody, and joins only to know what the records are about.
    fn join(&mut self, table: usize, leaf: usize, id: PartitionId, group: &Group) {
        self.take_in(table, leaf, id, group);
        let seat = self.seat();
        let Some(Some(partition)) = self
            .table_mut(table)
            .and_then(|it| it.partitions.get_mut(leaf))
        else {
            return;
        };
        if seat.incarnation == Incarnation(0) {
            return;
        }
        let becomes_replicated = !partition.is_replicated && is_shared(group);
        if becomes_replicated {
            partition.is_replicated = true;
            let restored = whole(partition.view, partition.op);
            partition.committed = partition.op;
            self.restore(id, &restored);
            self.adopt_replica(table, id, group);
            if self.table(table).is_some_and(TableState::is_logged) {
                self.claim_first(id);
            }
            return;
        }
        if partition.is_replicated {
            self.adopt_replica(table, id, group);
            return;
        }
        // The only replica: its operations commit with its own log.
        partition.view = group.view;
        let status = alone(group, seat);
        if partition.status != status {
            partition.status = status;
            self.replicas.wake();
        }
    }

    /// Whether the catalog that waits gives a partition that is alone here another replica: then all of its
    /// operations must have committed before.
    pub(crate) fn is_about_to_share(&self) -> bool {
        let Some(catalog) = self.tables.waiting() else {
            return false;
        };
        catalog.tables().any(|table| {
            let state = self.tables.of(table.id);
            state.is_some_and(|state| {
                let partitions = state.partitions.iter().zip(table.map.groups());
                let alone =
                    partitions.filter(|(it, _)| it.as_ref().is_some_and(|it| !it.is_replicated));
                alone.into_iter().any(|(_, group)| is_shared(group))
            })
        })
    }

    pub(crate) fn leave(&mut self, table: usize, leaf: usize) {
        let Some(state) = self.table_mut(table) else {
            return;
        };
        let Some(partition) = state.partitions.get_mut(leaf).and_then(Option::take) else {
            return;
        };
        state.table.drop_partition(partition.local);
        state.learning.retain(|it| *it != partition.local);
        self.tables.note_removed();
        self.log.disown(table as u32, partition.local);
        self.forget_replica(partition.id);
        self.append_drop(table, &partition);
    }
}

/// Whether partitions of the table were split or merged.
fn is_divided(catalog: &Catalog, table: TableId) -> bool {
    catalog.formers().any(|(_, former)| former.table == table)
}

/// Whether the group has, or is about to get, more members than one, or another.
fn is_shared(group: &Group) -> bool {
    let change = group.change.as_deref();
    let next = change
        .into_iter()
        .flat_map(|it| it.in_sync().chain(it.learners.iter().copied()));
    let mut members: Vec<Member> = group
        .members()
        .chain(next)
        .map(|seat| seat.member)
        .collect();
    members.sort_unstable();
    members.dedup();
    members.len() > 1
}

/// What the replicator is told of a partition whose only replica this was: all of it has committed.
fn whole(view: View, op: Op) -> Restored {
    let last = if op == Op(0) {
        (View(0), op)
    } else {
        (view, op)
    };
    Restored {
        base: Base {
            view: last.0,
            op,
            ..Base::default()
        },
        committed: op,
        last,
        ..Restored::default()
    }
}

/// Whether the group, or the change under way, names the brick in any role and life.
fn names(group: &Group, me: Member) -> bool {
    let is_me = |seat: Seat| seat.member == me;
    let change = group.change.as_deref();
    group.members().any(is_me)
        || change
            .is_some_and(|it| it.in_sync().any(is_me) || it.learners.iter().copied().any(is_me))
}

/// What the brick is to a partition of which it holds the only replica.
fn alone(group: &Group, me: Seat) -> Status {
    let is_primary = group.primary == me;
    let is_fenced = group
        .change
        .as_ref()
        .is_some_and(|change| change.fenced.contains(&me));
    let serves = is_primary && !is_fenced;
    Status {
        role: if is_primary {
            Role::Primary
        } else {
            Role::None
        },
        view: group.view,
        serves_reads: serves,
        accepts_writes: serves,
    }
}
