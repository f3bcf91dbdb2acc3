//! The control plane: who leads, this node's lease, its log, who is there.

use super::page::{Distribution, Labels, Page};
use crate::clock;
use crate::cluster::view::MembershipState;
use crate::control::status::View;
use crate::disk::Timing;
use brickyard_metadata::Catalog;
use brickyard_node::MemberView;
use brickyard_routing::NodeId;

pub(super) fn control(page: &mut Page, view: &View, catalog: &Catalog) {
    let shown = view.cluster_view.borrow().clone();
    page.gauge(
        "brickyard_control_refusals",
        "Other nodes that do not take this one's connections.",
        shown.refusals.len() as f64,
    );
    log_disk(page, &shown.log_timing);
    let MembershipState::Member(member) = shown.membership else {
        return;
    };
    leader(page, &member);
    lease(page, &member);
    log(page, &member, catalog);
    nodes(page, &member, catalog);
}

fn leader(page: &mut Page, member: &MemberView) {
    let leads = member.leader == Some(member.node);
    page.gauge(
        "brickyard_control_is_leader",
        "1 on the node that leads the control plane.",
        f64::from(u8::from(leads)),
    );
    let leader = member.leader.map(|node| (node_label(node), 1.0));
    page.gauges(
        "brickyard_control_leader",
        "1, with the node that leads as far as this one knows; nothing while it knows of none.",
        leader,
    );
    page.gauge(
        "brickyard_control_term",
        "Term of the control plane: each election begins a new one.",
        member.term as f64,
    );
    page.counters(
        "brickyard_control_leader_changes_total",
        "Leaders that this process has seen begin.",
        [(Labels::new(), member.leaders_seen as f64)],
    );
    page.gauge(
        "brickyard_control_voters",
        "Nodes that vote on the catalog.",
        member.voters.len() as f64,
    );
    page.gauge(
        "brickyard_control_learners",
        "Nodes that get its log and do not vote yet.",
        member.learners.len() as f64,
    );
}

fn lease(page: &mut Page, member: &MemberView) {
    let may_act = member.incarnation.is_some() && !member.lease_left.is_zero();
    page.gauge(
        "brickyard_control_lease_held",
        "1 while all bricks of this node may act: they have a lease, or there is no other node.",
        f64::from(u8::from(may_act)),
    );
    let left = (!member.is_alone).then(|| (Labels::new(), member.lease_left.as_secs_f64()));
    page.gauges(
        "brickyard_control_lease_left_seconds",
        "For how long they may act if nothing more is heard of the leader; a node alone needs no lease.",
        left,
    );
}

fn log(page: &mut Page, member: &MemberView, catalog: &Catalog) {
    let indexes = [
        (
            "brickyard_control_log_last_index",
            "Last entry of this node's control log.",
            member.log.last,
        ),
        (
            "brickyard_control_log_committed_index",
            "Last entry that it knows to be decided.",
            member.log.committed,
        ),
        (
            "brickyard_control_log_applied_index",
            "Last entry that its catalog has.",
            member.log.applied,
        ),
        (
            "brickyard_control_catalog_version",
            "Version of its catalog.",
            catalog.version().0,
        ),
        (
            "brickyard_control_catalog_adopted_version",
            "Version that all of its bricks work by.",
            member.adopted,
        ),
    ];
    for (name, help, value) in indexes {
        page.gauge(name, help, value as f64);
    }
    let behind = member.log.behind.iter();
    page.gauges(
        "brickyard_control_log_behind_entries",
        "Entries of the control log that a node has not stored; told by the leader alone.",
        behind.map(|(node, entries)| (node_label(*node), *entries as f64)),
    );
}

fn log_disk(page: &mut Page, timing: &Timing) {
    let (sum, buckets) = timing.snapshot();
    page.histograms(
        "brickyard_control_log_store_seconds",
        "Time until entries of the control log are stored.",
        [(Labels::new(), Distribution { sum, buckets })],
    );
    page.gauge(
        "brickyard_control_log_oldest_order_seconds",
        "For how long its disk has had what it is at; 0: nothing.",
        timing.under_way(clock::now()).as_secs_f64(),
    );
}

fn nodes(page: &mut Page, member: &MemberView, catalog: &Catalog) {
    page.gauge(
        "brickyard_control_nodes",
        "Nodes of the cluster.",
        catalog.nodes().len() as f64,
    );
    page.gauge(
        "brickyard_control_nodes_connected",
        "Other nodes that this one is connected to.",
        member.connected.len() as f64,
    );
    if let Some(down) = &member.down {
        let values = catalog.nodes().map(|node| {
            let is_down = down.contains(&node.id);
            (node_label(node.id), f64::from(u8::from(is_down)))
        });
        page.gauges(
            "brickyard_control_node_down",
            "1 for nodes whose lease has run out; told by the leader alone.",
            values,
        );
    }
    page.gauge(
        "brickyard_control_splits",
        "Partitions that are being split.",
        catalog.splits().len() as f64,
    );
    page.gauge(
        "brickyard_control_merges",
        "Pairs of partitions that are being merged.",
        catalog.merges().len() as f64,
    );
}

fn node_label(node: NodeId) -> Labels {
    vec![("node", node.0.to_string())]
}
