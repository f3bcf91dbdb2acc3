//! Changes that nodes and operators ask for: which make sense now, by what the catalog itself cannot know.

use super::Controller;
use super::liveness::LivenessView;
use brickyard_metadata::{Catalog, Change, Node, TableEdit};
use brickyard_routing::NodeId;
use brickyard_types::Instant;

impl Controller {
    /// A change as it should be proposed now.
    ///
    /// # Errors
    /// Why it should not be, in words: what the catalog itself cannot know.
    pub fn admit(&mut self, now: Instant, change: Change) -> Result<Change, String> {
        let view = self.view(now);
        let catalog = &*self.catalog;
        match change {
            Change::CreateTable(mut new) => {
                new.avoid = absent(catalog, &view);
                Ok(Change::CreateTable(new))
            }
            Change::CreateWithHistory { mut table, history } => {
                table.avoid = absent(catalog, &view);
                Ok(Change::CreateWithHistory { table, history })
            }
            Change::LeaseTable {
                table: TableEdit::Create { mut table, history },
                is_on,
            } => {
                table.avoid = absent(catalog, &view);
                let table = TableEdit::Create { table, history };
                Ok(Change::LeaseTable { table, is_on })
            }
            Change::RemoveNode { node, force } => {
                // The operator learns first what it would cost, whatever else has to be done before.
                let refusal = catalog.check_removal(node, force);
                refusal.map_err(|refusal| refusal.to_string())?;
                if self.voters.contains(node) {
                    return Err(format!(
                        "node {node} votes on the catalog; take the role `control` from it first"
                    ));
                }
                let is_up = catalog.node(node).is_some_and(|it| {
                    self.liveness
                        .is_reachable(it, now, &self.config, &self.leases)
                });
                // Without force the catalog removes no node that holds anything.
                if is_up && force {
                    return Err(format!(
                        "node {node} is running and may serve what it has; drain it, or stop it before you force \
                         its removal"
                    ));
                }
                Ok(Change::RemoveNode { node, force })
            }
            Change::Recover(order) => {
                let (lease, timer) = (self.config.lease, &mut self.timer);
                self.recovery.force(&order, catalog, &view, lease, timer)
            }
            Change::MergePartitions { table, partition } => {
                self.colocation
                    .on_asked(now, catalog, &table, partition, &mut self.timer)?;
                Ok(Change::MergePartitions { table, partition })
            }
            Change::TakeOffline { name, force: false } => {
                check_whole(catalog, &view, &name)?;
                Ok(Change::TakeOffline { name, force: false })
            }
            change => Ok(change),
        }
    }
}

/// That all are there that have a copy of a table: no others are made while it is offline.
fn check_whole(catalog: &Catalog, view: &LivenessView, name: &str) -> Result<(), String> {
    let table = catalog.table(name).filter(|it| it.is_online());
    let groups = table.into_iter().flat_map(|it| it.map.groups());
    let mut replicas = groups.flat_map(|group| group.in_sync());
    match replicas.find(|replica| !view.is_live(*replica)) {
        Some(replica) => Err(format!(
            "table '{name}' has copies on node {}, which does not answer: no others are made while it is offline; wait \
             until `brickyard status` shows the table whole, or say FORCE",
            replica.member.node
        )),
        None => Ok(()),
    }
}

/// The nodes that a new table keeps clear of: they are not there, or will not be.
fn absent(catalog: &Catalog, view: &LivenessView) -> Vec<NodeId> {
    let is_absent = |node: &&Node| !view.is_node_live(node) || view.is_draining(node.id);
    let absent = catalog.nodes().filter(is_absent);
    absent.map(|node| node.id).collect()
}

#[cfg(test)]
#[path = "admit_test.rs"]
mod admit_test;
