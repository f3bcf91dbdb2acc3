//! In-sync replicas of a partition that have come equally far hold the same; at the end all do.

use super::commits::News;
use crate::cluster::Cluster;
use brickyard_brick::Content;
use brickyard_routing::Seat;
use brickyard_types::{Op, PartitionId, TableId};
use std::collections::BTreeMap;

/// Contents are compared once in so many times that something commits.
const EVERY: u64 = 8;

/// Something has committed somewhere: whoever is in sync and has come as far as the primary holds what it holds.
pub(super) fn judge_commit(cluster: &mut Cluster, news: &News) {
    cluster.judges.news += 1;
    if !cluster.judges.news.is_multiple_of(EVERY) {
        return;
    }
    let Some(catalog) = cluster.judges.latest.clone() else {
        return;
    };
    for table in catalog.tables() {
        let Some(group) = table.map.group(news.partition) else {
            continue;
        };
        let held = |seat: Seat| held(cluster, seat, table.id, news.partition, group.generation);
        let Some((committed, contents)) = held(group.primary) else {
            return;
        };
        let others = group.in_sync().filter(|it| *it != group.primary);
        let mut others = others.filter_map(|seat| Some((seat, held(seat)?)));
        let other = others.find(|(_, (at, other))| *at == committed && *other != contents);
        if let Some((seat, (_, other))) = other {
            let what = format!(
                "{seat} has {other:?} of partition {} at op {committed}, and {} has {contents:?}",
                news.partition, group.primary
            );
            return cluster.object(what);
        }
    }
}

/// How far a seat has come in a history of a partition, and what it holds of it.
fn held(
    cluster: &Cluster,
    seat: Seat,
    table: TableId,
    partition: PartitionId,
    generation: u32,
) -> Option<(Op, BTreeMap<Vec<u8>, Content>)> {
    let standing = cluster.machines.standing_of(seat, partition)?;
    let (node, brick) = cluster.machines.seat_of(seat)?;
    let side = cluster.machines[node].process.as_ref()?.bricks.get(brick)?;
    let is_in_sync = standing.generation == generation && standing.role.is_in_sync();
    let contents = side.inspect().contents(table, partition)?;
    is_in_sync.then_some((standing.committed, contents))
}

pub(super) fn judge(cluster: &mut Cluster) {
    let Some(catalog) = cluster.judges.latest.clone() else {
        return;
    };
    for table in catalog.tables() {
        for (partition, group) in table.partitions() {
            let mut first = None;
            for seat in group.in_sync() {
                let Some((node, brick)) = cluster.machines.seat_of(seat) else {
                    continue;
                };
                let process = cluster.machines[node].process.as_ref();
                let side = process.and_then(|it| it.bricks.get(brick));
                let contents = side.and_then(|it| it.inspect().contents(table.id, partition));
                let Some(contents) = contents else {
                    return cluster.object(format!("{seat} does not have partition {partition}"));
                };
                let found = first.get_or_insert_with(|| contents.clone());
                if *found != contents {
                    let what = format!(
                        "replicas of partition {partition} of {} differ: {} has {found:?}, and {seat} \
                         {contents:?}",
                        table.name, group.primary
                    );
                    return cluster.object(what);
                }
            }
        }
    }
}
