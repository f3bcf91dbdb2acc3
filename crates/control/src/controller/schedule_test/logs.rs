//! What is on the nodes' disks, as far as views make a difference: which write of each partition was acknowledged last,
//! and who has it.
//!
//! A write reaches everybody in sync at once, or nobody: what happens on its way is the replication room's. What comes
//! here is who may acknowledge it, by which map, and who is made primary afterwards.

use super::{NODES, Schedule};
use crate::controller::testing::seat;
use crate::message::LogSummary;
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, Seat};
use brickyard_types::{Durability, Op, PartitionId, View};
use std::collections::{BTreeMap, BTreeSet};

/// What a disk holds of a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    lineage: u32,
    last: (View, Op),
    synced: (View, Op),
    is_complete: bool,
    /// No power cut can have taken its end.
    is_sure: bool,
    /// What the table promised when the process last looked.
    durability: Durability,
}

/// See the module.
#[derive(Default)]
pub(super) struct Logs {
    disks: [BTreeMap<PartitionId, Held>; NODES],
    acknowledged: BTreeMap<PartitionId, (u32, (View, Op))>,
    /// Learners whose promotion was asked for in a view: nothing is acknowledged without them any more.
    required: BTreeMap<PartitionId, (View, BTreeSet<Seat>)>,
    pub(super) written: usize,
    pub(super) restarts: usize,
}

fn table(catalog: &Catalog) -> &TableEntry {
    catalog.table("t").expect("it is never dropped")
}

fn group(catalog: &Catalog, partition: PartitionId) -> &Group {
    let mut all = table(catalog).partitions();
    let found = all.find(|(id, _)| *id == partition);
    found.expect("partitions are never split").1
}

impl Logs {
    fn held(&self, seat: Seat, partition: PartitionId) -> Option<&Held> {
        self.disks[seat.member.node.0 as usize].get(&partition)
    }

    /// What is on the disks of a partition, for a schedule that fails.
    pub(super) fn told(&self, partition: PartitionId) -> Vec<Option<&Held>> {
        self.disks.iter().map(|it| it.get(&partition)).collect()
    }

    /// What a node claims to hold.
    pub(super) fn claims(&self, node: usize) -> Vec<LogSummary> {
        let held = self.disks[node].iter();
        let claims = held.map(|(partition, held)| LogSummary {
            partition: *partition,
            lineage: held.lineage,
            committed: Op(0),
            last: held.last,
            is_complete: held.is_complete,
            is_tail_sure: held.is_sure,
            is_end_cut: false,
            durability: held.durability,
        });
        claims.collect()
    }

    /// A node's process is gone, and maybe its power.
    pub(super) fn stop(&mut self, node: usize, is_power_cut: bool) {
        self.restarts += 1;
        for held in self.disks[node].values_mut().filter(|_| is_power_cut) {
            held.last = held.last.min(held.synced);
            held.is_sure = false;
        }
    }

    /// A primary writes its view's first record before it fills anybody.
    pub(super) fn begin(&mut self, partition: PartitionId, group: &Group) {
        let disk = &mut self.disks[group.primary.member.node.0 as usize];
        if let Some(held) = disk.get_mut(&partition) {
            held.lineage = group.lineage;
        }
    }

    /// A learner is filled from its primary: it has everything, and is asked to be promoted.
    pub(super) fn fill(&mut self, partition: PartitionId, view: View, primary: Seat, to: Seat) {
        let held = self.held(primary, partition).copied();
        let disk = &mut self.disks[to.member.node.0 as usize];
        match held {
            Some(held) => {
                let whole = Held {
                    synced: held.last,
                    is_complete: true,
                    ..held
                };
                disk.insert(partition, whole);
            }
            // Nothing was written yet.
            None => drop(disk.remove(&partition)),
        }
        let required = self.required.entry(partition).or_default();
        if required.0 != view {
            *required = (view, BTreeSet::new());
        }
        required.1.insert(to);
    }

    /// A learner is being filled, and could not go on alone.
    pub(super) fn begin_to_fill(&mut self, partition: PartitionId, learner: Seat) {
        if let Some(held) = self.disks[learner.member.node.0 as usize].get_mut(&partition) {
            held.is_complete = false;
        }
    }

    /// A view takes effect: nothing that was acknowledged may be missing in it.
    pub(super) fn judge(&mut self, former: &Catalog, catalog: &Catalog) {
        for (partition, group) in table(catalog).partitions() {
            let was = self::group(former, partition);
            if was.view == group.view {
                continue;
            }
            self.required.remove(&partition);
            if group.lineage != was.lineage {
                self.acknowledged.remove(&partition);
            }
            let Some((_, newest)) = self.acknowledged.get(&partition).copied() else {
                continue;
            };
            let has = |seat: Seat| {
                self.held(seat, partition)
                    .is_some_and(|it| it.last >= newest)
            };
            // With nobody who has it there is nobody to blame.
            if was.in_sync().any(has) {
                // A life that is over may have lost its log's end since; it leads nothing and acknowledges nothing.
                let mut present = group.in_sync().filter(|seat| catalog.is_current(*seat));
                let missing = present.find(|seat| !has(*seat));
                assert!(
                    missing.is_none(),
                    "{missing:?} is in sync in {group:?} without {newest:?} of {partition}; before it was {was:?}: \
                     {:?}",
                    self.disks
                );
            } else if let Some(held) = self.held(group.primary, partition) {
                let left = (held.lineage, held.last);
                self.acknowledged.insert(partition, left);
            }
            for seat in group.in_sync() {
                let primary = self.held(group.primary, partition).copied();
                let disk = &mut self.disks[seat.member.node.0 as usize];
                if let (Some(held), Some(primary)) = (disk.get_mut(&partition), primary) {
                    // PROTOCOL rules 8 and 13: who is in sync has what its primary has.
                    *held = Held {
                        is_sure: true,
                        is_complete: true,
                        synced: primary.last,
                        ..primary
                    };
                }
            }
        }
    }
}

impl Schedule {
    /// The process that acts as this seat now, in this view; by its own map and clock.
    pub(super) fn acts(&self, seat: Seat, partition: PartitionId, view: View) -> bool {
        let mut processes = self.processes.iter();
        let found = processes.find(|it| {
            it.node == seat.member.node.0 as usize && it.incarnation == seat.incarnation
        });
        let Some(process) = found.filter(|it| !it.is_hung && !self.is_frozen(it.node)) else {
            return false;
        };
        let map = &self.catalogs[process.adopted];
        let own = group(map, partition);
        let is_leaving = own
            .change
            .as_ref()
            .is_some_and(|change| change.primary == seat || change.fenced.contains(&seat));
        own.view == view && !is_leaving
    }

    /// A new history is begun only where nobody serves the one there is.
    pub(super) fn check_forced(&self, former: &Catalog, catalog: &Catalog) {
        for (partition, now) in table(catalog).partitions() {
            let was = group(former, partition);
            let is_forced = |it: &Group| {
                let change = it.change.as_ref();
                change.is_some_and(|change| change.lineage > it.lineage)
            };
            if is_forced(now) && !is_forced(was) {
                let mut current = was.in_sync().filter(|it| former.is_current(*it));
                let serves = current.find(|it| self.acts(*it, partition, was.view));
                assert!(
                    serves.is_none(),
                    "{serves:?} serves {partition}, and another history is to begin: {was:?} and then {now:?}"
                );
                let leads = now.change.as_ref().map(|change| change.primary);
                let held = leads.and_then(|it| self.logs.held(it, partition));
                assert!(
                    held.is_none_or(|it| it.is_complete),
                    "{leads:?} is to begin another history of {partition} with {held:?}"
                );
            }
        }
    }

    /// Every primary tries to write, by its own map; who is in sync votes by its own.
    pub(super) fn write(&mut self) {
        for at in 0..self.processes.len() {
            let process = &self.processes[at];
            let me = seat(process.node as u32, process.incarnation.0);
            let map = std::sync::Arc::clone(&self.catalogs[process.adopted]);
            let is_leased = self.clock(process.node) < process.lease.until(0, map.version());
            let durability = table(&map).attributes.durability;
            for (partition, group) in table(&map).partitions() {
                let may = is_leased && group.primary == me && self.acts(me, partition, group.view);
                if may && self.chance.one_in(4) {
                    self.write_one(partition, group, durability);
                }
            }
        }
    }

    fn write_one(&mut self, partition: PartitionId, group: &Group, durability: Durability) {
        let me = group.primary;
        let required = self.logs.required.get(&partition);
        let required = required.filter(|it| it.0 == group.view);
        // Nobody promotes a process that is gone.
        let catalog = self.catalog();
        let learners = required.into_iter().flat_map(|it| &it.1);
        let learners = learners.copied().filter(|it| catalog.is_current(*it));
        let others: BTreeSet<Seat> = group.backups.iter().copied().chain(learners).collect();
        let are_there = others
            .iter()
            .all(|it| self.acts(*it, partition, group.view));
        let before = self.logs.held(me, partition).map_or(Op(0), |it| it.last.1);
        let last = (group.view, before.next());
        let members = [me]
            .into_iter()
            .chain(others.into_iter().filter(|_| are_there));
        for seat in members {
            let disk = &mut self.logs.disks[seat.member.node.0 as usize];
            let held = disk.entry(partition).or_insert(Held {
                lineage: group.lineage,
                last,
                synced: (View(0), Op(0)),
                is_complete: true,
                is_sure: true,
                durability,
            });
            (held.lineage, held.last, held.durability) = (group.lineage, last, durability);
            if durability == Durability::Fsync || self.chance.one_in(3) {
                held.synced = last;
            }
        }
        if are_there {
            self.logs.written += 1;
            let acknowledged = (group.lineage, last);
            self.logs.acknowledged.insert(partition, acknowledged);
        }
    }
}
