//! What has committed is in the logs of all who are in sync, as durably as its table asks; and a view begins where nothing of
//! an older one can be lost (rule `a primary accepts its view`).

use super::commits::News;
use crate::cluster::Cluster;
use brickyard_metadata::Catalog;
use brickyard_routing::Replica;
use brickyard_types::{Durability, Op, PartitionId, View};

/// A primary has committed.
pub(super) fn check_commit(cluster: &mut Cluster, news: &News) {
    let Some(catalog) = cluster.checkers.latest.clone().filter(|_| news.is_primary) else {
        return;
    };
    for table in catalog.tables() {
        let Some(group) = table.map.group(news.partition) else {
            continue;
        };
        if group.view != news.view || group.generation != news.generation {
            return;
        }
        for replica in group.in_sync() {
            let durability = table.attributes.durability;
            if let Some(op) = under_way(cluster, replica, news.partition, durability, |_, op| {
                op <= news.committed
            }) {
                return cluster.object(format!(
                    "{} commits op {} of partition {} in view {}, and the log of {replica}, who is in sync, does not \
                     have op {op} yet ({durability})",
                    news.by, news.committed, news.partition, news.view
                ));
            }
        }
    }
}

/// Views take effect.
pub(super) fn check_views(cluster: &mut Cluster, former: &Catalog, catalog: &Catalog) {
    for table in catalog.tables() {
        if table.attributes.durability == Durability::Memory {
            continue;
        }
        for (partition, group) in table.partitions() {
            let before = former.table_by_id(table.id);
            let before = before.and_then(|it| it.map.group(partition));
            if before.is_none_or(|it| it.view == group.view || it.generation != group.generation) {
                continue;
            }
            let is_older = |view: View, _| view < group.view;
            let older = under_way(
                cluster,
                group.primary,
                partition,
                Durability::Fsync,
                is_older,
            );
            if let Some(op) = older {
                return cluster.object(format!(
                    "view {} of partition {partition} takes effect, and {} has not synced op {op} of an older one",
                    group.view, group.primary
                ));
            }
        }
    }
}

/// A record that a replica's log does not have yet, or not so durably.
fn under_way(
    cluster: &Cluster,
    replica: Replica,
    partition: PartitionId,
    durability: Durability,
    is_it: impl Fn(View, Op) -> bool,
) -> Option<Op> {
    let (node, brick) = cluster.machines.replica_of(replica)?;
    let side = cluster.machines[node].process.as_ref()?.bricks.get(brick)?;
    side.log.under_way(partition, durability, is_it)
}
