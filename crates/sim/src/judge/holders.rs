//! In-sync replicas hold every committed record, and maps never name one in sync that lacks any.

use super::commits::News;
use crate::cluster::Cluster;
use brickyard_metadata::Catalog;
use brickyard_routing::{Group, Seat};
use brickyard_types::{Op, PartitionId};

/// A primary has committed: whoever is in sync in its view has the record.
pub(super) fn judge_commit(cluster: &mut Cluster, news: &News) {
    if !news.is_primary {
        return;
    }
    let Some(catalog) = cluster.judges.latest.clone() else {
        return;
    };
    let Some(group) = group_of(&catalog, news.partition) else {
        return;
    };
    if group.view != news.view || group.generation != news.generation {
        return;
    }
    for seat in group.in_sync() {
        if let Some(last) = lacks(
            cluster,
            seat,
            news.partition,
            news.generation,
            news.committed,
        ) {
            cluster.object(format!(
                "{} commits op {} of partition {} in view {}, of which {seat}, who is in sync, lacks something: \
                 {last}",
                news.by, news.committed, news.partition, news.view
            ));
        }
    }
}

/// A view takes effect: everybody who is in sync in it has everything that was committed before.
pub(super) fn judge_views(cluster: &mut Cluster, former: &Catalog, catalog: &Catalog) {
    for table in catalog.tables() {
        for (partition, group) in table.partitions() {
            let before = group_of(former, partition);
            if before.is_some_and(|it| it.view == group.view) {
                continue;
            }
            let committed = cluster.judges.commits.partitions.get(&partition);
            let Some(&(generation, committed)) = committed.filter(|it| it.0 == group.generation)
            else {
                continue;
            };
            for seat in group.in_sync() {
                if let Some(last) = lacks(cluster, seat, partition, generation, committed) {
                    cluster.object(format!(
                        "view {} of partition {partition} names {seat} in sync, who lacks something: op \
                         {committed} is committed, and {last}",
                        group.view
                    ));
                }
            }
        }
    }
}

/// What a seat holds, if it lives and that is too little.
fn lacks(
    cluster: &Cluster,
    seat: Seat,
    partition: PartitionId,
    generation: u32,
    committed: Op,
) -> Option<String> {
    let standing = cluster.machines.standing_of(seat, partition)?;
    let is_short =
        standing.generation == generation && standing.last.1.max(standing.committed) < committed;
    is_short.then(|| format!("{standing:?}"))
}

fn group_of(catalog: &Catalog, partition: PartitionId) -> Option<&Group> {
    let mut all = catalog.tables().flat_map(|table| table.partitions());
    all.find(|(id, _)| *id == partition).map(|(_, group)| group)
}
