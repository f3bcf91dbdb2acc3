//! What operators say of nodes: what they are used for, which are to be emptied, replaced, or are gone for ever.
//!
//! In: alterations of a node. Out: its registration as it counts from now on; [`Refusal`]s that name what would
//! be missing.
//!
//! Invariants:
//! - What an operator said holds until it is said otherwise, also when the node starts anew with another
//!   configuration.
//! - Nothing that only one node has is given up unless that was asked for, after it was told.
//!
//! Not here: emptying a node, copy by copy (`control`).

use crate::{
    catalog::{Catalog, Table},
    change::{Applied, NodeAlteration},
    node::Registration,
    refusal::Refusal,
    register::{check_registration, seats},
};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::TableId;
use serde::{Deserialize, Serialize};

/// Partitions that a refusal names one by one.
const NAMED_MAX: usize = 8;

/// What was said of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// What of its registration does not count, and what counts instead.
    pub alteration: NodeAlteration,
    /// The node whose partitions are to be this one's.
    pub replaces: Option<NodeId>,
}

impl Catalog {
    /// What an operator said of a node.
    #[must_use]
    pub fn orders(&self, node: NodeId) -> Option<&Orders> {
        self.orders.get(&node)
    }

    /// The node that is to have the partitions of `node`.
    #[must_use]
    pub fn successor(&self, node: NodeId) -> Option<NodeId> {
        let mut orders = self.orders.iter();
        let found = orders.find(|(_, orders)| orders.replaces == Some(node));
        found.map(|(successor, _)| *successor)
    }

    /// A registration, with what an operator said in the place of what the node says.
    pub(crate) fn as_ordered(&self, node: NodeId, registration: Registration) -> Registration {
        match self.orders.get(&node) {
            Some(orders) => altered(registration, orders.alteration.clone()),
            None => registration,
        }
    }

    /// Changes what a node is used for.
    pub(crate) fn alter_node(
        &mut self,
        id: NodeId,
        alteration: NodeAlteration,
    ) -> Result<Applied, Refusal> {
        let Some(node) = self.nodes.get(&id) else {
            return Err(Refusal::UnknownNode { node: id.0 });
        };
        let registration = altered(node.registration.clone(), alteration.clone());
        check_registration(&registration)?;
        let weight = if registration.roles.storage {
            registration.weight
        } else {
            0
        };
        if weight == 0 && self.is_last(id) {
            return Err(Refusal::LastNode { node: id.0 });
        }
        if weight == 0 && node.weight() > 0 {
            self.check_sets_without(id)?;
        }
        // It would vote on, for want of another one, and could not be removed.
        let may_another_vote = || {
            let mut others = self.nodes().filter(|it| it.id != id);
            others.any(|it| it.registration.roles.control)
        };
        let is_demoted = node.registration.roles.control && !registration.roles.control;
        if is_demoted && !may_another_vote() {
            return Err(Refusal::LastVoter { node: id.0 });
        }
        let before = self.orders.get(&id).cloned().unwrap_or_default();
        let former = before.alteration.clone();
        let orders = Orders {
            alteration: NodeAlteration {
                weight: alteration.weight.or(former.weight),
                zone: alteration.zone.or(former.zone),
                roles: alteration.roles.or(former.roles),
            },
            ..before.clone()
        };
        if (registration != node.registration || orders != before)
            && let Some(node) = self.nodes.get_mut(&id)
        {
            node.registration = registration;
            self.orders.insert(id, orders);
            self.version = self.version.next();
        }
        Ok(self.applied(TableId(0)))
    }

    /// Lets a node be emptied; with `force` also where tables then have fewer copies than they ask for.
    pub(crate) fn drain_node(&mut self, id: NodeId, force: bool) -> Result<Applied, Refusal> {
        if self.nodes.contains_key(&id) && self.is_last(id) {
            return Err(Refusal::LastNode { node: id.0 });
        }
        self.check_enough_without(id, force)?;
        let alteration = NodeAlteration {
            weight: Some(0),
            ..NodeAlteration::default()
        };
        self.alter_node(id, alteration)
    }

    /// Lets one node have what another one has, and as much of all tables.
    pub(crate) fn replace_node(&mut self, old: NodeId, new: NodeId) -> Result<Applied, Refusal> {
        let known = |id: NodeId| {
            let node = self.nodes.get(&id);
            node.ok_or(Refusal::UnknownNode { node: id.0 })
        };
        let (was, will) = (known(old)?, known(new)?);
        if old == new {
            return Err(Refusal::OwnSuccessor { node: old.0 });
        }
        if was.registration.bricks != will.registration.bricks {
            return Err(Refusal::UnlikeSuccessor {
                old: old.0,
                new: new.0,
                have: will.registration.bricks,
                want: was.registration.bricks,
            });
        }
        let former = self.successor(old).filter(|it| *it != new);
        if let Some(other) = former {
            return Err(Refusal::SecondSuccessor {
                old: old.0,
                other: other.0,
            });
        }
        if self.successor(old) == Some(new) {
            return Ok(self.applied(TableId(0)));
        }
        if was.weight() == 0 {
            return Err(Refusal::EmptySuccession { node: old.0 });
        }
        let weight = Some(was.weight());
        let with_weight = |weight| NodeAlteration {
            weight,
            ..NodeAlteration::default()
        };
        // First the one that is to hold things: there has to be one at any time.
        self.alter_node(new, with_weight(weight))?;
        self.join_sets_of(old, new);
        self.alter_node(old, with_weight(Some(0)))?;
        self.orders.entry(new).or_default().replaces = Some(old);
        Ok(self.applied(TableId(0)))
    }

    /// Takes a node out for ever.
    pub(crate) fn remove_node(&mut self, id: NodeId, force: bool) -> Result<Applied, Refusal> {
        self.check_removal(id, force)?;
        self.leave_sets(id);
        if let Some(node) = self.nodes.remove(&id) {
            self.note_removed(&node.registration);
        }
        self.outcomes.remove(&id);
        self.orders.remove(&id);
        for orders in self.orders.values_mut() {
            orders.replaces.take_if(|it| *it == id);
        }
        self.version = self.version.next();
        Ok(self.applied(TableId(0)))
    }

    /// Whether a node may be taken out: no partition names it, or what only it has may be lost.
    ///
    /// # Errors
    /// What stands against it.
    pub fn check_removal(&self, id: NodeId, force: bool) -> Result<(), Refusal> {
        if !self.nodes.contains_key(&id) {
            return Err(Refusal::UnknownNode { node: id.0 });
        }
        if self.is_last(id) {
            return Err(Refusal::LastNode { node: id.0 });
        }
        self.check_sets_without(id)?;
        self.check_unnamed(id, force)?;
        self.check_enough_without(id, force)
    }

    /// That no partition names a node, or that what only it has may be lost.
    fn check_unnamed(&self, id: NodeId, force: bool) -> Result<(), Refusal> {
        let is_its = |seat: Seat| seat.member.node == id;
        let (mut partitions, mut sole, mut lost) = (0, 0, Vec::new());
        for table in self.tables() {
            let mut only_there = Vec::new();
            for (partition, group) in table.partitions() {
                partitions += usize::from(seats(group).any(is_its));
                if group.in_sync().all(is_its) {
                    only_there.push(partition.to_string());
                }
            }
            let count = only_there.len();
            if count > 0 {
                sole += count;
                let more = if count > NAMED_MAX { ", ..." } else { "" };
                only_there.truncate(NAMED_MAX);
                let named = only_there.join(", ");
                lost.push(format!("{count} of '{}' ({named}{more})", table.name));
            }
        }
        if partitions == 0 || force {
            return Ok(());
        }
        Err(Refusal::NodeInUse {
            node: id.0,
            partitions,
            sole,
            lost,
        })
    }

    /// That every table can have the copies that it asks for without a node.
    fn check_enough_without(&self, id: NodeId, force: bool) -> Result<(), Refusal> {
        let holds = self.node(id).is_some_and(|node| node.weight() > 0);
        let left = |table: &Table| {
            let holders = self.holders(&table.layout);
            holders.filter(|node| node.id != id).count()
        };
        let is_short = |table: &&Table| {
            let replicas = usize::from(table.attributes.replicas);
            table.layout.admits(id) && replicas > left(table)
        };
        match self.tables().find(is_short) {
            Some(table) if holds && !force => Err(Refusal::FewNodes {
                node: id.0,
                left: left(table),
                table: table.name.clone(),
                is_set: !table.layout.nodes.is_empty(),
                replicas: table.attributes.replicas,
            }),
            _ => Ok(()),
        }
    }
}

fn altered(mut registration: Registration, alteration: NodeAlteration) -> Registration {
    registration.weight = alteration.weight.unwrap_or(registration.weight);
    registration.zone = alteration.zone.unwrap_or(registration.zone);
    registration.roles = alteration.roles.unwrap_or(registration.roles);
    registration
}

#[cfg(test)]
#[path = "orders_test.rs"]
mod orders_test;
