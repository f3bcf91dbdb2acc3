//! What a replica group says of this brick, and the place of a partition whose group names it.
//!
//! In:  groups of the catalog. Out: whether they name this brick, as what; an empty partition where the records will go.

use crate::tables::{Partition, Tables};
use brickyard_routing::{Group, Member, Replica};
use brickyard_types::PartitionId;

/// A partition that is this brick's, be it new to it or not.
pub(crate) fn take_in(
    tables: &mut Tables,
    (table, leaf): (usize, usize),
    id: PartitionId,
    group: &Group,
) {
    let Some(state) = tables.get_mut(table) else {
        return;
    };
    if let Some(Some(held)) = state.partitions.get(leaf) {
        assert_eq!(held.id, id, "the partition of leaf {leaf}");
        return;
    }
    let local = state.table.add_partition();
    state.partitions[leaf] = Some(Partition::new(id, local, group.view));
    tables.place(id, table, leaf);
}

/// Whether the group, or the change under way, names the brick in any role and life.
pub(crate) fn names(group: &Group, me: Member) -> bool {
    let is_me = |replica: Replica| replica.member == me;
    let change = group.change.as_deref();
    group.members().any(is_me)
        || change
            .is_some_and(|it| it.in_sync().any(is_me) || it.learners.iter().copied().any(is_me))
}

/// Whether a partition that is here has, or is about to get, another replica.
pub(crate) fn has_other_replicas(tables: &Tables, partition: PartitionId) -> bool {
    let Some((table, leaf)) = tables.place_of(partition) else {
        return false;
    };
    let group = tables.get(table).and_then(|it| it.map.groups().get(leaf));
    group.is_some_and(is_shared)
}

/// Whether the group has, or is about to get, more members than one, or another.
fn is_shared(group: &Group) -> bool {
    let change = group.change.as_deref();
    let next = change
        .into_iter()
        .flat_map(|it| it.in_sync().chain(it.learners.iter().copied()));
    let mut members: Vec<Member> = group
        .members()
        .chain(next)
        .map(|replica| replica.member)
        .collect();
    members.sort_unstable();
    members.dedup();
    members.len() > 1
}

/// A group of a suspended partition, as its members are to act by it: nobody is anything in that view, whoever is named
/// (rule `a restart cuts nothing`). A change of it is obeyed.
pub(crate) fn of_nobody(group: &Group) -> Group {
    Group {
        primary: Replica::default(),
        backups: Vec::new(),
        learners: Vec::new(),
        ..group.clone()
    }
}
