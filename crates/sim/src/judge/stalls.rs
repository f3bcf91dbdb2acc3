//! Where nothing goes wrong nobody waits long: not either when one node after the other is told to stop.

use crate::clock::{MILLISECOND, SECOND};
use crate::world::World;
use brickyard_history::Outcome;

/// A lease lasts longer: nobody may have waited for one to run out.
const LONGEST: u64 = 1_000 * MILLISECOND;

/// By then the cluster and its tables are there.
const BEGIN: u64 = 4 * SECOND;

pub(super) fn judge(world: &mut World) {
    if !world.plan.is_orderly() {
        return;
    }
    let mut history = world.clients.history.iter();
    let slow = history.find(|it| {
        // Who tries again waits in between.
        let tries_again = world.clients.tries_again(it.client as usize);
        let is_told = it.outcome != Outcome::Unknown && !tries_again;
        is_told && it.called >= BEGIN && it.returned - it.called > LONGEST
    });
    if let Some(slow) = slow {
        let what = format!("an answer took long, and all that happened were planned stops: {slow}");
        world.object(what);
    }
}
