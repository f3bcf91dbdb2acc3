//! Nobody says that it obeys a removal of which it has only heard (PROTOCOL rule 3).

use crate::world::World;

/// A brick's turn is over.
pub(super) fn judge(world: &mut World, node: usize, brick: usize) {
    let process = world.machines[node].process.as_ref();
    let Some(side) = process.and_then(|it| it.bricks.get(brick)) else {
        return;
    };
    let (stopped, _) = side.brick().acknowledged();
    let adopted = side.brick().catalog_version();
    if stopped > adopted {
        world.object(format!(
            "brick {brick} of node {node} says that it obeys catalog {stopped}, and goes by {adopted}"
        ));
    }
}
