//! In-sync replicas of a partition that have come equally far hold the same; at the end all do.

use super::commits::News;
use crate::cluster::Cluster;
use brickyard_brick::Content;
use brickyard_routing::Replica;
use brickyard_types::{Op, PartitionId, TableId};
use std::collections::BTreeMap;

/// Contents are compared once in so many times that something commits.
const EVERY: u64 = 8;

/// Something has committed somewhere: whoever is in sync and has come as far as the primary holds what it holds.
pub(super) fn check_commit(cluster: &mut Cluster, news: &News) {
    cluster.checkers.news += 1;
    if !cluster.checkers.news.is_multiple_of(EVERY) {
        return;
    }
    let Some(catalog) = cluster.checkers.latest.clone() else {
        return;
    };
    for table in catalog.tables() {
        let Some(group) = table.map.group(news.partition) else {
            continue;
        };
        let held =
            |replica: Replica| held(cluster, replica, table.id, news.partition, group.generation);
        let Some((committed, contents)) = held(group.primary) else {
            return;
        };
        let others = group.in_sync().filter(|it| *it != group.primary);
        let mut others = others.filter_map(|replica| Some((replica, held(replica)?)));
        let other = others.find(|(_, (at, other))| *at == committed && *other != contents);
        if let Some((replica, (_, other))) = other {
            let what = format!(
                "{replica} has {other:?} of partition {} at op {committed}, and {} has {contents:?}",
                news.partition, group.primary
            );
            return cluster.object(what);
        }
    }
}

/// How far a replica has come in a history of a partition, and what it holds of it.
fn held(
    cluster: &Cluster,
    replica: Replica,
    table: TableId,
    partition: PartitionId,
    generation: u32,
) -> Option<(Op, BTreeMap<Vec<u8>, Content>)> {
    let status = cluster.machines.status_of(replica, partition)?;
    let (node, brick) = cluster.machines.replica_of(replica)?;
    let side = cluster.machines[node].process.as_ref()?.bricks.get(brick)?;
    let is_in_sync = status.generation == generation && status.role.is_in_sync();
    let contents = side.inspect().contents(table, partition)?;
    is_in_sync.then_some((status.committed, contents))
}

pub(super) fn check(cluster: &mut Cluster) {
    let Some(catalog) = cluster.checkers.latest.clone() else {
        return;
    };
    for table in catalog.tables() {
        for (partition, group) in table.partitions() {
            let mut first = None;
            for replica in group.in_sync() {
                let Some((node, brick)) = cluster.machines.replica_of(replica) else {
                    continue;
                };
                let process = cluster.machines[node].process.as_ref();
                let side = process.and_then(|it| it.bricks.get(brick));
                let contents = side.and_then(|it| it.inspect().contents(table.id, partition));
                let Some(contents) = contents else {
                    return cluster
                        .object(format!("{replica} does not have partition {partition}"));
                };
                let found = first.get_or_insert_with(|| contents.clone());
                if *found != contents {
                    let what = format!(
                        "replicas of partition {partition} of {} differ: {} has {found:?}, and {replica} \
                         {contents:?}",
                        table.name, group.primary
                    );
                    return cluster.object(what);
                }
            }
        }
    }
}
