//! Copies: which this node has, which are missing, how far others are behind, what has become of them.

use super::page::{Labels, Page, brick_label, table_label};
use crate::control::partitions::{self, State};
use crate::control::status::{Opened, View};
use crate::control::turnover::Counts;
use brickyard_brick::followers::{FollowerKey, FollowerLag};
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{NodeId, Replica};

pub(super) fn replication(page: &mut Page, view: &View, opened: &Opened, catalog: &Catalog) {
    own_copies(page, opened.shared.identity.node, catalog);
    all_partitions(page, view, catalog);
    followers(page, opened, catalog);
    turnover(page, view, catalog);
}

fn own_copies(page: &mut Page, me: NodeId, catalog: &Catalog) {
    let of_table = |table: &TableEntry| -> [(Labels, f64); 3] {
        let (mut primaries, mut backups, mut learners) = (0, 0, 0);
        for group in table.map.groups() {
            let is_here = |replica: &&Replica| replica.member.node == me;
            primaries += usize::from(group.primary.member.node == me);
            backups += group.backups.iter().filter(is_here).count();
            learners += group.learners.iter().filter(is_here).count();
        }
        let roles = [
            ("primary", primaries),
            ("backup", backups),
            ("learner", learners),
        ];
        roles.map(|(role, count)| {
            let mut labels = table_label(&table.name);
            labels.push(("role", role.to_owned()));
            (labels, count as f64)
        })
    };
    page.gauges(
        "brickyard_replication_replicas",
        "This node's copies of partitions, by what they are: primary, backup (in sync) or learner (catching up).",
        catalog.tables().flat_map(of_table),
    );
}

/// Of the whole cluster, as this node's catalog has it.
fn all_partitions(page: &mut Page, view: &View, catalog: &Catalog) {
    let states = catalog.tables().flat_map(|table| {
        State::ALL.map(|state| {
            let mut labels = table_label(&table.name);
            labels.push(("state", state.word().to_owned()));
            (labels, partitions::count(table, state) as f64)
        })
    });
    page.gauges(
        "brickyard_replication_partitions",
        "Partitions of the cluster by state, the first that applies: short (fewer copies in sync than MIN_IN_SYNC), \
         under_replicated, changing, learning, in_sync.",
        states,
    );
    let missing = catalog.tables().map(|table| {
        let missing = partitions::missing_of(table);
        (table_label(&table.name), missing as f64)
    });
    page.gauges(
        "brickyard_replication_copies_missing",
        "Copies of the cluster that should be in sync and are not.",
        missing,
    );
    let moving = catalog.tables().map(|table| {
        let moving = partitions::moving(table);
        (table_label(&table.name), moving as f64)
    });
    page.gauges(
        "brickyard_replication_moves",
        "Partitions of the cluster that have their copies and get another one: to move one, or since they are hot.",
        moving,
    );
    if let Some(down) = view.down() {
        let unserved = catalog.tables().map(|table| {
            let groups = table.map.groups().iter();
            let unserved = groups.filter(|group| down.contains(&group.primary.member.node));
            (table_label(&table.name), unserved.count() as f64)
        });
        page.gauges(
            "brickyard_replication_partitions_unserved",
            "Partitions of the cluster whose primary is on a node that is down; told by the leader of the control plane alone.",
            unserved,
        );
    }
}

fn followers(page: &mut Page, opened: &Opened, catalog: &Catalog) {
    type Figure = (&'static str, &'static str, fn(&FollowerLag) -> f64);
    let figures: [Figure; 4] = [
        (
            "brickyard_replication_follower_copies",
            "Copies on another node (peer) of partitions that this brick leads.",
            |it| it.copies as f64,
        ),
        (
            "brickyard_replication_follower_copies_out_of_step",
            "Those of them that do not get the records as they are made: there is no connection, or they refused.",
            |it| it.out_of_step as f64,
        ),
        (
            "brickyard_replication_lag_operations",
            "Operations that the node has not confirmed, of all partitions that this brick leads; of learners, all that they \
             lacked when they began.",
            |it| it.operations as f64,
        ),
        (
            "brickyard_replication_lag_seconds",
            "For how long the oldest of them has waited for that node.",
            |it| it.waited.as_secs_f64(),
        ),
    ];
    let bricks = opened.shared.stats.iter().enumerate();
    let all: Vec<_> = bricks
        .map(|(brick, stats)| (brick, stats.followers.all()))
        .collect();
    for (name, help, value) in figures {
        let values = all.iter().flat_map(|(brick, followers)| {
            followers.iter().filter_map(move |(follower, lag)| {
                Some((follower_labels(*brick, *follower, catalog)?, value(lag)))
            })
        });
        page.gauges(name, help, values);
    }
}

/// None: the table has gone since.
fn follower_labels(brick: usize, follower: FollowerKey, catalog: &Catalog) -> Option<Labels> {
    let table = catalog.table_by_id(follower.table)?;
    let role = if follower.is_learner {
        "learner"
    } else {
        "backup"
    };
    let mut labels = brick_label(brick);
    labels.extend(table_label(&table.name));
    labels.push(("peer", follower.node.0.to_string()));
    labels.push(("role", role.to_owned()));
    Some(labels)
}

fn turnover(page: &mut Page, view: &View, catalog: &Catalog) {
    type Count = (&'static str, &'static str, fn(&Counts) -> u64);
    let counts: [Count; 4] = [
        (
            "brickyard_replication_views_total",
            "Views of the cluster's partitions that took effect since this process began.",
            |it| it.views,
        ),
        (
            "brickyard_replication_copies_evicted_total",
            "Copies that were taken out of partitions of the cluster that have had too few since.",
            |it| it.evicted,
        ),
        (
            "brickyard_replication_copies_made_total",
            "Copies that came to be in sync where too few were.",
            |it| it.made,
        ),
        (
            "brickyard_replication_copies_moved_total",
            "Copies that left a node for another one.",
            |it| it.moved,
        ),
    ];
    let turnover = view.turnover.borrow();
    for (name, help, value) in counts {
        let values = catalog.tables().map(|table| {
            let count = value(&turnover.of(table.id));
            (table_label(&table.name), count as f64)
        });
        page.counters(name, help, values);
    }
}
