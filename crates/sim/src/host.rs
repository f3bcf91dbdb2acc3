//! What a member of a cluster has outside of itself, in the simulator.
//!
//! In:  the clocks' readings, which connections there are, how far the bricks are. Out: [`Wish`]es, in order.

use crate::disk::SimDisk;
use crate::network::ConnectionId;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_metadata::Catalog;
use brickyard_node::forming::{Kept, kept};
use brickyard_node::{Host, HostPort, Message, Source, Target, ToBrick, Urgency};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{Incarnation, Instant, UnixMillis};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

/// Something that the member wants done.
#[derive(Debug)]
pub(crate) enum Wish {
    Send(ConnectionId, Vec<u8>),
    /// This node's end of a connection that it made.
    Close(ConnectionId),
    Dial {
        own: Seat,
        peer: Seat,
        connection: u64,
    },
    Tell(usize, ToBrick),
    Persist(Persist),
    /// There are connections to make.
    Connect,
    Shown(Arc<Catalog>),
    ConfirmTail,
    Stop(String),
}

/// A connection that this node keeps up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dialed {
    pub(crate) connection: Option<ConnectionId>,
    /// It is being made, or waits to be.
    pub(crate) is_under_way: bool,
    pub(crate) failures: u32,
}

/// Who says what of himself on a connection that he made.
pub(crate) type Hello = Option<(NodeId, Incarnation)>;

/// See the module.
#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    pub(crate) me: Hello,
    pub(crate) dialed: BTreeMap<Target, Dialed>,
    pub(crate) arrived: BTreeMap<u64, Hello>,
    pub(crate) states: Vec<LoopState>,
    pub(crate) adopted: Vec<u64>,
    pub(crate) wishes: VecDeque<Wish>,
    disk: SimDisk,
}

impl SimHost {
    pub(crate) fn new(now: Instant, unix: UnixMillis, disk: SimDisk) -> Self {
        Self {
            disk,
            now,
            unix,
            me: None,
            dialed: BTreeMap::new(),
            arrived: BTreeMap::new(),
            states: Vec::new(),
            adopted: Vec::new(),
            wishes: VecDeque::new(),
        }
    }

    fn connection_to(&self, target: &Target) -> Option<ConnectionId> {
        self.dialed.get(target)?.connection
    }

    pub(crate) fn push(&mut self, connection: ConnectionId, message: &Message) {
        let wish = Wish::Send(connection, message.encode());
        self.wishes.push_back(wish);
    }
}

impl Host for SimHost {
    fn now(&self) -> Instant {
        self.now
    }

    fn unix(&self) -> UnixMillis {
        self.unix
    }

    fn member(&self, source: &Source) -> Option<NodeId> {
        match source {
            Source::Dialed(Target::Node(id)) => Some(*id),
            Source::Dialed(Target::Seed(_)) => None,
            Source::Arrived(id) => self.arrived.get(id)?.map(|(node, _)| node),
        }
    }

    fn send(&mut self, to: NodeId, message: &Message, _urgency: Urgency) -> bool {
        let dialed = self.connection_to(&Target::Node(to));
        let arrived = || {
            let mut all = self.arrived.iter().rev();
            let found = all.find(|(_, hello)| hello.is_some_and(|(node, _)| node == to));
            found.map(|(id, _)| ConnectionId(*id))
        };
        let connection = dialed.or_else(arrived);
        if let Some(connection) = connection {
            self.push(connection, message);
        }
        connection.is_some()
    }

    fn reply(&mut self, source: &Source, message: &Message, _urgency: Urgency) {
        let connection = match source {
            Source::Dialed(target) => self.connection_to(target),
            Source::Arrived(id) => self.arrived.contains_key(id).then_some(ConnectionId(*id)),
        };
        if let Some(connection) = connection {
            self.push(connection, message);
        }
    }

    fn connected(&self) -> Vec<Target> {
        let there = self.dialed.iter().filter(|(_, it)| it.connection.is_some());
        there.map(|(target, _)| target.clone()).collect()
    }

    fn add_seed(&mut self, address: &HostPort) {
        let seed = Target::Seed(address.clone());
        self.dialed.entry(seed).or_default();
        self.wishes.push_back(Wish::Connect);
    }

    fn keep(&mut self, kept: &Kept) -> io::Result<()> {
        kept::store(&self.disk, kept)
    }

    fn follow(&mut self, catalog: &Catalog, me: NodeId) {
        // A node that was removed may be there as another one: what comes from it is not the removed one's.
        self.dialed.retain(|target, dialed| {
            let is_there = match target {
                Target::Node(id) => catalog.node(*id).is_some(),
                Target::Seed(_) => true,
            };
            if let Some(connection) = dialed.connection.filter(|_| !is_there) {
                self.wishes.push_back(Wish::Close(connection));
            }
            is_there
        });
        for node in catalog.nodes().filter(|node| node.id != me) {
            self.dialed.entry(Target::Node(node.id)).or_default();
        }
        self.arrived.retain(|_, hello| {
            let present = hello.and_then(|(id, life)| Some((catalog.node(id)?.incarnation, life)));
            present.is_none_or(|(present, life)| life == Incarnation(0) || life >= present)
        });
        self.wishes.push_back(Wish::Connect);
    }

    fn introduce(&mut self, me: NodeId, incarnation: Incarnation) {
        self.me = Some((me, incarnation));
    }

    fn dial(&mut self, own: Seat, peer: Seat, connection: u64, _address: HostPort) {
        self.wishes.push_back(Wish::Dial {
            own,
            peer,
            connection,
        });
    }

    fn bricks(&self) -> usize {
        self.states.len()
    }

    fn tell(&mut self, brick: usize, message: ToBrick) {
        self.wishes.push_back(Wish::Tell(brick, message));
    }

    fn states(&self) -> Vec<LoopState> {
        self.states.clone()
    }

    fn adopted(&self) -> u64 {
        self.adopted.iter().copied().min().unwrap_or(0)
    }

    fn persist(&mut self, persist: Persist) {
        self.wishes.push_back(Wish::Persist(persist));
    }

    fn show(&mut self, catalog: &Arc<Catalog>) {
        self.wishes.push_back(Wish::Shown(Arc::clone(catalog)));
    }

    fn confirm_tail(&mut self) {
        self.wishes.push_back(Wish::ConfirmTail);
    }

    fn stop(&mut self, reason: &str) {
        self.wishes.push_back(Wish::Stop(reason.to_owned()));
    }
}
