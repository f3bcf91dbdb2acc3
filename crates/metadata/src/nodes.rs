//! The nodes of the cluster, what operators said of them, and which were removed.
//!
//! In: nodes that are taken in, live anew, are altered or go. Out: who is in the cluster in which life; the bricks that
//! placement chooses from; where clients reach a brick.
//!
//! Invariants:
//! - A node has its id, its key and its incarnations for itself; all were given out.
//! - Orders are for nodes that are in the cluster and name such nodes.
//!
//! Not here: who may come (`register`) and go (`orders`).

use crate::{
    ids::Ids,
    layout::Layout,
    node::{Address, Node, Orders, Registration},
    refusal::Refusal,
    removed::Removed,
};
use brickyard_routing::{Candidate, Group, Member, NodeId, Replica, Site};
use brickyard_types::{BrickId, Incarnation, NodeKey, TableAttributes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nodes {
    by_id: BTreeMap<NodeId, Node>,
    orders: BTreeMap<NodeId, Orders>,
    removed: Removed,
}

impl Nodes {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.by_id.values()
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.by_id.get(&id)
    }

    /// The node of that number, or the refusal that says that there is none.
    pub(crate) fn get(&self, id: NodeId) -> Result<&Node, Refusal> {
        let node = self.by_id.get(&id);
        node.ok_or(Refusal::UnknownNode { node: id.0 })
    }

    pub(crate) fn by_key(&self, key: &NodeKey) -> Option<&Node> {
        self.iter().find(|node| node.registration.key == *key)
    }

    /// Takes a node in that was not there.
    pub(crate) fn insert(&mut self, node: Node) {
        let id = node.id;
        let twin = self.by_id.insert(id, node);
        assert!(twin.is_none(), "node {id} is taken in twice");
    }

    /// A node, to be changed; it keeps its id and its key.
    pub(crate) fn change(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.by_id.get_mut(&id) {
            let (key, incarnation) = (node.registration.key, node.incarnation);
            change(node);
            assert_eq!(
                (node.id, node.registration.key),
                (id, key),
                "a node stays itself"
            );
            assert!(
                node.incarnation >= incarnation,
                "lives of node {id} follow one another"
            );
        }
    }

    /// Takes a node out for ever, with all that was said of it.
    pub(crate) fn remove(&mut self, id: NodeId) {
        if let Some(node) = self.by_id.remove(&id) {
            self.removed.note(&node.registration);
        }
        self.orders.remove(&id);
        for orders in self.orders.values_mut() {
            orders.replaces.take_if(|it| *it == id);
        }
    }

    /// Whether it is of a process whose node was removed.
    pub(crate) fn has_removed(&self, registration: &Registration) -> bool {
        self.removed.has(registration)
    }

    pub(crate) fn orders(&self, node: NodeId) -> Option<&Orders> {
        self.orders.get(&node)
    }

    /// What counts of a node from now on, whatever it says itself.
    pub(crate) fn set_orders(&mut self, node: NodeId, orders: Orders) {
        assert!(
            self.by_id.contains_key(&node),
            "orders are for node {node}, which is not there"
        );
        assert!(
            orders
                .replaces
                .is_none_or(|it| it != node && self.by_id.contains_key(&it)),
            "node {node} takes the place of {:?}",
            orders.replaces
        );
        self.orders.insert(node, orders);
    }

    /// The node that is to have the partitions of `node`.
    pub(crate) fn successor(&self, node: NodeId) -> Option<NodeId> {
        let mut orders = self.orders.iter();
        let found = orders.find(|(_, orders)| orders.replaces == Some(node));
        found.map(|(successor, _)| *successor)
    }

    /// Whether no other node holds anything.
    pub(crate) fn is_last(&self, id: NodeId) -> bool {
        let mut others = self.iter().filter(|node| node.id != id);
        others.all(|node| node.weight() == 0)
    }

    /// Whether this is a brick's present life.
    pub(crate) fn is_current(&self, replica: Replica) -> bool {
        self.node(replica.member.node).is_some_and(|node| {
            node.incarnation == replica.incarnation
                && replica.member.brick.0 < node.registration.bricks
        })
    }

    /// Whether that life of a brick is over for certain.
    pub(crate) fn is_proven_dead(&self, replica: Replica) -> bool {
        self.node(replica.member.node)
            .is_some_and(|node| node.is_proven_dead(replica.incarnation))
    }

    /// All bricks in their present lives, with their weights, by node and number.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        self.iter().flat_map(Node::candidates).collect()
    }

    /// The nodes that may hold partitions of a table that is laid out so.
    pub(crate) fn holders(&self, layout: &Layout) -> impl Iterator<Item = &Node> {
        let nodes = self.iter();
        nodes.filter(|node| node.weight() > 0 && layout.admits(node.id))
    }

    /// That the nodes of a layout are there, and enough for the copies.
    pub(crate) fn check_layout(
        &self,
        layout: &Layout,
        attributes: &TableAttributes,
    ) -> Result<(), Refusal> {
        let mut named = layout.nodes.iter();
        if let Some(node) = named.find(|it| self.node(**it).is_none()) {
            return Err(Refusal::UnknownNode { node: node.0 });
        }
        if !layout.is_sound() {
            let placement = layout.placement;
            return Err(Refusal::BadPlacement { placement });
        }
        let TableAttributes {
            replicas,
            min_in_sync,
            ..
        } = *attributes;
        let nodes = self.holders(layout).count();
        match usize::from(replicas) {
            0 => Err(Refusal::NoReplicas),
            count if count > nodes && !layout.nodes.is_empty() => {
                Err(Refusal::FewInSet { replicas, nodes })
            }
            count if count > nodes => Err(Refusal::TooManyReplicas { replicas, nodes }),
            _ if !(1..=replicas).contains(&min_in_sync) => Err(Refusal::BadMinInSync {
                min_in_sync,
                replicas,
            }),
            _ => Ok(()),
        }
    }

    /// The bricks that may hold partitions of a table that is laid out so, if the nodes `lost` do not come back.
    pub(crate) fn sites(&self, lost: &BTreeSet<NodeId>, layout: &Layout) -> Vec<Site<'_>> {
        let is_there = |node: NodeId| !lost.contains(&node) && layout.admits(node);
        let nodes = self.iter().filter(|node| is_there(node.id));
        nodes
            .flat_map(|node| {
                node.bricks().map(|member| Site {
                    member,
                    weight: node.weight(),
                    zone: node.registration.zone.as_deref(),
                })
            })
            .collect()
    }

    /// Who holds a partition or will; a node that is to be replaced by another one counts as that.
    pub(crate) fn present_members(&self, group: &Group) -> Vec<Member> {
        let change = group.change.as_deref();
        let members: Vec<Member> = match change {
            Some(change) => {
                let learners = change.learners.iter().copied();
                change
                    .in_sync()
                    .chain(learners)
                    .map(|it| it.member)
                    .collect()
            }
            None => group.members().map(|it| it.member).collect(),
        };
        let mut present = Vec::with_capacity(members.len());
        for member in members {
            let member = self.stand_in(member);
            if !present.contains(&member) {
                present.push(member);
            }
        }
        present
    }

    fn stand_in(&self, member: Member) -> Member {
        let is_leaving = self.node(member.node).is_some_and(|it| it.weight() == 0);
        let successor = self.successor(member.node).filter(|_| is_leaving);
        let successor = successor.and_then(|it| self.node(it));
        let bricks = successor.map(|it| it.bricks().len() as u32);
        match (successor, bricks) {
            (Some(node), Some(bricks)) if bricks > 0 => Member {
                node: node.id,
                brick: BrickId(member.brick.0 % bricks),
            },
            _ => member,
        }
    }

    /// Where clients reach a brick; `None` if it is not in the cluster.
    pub(crate) fn address(&self, member: Member) -> Option<Address<'_>> {
        self.node(member.node)?.address(member.brick)
    }

    /// What contradicts the invariants; for a catalog that was read.
    pub(crate) fn check(&self, ids: &Ids) -> Result<(), String> {
        let mut keys = BTreeSet::new();
        let mut incarnations = BTreeSet::new();
        for (id, node) in &self.by_id {
            let checked = node.registration.check();
            checked.map_err(|refusal| refusal.to_string())?;
            let mut lives = node.doubtful.iter().copied().chain([node.incarnation]);
            let mut is_own =
                |life: Incarnation| ids.has_drawn_incarnation(life) && incarnations.insert(life);
            let has_own_lives = lives.all(&mut is_own);
            let has_own_key = keys.insert(node.registration.key);
            if node.id != *id || !ids.has_drawn_node(*id) || !has_own_lives || !has_own_key {
                return Err(format!("node {id} has a number that is not its own"));
            }
        }
        if self.by_id.is_empty() {
            return Err("there is no node".to_owned());
        }
        for (node, orders) in &self.orders {
            let mut named = [Some(*node), orders.replaces].into_iter().flatten();
            if !named.all(|it| self.by_id.contains_key(&it)) || orders.replaces == Some(*node) {
                return Err(format!(
                    "it has orders for node {node}, which are not its own"
                ));
            }
        }
        self.removed.check()
    }
}
