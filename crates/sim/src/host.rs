//! What a member of a cluster has outside of itself, in the simulator.
//!
//! In:  the clocks' readings, what becomes of connections, how far the bricks are. Out: [`HostAction`]es, in order.

use crate::network::ConnectionId;
use crate::random::Random;
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_metadata::{Catalog, ClusterId, Genesis, Level, NodeKey, Registration};
use brickyard_node::discovery::{Kept, kept};
use brickyard_node::peer::{Contacts, Introduction, Redial, Wires};
use brickyard_node::storage::Directory;
use brickyard_node::{
    ControlIo, Host, HostPort, LogWriter, Message, Source, Target, ToBrick, Urgency,
};
use brickyard_routing::{NodeId, Replica};
use brickyard_store::MemDisk;
use brickyard_types::{Durability, Incarnation, Instant, TableAttributes, UnixMillis};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Something that the member wants done.
#[derive(Debug)]
pub(crate) enum HostAction {
    Send(ConnectionId, Vec<u8>),
    /// That end of a connection.
    Close(ConnectionId, usize),
    Dial {
        own: Replica,
        peer: Replica,
        connection: u64,
        address: HostPort,
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
#[derive(Clone, Debug)]
pub(crate) struct Dialed {
    pub(crate) address: HostPort,
    /// Whose data directory should be there.
    pub(crate) expected: Option<NodeKey>,
    pub(crate) connection: Option<ConnectionId>,
    /// The attempt that is being made, or waits to be.
    pub(crate) attempt: Option<u64>,
    pub(crate) redial: Redial,
    /// How long to wait before the next attempt.
    pub(crate) pause: Duration,
}

/// The connections of the control plane, and what is wished of the world.
#[derive(Debug, Default)]
pub(crate) struct SimWires {
    pub(crate) dialed: BTreeMap<Target, Dialed>,
    /// Streams that are being dialed, by the numbers that they will have.
    pub(crate) streams: BTreeSet<u64>,
    pub(crate) attempts: u64,
    pub(crate) actions: VecDeque<HostAction>,
}

/// Writes the control log.
#[derive(Debug)]
pub(crate) struct ControlWork {
    pub(crate) writer: LogWriter<MemDisk>,
    pub(crate) queue: VecDeque<Persist>,
    pub(crate) is_busy: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SimHost {
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    pub(crate) contacts: Contacts,
    pub(crate) wires: SimWires,
    pub(crate) states: Vec<LoopState>,
    pub(crate) adopted: Vec<u64>,
    /// Once the node has a control log.
    pub(crate) log: Option<ControlWork>,
    directory: Directory<MemDisk>,
    /// What a cluster that it founds is drawn from.
    seed: u64,
}

impl SimHost {
    pub(crate) fn new(
        now: Instant,
        unix: UnixMillis,
        introduction: Introduction,
        directory: Directory<MemDisk>,
        seed: u64,
    ) -> Self {
        Self {
            now,
            unix,
            contacts: Contacts::new(introduction),
            wires: SimWires::default(),
            states: Vec::new(),
            adopted: Vec::new(),
            log: None,
            directory,
            seed,
        }
    }

    fn act(&mut self, act: HostAction) {
        self.wires.actions.push_back(act);
    }
}

impl Wires for SimWires {
    fn dial(&mut self, target: &Target, address: &HostPort, expected: Option<NodeKey>) {
        let dialed = Dialed {
            address: address.clone(),
            expected,
            connection: None,
            attempt: None,
            redial: Redial::default(),
            pause: Duration::ZERO,
        };
        self.dialed.insert(target.clone(), dialed);
        self.actions.push_back(HostAction::Connect);
    }

    fn hang_up(&mut self, target: &Target) {
        let dialed = self.dialed.remove(target);
        if let Some(connection) = dialed.and_then(|it| it.connection) {
            self.actions.push_back(HostAction::Close(connection, 0));
        }
    }

    fn turn_away(&mut self, arrived: u64) {
        let connection = ConnectionId(arrived);
        self.actions.push_back(HostAction::Close(connection, 1));
    }

    fn push(&mut self, on: &Source, frame: Vec<u8>, _urgency: Urgency) {
        let connection = match on {
            Source::Dialed(target) => self.dialed.get(target).and_then(|it| it.connection),
            Source::Arrived(id) => Some(ConnectionId(*id)),
        };
        if let Some(connection) = connection {
            self.actions.push_back(HostAction::Send(connection, frame));
        }
    }

    fn introduce(&mut self, _introduction: &Introduction) {}
}

impl Host for SimHost {
    fn now(&self) -> Instant {
        self.now
    }

    fn unix(&self) -> UnixMillis {
        self.unix
    }

    fn member(&self, source: &Source) -> Option<NodeId> {
        self.contacts.member(source)
    }

    fn level(&self, node: NodeId) -> Option<Level> {
        self.contacts.level(node)
    }

    fn send(&mut self, to: NodeId, message: &Message, urgency: Urgency) -> bool {
        self.contacts.send(&mut self.wires, to, message, urgency)
    }

    fn reply(&mut self, source: &Source, message: &Message, urgency: Urgency) {
        self.contacts
            .reply(&mut self.wires, source, message, urgency);
    }

    fn connected(&self) -> Vec<Target> {
        self.contacts.connected()
    }

    fn add_seed(&mut self, address: &HostPort) {
        self.contacts.add_seed(&mut self.wires, address);
    }

    fn keep(&mut self, kept: &Kept) -> io::Result<()> {
        kept::store(&self.directory.disk, kept)
    }

    fn follow(&mut self, catalog: &Catalog, me: NodeId) {
        self.contacts.follow(&mut self.wires, catalog, me);
    }

    fn introduce(&mut self, me: NodeId, incarnation: Incarnation) {
        self.contacts.introduce(&mut self.wires, |introduction| {
            introduction.node = Some((me, incarnation));
        });
    }

    fn dial(&mut self, own: Replica, peer: Replica, connection: u64, address: HostPort) {
        self.wires.streams.insert(connection);
        self.act(HostAction::Dial {
            own,
            peer,
            connection,
            address,
        });
    }

    fn bricks(&self) -> usize {
        self.states.len()
    }

    fn tell(&mut self, brick: usize, message: ToBrick) {
        self.act(HostAction::Tell(brick, message));
    }

    fn states(&self) -> Vec<LoopState> {
        self.states.clone()
    }

    fn adopted(&self) -> u64 {
        self.adopted.iter().copied().min().unwrap_or(0)
    }

    fn persist(&mut self, persist: Persist) {
        self.act(HostAction::Persist(persist));
    }

    fn show(&mut self, catalog: &Arc<Catalog>) {
        self.act(HostAction::Shown(Arc::clone(catalog)));
    }

    fn confirm_tail(&mut self) {
        self.act(HostAction::ConfirmTail);
    }

    fn stop(&mut self, reason: &str) {
        self.act(HostAction::Stop(reason.to_owned()));
    }
}

impl ControlIo for SimHost {
    type Disk = MemDisk;

    fn directory(&self) -> &Directory<MemDisk> {
        &self.directory
    }

    fn begin_log(&mut self, log: LogWriter<MemDisk>) -> Result<(), String> {
        self.log = Some(ControlWork {
            writer: log,
            queue: VecDeque::new(),
            is_busy: false,
        });
        Ok(())
    }

    fn genesis(&mut self, registration: &Registration) -> Result<Catalog, String> {
        genesis(registration, self.seed)
    }

    fn introduction(&self) -> &Introduction {
        self.contacts.introduction()
    }

    fn introduce_as(&mut self, introduction: Introduction) {
        self.contacts
            .introduce(&mut self.wires, |it| *it = introduction);
    }

    fn drop_seed(&mut self, address: &HostPort) {
        self.contacts.drop_seed(&mut self.wires, address);
    }

    fn drop_seeds(&mut self) {
        self.contacts.drop_seeds(&mut self.wires);
    }
}

/// Of a process's seed: what a cluster that it founds is drawn from.
const GENESIS: u64 = 1 << 32;

/// The first state of a cluster that a node founds.
pub(crate) fn genesis(registration: &Registration, seed: u64) -> Result<Catalog, String> {
    let mut random = Random::of(seed, GENESIS);
    let catalog = Catalog::found(Genesis {
        cluster: ClusterId(u128::from(random.next()) + 1),
        node: registration.clone(),
        // Made for one node; the run's own tables are made by clients.
        attributes: TableAttributes {
            durability: Durability::Fsync,
            ..TableAttributes::default()
        },
        partitions: Some(registration.bricks),
        seed: random.next(),
        created: UnixMillis(1_700_000_000_000),
    });
    catalog.map_err(|refusal| refusal.to_string())
}
