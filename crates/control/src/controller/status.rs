//! What a node or an operator is told: how far an emptying is, and which changes make sense now.

use super::Controller;
use super::group::Case;
use crate::message::{DrainAsk, Drained};
use brickyard_metadata::{Change, Node};
use brickyard_routing::NodeId;
use brickyard_types::Instant;

impl Controller {
    /// How far a node's emptying is.
    #[must_use]
    pub fn drained(&self, now: Instant, ask: DrainAsk) -> Drained {
        let mut drained = Drained {
            incarnation: ask.incarnation,
            remaining: 0,
            sole: 0,
        };
        let is_mine = |node: NodeId| node == ask.node;
        for table in self.catalog.tables() {
            let least = usize::from(table.attributes.min_in_sync);
            // What nobody serves is nobody's to take over.
            let served = table.partitions();
            for (partition, group) in served.filter(|(it, _)| !table.is_parked(*it)) {
                // Also if that is only proposed: a view with a member that has stopped waits for its lease to run out.
                let proposed = group.change.iter().flat_map(|change| change.in_sync());
                let mut seats = group.in_sync().chain(proposed);
                let is_member = seats.any(|seat| is_mine(seat.member.node));
                let others = group.in_sync().filter(|seat| {
                    let node = seat.member.node;
                    !is_mine(node) && !self.draining.contains_key(&node) && self.is_live(*seat, now)
                });
                let others = others.count();
                let is_primary = is_mine(group.primary.member.node);
                let case = Case {
                    table,
                    partition,
                    group,
                    now,
                };
                if !is_member {
                    continue;
                }
                if others == 0 && !self.is_being_saved(&case) {
                    drained.sole += 1;
                } else if others == 0 || is_primary || others >= least {
                    // As a backup it may stay where writes need it.
                    drained.remaining += 1;
                }
            }
        }
        drained
    }

    /// A change as it should be proposed now.
    ///
    /// # Errors
    /// Why it should not be, in words: what the catalog itself cannot know.
    pub fn admit(&mut self, now: Instant, change: Change) -> Result<Change, String> {
        match change {
            Change::CreateTable(mut new) => {
                new.avoid = self.absent(now);
                Ok(Change::CreateTable(new))
            }
            Change::RemoveNode { node, force } => {
                // What it would cost is told first, whatever else has to be done before.
                let refusal = self.catalog.check_removal(node, force);
                refusal.map_err(|refusal| refusal.to_string())?;
                if self.membership.voters.contains(&node) {
                    return Err(format!(
                        "node {node} votes on the catalog; take the role `control` from it first"
                    ));
                }
                let is_up = self
                    .catalog
                    .node(node)
                    .is_some_and(|it| self.is_node_up(it, now));
                // Without force the catalog lets nobody go who holds anything.
                if is_up && force {
                    return Err(format!(
                        "node {node} is running and may serve what it has; drain it, or stop it before you force \
                         its removal"
                    ));
                }
                Ok(Change::RemoveNode { node, force })
            }
            Change::Recover(recovery) => self.recover(now, &recovery),
            Change::MergePartitions { table, partition } => {
                self.gather_asked(now, &table, partition)?;
                Ok(Change::MergePartitions { table, partition })
            }
            Change::TakeOffline { name, force: false } => {
                self.check_whole(now, &name)?;
                Ok(Change::TakeOffline { name, force: false })
            }
            change => Ok(change),
        }
    }

    /// That everybody is there who has a copy of a table: nobody makes others while it is offline.
    fn check_whole(&self, now: Instant, name: &str) -> Result<(), String> {
        let table = self.catalog.table(name).filter(|it| it.is_online());
        let groups = table.into_iter().flat_map(|it| it.map.groups());
        let mut seats = groups.flat_map(|group| group.in_sync());
        match seats.find(|seat| !self.is_live(*seat, now)) {
            Some(seat) => Err(format!(
                "table '{name}' has copies on node {}, which does not answer: no others are made while it is offline; wait \
                 until `brickyard status` shows the table whole, or say FORCE",
                seat.member.node
            )),
            None => Ok(()),
        }
    }

    /// The nodes that a new table keeps clear of: they are not there, or will not be.
    fn absent(&self, now: Instant) -> Vec<NodeId> {
        let is_absent = |node: &&Node| {
            let mut bricks = node.bricks();
            let is_there = bricks.any(|member| self.is_live(node.seat(member.brick), now));
            !is_there || self.draining.contains_key(&node.id)
        };
        let absent = self.catalog.nodes().filter(is_absent);
        absent.map(|node| node.id).collect()
    }

    /// Nodes that are not up, for whoever is asked.
    #[must_use]
    pub fn down(&self) -> Vec<NodeId> {
        self.down_since.keys().copied().collect()
    }
}

#[cfg(test)]
#[path = "status_test.rs"]
mod status_test;
