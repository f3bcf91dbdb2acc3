//! In-sync replicas hold every committed record, and maps never name one in sync that lacks any.

use super::commits::News;
use crate::cluster::Cluster;
use brickyard_metadata::Catalog;
use brickyard_routing::{Group, Replica};
use brickyard_types::{Op, PartitionId};

/// A primary has committed: whoever is in sync in its view has the record.
pub(super) fn check_commit(cluster: &mut Cluster, news: &News) {
    if !news.is_primary {
        return;
    }
    let Some(catalog) = cluster.checkers.latest.clone() else {
        return;
    };
    let Some(group) = group_of(&catalog, news.partition) else {
        return;
    };
    if group.view != news.view || group.generation != news.generation {
        return;
    }
    for replica in group.in_sync() {
        if let Some(last) = lacks(
            cluster,
            replica,
            news.partition,
            news.generation,
            news.committed,
        ) {
            cluster.object(format!(
                "{} commits op {} of partition {} in view {}, of which {replica}, who is in sync, lacks something: \
                 {last}",
                news.by, news.committed, news.partition, news.view
            ));
        }
    }
}

/// A view takes effect: everybody who is in sync in it has everything that was committed before.
pub(super) fn check_views(cluster: &mut Cluster, former: &Catalog, catalog: &Catalog) {
    for table in catalog.tables() {
        for (partition, group) in table.partitions() {
            let before = group_of(former, partition);
            if before.is_some_and(|it| it.view == group.view) {
                continue;
            }
            let committed = cluster.checkers.commits.partitions.get(&partition);
            let Some(&(generation, committed)) = committed.filter(|it| it.0 == group.generation)
            else {
                continue;
            };
            for replica in group.in_sync() {
                if let Some(last) = lacks(cluster, replica, partition, generation, committed) {
                    cluster.object(format!(
                        "view {} of partition {partition} names {replica} in sync, who lacks something: op \
                         {committed} is committed, and {last}",
                        group.view
                    ));
                }
            }
        }
    }
}

/// What a replica holds, if it lives and that is too little.
fn lacks(
    cluster: &Cluster,
    replica: Replica,
    partition: PartitionId,
    generation: u32,
    committed: Op,
) -> Option<String> {
    let status = cluster.machines.status_of(replica, partition)?;
    let is_short =
        status.generation == generation && status.last.1.max(status.committed) < committed;
    is_short.then(|| format!("{status:?}"))
}

fn group_of(catalog: &Catalog, partition: PartitionId) -> Option<&Group> {
    let mut all = catalog.tables().flat_map(|table| table.partitions());
    all.find(|(id, _)| *id == partition).map(|(_, group)| group)
}
