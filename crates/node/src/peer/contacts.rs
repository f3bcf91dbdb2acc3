//! All connections of the control plane: to members, to seed contacts, from others.
//!
//! In:  catalogs, what becomes of connections. Out, through [`Wires`]: whom to connect to, frames, and whom to leave.

use super::frame::frame;
use super::hello::{ConnectionKind, Hello, Introduction};
use crate::address::HostPort;
use crate::host::{Source, Target, Urgency, peer_address};
use crate::message::Message;
use brickyard_metadata::{Catalog, Level, NodeKey};
use brickyard_routing::NodeId;
use brickyard_types::Incarnation;
use std::collections::BTreeMap;

/// The connections themselves.
pub trait Wires {
    /// Keeps a connection up from now on. `expected`: whose data directory should be there.
    fn dial(&mut self, target: &Target, address: &HostPort, expected: Option<NodeKey>);

    /// Closes the connection that was dialed, and makes it no more.
    fn hang_up(&mut self, target: &Target);

    /// Closes a connection that somebody made.
    fn turn_away(&mut self, arrived: u64);

    /// Sends a frame. Bounded: what does not fit is dropped, the oldest first.
    fn push(&mut self, on: &Source, frame: Vec<u8>, urgency: Urgency);

    /// What this node says of itself from the next connection on.
    fn introduce(&mut self, introduction: &Introduction);
}

/// A connection that this node keeps up.
#[derive(Debug)]
struct Dialed {
    address: HostPort,
    is_connected: bool,
    /// Whose data directory answered there last.
    key: Option<NodeKey>,
}

/// See the module.
#[derive(Debug)]
pub struct Contacts {
    introduction: Introduction,
    dialed: BTreeMap<Target, Dialed>,
    arrived: BTreeMap<u64, Hello>,
    /// The catalog's nodes by the data directories that they are known by.
    keys: BTreeMap<NodeKey, NodeId>,
    /// How much the program knows that a node ran when it connected last; also of one that is gone, which comes back with that.
    levels: BTreeMap<NodeId, Level>,
}

impl Contacts {
    /// No connections yet.
    #[must_use]
    pub fn new(introduction: Introduction) -> Self {
        Self {
            introduction,
            dialed: BTreeMap::new(),
            arrived: BTreeMap::new(),
            keys: BTreeMap::new(),
            levels: BTreeMap::new(),
        }
    }

    /// What this node says of itself.
    #[must_use]
    pub fn introduction(&self) -> &Introduction {
        &self.introduction
    }

    /// What this node says of itself from the next connection on. Those to members are made anew when it has another
    /// life: they are closed when that is over, which a node that did not know its life yet could not tell them.
    pub fn introduce(&mut self, wires: &mut impl Wires, change: impl FnOnce(&mut Introduction)) {
        let before = self.introduction.node;
        change(&mut self.introduction);
        wires.introduce(&self.introduction);
        if self.introduction.node != before {
            self.hang_up(wires, |target, _| matches!(target, Target::Node(_)));
        }
    }

    fn hang_up(&mut self, wires: &mut impl Wires, is_over: impl Fn(&Target, &Dialed) -> bool) {
        self.dialed.retain(|target, dialed| {
            let is_over = is_over(target, dialed);
            if is_over {
                wires.hang_up(target);
            }
            !is_over
        });
    }

    /// Connects to the catalog's other nodes, where it says that they are now.
    pub fn follow(&mut self, wires: &mut impl Wires, catalog: &Catalog, me: NodeId) {
        let keys = catalog.nodes().map(|node| (node.registration.key, node.id));
        self.keys = keys.collect();
        self.levels.retain(|id, _| catalog.node(*id).is_some());
        self.hang_up(wires, |target, dialed| match target {
            // A node that was removed, or is elsewhere now.
            Target::Node(id) => peer_address(catalog, *id).as_ref() != Some(&dialed.address),
            Target::Seed(_) => false,
        });
        for node in catalog.nodes().filter(|node| node.id != me) {
            if let Some(address) = peer_address(catalog, node.id) {
                let key = Some(node.registration.key);
                self.keep_up(wires, Target::Node(node.id), &address, key);
            }
        }
        // Whoever registered anew has another process now; the old one's words count no more. It is told so when it
        // connects again.
        self.arrived.retain(|id, hello| {
            let present = hello
                .node
                .and_then(|(id, life)| Some((catalog.node(id)?.incarnation, life)));
            let is_present =
                present.is_none_or(|(present, life)| life == Incarnation(0) || life >= present);
            if !is_present {
                wires.turn_away(*id);
            }
            is_present
        });
    }

    fn keep_up(
        &mut self,
        wires: &mut impl Wires,
        target: Target,
        address: &HostPort,
        key: Option<NodeKey>,
    ) {
        if self.dialed.contains_key(&target) {
            return;
        }
        wires.dial(&target, address, key);
        let dialed = Dialed {
            address: address.clone(),
            is_connected: false,
            key,
        };
        self.dialed.insert(target, dialed);
    }

    /// Connects to one more node that may know of a cluster.
    pub fn add_seed(&mut self, wires: &mut impl Wires, address: &HostPort) {
        self.keep_up(wires, Target::Seed(address.clone()), address, None);
    }

    /// That was this node itself, say.
    pub fn drop_seed(&mut self, wires: &mut impl Wires, address: &HostPort) {
        self.hang_up(
            wires,
            |target, _| matches!(target, Target::Seed(it) if it == address),
        );
    }

    /// The catalog says where the others are.
    pub fn drop_seeds(&mut self, wires: &mut impl Wires) {
        self.hang_up(wires, |target, _| matches!(target, Target::Seed(_)));
    }

    /// Takes a connection in that somebody made.
    pub fn on_arrived(&mut self, id: u64, hello: Hello) {
        if matches!(hello.kind, ConnectionKind::Control) {
            if let Some((node, _)) = hello.node {
                self.levels.insert(node, hello.level);
            }
            let former = self.arrived.insert(id, hello);
            assert!(former.is_none(), "connection {id} arrives once");
        }
    }

    /// A connection that somebody made is gone.
    pub fn on_left(&mut self, id: u64) {
        self.arrived.remove(&id);
    }

    /// A node that was dialed took us: the one with that data directory.
    pub fn on_welcomed(&mut self, target: &Target, key: NodeKey) {
        if let Some(dialed) = self.dialed.get_mut(target) {
            dialed.is_connected = true;
            dialed.key = Some(key);
        }
    }

    /// A connection that was dialed is gone.
    pub fn on_lost(&mut self, target: &Target) {
        if let Some(dialed) = self.dialed.get_mut(target) {
            dialed.is_connected = false;
        }
    }

    /// Whether this node keeps such a connection up, and it is there.
    #[must_use]
    pub fn is_connected(&self, target: &Target) -> bool {
        self.dialed.get(target).is_some_and(|it| it.is_connected)
    }

    /// Whether what comes on a connection that somebody made is heard.
    #[must_use]
    pub fn has_arrived(&self, id: u64) -> bool {
        self.arrived.contains_key(&id)
    }

    /// Which member that connection is to or from; `None` for strangers.
    #[must_use]
    pub fn member(&self, source: &Source) -> Option<NodeId> {
        match source {
            Source::Dialed(Target::Node(id)) => Some(*id),
            Source::Dialed(target) => self.member_at(self.dialed.get(target)?),
            Source::Arrived(id) => Some(self.arrived.get(id)?.node?.0),
        }
    }

    /// How much that member's program knows, as it said when it connected to this node last; `None` if it has not yet.
    #[must_use]
    pub fn level(&self, node: NodeId) -> Option<Level> {
        self.levels.get(&node).copied()
    }

    /// The lowest level that any of them has said.
    #[must_use]
    pub fn lowest_level(&self) -> Level {
        self.levels.values().copied().min().unwrap_or(Level::NEWEST)
    }

    /// The member that answered there. Its address may be another than the catalog's: all nodes may have started
    /// again under new ones, and then there is no leader who could take note before they hear each other.
    fn member_at(&self, seed: &Dialed) -> Option<NodeId> {
        self.keys.get(&seed.key?).copied()
    }

    /// Sends to a member, if there is a connection; whether there is.
    pub fn send(
        &self,
        wires: &mut impl Wires,
        to: NodeId,
        message: &Message,
        urgency: Urgency,
    ) -> bool {
        let way = self.way_to(to);
        if let Some(way) = &way {
            wires.push(way, frame(&message.encode()), urgency);
        }
        way.is_some()
    }

    fn way_to(&self, to: NodeId) -> Option<Source> {
        // Members come before seeds.
        let leads_there = |target: &Target, dialed: &Dialed| match target {
            Target::Node(id) => *id == to,
            Target::Seed(_) => self.member_at(dialed) == Some(to),
        };
        let mut dialed = self.dialed.iter().filter(|(_, it)| it.is_connected);
        let found = dialed.find(|(target, it)| leads_there(target, it));
        if let Some((target, _)) = found {
            return Some(Source::Dialed(target.clone()));
        }
        // A node that was just taken in has no catalog yet, and so knows nobody's address: it answers its leader
        // on the connection that the leader made: the newest one.
        let mut arrived = self.arrived.iter().rev();
        let found = arrived.find(|(_, hello)| hello.node.is_some_and(|(id, _)| id == to));
        found.map(|(id, _)| Source::Arrived(*id))
    }

    /// Answers on the connection that something came by.
    pub fn reply(
        &self,
        wires: &mut impl Wires,
        source: &Source,
        message: &Message,
        urgency: Urgency,
    ) {
        let is_there = match source {
            Source::Dialed(target) => self.dialed.contains_key(target),
            Source::Arrived(id) => self.arrived.contains_key(id),
        };
        if is_there {
            wires.push(source, frame(&message.encode()), urgency);
        }
    }

    /// All connections that this node made and that are there.
    #[must_use]
    pub fn connected(&self) -> Vec<Target> {
        let dialed = self.dialed.iter().filter(|(_, it)| it.is_connected);
        dialed.map(|(target, _)| target.clone()).collect()
    }
}

#[cfg(test)]
#[path = "contacts_test.rs"]
mod contacts_test;
