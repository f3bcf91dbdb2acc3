//! All connections of the control plane: to members, to whoever may know of a cluster, from others.

use super::outgoing::Outgoing;
use super::{Arrived, Event, Events, Hello, Introduction, Lane, frame};
use crate::config::HostPort;
use brickyard_metadata::{Catalog, NodeKey};
use brickyard_node::{Message, Source, Target, Urgency, peer_address};
use brickyard_routing::NodeId;
use brickyard_types::Incarnation;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// See the module.
#[derive(Debug)]
pub(crate) struct Peers {
    introduction: Rc<RefCell<Introduction>>,
    events: Events,
    members: BTreeMap<NodeId, Outgoing>,
    seeds: BTreeMap<HostPort, Outgoing>,
    arrived: BTreeMap<u64, (Hello, Rc<Lane>)>,
    /// The catalog's nodes by the data directories that they are known by.
    keys: BTreeMap<NodeKey, NodeId>,
}

impl Peers {
    pub(crate) fn new(introduction: Introduction, events: Events) -> Self {
        Self {
            introduction: Rc::new(RefCell::new(introduction)),
            events,
            members: BTreeMap::new(),
            seeds: BTreeMap::new(),
            arrived: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }

    /// What this node says of itself from the next connection on. Those to members are made anew when it has another
    /// life: they are closed when that is over, which a node that did not know its life yet could not tell them.
    pub(crate) fn introduce(&mut self, change: impl FnOnce(&mut Introduction)) {
        let mut introduction = self.introduction.borrow_mut();
        let before = introduction.node;
        change(&mut introduction);
        if introduction.node != before {
            self.members.clear();
        }
    }

    pub(crate) fn introduction(&self) -> Introduction {
        self.introduction.borrow().clone()
    }

    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }

    /// Connects to the catalog's other nodes, where it says that they are now.
    pub(crate) fn follow(&mut self, catalog: &Catalog, me: NodeId) {
        let keys = catalog.nodes().map(|node| (node.registration.key, node.id));
        self.keys = keys.collect();
        self.members.retain(|id, _| catalog.node(*id).is_some());
        for node in catalog.nodes().filter(|node| node.id != me) {
            let Some(address) = peer_address(catalog, node.id) else {
                self.members.remove(&node.id);
                continue;
            };
            let known = self.members.get(&node.id);
            if known.is_none_or(|known| known.address != address) {
                let outgoing = Outgoing::start(
                    Target::Node(node.id),
                    address,
                    Some(node.registration.key),
                    Rc::clone(&self.introduction),
                    self.events.clone(),
                );
                self.members.insert(node.id, outgoing);
            }
        }
        // Whoever registered anew has another process now; the old one's words count no more. It is told so when it
        // connects again.
        self.arrived.retain(|_, (hello, lane)| {
            let present = hello
                .node
                .and_then(|(id, life)| Some((catalog.node(id)?.incarnation, life)));
            let is_present =
                present.is_none_or(|(present, life)| life == Incarnation(0) || life >= present);
            if !is_present {
                lane.close();
            }
            is_present
        });
    }

    /// Connects to one more node that may know of a cluster.
    pub(crate) fn add_seed(&mut self, address: &HostPort) {
        if !self.seeds.contains_key(address) {
            let outgoing = Outgoing::start(
                Target::Seed(address.clone()),
                address.clone(),
                None,
                Rc::clone(&self.introduction),
                self.events.clone(),
            );
            self.seeds.insert(address.clone(), outgoing);
        }
    }

    pub(crate) fn drop_seed(&mut self, address: &HostPort) {
        self.seeds.remove(address);
    }

    pub(crate) fn drop_seeds(&mut self) {
        self.seeds.clear();
    }

    /// Takes a connection in that somebody made.
    pub(crate) fn take(&mut self, arrived: Arrived) {
        let welcome = super::Answer::Welcome(self.introduction.borrow().welcome());
        if matches!(arrived.hello.kind, super::Kind::Control) {
            self.arrived
                .insert(arrived.id, (arrived.hello, arrived.lane));
        }
        // Whoever is gone already comes back as [`Event::Left`].
        drop(arrived.answer.send(welcome));
    }

    /// Notes what an event says of a connection.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Welcomed(target, welcome) => {
                self.set_connected(target, true);
                if let Some(outgoing) = self.dialed(target) {
                    outgoing.key = Some(welcome.key);
                }
            }
            Event::Lost(target) => self.set_connected(target, false),
            Event::Left(id) => drop(self.arrived.remove(id)),
            _ => {}
        }
    }

    fn set_connected(&mut self, target: &Target, is_connected: bool) {
        if let Some(outgoing) = self.dialed(target) {
            outgoing.is_connected = is_connected;
        }
    }

    fn dialed(&mut self, target: &Target) -> Option<&mut Outgoing> {
        match target {
            Target::Node(id) => self.members.get_mut(id),
            Target::Seed(address) => self.seeds.get_mut(address),
        }
    }

    /// Which member that connection is to or from; `None` for strangers.
    pub(crate) fn member(&self, source: &Source) -> Option<NodeId> {
        match source {
            Source::Dialed(Target::Node(id)) => Some(*id),
            Source::Dialed(Target::Seed(address)) => self.member_at(self.seeds.get(address)?),
            Source::Arrived(id) => Some(self.arrived.get(id)?.0.node?.0),
        }
    }

    /// The member that answered there. Its address may be another than the catalog's: all nodes may have started
    /// again under new ones, and then there is no leader who could take note before they hear each other.
    fn member_at(&self, seed: &Outgoing) -> Option<NodeId> {
        self.keys.get(&seed.key?).copied()
    }

    /// Sends to a member, if there is a connection; whether there is.
    pub(crate) fn send(&self, to: NodeId, message: &Message, urgency: Urgency) -> bool {
        let members = self.members.get(&to).into_iter();
        let seeds = self.seeds.values();
        let seeds = seeds.filter(|seed| self.member_at(seed) == Some(to));
        let dialed = members.chain(seeds).find(|it| it.is_connected);
        // A node that was just taken in has no catalog yet, and so knows nobody's address: it answers its leader
        // on the connection that the leader made.
        let lane = dialed.map(|it| &it.lane).or_else(|| self.lane_from(to));
        if let Some(lane) = lane {
            lane.push(frame::frame(&message.encode()), urgency);
        }
        lane.is_some()
    }

    /// The newest connection that a member has made.
    fn lane_from(&self, member: NodeId) -> Option<&Rc<Lane>> {
        let mut arrived = self.arrived.values().rev();
        arrived
            .find(|(hello, _)| hello.node.is_some_and(|(id, _)| id == member))
            .map(|(_, lane)| lane)
    }

    /// Answers on the connection that something came by.
    pub(crate) fn reply(&mut self, source: &Source, message: &Message, urgency: Urgency) {
        let lane = match source {
            Source::Dialed(target) => self.dialed(target).map(|it| Rc::clone(&it.lane)),
            Source::Arrived(id) => self.arrived.get(id).map(|(_, lane)| Rc::clone(lane)),
        };
        if let Some(lane) = lane {
            lane.push(frame::frame(&message.encode()), urgency);
        }
    }

    /// All connections that this node made and that are there.
    pub(crate) fn connected(&self) -> Vec<Target> {
        let members = self.members.iter().filter(|(_, it)| it.is_connected);
        let seeds = self.seeds.iter().filter(|(_, it)| it.is_connected);
        let members = members.map(|(id, _)| Target::Node(*id));
        members
            .chain(seeds.map(|(address, _)| Target::Seed(address.clone())))
            .collect()
    }
}
