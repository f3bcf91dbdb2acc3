//! One partition, and what its members should be.

use super::liveness::LivenessView;
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, NodeId, Replica};
use brickyard_types::{Durability, Instant, PartitionId};
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
        let in_sync = self.group.in_sync();
        in_sync.filter_map(|former| self.present_life(former))
    }

    fn present_life(&self, former: Replica) -> Option<Replica> {
        let node = self.catalog.node(former.member.node)?;
        Some(node.replica(former.member.brick))
    }

    /// Whether a replica's node is away, and may come back with what its log has of the partition. As long as the group names it, it
    /// keeps that, and lacks little when it is back.
    pub(super) fn may_return(&self, replica: Replica) -> bool {
        let node = self.catalog.node(replica.member.node);
        let is_away = node.is_some_and(|node| self.view.may_return(node));
        is_away && self.is_logged() && self.catalog.is_current(replica)
    }

    /// Whether a learner of the group may be one of the next view.
    pub(super) fn stays_listed(&self, learner: Replica) -> bool {
        self.view.is_live(learner) || self.may_return(learner)
    }

    /// Whether a life is over, and its node is back with another one that may hold the partition.
    pub(super) fn is_back(&self, former: Replica) -> bool {
        let present = self.present_life(former);
        present.is_some_and(|it| it != former && self.may_hold(it))
    }

    /// In-sync members that are gone, in the present lives of their nodes: those that are back already, and those that may come back.
    pub(super) fn returning(&self) -> impl Iterator<Item = Replica> {
        let in_sync = self.group.in_sync();
        let gone = in_sync.filter(|it| !self.view.is_live(*it));
        let present = gone.filter_map(|it| self.present_life(it));
        present.filter(|it| (self.is_logged() && self.may_hold(*it)) || self.may_return(*it))
    }

    /// Whether a brick is there, and its node is to stay.
    fn may_hold(&self, replica: Replica) -> bool {
        self.view.is_leased(replica) && !self.view.is_leaving(replica.member.node)
    }

    fn is_logged(&self) -> bool {
        self.table.attributes.durability != Durability::Memory
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
