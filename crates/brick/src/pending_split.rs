//! Taking a partition apart: its state on this brick goes to those that take its place.
//!
//! In:  a catalog that has a split or merge under way, or done. Out: the parts, with the records, the request window, the
//!      watermark and the log summary of the whole; for a partition without other replicas also the word that it may be split or
//!      merged (of others the replicator gives it).
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - A partition is taken apart when the log has answered for all that was prepared of it, nothing is pending, and no
//!   command on it waits for a value: such commands are known by the partition's place in the table.
//! - The log is not rewritten: records of the whole belong to whichever part has their keys. What each part may claim
//!   is written once, as a baseline record, before anything else of the part.
//!
//! Not here: putting halves together (`pending_merge`), parts that are put together from the log after a restart (`recovery`),
//! when to split or merge (`resize`).

use crate::baselines::append_first_baseline;
use crate::changes::ChangeRing;
use crate::effect::ControlRequest;
use crate::log::Log;
use crate::outside::Outside;
use crate::pending_merge::join_halves;
use crate::replica::Replication;
use crate::requests::Values;
use crate::tables::{Partition, TableState, Tables, halves_of, is_split_from};
use brickyard_metadata::{Catalog, CatalogVersion, Rest};
use brickyard_replication::Replicator;
use brickyard_routing::{Prefix, TableMap};
use brickyard_types::{Medium, Op, PartitionId, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether partitions are about to be taken apart.
#[derive(Debug, Default)]
pub(crate) struct PendingSplits {
    /// The catalog that waits takes something apart here.
    is_waited_for: bool,
}

impl PendingSplits {
    /// Whether requests on the table wait: those that wait for values in the log already come to an end first, and what
    /// came later must not overtake them.
    #[inline]
    pub(crate) fn hold(&self, state: &TableState) -> bool {
        self.is_waited_for && state.attributes.medium == Medium::Disk
    }
}

impl PendingSplits {
    /// Whether the catalog that waits takes a partition apart of which something is still on its way to the log.
    pub(crate) fn is_about_to_part(
        &self,
        tables: &Tables,
        log: &Log,
        values: &Values,
        replicator: &Replicator,
    ) -> bool {
        let is_at_rest = |table: usize, it: &Partition| {
            !log.concerns(table as u32, it.local)
                && !values.concerns(table, it.local)
                && replicator.is_written(it.id)
        };
        self.is_waited_for && parts_any(tables, |table, it| !is_at_rest(table, it))
    }

    /// Takes note of whether the catalog that waits takes anything apart here.
    pub(crate) fn look_ahead(&mut self, tables: &Tables) {
        self.is_waited_for = parts_any(tables, |_, _| true);
    }

    /// A catalog was adopted: primaries of partitions that are to be split or merged come to rest.
    pub(crate) fn note_rests(&mut self, before: &Catalog, replication: &mut Replication<'_>) {
        let now = Arc::clone(replication.tables.catalog());
        // The catalog that waited may be the first that this brick hears of a split, which is over in it.
        self.is_waited_for = false;
        let rests: BTreeMap<PartitionId, _> = now.rests().collect();
        let named = before.rests().map(|(partition, _)| partition);
        let named: BTreeSet<PartitionId> = named.chain(rests.keys().copied()).collect();
        if named.is_empty() {
            return;
        }
        for partition in named {
            if !replication.tables.is_here(partition) {
                continue;
            }
            let rest = rests.get(&partition);
            let rest = rest.map(|(view, begun_at)| (*view, begun_at.0));
            replication.replicate(|replicator| replicator.set_split(partition, rest));
        }
    }
}

/// Whether the catalog that waits takes a partition of this brick apart that is such a one.
fn parts_any(tables: &Tables, is_such: impl Fn(usize, &Partition) -> bool) -> bool {
    let Some(catalog) = tables.waiting() else {
        return false;
    };
    catalog.tables().any(|table| {
        let index = tables.index_of(table.id);
        let state = index.and_then(|index| Some((index, tables.get(index)?)));
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

/// Tells the control plane that nothing of a partition is pending behind its last record in that view.
pub(crate) fn tell_ready(
    catalog: &Catalog,
    outside: &mut Outside<'_>,
    (partition, view): (PartitionId, View),
    begun_at: u64,
    last: (View, Op),
) {
    let request = match catalog.merge_of(partition) {
        Some((_, merge)) => ControlRequest::Rest(Rest {
            table: merge.table,
            partition,
            view,
            begun_at: CatalogVersion(begun_at),
            last,
        }),
        None => ControlRequest::Split {
            partition,
            view,
            begun_at,
        },
    };
    outside.tell_control(request);
}

/// The table has other leaves: what this brick holds of those that are gone goes to those that took their place.
pub(crate) fn take_apart(
    replication: &mut Replication<'_>,
    table: usize,
    map: &Arc<TableMap>,
    catalog: &Catalog,
) {
    let Some(state) = replication.tables.get(table) else {
        return;
    };
    let fates = fates(state, map, catalog);
    let id = state.id;
    note_views(replication, &fates, catalog);
    let mut anew = Vec::new();
    for fate in fates {
        match fate {
            Fate::Merged(halves, whole) => {
                anew.extend(join_halves(replication, table, halves, whole, catalog));
            }
            Fate::Split(leaf, whole, ids) => {
                let view = catalog.parent(whole).map(|parent| parent.view);
                let view = view.unwrap_or_default();
                replication.replicate(|replicator| replicator.split(id, whole, view, &ids));
                replication.tables.unplace(whole);
                anew.extend(part(
                    replication.tables,
                    replication.log,
                    (table, leaf),
                    map,
                    &ids,
                ));
            }
            // What came after it was never here: it is copied from others.
            Fate::Left(leaf) => replication.leave(table, leaf),
        }
    }
    replication.tables.followed.end_pending();
    let baselines: Vec<PartitionId> = anew.iter().map(|part| part.id).collect();
    place_anew(replication.tables, table, map, anew);
    for part in baselines {
        assert!(
            replication.tables.is_here(part),
            "{part} takes the place of another, and has none"
        );
        // One that has not caught up claims nothing.
        let state = replication.tables.get(table);
        let is_logged = state.is_some_and(TableState::is_logged);
        if is_logged {
            append_first_baseline(replication, part);
        }
    }
}

/// What of partitions that end is pending may commit by that: then nobody else knows in which views it was prepared.
fn note_views(replication: &mut Replication<'_>, fates: &[Fate], catalog: &Catalog) {
    if !replication.tables.keep_changes() {
        return;
    }
    let ended = fates.iter().flat_map(|fate| match fate {
        Fate::Merged(_, whole) => halves_of(catalog, *whole).to_vec(),
        Fate::Split(_, whole, _) => vec![*whole],
        Fate::Left(_) => Vec::new(),
    });
    for partition in ended {
        let pending = replication.replicas.replicator().pending(partition);
        let pending = pending.map(|it| (it.op, it.view));
        replication.tables.followed.note_pending(partition, pending);
    }
}

/// The parts of a partition, with what it had.
fn part(
    tables: &mut Tables,
    log: &mut Log,
    (table, leaf): (usize, usize),
    map: &Arc<TableMap>,
    ids: &[PartitionId],
) -> Vec<Partition> {
    let Some(state) = tables.get_mut(table) else {
        return Vec::new();
    };
    let Some(mut whole) = state.partitions.get_mut(leaf).and_then(Option::take) else {
        return Vec::new();
    };
    assert!(
        whole.uncommitted.submitted.is_empty(),
        "{} is not at rest",
        whole.id
    );
    let locals: Vec<_> = ids.iter().map(|_| state.table.add_partition()).collect();
    // What belongs to none of them any more goes.
    let rest = state.table.add_partition();
    let all: Vec<_> = locals.iter().copied().chain([rest]).collect();
    state.table.split_partition(whole.local, &all, |key| {
        let owner = map.locate(key).partition;
        let at = ids.iter().position(|id| *id == owner);
        at.unwrap_or(ids.len())
    });
    state.table.drop_partition(rest);
    log.disown(table as u32, whole.local);
    if state.learning.contains(&whole.local) {
        state.learning.retain(|it| *it != whole.local);
        state.learning.extend(&locals);
    }
    let last = whole.committed;
    let kept = state.freeze_changes(&mut whole, last);
    let window = whole.requests.take();
    let count = window.as_ref().map_or(0, |it| it.len());
    let parts = ids.iter().zip(locals).map(|(&id, local)| {
        // Rule `requests are executed once`: whatever was asked of the whole was asked of each part.
        let requests = window.clone();
        Partition {
            op: whole.op,
            gaps: whole.gaps,
            committed: whole.committed,
            cleared: whole.cleared,
            generation: whole.generation,
            requests,
            changes: kept
                .as_ref()
                .and_then(|kept| ChangeRing::of_part(kept, prefix_in(map, id)?)),
            ..Partition::new(id, local, whole.status.view)
        }
    });
    let parts = parts.collect();
    tables.recount_requests(count, count * ids.len());
    tables.note_removed();
    parts
}

fn prefix_in(map: &TableMap, partition: PartitionId) -> Option<Prefix> {
    let at = map.partitions().index_of(partition)?;
    Some(map.partitions().leaves()[at].prefix)
}

/// Puts what the brick holds of a table where the new map has it.
fn place_anew(tables: &mut Tables, table: usize, map: &Arc<TableMap>, parts: Vec<Partition>) {
    let Some(state) = tables.get_mut(table) else {
        return;
    };
    let held = std::mem::take(&mut state.partitions).into_iter().flatten();
    let mut anew: Vec<Option<Partition>> = map.groups().iter().map(|_| None).collect();
    let mut places = Vec::new();
    for partition in held.chain(parts) {
        if let Some(leaf) = map.partitions().index_of(partition.id) {
            places.push((partition.id, leaf));
            assert!(anew[leaf].is_none(), "leaf {leaf} has two partitions");
            anew[leaf] = Some(partition);
        }
    }
    state.partitions = anew;
    state.map = Arc::clone(map);
    for (partition, leaf) in places {
        tables.place(partition, table, leaf);
    }
}

/// Whether a table's partitions are others than before.
pub(crate) fn has_other_leaves(before: &TableMap, now: &TableMap) -> bool {
    before.partitions().leaves() != now.partitions().leaves()
}

/// What becomes of a partition that is in the map no more.
enum Fate {
    /// The leaf's partition was split, into these.
    Split(usize, PartitionId, Vec<PartitionId>),
    /// The leaves' partitions were merged.
    Merged([usize; 2], PartitionId),
    /// More has happened since than this brick had a part in.
    Left(usize),
}

/// What becomes of the partitions that this brick holds and the new map has no more.
fn fates(state: &TableState, map: &TableMap, catalog: &Catalog) -> Vec<Fate> {
    let leaves = state.map.partitions().leaves().iter();
    let held: BTreeMap<PartitionId, (usize, Prefix)> = leaves
        .zip(&state.partitions)
        .enumerate()
        .filter(|(_, (leaf, held))| {
            held.is_some() && map.partitions().index_of(leaf.partition).is_none()
        })
        .map(|(at, (leaf, _))| (leaf.partition, (at, leaf.prefix)))
        .collect();
    let mut fates = Vec::new();
    for (&partition, &(at, prefix)) in &held {
        let next = map.partitions().leaves_over(prefix);
        let merged = catalog.merged(partition).map(|it| it.into);
        if let ([leaf], Some(whole)) = (next, merged)
            && leaf.partition == whole
        {
            let halves = halves_of(catalog, whole);
            match halves.map(|half| held.get(&half).map(|(at, _)| *at)) {
                // Said once, of the left one.
                [Some(left), Some(right)] if left == at => {
                    fates.push(Fate::Merged([left, right], whole));
                }
                [Some(_), Some(_)] => {}
                _ => fates.push(Fate::Left(at)),
            }
            continue;
        }
        let parts = next.iter().filter(|leaf| {
            is_split_from(catalog, state.id, partition, (leaf.partition, leaf.prefix))
        });
        let parts: Vec<PartitionId> = parts.map(|leaf| leaf.partition).collect();
        fates.push(if parts.is_empty() {
            Fate::Left(at)
        } else {
            Fate::Split(at, partition, parts)
        });
    }
    fates
}

#[cfg(test)]
#[path = "pending_split_test.rs"]
pub(crate) mod pending_split_test;
