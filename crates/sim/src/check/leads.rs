//! Who leads the control plane is not what holds it up: what others have stored and act by, it has before long, or leads no more.

use crate::clock::{MILLISECOND, SECOND};
use crate::cluster::Cluster;
use brickyard_node::ClusterMember;

/// The most that a leader takes to give up: eight times its patience of ten ticks, where it gave up several times before, and a hand-over.
const TICKS_MAX: u32 = 8 * 10 + 10;

/// Some time has passed for a node.
pub(crate) fn check_lead(cluster: &mut Cluster, node: usize) {
    let life = cluster.machines[node].life;
    let process = cluster.machines[node].process.as_ref();
    let member = process.and_then(|it| it.member());
    let own = member.filter(|it| it.is_leading());
    let own = own.and_then(ClusterMember::catalog);
    let latest = cluster.checkers.latest.as_ref();
    let is_held_up = match (own, latest) {
        (Some(own), Some(latest)) => own.version() < latest.version(),
        _ => false,
    };
    if !is_held_up {
        cluster.checkers.held_up.remove(&node);
        return;
    }
    let now = cluster.now();
    let (since, of) = *cluster.checkers.held_up.entry(node).or_insert((now, life));
    // Whoever stood still has not had that time.
    let since = since.max(cluster.machines[node].paused_until);
    if of != life {
        cluster.checkers.held_up.insert(node, (now, life));
        return;
    }
    let tick = cluster.ground.shape.control.lease / crate::cluster::TICKS_A_LEASE;
    let most = u64::try_from((tick * TICKS_MAX).as_nanos()).unwrap_or(u64::MAX);
    if now.saturating_sub(since) > most + SECOND / 2 {
        cluster.object(format!(
                "node {node} leads the control plane, and has lacked what others decided by for {} ms: its disk holds up \
                 everything",
                (now - since) / MILLISECOND
            ));
    }
}
