//! Steps of views in the catalog, by what the table promises.

use super::{Coverage, Table};
use brickyard_metadata::Catalog;
use brickyard_routing::{Group, Replica, ViewChange};
use brickyard_types::Durability;
use std::collections::BTreeSet;

pub(super) const TABLE: Table = Table {
    name: "view step of",
    events: &[
        "proposed: without a backup",
        "proposed: without the primary",
        "proposed: hand-over",
        "proposed: promotion",
        "proposed: nothing new",
        "proposed: after all restarted",
        "proposed: begins empty",
        "another takes a proposal's place",
        "effective",
        "learners come",
        "learners go",
    ],
    states: &["memory", "log", "fsync"],
};

impl Coverage {
    /// The catalog goes on from one state to another.
    pub(crate) fn look_at_views(&mut self, former: &Catalog, catalog: &Catalog) {
        for table in catalog.tables() {
            let Some(before) = former.table_by_id(table.id) else {
                continue;
            };
            let state = match table.attributes.durability {
                Durability::Memory => "memory",
                Durability::Log => "log",
                Durability::Fsync => "fsync",
            };
            for (partition, group) in table.partitions() {
                let was = before.map.group(partition);
                for event in was.into_iter().flat_map(|was| steps(was, group, catalog)) {
                    self.hit(&TABLE, event, state);
                }
            }
        }
    }
}

fn steps(was: &Group, group: &Group, catalog: &Catalog) -> Vec<&'static str> {
    let mut steps = Vec::new();
    if was.view != group.view {
        steps.push("effective");
    } else if group.learners.len() > was.learners.len() {
        steps.push("learners come");
    } else if group.learners != was.learners {
        steps.push("learners go");
    }
    if let Some(change) = &group.change {
        match &was.change {
            Some(before) if before.view != change.view && was.view == group.view => {
                steps.push("another takes a proposal's place");
            }
            Some(before) if before.view == change.view => return steps,
            _ => {}
        }
        steps.push(proposed(group, change, catalog));
    }
    steps
}

fn proposed(group: &Group, change: &ViewChange, catalog: &Catalog) -> &'static str {
    let before: BTreeSet<Replica> = group.in_sync().collect();
    let after: BTreeSet<Replica> = change.in_sync().collect();
    if change.generation != group.generation {
        "proposed: begins empty"
    } else if !before.iter().any(|replica| catalog.is_current(*replica)) {
        "proposed: after all restarted"
    } else if after.difference(&before).next().is_some() {
        "proposed: promotion"
    } else if !after.contains(&group.primary) {
        "proposed: without the primary"
    } else if after.len() < before.len() {
        "proposed: without a backup"
    } else if change.primary != group.primary {
        "proposed: hand-over"
    } else {
        "proposed: nothing new"
    }
}
