//! No read outside a lease: when a view takes effect, no replica that it removes can serve any more.

use crate::cluster::Cluster;
use brickyard_brick::Role;
use brickyard_metadata::Catalog;

/// The catalog goes on from one state to another.
pub(super) fn check(cluster: &mut Cluster, former: &Catalog, catalog: &Catalog) {
    for table in catalog.tables() {
        let Some(before) = former.table_by_id(table.id) else {
            continue;
        };
        for (partition, group) in table.partitions() {
            let Some(was) = before.map.group(partition) else {
                continue;
            };
            if was.view == group.view {
                continue;
            }
            for replica in was.in_sync() {
                if group.in_sync().any(|it| it == replica) {
                    continue;
                }
                let Some((node, brick)) = cluster.machines.replica_of(replica) else {
                    continue;
                };
                let now = cluster.machines[node].clocks.now(cluster.now());
                let process = cluster.machines[node].process.as_ref();
                let Some(side) = process.and_then(|it| it.bricks.get(brick)) else {
                    continue;
                };
                let status = side
                    .inspect()
                    .statuses()
                    .find(|it| it.partition == partition);
                let serves = status.is_some_and(|it| {
                    matches!(it.role, Role::Primary | Role::Backup) && it.serves_reads
                });
                let left = side.inspect().leased_until() - now;
                if serves && !left.is_zero() {
                    cluster.object(format!(
                        "view {} of partition {partition} takes effect without {replica}, which may serve for \
                         {} ms more",
                        group.view,
                        left.as_millis()
                    ));
                }
            }
        }
    }
}
