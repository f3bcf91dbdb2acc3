//! What the catalog asks of a partition's group: whom it names, whether its members change, which view is next.

use brickyard_routing::{Group, Replica};
use brickyard_types::View;
use std::collections::BTreeSet;

/// Everybody whom a group names, in its view or in the change under way.
pub(crate) fn replicas(group: &Group) -> impl Iterator<Item = Replica> {
    let change = group.change.iter();
    let changing = change.flat_map(|change| {
        let others = change.learners.iter().chain(&change.fenced);
        change.in_sync().chain(others.copied())
    });
    group.members().chain(changing)
}

/// The view after every one that the group had or was proposed.
pub(crate) fn next_view(group: &Group) -> View {
    let proposed = group
        .change
        .as_ref()
        .map_or(group.view, |change| change.view);
    View(proposed.max(group.view).0 + 1)
}

/// Nobody comes or goes.
pub(crate) fn is_still(group: &Group) -> bool {
    group.change.is_none() && group.learners.is_empty()
}

/// Whether the same bricks are in sync in both.
pub(crate) fn has_same_members(a: &Group, b: &Group) -> bool {
    let replicas = |group: &Group| group.in_sync().collect::<BTreeSet<Replica>>();
    replicas(a) == replicas(b)
}
