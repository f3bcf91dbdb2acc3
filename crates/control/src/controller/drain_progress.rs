//! How far the drain of a node is: the answer to a node that is about to stop.

use super::case::Case;
use super::learners::is_being_saved;
use super::liveness::LivenessView;
use super::requests::Requests;
use crate::message::{DrainAsk, Drained};
use brickyard_metadata::Catalog;
use brickyard_routing::NodeId;

/// How far the drain of a node is.
pub(super) fn progress(
    ask: DrainAsk,
    catalog: &Catalog,
    view: &LivenessView,
    requests: &Requests,
) -> Drained {
    let mut drained = Drained {
        incarnation: ask.incarnation,
        remaining: 0,
        sole: 0,
    };
    let is_mine = |node: NodeId| node == ask.node;
    for table in catalog.tables() {
        let least = usize::from(table.attributes.min_in_sync);
        // No brick can take over a partition that is not served.
        let served = table.partitions();
        for (partition, group) in served.filter(|(it, _)| !table.is_suspended(*it)) {
            // Also if that is only proposed: a view with a member that has stopped waits for its lease to run out.
            let proposed = group.change.iter().flat_map(|change| change.in_sync());
            let mut replicas = group.in_sync().chain(proposed);
            if !replicas.any(|replica| is_mine(replica.member.node)) {
                continue;
            }
            let others = group.in_sync().filter(|replica| {
                let node = replica.member.node;
                !is_mine(node) && !view.is_draining(node) && view.is_live(*replica)
            });
            let others = others.count();
            let is_primary = is_mine(group.primary.member.node);
            let case = Case {
                catalog,
                view,
                table,
                partition,
                group,
            };
            if others == 0 && !is_being_saved(&case, requests) {
                drained.sole += 1;
            } else if others == 0 || is_primary || others >= least {
                // As a backup it may stay where writes need it.
                drained.remaining += 1;
            }
        }
    }
    drained
}
