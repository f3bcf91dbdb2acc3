//! One partition, and what its members should be.

use super::liveness::LivenessView;
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, NodeId, Replica};
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeSet;

/// One partition in a pass over all, with the catalog and the nodes that it is examined by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) view: &'a LivenessView,
    pub(super) table: &'a TableEntry,
    pub(super) partition: PartitionId,
    pub(super) group: &'a Group,
}

impl Case<'_> {
    pub(super) const fn now(&self) -> Instant {
        self.view.now()
    }

    /// How many copies it should have: as many as its table asks for, and more where it is hot, as far as there are nodes that
    /// may hold them.
    pub(super) fn copies_wanted(&self) -> usize {
        let copies = self.catalog.copies_wanted(self.table, self.partition);
        self.as_far_as_there_are_nodes(copies)
    }

    /// How many its table asks for, as far as there are nodes.
    pub(super) fn copies_asked(&self) -> usize {
        self.as_far_as_there_are_nodes(usize::from(self.table.attributes.replicas))
    }

    fn as_far_as_there_are_nodes(&self, copies: usize) -> usize {
        let nodes = self.catalog.holders(&self.table.layout);
        let nodes = nodes.filter(|node| !self.view.is_leaving(node.id));
        copies.min(nodes.count()).max(1)
    }

    /// How many in-sync members will stay.
    pub(super) fn copies_staying(&self) -> usize {
        let stays = |replica: &Replica| !self.view.is_leaving(replica.member.node);
        self.group.in_sync().filter(stays).count()
    }

    /// Whether the partition lacks a copy.
    pub(super) fn is_under_replicated(&self) -> bool {
        self.copies_staying() < self.copies_wanted()
    }

    /// Whether all its in-sync members are live.
    pub(super) fn is_live(&self) -> bool {
        self.group
            .in_sync()
            .all(|replica| self.view.is_live(replica))
    }

    /// Its in-sync members in their nodes' present lives, where there are such.
    pub(super) fn present_members(&self) -> impl Iterator<Item = Replica> {
        self.group.in_sync().filter_map(|former| {
            let node = self.catalog.node(former.member.node)?;
            Some(node.replica(former.member.brick))
        })
    }

    /// Whether all live members are about to stop, and are fewer than there should be copies. Of a table that has one copy it
    /// was chosen that it is away with its node.
    pub(super) fn is_going(&self) -> bool {
        let copies = self.catalog.copies_wanted(self.table, self.partition);
        let in_sync = self.group.in_sync();
        let (stop, stay): (Vec<Replica>, Vec<Replica>) = in_sync
            .filter(|replica| self.view.is_live(*replica))
            .partition(|replica| self.view.is_draining(replica.member.node));
        stay.is_empty() && stop.len() < copies
    }

    /// The nodes of its in-sync members.
    pub(super) fn nodes(&self) -> BTreeSet<NodeId> {
        self.group
            .in_sync()
            .map(|replica| replica.member.node)
            .collect()
    }
}

/// Whether no member of a partition comes or goes, all are live, and it is not being merged.
pub(super) fn is_stable(
    catalog: &Catalog,
    view: &LivenessView,
    partition: PartitionId,
    group: &Group,
) -> bool {
    group.change.is_none()
        && group.learners.is_empty()
        && group.in_sync().all(|replica| view.is_live(replica))
        && catalog.merge_of(partition).is_none()
}

/// The primary, now or once the change under way is in effect.
pub(super) fn primary_to_be(group: &Group) -> Replica {
    let change = group.change.as_ref();
    change.map_or(group.primary, |change| change.primary)
}
