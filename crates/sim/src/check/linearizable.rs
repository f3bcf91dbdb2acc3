//! What clients were told could have been told by one table, one operation at a time; so nothing that was
//! acknowledged is lost either.

use crate::world::World;
use brickyard_history::Violation;

pub(super) fn check(world: &mut World) {
    match brickyard_history::check(&world.clients.history, |_| None) {
        Ok(_) => {}
        // Nobody can say; it is told, so that it is not taken for a proof.
        Err(Violation::TooEntangled { .. }) => world.count("too entangled"),
        Err(violation) => world.object(violation.to_string()),
    }
}
