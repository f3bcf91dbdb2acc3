//! Nodes come, and come back: registration. How they go is in `orders`.

use crate::{
    catalog::Catalog,
    change::{Applied, Registered},
    node::{Node, Registration},
    refusal::Refusal,
};
use brickyard_routing::{Group, NodeId, Seat};
use brickyard_types::{Durability, Incarnation, PartitionId, TableId, View};
use std::{collections::BTreeSet, sync::Arc};

/// Longest host name, as in DNS, and longest zone, in bytes.
const HOST_BYTES_MAX: usize = 255;

/// Most bricks of a node: far more than there are cores.
const BRICKS_MAX: u32 = 1024;

impl Catalog {
    /// Takes a node in, or takes note that it lives anew.
    pub(crate) fn register(&mut self, registration: Registration) -> Result<Applied, Refusal> {
        check_registration(&registration)?;
        let known = self.node_by_key(&registration.key);
        let registration = match known {
            Some(node) => self.as_ordered(node.id, registration),
            None => registration,
        };
        let registered = match known.map(|node| (node.id, node.incarnation)) {
            Some((id, incarnation)) => self.register_again(id, incarnation, registration)?,
            None => self.take_in(registration)?,
        };
        Ok(Applied {
            registered: Some(registered),
            ..self.applied(TableId(0))
        })
    }

    fn take_in(&mut self, registration: Registration) -> Result<Registered, Refusal> {
        let id = NodeId(self.next_node);
        let next_node = self
            .next_node
            .checked_add(1)
            .ok_or(Refusal::NodeIdsExhausted)?;
        let incarnation = self.draw_incarnation();
        self.next_node = next_node;
        self.version = self.version.next();
        let node = Node {
            id,
            incarnation,
            doubtful: Vec::new(),
            registered: self.version,
            registration,
        };
        self.nodes.insert(id, node);
        Ok(Registered {
            node: id,
            incarnation,
        })
    }

    fn register_again(
        &mut self,
        id: NodeId,
        former: Incarnation,
        registration: Registration,
    ) -> Result<Registered, Refusal> {
        let named = self.incarnations_of(id);
        let is_alone = self.nodes.len() == 1;
        let version = self.version.next();
        let incarnation = Incarnation(self.next_incarnation);
        let Some(node) = self.nodes.get_mut(&id) else {
            return Err(Refusal::UnknownNode { node: id.0 });
        };
        if node.registration.bricks != registration.bricks {
            return Err(Refusal::BrickCount {
                node: id.0,
                have: node.registration.bricks,
                asked: registration.bricks,
            });
        }
        if node.registration.run == registration.run {
            // The same process asked twice, having missed the answer.
            if node.registration != registration {
                node.registration = registration;
                self.version = version;
            }
            return Ok(Registered {
                node: id,
                incarnation: former,
            });
        }
        // PROTOCOL rule 20: only the holder of the same lock shows that the former process is gone.
        if !registration.machine.proves_dead(&node.registration.machine) {
            node.doubtful.push(former);
        }
        // What no group names cannot act on anything.
        node.doubtful.retain(|it| named.contains(it));
        node.incarnation = incarnation;
        node.registered = version;
        node.registration = registration;
        self.next_incarnation += 1;
        self.version = version;
        self.outcomes.remove(&id);
        if is_alone {
            self.follow_alone(id, incarnation);
        }
        Ok(Registered {
            node: id,
            incarnation,
        })
    }

    /// Whether no other node holds anything.
    pub(crate) fn is_last(&self, id: NodeId) -> bool {
        let mut others = self.nodes().filter(|node| node.id != id);
        others.all(|node| node.weight() == 0)
    }

    fn draw_incarnation(&mut self) -> Incarnation {
        let drawn = Incarnation(self.next_incarnation);
        self.next_incarnation += 1;
        drawn
    }

    /// A cluster of one node that restarts: nobody else can hold or decide anything, so its groups follow
    /// it at once into new views.
    fn follow_alone(&mut self, node: NodeId, incarnation: Incarnation) {
        for table in self.tables.values_mut() {
            let is_mine = |group: &Group| {
                let mut seats = seats(group);
                seats.all(|seat| seat.member.node == node)
            };
            let is_memory = table.attributes.durability == Durability::Memory;
            let next = |group: &Group| Group {
                view: next_view(group),
                // PROTOCOL rule 36: what was in memory alone is gone, and what begins is another history.
                lineage: group.lineage + u32::from(is_memory),
                primary: Seat {
                    incarnation,
                    ..group.primary
                },
                backups: Vec::new(),
                learners: Vec::new(),
                change: None,
            };
            let changed: Vec<(PartitionId, Group)> = table
                .partitions()
                // One that is parked is chosen for when its table comes back.
                .filter(|(partition, group)| is_mine(group) && !table.is_parked(*partition))
                .map(|(partition, group)| (partition, next(group)))
                .collect();
            let set = Arc::make_mut(table).map.set_groups(changed);
            debug_assert!(set.is_ok(), "the partitions are the map's own: {set:?}");
        }
    }

    /// The lives of a node that some group names.
    fn incarnations_of(&self, node: NodeId) -> BTreeSet<Incarnation> {
        let groups = self.tables().flat_map(|table| table.map.groups());
        groups
            .flat_map(seats)
            .filter(|seat| seat.member.node == node)
            .map(|seat| seat.incarnation)
            .collect()
    }
}

/// Everybody whom a group names, in its view or in the change under way.
pub(crate) fn seats(group: &Group) -> impl Iterator<Item = Seat> {
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

/// What any registration must be, whoever sends it.
pub(crate) fn check_registration(registration: &Registration) -> Result<(), Refusal> {
    let Registration {
        addresses, bricks, ..
    } = registration;
    let is_name = |text: &str| {
        let is_short = (1..=HOST_BYTES_MAX).contains(&text.len());
        // It stands in text protocols, between blanks and colons.
        is_short && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !is_name(&addresses.host) {
        return Err(Refusal::BadHost {
            host: addresses.host.escape_debug().take(40).collect(),
        });
    }
    if let Some(zone) = &registration.zone
        && !is_name(zone)
    {
        return Err(Refusal::BadZone {
            zone: zone.escape_debug().take(40).collect(),
        });
    }
    if *bricks > BRICKS_MAX || addresses.bricks.len() != *bricks as usize {
        return Err(Refusal::BadBricks {
            bricks: *bricks,
            ports: addresses.bricks.len(),
        });
    }
    let holds = registration.roles.storage && registration.weight > 0;
    if holds && *bricks == 0 {
        return Err(Refusal::NoBricks);
    }
    Ok(())
}

#[cfg(test)]
#[path = "register_test.rs"]
mod register_test;
