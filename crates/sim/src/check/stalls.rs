//! Where nothing goes wrong no request waits long: not either when one node after the other is told to stop, as long as a
//! majority of those who vote stays.

use crate::clock::{MILLISECOND, SECOND};
use crate::cluster::Cluster;
use crate::world::World;
use brickyard_history::Outcome;

/// A lease lasts longer: nobody may have waited for one to run out.
const LONGEST: u64 = 1_000 * MILLISECOND;

/// By then the cluster and its tables are there.
const BEGIN: u64 = 4 * SECOND;

pub(super) fn check(world: &mut World) {
    if !world.plan.is_orderly() || world.cluster.checkers.was_outvoted {
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

/// A node is told to stop. Without a majority of those who vote nobody has a lease before long, whatever it hands over.
pub(crate) fn note_stop(cluster: &mut Cluster, node: usize) {
    let process = cluster.machines[node].process.as_ref();
    let Some((member, process)) = process.and_then(|it| Some((it.member()?, it))) else {
        return;
    };
    let voters = member.show(&process.control.common).voters;
    let others = cluster.machines.iter().filter_map(|it| it.process.as_ref());
    let others = others.filter(|it| !it.control.is_draining());
    let others = others.filter_map(|it| Some(it.member()?.me()));
    let stay = others.filter(|it| *it != member.me() && voters.contains(it));
    cluster.checkers.was_outvoted |= stay.count() <= voters.len() / 2;
}
