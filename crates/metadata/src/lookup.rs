//! What others ask of the catalog, and which component knows it.

use crate::{
    catalog::Catalog,
    copies::has_one_copy,
    layout::Layout,
    merge::Siblings,
    node::{Address, Node, Orders, Registration},
    orders::check_removal,
    parents::{Merged, Parent},
    refusal::Refusal,
    sizing::depth_wanted,
    table::TableEntry,
    transitions::{Cause, Merge, Split},
    version::CatalogVersion,
};
use brickyard_routing::{Candidate, Member, NodeId, Replica};
use brickyard_types::{NodeKey, PartitionId, TableId, View};

/// Nodes.
impl Catalog {
    /// All nodes, by id.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.iter()
    }

    /// The node of that number; `None` if there never was one, or it was removed.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.node(id)
    }

    /// Whether there was a node of that number, and is none any more.
    #[must_use]
    pub fn was_removed(&self, id: NodeId) -> bool {
        self.ids.has_drawn_node(id) && self.node(id).is_none()
    }

    /// The node with that data directory.
    #[must_use]
    pub fn node_by_key(&self, key: &NodeKey) -> Option<&Node> {
        self.nodes.by_key(key)
    }

    /// Whether it is of a process whose node was removed. The next process of that directory knows of no node that it was,
    /// and may be taken in.
    #[must_use]
    pub fn has_removed(&self, registration: &Registration) -> bool {
        self.nodes.has_removed(registration)
    }

    /// What an operator said of a node.
    #[must_use]
    pub fn orders(&self, node: NodeId) -> Option<&Orders> {
        self.nodes.orders(node)
    }

    /// The node that is to have the partitions of `node`.
    #[must_use]
    pub fn successor(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.successor(node)
    }

    /// Whether a node may be taken out: no partition names it, or what only it has may be lost.
    ///
    /// # Errors
    /// What stands against it.
    pub fn check_removal(&self, id: NodeId, force: bool) -> Result<(), Refusal> {
        check_removal(&self.nodes, &self.tables, id, force)
    }

    /// All bricks in their present lives, with their weights, by node and number.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        self.nodes.candidates()
    }

    /// Whether this is a brick's present life.
    #[must_use]
    pub fn is_current(&self, replica: Replica) -> bool {
        self.nodes.is_current(replica)
    }

    /// Whether that life of a brick is over for certain; a lease that it may have had is then void
    /// (rule `only the same machine proves death`).
    #[must_use]
    pub fn is_proven_dead(&self, replica: Replica) -> bool {
        self.nodes.is_proven_dead(replica)
    }

    /// The nodes that may hold partitions of a table that is laid out so.
    pub fn holders(&self, layout: &Layout) -> impl Iterator<Item = &Node> {
        self.nodes.holders(layout)
    }

    /// Where clients reach a brick; `None` if it is not in the cluster.
    #[must_use]
    pub fn address(&self, member: Member) -> Option<Address<'_>> {
        self.nodes.address(member)
    }

    /// Where clients reach each brick, by node and number.
    pub fn addresses(&self) -> impl Iterator<Item = Address<'_>> {
        let members = self.nodes().flat_map(Node::bricks);
        members.filter_map(|member| self.address(member))
    }
}

/// Tables and partitions.
impl Catalog {
    /// All tables, by name.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &TableEntry> {
        self.tables.iter()
    }

    /// The table of that name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TableEntry> {
        self.tables.table(name)
    }

    /// The table with that id; `None` if it was dropped.
    ///
    /// - Time: linear in the tables; for operators and recovery, not for requests.
    #[must_use]
    pub fn table_by_id(&self, id: TableId) -> Option<&TableEntry> {
        self.tables.by_id(id)
    }

    /// Whether a later version may have a table of that id, which this one and those before it have not.
    #[must_use]
    pub fn may_make_table(&self, id: TableId) -> bool {
        self.ids.may_draw_table(id)
    }

    /// The split of a partition that is under way.
    #[must_use]
    pub fn split_of(&self, partition: PartitionId) -> Option<&Split> {
        self.transitions.split_of(partition)
    }

    /// All splits that are under way.
    pub fn splits(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Split)> {
        self.transitions.splits()
    }

    /// All merges that are under way, by the left sibling.
    pub fn merges(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Merge)> {
        self.transitions.merges()
    }

    /// The merge that a partition is part of, and its left sibling.
    #[must_use]
    pub fn merge_of(&self, partition: PartitionId) -> Option<(PartitionId, &Merge)> {
        self.transitions.merge_of(partition)
    }

    /// The partitions whose primaries are to come to rest, to be split or merged: in which view, and which rest it is.
    pub fn rests(&self) -> impl Iterator<Item = (PartitionId, (View, CatalogVersion))> {
        self.transitions.rests()
    }

    /// Whether a partition is to come to rest: in which view, and which rest that is.
    #[must_use]
    pub fn rest_of(&self, partition: PartitionId) -> Option<(View, CatalogVersion)> {
        let mut rests = self.rests();
        rests.find(|(id, _)| *id == partition).map(|(_, rest)| rest)
    }

    /// What a partition was before it was split or merged; `None` if it was neither.
    #[must_use]
    pub fn parent(&self, partition: PartitionId) -> Option<&Parent> {
        self.parents.parent(partition)
    }

    /// All partitions that were split or merged, of all tables.
    pub fn parents(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Parent)> {
        self.parents.iter()
    }

    /// What became of a partition that was merged; `None` if it was not.
    #[must_use]
    pub fn merged(&self, partition: PartitionId) -> Option<&Merged> {
        self.parents.merged(partition)
    }

    /// All partitions that were merged, of all tables.
    pub fn all_merged(&self) -> impl Iterator<Item = (PartitionId, &Merged)> {
        self.parents.all_merged()
    }

    const fn among_siblings(&self) -> Siblings<'_> {
        Siblings {
            nodes: &self.nodes,
            tables: &self.tables,
            parents: &self.parents,
        }
    }

    /// How many bits the prefixes of a table's first partitions had, or those of partitions that its bricks need: none is
    /// merged beyond.
    #[must_use]
    pub fn first_depth(&self, table: &TableEntry) -> u8 {
        self.among_siblings().first_depth(table)
    }

    /// Siblings of a table, the left one first, that came from a partition which was split because it had grown.
    #[must_use]
    pub fn grown_siblings(&self, table: TableId) -> Vec<[PartitionId; 2]> {
        let has_grown = |it: &Parent| it.cause() == Some(Cause::Size);
        self.among_siblings().that_came_from(table, has_grown)
    }

    /// Siblings of a table, the left one first, that came from a partition that was split because it was hot.
    #[must_use]
    pub fn hot_siblings(&self, table: TableId) -> Vec<[PartitionId; 2]> {
        let was_hot = |it: &Parent| it.cause() == Some(Cause::Load);
        self.among_siblings().that_came_from(table, was_hot)
    }

    /// Whether a partition and its sibling can be merged: which two, or `None` if that is under way.
    ///
    /// # Errors
    /// What stands against it.
    pub fn check_merge(
        &self,
        name: &str,
        partition: PartitionId,
    ) -> Result<Option<[PartitionId; 2]>, Refusal> {
        let among = self.among_siblings();
        among.check_merge(&self.transitions, name, partition)
    }

    /// How many bits the prefixes of a table's partitions should have at least; 0 where their number was chosen.
    ///
    /// - Time: linear in the bricks.
    #[must_use]
    pub fn depth_wanted(&self, table: &TableEntry) -> u8 {
        depth_wanted(&self.nodes, table)
    }

    /// How many copies a partition is to have beyond those that its table asks for.
    #[must_use]
    pub fn extra(&self, partition: PartitionId) -> u8 {
        self.extra_copies.of(partition)
    }

    /// All partitions that are to have copies more, and how many.
    pub fn extras(&self) -> impl ExactSizeIterator<Item = (PartitionId, u8)> {
        self.extra_copies.iter()
    }

    /// The tables that ask for one copy, in a cluster that could keep more: what a node has of them is lost with its disk.
    pub fn tables_with_one_copy(&self) -> impl Iterator<Item = &TableEntry> {
        self.tables().filter(|table| self.has_one_copy(table))
    }

    /// Whether a table is one of these.
    #[must_use]
    pub fn has_one_copy(&self, table: &TableEntry) -> bool {
        has_one_copy(&self.nodes, table)
    }

    /// How many copies a partition is to have, if there are nodes enough.
    #[must_use]
    pub fn copies_wanted(&self, table: &TableEntry, partition: PartitionId) -> usize {
        usize::from(table.attributes.replicas) + usize::from(self.extra(partition))
    }
}
