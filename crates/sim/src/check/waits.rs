//! Whoever asks is told something in time: by the deadline of the node, if that was not stopped meanwhile.

use crate::clock::{MILLISECOND, Nanos};
use crate::world::World;

/// Deadlines are looked at now and then, and answers take their time.
const SLACK: Nanos = 1_000 * MILLISECOND;

/// A client looks at what it waits for.
pub(crate) fn check_wait(world: &mut World, at: usize) {
    let Some((node, id, since)) = world.clients.waits(at) else {
        return;
    };
    let connection = world.cluster.network.get(id);
    let is_heard = connection
        .is_some_and(|it| it.is_open[1] && world.cluster.machines.lives(node, it.ends[1].life));
    let machine = &world.cluster.machines[node];
    // Who stood still may begin anew, and a value that the disk does not give is waited for.
    if machine.paused_until.max(machine.disks.stuck_until()) > since {
        return;
    }
    let deadline = world.cluster.ground.shape.request_deadline.as_nanos() as Nanos;
    let waited = world.now().saturating_sub(since);
    if waited > deadline + SLACK && is_heard {
        world.object(format!(
            "client {at} has waited for {} ms at node {node}, which answers within {} ms",
            waited / MILLISECOND,
            deadline / MILLISECOND
        ));
    }
}
