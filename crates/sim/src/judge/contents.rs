//! At the end all in-sync replicas of a partition hold the same.

use crate::world::World;

pub(super) fn judge(world: &mut World) {
    let Some(catalog) = world.judges.latest.clone() else {
        return;
    };
    for table in catalog.tables() {
        for (partition, group) in table.partitions() {
            let mut first = None;
            for seat in group.in_sync() {
                let Some((node, brick)) = world.seat_of(seat) else {
                    continue;
                };
                let process = world.machines[node].process.as_ref();
                let side = process.and_then(|it| it.bricks.get(brick));
                let contents = side.and_then(|it| it.inspect().contents(table.id, partition));
                let Some(contents) = contents else {
                    return world.object(format!("{seat} does not have partition {partition}"));
                };
                let found = first.get_or_insert_with(|| contents.clone());
                if *found != contents {
                    let what = format!(
                        "replicas of partition {partition} of {} differ: {} has {found:?}, and {seat} \
                         {contents:?}",
                        table.name, group.primary
                    );
                    return world.object(what);
                }
            }
        }
    }
}
