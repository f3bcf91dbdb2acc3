//! All connections of the control plane, with their sockets.

use super::outgoing::Outgoing;
use super::{Arrived, Event, Events, SendQueue};
use crate::config::HostPort;
use crate::reload::Current;
use brickyard_brick::lowest_level::LowestLevel;
use brickyard_metadata::{Catalog, Level, NodeKey};
use brickyard_node::peer::{Answer, ConnectionKind, Contacts, Introduction, Wires};
use brickyard_node::{Message, Source, Target, Urgency};
use brickyard_routing::NodeId;
use brickyard_tls::NodeSide;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// See the module. Which of them leads to whom is `node`'s.
#[derive(Debug)]
pub(crate) struct Peers {
    contacts: Contacts,
    wires: TaskWires,
    /// For the bricks.
    lowest_level: Arc<LowestLevel>,
}

/// A task for each connection, and a queue to it.
#[derive(Debug)]
struct TaskWires {
    /// For the tasks that dial.
    introduction: Rc<RefCell<Introduction>>,
    tls: Current<NodeSide>,
    events: Events,
    dialed: BTreeMap<Target, Outgoing>,
    arrived: BTreeMap<u64, Rc<SendQueue>>,
}

impl Peers {
    pub(crate) fn new(
        introduction: Introduction,
        tls: Current<NodeSide>,
        events: Events,
        lowest_level: Arc<LowestLevel>,
    ) -> Self {
        Self {
            wires: TaskWires {
                introduction: Rc::new(RefCell::new(introduction.clone())),
                tls,
                events,
                dialed: BTreeMap::new(),
                arrived: BTreeMap::new(),
            },
            contacts: Contacts::new(introduction),
            lowest_level,
        }
    }

    /// What this node says of itself from the next connection on.
    pub(crate) fn introduce(&mut self, change: impl FnOnce(&mut Introduction)) {
        self.contacts.introduce(&mut self.wires, change);
    }

    pub(crate) fn introduction(&self) -> &Introduction {
        self.contacts.introduction()
    }

    /// What a stream that is dialed now goes by.
    pub(crate) fn tls(&self) -> Option<NodeSide> {
        self.wires.tls.now()
    }

    pub(crate) fn events(&self) -> Events {
        self.wires.events.clone()
    }

    /// Connects to the catalog's other nodes, where it says that they are now.
    pub(crate) fn follow(&mut self, catalog: &Catalog, me: NodeId) {
        self.contacts.follow(&mut self.wires, catalog, me);
        self.lowest_level.set(self.contacts.lowest_level());
    }

    /// Connects to one more node that may know of a cluster.
    pub(crate) fn add_seed(&mut self, address: &HostPort) {
        self.contacts.add_seed(&mut self.wires, address);
    }

    pub(crate) fn drop_seed(&mut self, address: &HostPort) {
        self.contacts.drop_seed(&mut self.wires, address);
    }

    pub(crate) fn drop_seeds(&mut self) {
        self.contacts.drop_seeds(&mut self.wires);
    }

    /// Takes a connection in that somebody made.
    pub(crate) fn take(&mut self, arrived: Arrived) {
        let welcome = Answer::Welcome(self.contacts.introduction().welcome());
        if arrived.hello.kind == ConnectionKind::Control {
            self.wires.arrived.insert(arrived.id, arrived.queue);
        }
        self.contacts.on_arrived(arrived.id, arrived.hello);
        self.lowest_level.set(self.contacts.lowest_level());
        // Whoever is gone already comes back as [`Event::Left`].
        drop(arrived.answer.send(welcome));
    }

    /// Notes what an event says of a connection.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Welcomed(target, welcome) => self.contacts.on_welcomed(target, welcome.key),
            Event::Lost(target) => self.contacts.on_lost(target),
            Event::Left(id) => {
                self.wires.arrived.remove(id);
                self.contacts.on_left(*id);
            }
            _ => {}
        }
    }

    /// Which member that connection is to or from; `None` for strangers.
    pub(crate) fn member(&self, source: &Source) -> Option<NodeId> {
        self.contacts.member(source)
    }

    /// How much that member's program knows; `None` if it has not connected to this node yet.
    pub(crate) fn level(&self, node: NodeId) -> Option<Level> {
        self.contacts.level(node)
    }

    /// Sends to a member, if there is a connection; whether there is.
    pub(crate) fn send(&mut self, to: NodeId, message: &Message, urgency: Urgency) -> bool {
        self.contacts.send(&mut self.wires, to, message, urgency)
    }

    /// Answers on the connection that something came by.
    pub(crate) fn reply(&mut self, source: &Source, message: &Message, urgency: Urgency) {
        self.contacts
            .reply(&mut self.wires, source, message, urgency);
    }

    /// All connections that this node made and that are there.
    pub(crate) fn connected(&self) -> Vec<Target> {
        self.contacts.connected()
    }
}

impl Wires for TaskWires {
    fn dial(&mut self, target: &Target, address: &HostPort, expected: Option<NodeKey>) {
        let outgoing = Outgoing::start(
            target.clone(),
            address.clone(),
            expected,
            Rc::clone(&self.introduction),
            self.tls.clone(),
            self.events.clone(),
        );
        self.dialed.insert(target.clone(), outgoing);
    }

    fn hang_up(&mut self, target: &Target) {
        self.dialed.remove(target);
    }

    fn turn_away(&mut self, arrived: u64) {
        if let Some(queue) = self.arrived.remove(&arrived) {
            queue.close();
        }
    }

    fn push(&mut self, on: &Source, frame: Vec<u8>, urgency: Urgency) {
        let queue = match on {
            Source::Dialed(target) => self.dialed.get(target).map(|it| &it.queue),
            Source::Arrived(id) => self.arrived.get(id),
        };
        if let Some(queue) = queue {
            queue.push(frame, urgency);
        }
    }

    fn introduce(&mut self, introduction: &Introduction) {
        self.introduction.replace(introduction.clone());
    }
}
