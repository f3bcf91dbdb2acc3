//! Those who look on and object: a file an invariant.
//!
//! In:  the world, after each turn of a brick, at each new catalog, and at the end. Out: violations
//! ([`Ground::object`](crate::ground::Ground)).
//!
//! A new checker is a file, and a line where it is asked: [`Cluster::check_turn`], [`Cluster::check_catalog`] or
//! [`World::check_end`].

mod adopted;
mod bounds;
mod commits;
mod contents;
mod expiry;
mod followed;
mod holders;
mod leads;
mod leases;
mod linearizable;
pub(crate) mod memory;
mod moved;
mod placed;
mod primaries;
mod quiesced;
mod scans;
mod stalls;
mod stopped;
mod stored;
mod waits;
mod wanted;
mod watches;

use crate::clock::{MILLISECOND, SECOND};
use crate::cluster::Cluster;
use crate::what::What;
use crate::world::World;
use brickyard_brick::PartitionStatus;
use brickyard_metadata::Catalog;
use brickyard_routing::Replica;
use brickyard_types::BrickId;
use memory::Seen;
use std::sync::Arc;

pub(crate) use leads::check_lead;
pub(crate) use stalls::note_stop;
pub(crate) use waits::check_wait;

/// How long after the last fault everything must be served and as it is wanted.
const WHOLE_WITHIN: u64 = 60 * SECOND;

/// After the last answer and the last change of the catalog, once every brick acts by that and an operator whose order was
/// of unknown outcome has said again what is to be, nothing is asked for so long, and nothing may be left in memory. What is planned may have come about after everything was taken to be whole: of a table
/// of which a disk has rotted nobody knows what can be copied, and so nobody waits for that.
const QUIET: u64 = 3 * SECOND;

impl Cluster {
    /// A brick's turn is over.
    pub(crate) fn check_turn(&mut self, node: usize, brick: usize) {
        let Some(process) = &self.machines[node].process else {
            return;
        };
        let (Some(side), Some(incarnation)) = (
            process.bricks.get(brick),
            process
                .member()
                .and_then(brickyard_node::ClusterMember::incarnation),
        ) else {
            return;
        };
        let Some(me) = process.member().map(brickyard_node::ClusterMember::me) else {
            return;
        };
        let replica = Replica {
            member: brickyard_routing::Member {
                node: me,
                brick: BrickId(brick as u32),
            },
            incarnation,
        };
        // Most turns commit nothing.
        let now: Vec<Seen> = side.inspect().statuses().map(Seen::of).collect();
        if now != side.seen {
            let changed = side.inspect().statuses().zip(&now);
            let changed = changed.filter(|(_, it)| !side.seen.contains(it));
            let changed: Vec<PartitionStatus> = changed.map(|(status, _)| status).collect();
            if let Some(process) = &mut self.machines[node].process
                && let Some(side) = process.bricks.get_mut(brick)
            {
                side.seen = now;
            }
            for it in changed {
                let Some(news) = commits::check(self, replica, &it) else {
                    continue;
                };
                primaries::check(self, replica, &it);
                holders::check_commit(self, &news);
                stored::check_commit(self, &news);
                contents::check_commit(self, &news);
            }
        }
        bounds::check(self, node, brick);
        placed::check(self, node, brick);
        stopped::check(self, node, brick);
    }

    /// A node has a new catalog.
    pub(crate) fn check_catalog(&mut self, node: usize, catalog: &Arc<Catalog>) {
        let version = catalog.version();
        let former = self.checkers.latest.clone();
        if former
            .as_ref()
            .is_some_and(|it| it.cluster() != catalog.cluster())
        {
            return self.object(format!("node {node} is of another cluster than others are"));
        }
        if former.as_ref().is_some_and(|it| it.version() >= version) {
            return;
        }
        self.tell_catalog(node, former.as_deref(), catalog);
        if let Some(former) = &former {
            if let Some(coverage) = self.ground.notes.coverage() {
                coverage.look_at_views(former, catalog);
            }
            leases::check(self, former, catalog);
            holders::check_views(self, former, catalog);
            stored::check_views(self, former, catalog);
        }
        self.checkers.latest = Some(Arc::clone(catalog));
        self.checkers.changed_at = self.now();
    }

    fn tell_catalog(&mut self, node: usize, former: Option<&Catalog>, catalog: &Catalog) {
        if !self.ground.notes.is_told() {
            return;
        }
        let version = catalog.version().0;
        for table in catalog.tables() {
            let before = former.and_then(|it| it.table_by_id(table.id));
            for (partition, group) in table.partitions() {
                let was = before.and_then(|it| it.map.group(partition));
                if was == Some(group) {
                    continue;
                }
                let names = |replicas: &[Replica]| {
                    let names: Vec<String> = replicas.iter().map(ToString::to_string).collect();
                    names.join(" ")
                };
                let change = group.change.as_ref().map_or_else(String::new, |change| {
                    format!(
                        "; proposed: view {} primary {} backups {} learners {}",
                        change.view,
                        change.primary,
                        names(&change.backups),
                        names(&change.learners)
                    )
                });
                let line = format!(
                    "catalog {version} (node {node} first): {} partition {partition} view {} primary {} \
                     backups {} learners {}{change}",
                    table.name,
                    group.view,
                    group.primary,
                    names(&group.backups),
                    names(&group.learners),
                );
                self.tell(|| line);
            }
        }
    }
}

impl World {
    /// Whether every partition has its wanted replicas, and they act so.
    pub(crate) fn is_whole(&self) -> bool {
        wanted::missing(self).is_none()
    }

    /// After the last fault: is everything as it should be, and in time?
    pub(crate) fn watch(&mut self) {
        let since = self.now() - self.cluster.ground.stage.calm_at;
        if self.cluster.checkers.is_sweeping {
            if self.clients.are_done() {
                // What had a time to live is gone by then, and its removal over.
                let now = self.now();
                let done_at = *self.cluster.checkers.done_at.get_or_insert(now);
                let has_settled = quiesced::check(&mut self.cluster, done_at);
                adopted::check(&mut self.cluster);
                let checkers = &self.cluster.checkers;
                let changed_at = checkers.changed_at.max(checkers.behind_at);
                let quiet_since = done_at.max(changed_at).max(self.operator.affirms_at);
                let settled_at = quiet_since + QUIET;
                if now >= settled_at && has_settled {
                    if self.clients.have_followed_until(settled_at) {
                        return self.check_end();
                    }
                    if now > settled_at + WHOLE_WITHIN {
                        let what = "who follows a table is not told that there is nothing more";
                        return self.object(what.to_owned());
                    }
                }
            }
            if self.cluster.checkers.done_at.is_none()
                && self.now() - self.cluster.checkers.whole_at > 40 * SECOND
            {
                return self.object("not everything was answered at the end".to_owned());
            }
        } else if let Some(missing) = wanted::missing(self) {
            if since > WHOLE_WITHIN {
                let replicas = self.cluster.machines.describe();
                return self.object(format!(
                    "not as it should be {} s after the last fault: {missing}\n{replicas}",
                    WHOLE_WITHIN / SECOND
                ));
            }
        } else if self.clients.are_done() {
            self.cluster.checkers.is_sweeping = true;
            self.cluster.checkers.whole_at = self.now();
            self.tell(|| "everything is whole; everybody reads everything".to_owned());
            self.clients.sweep();
            for at in 0..self.clients.len() {
                self.after(MILLISECOND, What::Client(at));
            }
        } else if since > 3 * WHOLE_WITHIN {
            return self.object("clients wait for ever".to_owned());
        }
        self.after(100 * MILLISECOND, What::Watch);
    }

    fn check_end(&mut self) {
        self.cluster.ground.stage.is_over = true;
        contents::check(&mut self.cluster);
        placed::check_end(&mut self.cluster);
        bounds::check_end(&mut self.cluster);
        expiry::check(self);
        followed::check(self);
        scans::check(self);
        stalls::check(self);
        watches::check(self);
        linearizable::check(self);
        moved::check(self);
    }

    /// Nodes at risk that everybody has made good for are so no more.
    pub(crate) fn review_risks(&mut self) {
        if !self.cluster.risks.at_risk.is_empty() && self.is_whole() {
            let machines = &self.cluster.machines;
            self.cluster
                .risks
                .at_risk
                .retain(|node, life| machines[*node].life <= *life);
        }
    }
}

#[cfg(test)]
#[path = "check_test.rs"]
mod check_test;
