//! Those who look on and object: a file an invariant.
//!
//! In:  the world, after each turn of a brick, at each new catalog, and at the end. Out: objections
//! ([`World::object`]).
//!
//! A new judge is a file, and a line where it is asked: [`World::judge_turn`], [`World::judge_catalog`] or
//! [`World::judge_end`].

mod bounds;
mod commits;
mod contents;
mod expiry;
mod holders;
mod leases;
mod linearizable;
pub(crate) mod memory;
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
use crate::what::What;
use crate::world::World;
use brickyard_brick::Standing;
use brickyard_metadata::Catalog;
use brickyard_routing::Seat;
use brickyard_types::BrickId;
use memory::Seen;
use std::sync::Arc;

pub(crate) use waits::judge_wait;

/// How long after the last fault everything must be served and as it is wanted.
const WHOLE_WITHIN: u64 = 60 * SECOND;

/// After the last answer and the last change of the catalog nothing is asked for so long, and nothing may be left in
/// memory. What is planned may have come about after everything was taken to be whole: of a table of which a disk has
/// rotted nobody knows what can be copied, and so nobody waits for that.
const QUIET: u64 = 3 * SECOND;

impl World {
    /// A brick's turn is over.
    pub(crate) fn judge_turn(&mut self, node: usize, brick: usize) {
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
        let seat = Seat {
            member: brickyard_routing::Member {
                node: me,
                brick: BrickId(brick as u32),
            },
            incarnation,
        };
        // Most turns commit nothing.
        let now: Vec<Seen> = side.inspect().standings().map(Seen::of).collect();
        if now != side.seen {
            let changed = side.inspect().standings().zip(&now);
            let changed = changed.filter(|(_, it)| !side.seen.contains(it));
            let changed: Vec<Standing> = changed.map(|(standing, _)| standing).collect();
            if let Some(process) = &mut self.machines[node].process
                && let Some(side) = process.bricks.get_mut(brick)
            {
                side.seen = now;
            }
            for it in changed {
                let Some(news) = commits::judge(self, seat, &it) else {
                    continue;
                };
                primaries::judge(self, seat, &it);
                holders::judge_commit(self, &news);
                stored::judge_commit(self, &news);
                contents::judge_commit(self, &news);
            }
        }
        bounds::judge(self, node, brick);
        placed::judge(self, node, brick);
        stopped::judge(self, node, brick);
    }

    /// A node has a new catalog.
    pub(crate) fn judge_catalog(&mut self, node: usize, catalog: &Arc<Catalog>) {
        let version = catalog.version();
        let former = self.judges.latest.clone();
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
            if let Some(coverage) = &mut self.notes.coverage {
                coverage.look_at_views(former, catalog);
            }
            leases::judge(self, former, catalog);
            holders::judge_views(self, former, catalog);
            stored::judge_views(self, former, catalog);
        }
        self.judges.latest = Some(Arc::clone(catalog));
        self.judges.changed_at = self.now;
    }

    fn tell_catalog(&mut self, node: usize, former: Option<&Catalog>, catalog: &Catalog) {
        if self.notes.story.is_none() {
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
                let names = |seats: &[Seat]| {
                    let names: Vec<String> = seats.iter().map(ToString::to_string).collect();
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

    /// The process of a seat, if it lives, and its brick's number.
    pub(crate) fn seat_of(&self, seat: Seat) -> Option<(usize, usize)> {
        let node = self.machines.iter().position(|it| {
            let member = it.process.as_ref().and_then(|it| it.member());
            member.is_some_and(|member| {
                member.me() == seat.member.node && member.incarnation() == Some(seat.incarnation)
            })
        })?;
        Some((node, seat.member.brick.0 as usize))
    }

    /// How a seat stands to a partition, if its process lives and has read its log.
    fn standing_of(&self, seat: Seat, partition: brickyard_types::PartitionId) -> Option<Standing> {
        let (node, brick) = self.seat_of(seat)?;
        let side = self.machines[node].process.as_ref()?.bricks.get(brick)?;
        let mut standings = side.inspect().standings();
        standings.find(|it| it.partition == partition)
    }

    /// Whether every partition has its wanted replicas, and they act so.
    pub(crate) fn is_whole(&self) -> bool {
        wanted::missing(self).is_none()
    }

    /// After the last fault: is everything as it should be, and in time?
    pub(crate) fn watch(&mut self) {
        let since = self.now - self.stage.calm_at;
        if self.judges.is_sweeping {
            if self.clients.are_done() {
                // What had a time to live is gone by then, and its removal over.
                let done_at = *self.judges.done_at.get_or_insert(self.now);
                let has_settled = quiesced::judge(self, done_at);
                if self.now - done_at.max(self.judges.changed_at) >= QUIET && has_settled {
                    return self.judge_end();
                }
            }
            if self.judges.done_at.is_none() && self.now - self.judges.whole_at > 40 * SECOND {
                return self.object("not everything was answered at the end".to_owned());
            }
        } else if let Some(missing) = wanted::missing(self) {
            if since > WHOLE_WITHIN {
                let replicas = self.describe();
                return self.object(format!(
                    "not as it should be {} s after the last fault: {missing}\n{replicas}",
                    WHOLE_WITHIN / SECOND
                ));
            }
        } else if self.clients.are_done() {
            self.judges.is_sweeping = true;
            self.judges.whole_at = self.now;
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

    fn judge_end(&mut self) {
        self.stage.is_over = true;
        contents::judge(self);
        placed::judge_end(self);
        bounds::judge_end(self);
        expiry::judge(self);
        scans::judge(self);
        stalls::judge(self);
        watches::judge(self);
        linearizable::judge(self);
    }

    pub(crate) fn describe(&self) -> String {
        let mut out = String::new();
        for (node, machine) in self.machines.iter().enumerate() {
            let Some(process) = &machine.process else {
                out += &format!("node {node} is down\n");
                continue;
            };
            if let Some(member) = process.member() {
                out += &format!("node {node}: {:?}\n", member.show(&process.control.common));
            }
            for side in &process.bricks {
                out += &side.inspect().describe_replicas();
                out += &side.inspect().leftovers();
                out.push('\n');
            }
        }
        out
    }
}
