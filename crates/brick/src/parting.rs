//! Taking a partition apart: its state on this brick goes to those that take its place.
//!
//! In:  a catalog that has a split under way, or done. Out: the parts, with the records, the request window, the
//!      horizon and the claim of the whole; for a partition without other replicas also the word that it may be split
//!      (of others the replicator gives it).
//!
//! Invariants (PROTOCOL rule 31):
//! - A partition is taken apart when the log has answered for all that was prepared of it, nothing is pending, and no
//!   command on it waits for a value: such commands are known by the partition's place in the table.
//! - The log is not rewritten: records of the whole belong to whichever part has their keys. What each part may claim
//!   is written once, as a base record, before anything else of the part.
//!
//! Not here: parts that are put together from the log after a restart (`rebuild`), when to split (`control`).

use crate::core::{Core, Partition, TableState};
use crate::effect::{ControlRequest, Effect};
use brickyard_metadata::{Catalog, Change, SPLIT_DEPTH_MAX};
use brickyard_replication::Status;
use brickyard_routing::TableMap;
use brickyard_types::{Instant, Medium, Op, PartitionId, View};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often the control plane is told that a partition may be split, until it answers.
const REPEAT: Duration = Duration::from_millis(300);

/// Partitions without other replicas that are to be split.
#[derive(Debug, Default)]
pub(crate) struct Partings {
    alone: BTreeSet<PartitionId>,
    asked: Option<Instant>,
    /// The catalog that waits takes something apart here.
    is_waited_for: bool,
}

impl Partings {
    /// Whether requests on the table wait: those that wait for values in the log already come to an end first, and what
    /// came later must not overtake them.
    #[inline]
    pub(crate) fn hold(&self, state: &TableState) -> bool {
        self.is_waited_for && state.attributes.medium == Medium::Disk
    }
}

impl Core {
    /// Whether the catalog that waits takes a partition apart of which something is still on its way to the log.
    pub(crate) fn is_about_to_part(&self) -> bool {
        self.partings.is_waited_for && self.parts_any(|table, it| !self.is_at_rest(table, it))
    }

    /// Takes note of whether the catalog that waits takes anything apart here.
    pub(crate) fn look_for_partings(&mut self) {
        self.partings.is_waited_for = self.parts_any(|_, _| true);
    }

    /// Whether the catalog that waits takes a partition of this brick apart that is such a one.
    fn parts_any(&self, is_such: impl Fn(usize, &Partition) -> bool) -> bool {
        let Some(catalog) = &self.waiting_catalog else {
            return false;
        };
        catalog.tables().any(|table| {
            let index = self.table_by_id.get(&table.id).copied();
            let state = index.and_then(|index| Some((index, self.table(index)?)));
            state.is_some_and(|(index, state)| {
                let map = table.map.partitions();
                let held = state.partitions.iter().flatten();
                has_other_leaves(&state.map, &table.map)
                    && held
                        .filter(|it| map.index_of(it.id).is_none())
                        .any(|it| is_such(index, it))
            })
        })
    }

    fn is_at_rest(&self, table: usize, partition: &Partition) -> bool {
        !self.log.concerns(table as u32, partition.local)
            && !self.cold.concerns(table, partition.local)
            && (!partition.is_replicated || self.replicas.replicator().is_written(partition.id))
    }

    /// A catalog was adopted: primaries of partitions that are to be split come to rest.
    pub(crate) fn note_splits(&mut self, before: &Catalog) {
        let now = Arc::clone(&self.catalog);
        // The catalog that waited may be the first that this brick hears of a split, which is over in it.
        self.partings.is_waited_for = false;
        if before.splits().len() == 0 && now.splits().len() == 0 {
            return;
        }
        self.partings = Partings::default();
        let named = before.splits().chain(now.splits());
        let named: BTreeSet<PartitionId> = named.map(|(partition, _)| partition).collect();
        for partition in named {
            let Ok((table, leaf)) = self.place_of(partition) else {
                continue;
            };
            let split = now.split_of(partition);
            let held = self
                .table(table)
                .and_then(|it| it.partitions[leaf].as_ref());
            if held.is_some_and(|held| held.is_replicated) {
                let split = split.map(|split| (split.view, split.begun_at.0));
                self.replicate(|replicator, core| replicator.set_split(core, partition, split));
            } else if split.is_some() {
                self.partings.alone.insert(partition);
            }
        }
        self.ask_lone_splits();
    }

    /// What has no other replica may be split at any time: it is taken apart when nothing of it is pending.
    pub(crate) fn ask_lone_splits(&mut self) {
        let is_early = self
            .partings
            .asked
            .is_some_and(|asked| self.now - asked < REPEAT);
        if self.partings.alone.is_empty() || is_early {
            return;
        }
        self.partings.asked = Some(self.now);
        for partition in self.partings.alone.clone() {
            let Some(split) = self.catalog.split_of(partition).copied() else {
                continue;
            };
            let place = self.place_of(partition).ok();
            let state =
                place.and_then(|(table, leaf)| self.table(table)?.partitions[leaf].as_ref());
            if state.is_some_and(|it| it.is_primary() && it.view == split.view) {
                self.tell_ready(partition, split.view, split.begun_at.0);
            }
        }
    }

    /// Asks for the split of a partition that has outgrown `partition_bytes`, if this brick leads one: the largest, one
    /// at a time, so that not everything waits at once.
    pub(crate) fn split_largest(&mut self) {
        let bytes_max = self.shared.partition_bytes;
        if bytes_max == 0 || !self.replicas.is_leased {
            return;
        }
        let states = self.tables.iter().flatten();
        let large = states.flat_map(|state| {
            let leaves = state.map.partitions().leaves().iter();
            let all = leaves.zip(state.map.groups()).zip(&state.partitions);
            all.filter_map(|((leaf, group), held)| {
                let held = held.as_ref().filter(|it| it.status.accepts_writes)?;
                let bytes = state.table.partition_bytes(held.local);
                let is_at_rest = group.change.is_none() && group.learners.is_empty();
                let may = leaf.prefix.depth() < SPLIT_DEPTH_MAX && is_at_rest;
                (may && bytes > bytes_max).then(|| (bytes, held.id, state.name.clone()))
            })
        });
        if let Some((_, partition, table)) = large.max() {
            let change = Change::SplitPartition { table, partition };
            let request = ControlRequest::Change(change);
            self.effects.push_back(Effect::Control(0, request));
        }
    }

    /// Tells the control plane that nothing of a partition is pending.
    pub(crate) fn tell_ready(&mut self, partition: PartitionId, view: View, begun_at: u64) {
        let request = ControlRequest::Split {
            partition,
            view,
            begun_at,
        };
        self.effects.push_back(Effect::Control(0, request));
    }

    /// The table has other leaves: what this brick holds of those that are gone goes to those that took their place.
    pub(crate) fn take_apart(&mut self, table: usize, map: &Arc<TableMap>, catalog: &Catalog) {
        let Some(state) = self.table(table) else {
            return;
        };
        let leaves = state
            .map
            .partitions()
            .leaves()
            .iter()
            .zip(&state.partitions);
        let gone: Vec<(usize, PartitionId, Vec<PartitionId>)> = leaves
            .enumerate()
            .filter(|(_, (leaf, held))| {
                held.is_some() && map.partitions().index_of(leaf.partition).is_none()
            })
            .map(|(at, (leaf, _))| (at, leaf.partition, parts_of(map, leaf.prefix)))
            .collect();
        let id = state.id;
        let mut parts = Vec::new();
        for (leaf, whole, ids) in gone {
            let view = catalog.former(whole).map(|former| former.view);
            self.replicate(|replicator, core| {
                replicator.split(core, id, whole, view.unwrap_or_default(), &ids);
            });
            self.replicas.unplace(whole);
            parts.extend(self.part(table, leaf, map, &ids));
        }
        let claims: Vec<PartitionId> = parts.iter().map(|part| part.id).collect();
        self.place_anew(table, map, parts);
        for part in claims {
            // One that has not caught up claims nothing.
            let is_logged = self.table(table).is_some_and(TableState::is_logged);
            if is_logged && self.is_replicated(part) {
                self.keep_claims(&BTreeSet::from([part]));
            }
        }
    }

    /// The parts of a partition, with what it had.
    fn part(
        &mut self,
        table: usize,
        leaf: usize,
        map: &Arc<TableMap>,
        ids: &[PartitionId],
    ) -> Vec<Partition> {
        let Self {
            tables,
            requests_known,
            log,
            ..
        } = self;
        let Some(state) = tables.get_mut(table).and_then(Option::as_mut) else {
            return Vec::new();
        };
        let Some(mut whole) = state.partitions.get_mut(leaf).and_then(Option::take) else {
            return Vec::new();
        };
        let locals: Vec<_> = ids.iter().map(|_| state.table.add_partition()).collect();
        let first = map
            .partitions()
            .index_of(ids.first().copied().unwrap_or_default());
        let first = first.unwrap_or_default();
        state.table.split_partition(whole.local, &locals, |key| {
            map.locate(key).leaf as usize - first
        });
        log.disown(table as u32, whole.local);
        if state.learning.contains(&whole.local) {
            state.learning.retain(|it| *it != whole.local);
            state.learning.extend(&locals);
        }
        let window = whole.requests.take();
        *requests_known -= window.as_ref().map_or(0, |it| it.len());
        let parts = ids.iter().zip(locals).map(|(&id, local)| {
            // PROTOCOL rule 19: whatever was asked of the whole was asked of each part.
            let requests = window.clone();
            *requests_known += requests.as_ref().map_or(0, |it| it.len());
            Partition {
                id,
                local,
                view: whole.view,
                op: whole.op,
                damaged: whole.damaged,
                unreadable: None,
                horizon: whole.horizon,
                clear: None,
                is_replicated: whole.is_replicated,
                status: Status::default(),
                committed: whole.committed,
                inherited: Op(0),
                claimed: Op(0),
                cleared: whole.cleared,
                lineage: whole.lineage,
                requests,
            }
        });
        parts.collect()
    }

    /// Puts what the brick holds of a table where the new map has it.
    fn place_anew(&mut self, table: usize, map: &Arc<TableMap>, parts: Vec<Partition>) {
        let Some(state) = self.table_mut(table) else {
            return;
        };
        let held = std::mem::take(&mut state.partitions).into_iter().flatten();
        let mut anew: Vec<Option<Partition>> = map.groups().iter().map(|_| None).collect();
        let mut places = Vec::new();
        for partition in held.chain(parts) {
            if let Some(leaf) = map.partitions().index_of(partition.id) {
                places.push((partition.id, leaf));
                anew[leaf] = Some(partition);
            }
        }
        state.partitions = anew;
        state.map = Arc::clone(map);
        for (partition, leaf) in places {
            self.replicas.place(partition, table, leaf);
        }
    }
}

/// Whether a table's partitions are others than before.
pub(crate) fn has_other_leaves(before: &TableMap, now: &TableMap) -> bool {
    before.partitions().leaves() != now.partitions().leaves()
}

/// The leaves that have what was under a prefix.
fn parts_of(map: &TableMap, prefix: brickyard_routing::Prefix) -> Vec<PartitionId> {
    let first = map.partitions().leaf_index(prefix.first());
    let leaves = map.partitions().leaves()[first..].iter();
    leaves
        .take_while(|leaf| prefix.contains(leaf.prefix.first()))
        .map(|leaf| leaf.partition)
        .collect()
}

#[cfg(test)]
#[path = "parting_test.rs"]
mod parting_test;
