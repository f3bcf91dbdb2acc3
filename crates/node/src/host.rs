//! What a member of a cluster needs from outside, and what it tells the bricks.
//!
//! The server carries this out with sockets, threads and clocks, the simulator with none of them.

use crate::address::HostPort;
use crate::changes::Answer;
use crate::discovery::Kept;
use crate::log_writer::LogWriter;
use crate::message::Message;
use crate::peer::Introduction;
use crate::register::TakenIn;
use crate::storage::Directory;
use brickyard_brick::{ControlReply, Event};
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_control::message::Drained;
use brickyard_metadata::{Catalog, CatalogVersion, Level, Registration};
use brickyard_routing::{NodeId, Replica};
use brickyard_store::Disk;
use brickyard_types::{Incarnation, Instant, UnixMillis};
use std::io;
use std::sync::Arc;

/// Until when a brick may act that needs no lease.
pub const ENDLESS: Instant = Instant(u64::MAX);

/// Which frames go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Leases: they run out.
    High,
    /// Everything else.
    Normal,
}

/// Who is dialed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A member of the cluster.
    Node(NodeId),
    /// Whoever answers there.
    Seed(HostPort),
}

/// Where a message came from, and where its answer goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A connection that this node made.
    Dialed(Target),
    /// One that another made.
    Arrived(u64),
}

/// What a brick is told.
#[derive(Clone, Debug)]
pub enum ToBrick {
    /// The answer to a request.
    Reply(u64, ControlReply),
    /// The catalog changed.
    Catalog(Arc<Catalog>),
    /// This life of the node has that number; before the first catalog that names it.
    Registered(Incarnation),
    /// The brick may act until then, once it acts by that version of the catalog.
    Lease {
        /// Until when; 0: not any more.
        until: Instant,
        /// From which version of the catalog on.
        version: u64,
    },
    /// What does the log hold?
    WantSummaries(u64),
}

impl ToBrick {
    /// As the brick hears it.
    #[must_use]
    pub fn into_event(self) -> Event<'static> {
        match self {
            Self::Reply(token, reply) => Event::Control(token, reply),
            Self::Catalog(catalog) => Event::Catalog(catalog),
            Self::Registered(incarnation) => Event::Registered(incarnation),
            Self::Lease { until, version } => Event::Lease { until, version },
            Self::WantSummaries(token) => Event::WantSummaries(token),
        }
    }
}

/// Everything that is not the member's own: clocks, connections, bricks, the disk.
pub trait Host {
    /// The clock that leases go by: it never goes back and counts suspended time.
    fn now(&self) -> Instant;

    /// The wall clock.
    fn unix(&self) -> UnixMillis;

    /// Which member a connection is to or from; `None` for strangers.
    fn member(&self, source: &Source) -> Option<NodeId>;

    /// How much a member's program knows; `None` if it has not connected to this node yet.
    fn level(&self, node: NodeId) -> Option<Level>;

    /// Sends to a member, if there is a connection; whether there is.
    fn send(&mut self, to: NodeId, message: &Message, urgency: Urgency) -> bool;

    /// Answers on the connection that something came by.
    fn reply(&mut self, source: &Source, message: &Message, urgency: Urgency);

    /// All connections that this node made and that are there.
    fn connected(&self) -> Vec<Target>;

    /// Connects to whoever answers there, from now on.
    fn add_seed(&mut self, address: &HostPort);

    /// Stores what a node without a cluster has promised, before anything is said of it.
    ///
    /// # Errors
    /// It is not stored.
    fn keep(&mut self, kept: &Kept) -> io::Result<()>;

    /// Connects to the catalog's other nodes, where it says that they are now.
    fn follow(&mut self, catalog: &Catalog, me: NodeId);

    /// What this node says of itself from the next connection on.
    fn introduce(&mut self, me: NodeId, incarnation: Incarnation);

    /// Connects a brick of this node to one of another; [`crate::ClusterMember::on_stream`] or
    /// [`crate::ClusterMember::on_no_stream`] tells what came of it.
    fn dial(&mut self, own: Replica, peer: Replica, connection: u64, address: HostPort);

    /// How many bricks run here; 0 until they have read their logs.
    fn bricks(&self) -> usize;

    /// Tells a brick something.
    fn tell(&mut self, brick: usize, message: ToBrick);

    /// How far each brick is.
    fn states(&self) -> Vec<LoopState>;

    /// The oldest catalog that a brick acts by.
    fn adopted(&self) -> u64;

    /// Stores something of the agreement; [`crate::ClusterMember::on_report`] tells when it is stored.
    fn persist(&mut self, persist: Persist);

    /// There is a new catalog: for whoever looks, and for tools.
    fn show(&mut self, catalog: &Arc<Catalog>);

    /// Notes on the disk that the logs lack nothing that was acknowledged (rule `a lost log end is noted first`).
    fn confirm_tail(&mut self);

    /// Ends the process: it can make no more promises. Where that takes a moment, nothing is heard of it
    /// meanwhile.
    fn stop(&mut self, reason: &str);
}

/// What else a node needs from outside, to find a cluster and to begin in it.
pub trait ControlIo: Host {
    /// What its directory is on.
    type Disk: Disk;

    /// Where the control log is.
    fn directory(&self) -> &Directory<Self::Disk>;

    /// From now on the control log is written by that.
    ///
    /// # Errors
    /// It cannot be; in words.
    fn begin_log(&mut self, log: LogWriter<Self::Disk>) -> Result<(), String>;

    /// The first state of a cluster that this node founds.
    ///
    /// # Errors
    /// There is none; in words.
    fn genesis(&mut self, registration: &Registration) -> Result<Catalog, String>;

    /// What this node says of itself.
    fn introduction(&self) -> &Introduction;

    /// Says that from the next connection on.
    fn introduce_as(&mut self, introduction: Introduction);

    /// Connects no more to whoever answers there: it is this node, say.
    fn drop_seed(&mut self, address: &HostPort);

    /// Connects no more but to the nodes of the catalog.
    fn drop_seeds(&mut self);
}

/// What the parts of a member share.
#[derive(Debug)]
pub struct Common<H> {
    /// Everything outside.
    pub host: H,
    /// What this node says of itself.
    pub registration: Registration,
    /// Times and bounds of the control plane.
    pub control: brickyard_control::ControlConfig,
    /// Where the agreement draws its timeouts from.
    pub consensus_seed: u64,
    /// The log before this start lacks nothing that was acknowledged without a sync.
    pub is_tail_sure: bool,
    /// The end of a log was cut off when it was read, in this life or in an earlier one that was not in sync everywhere
    /// after that.
    pub is_end_cut: bool,
    /// What this process was told if it was taken into a cluster.
    pub taken_in: Option<TakenIn>,
    /// How far this node's emptying is, as the leader said last.
    pub drained: Option<Drained>,
}

impl<H: Host> Common<H> {
    fn tell_all(&mut self, message: &ToBrick) {
        for brick in 0..self.host.bricks() {
            self.host.tell(brick, message.clone());
        }
    }

    pub(crate) fn registered(&mut self, incarnation: Incarnation) {
        self.tell_all(&ToBrick::Registered(incarnation));
    }

    pub(crate) fn catalog(&mut self, catalog: &Arc<Catalog>) {
        self.tell_all(&ToBrick::Catalog(Arc::clone(catalog)));
    }

    /// All bricks may act as long as there is no other node.
    pub(crate) fn endless_lease(&mut self, version: CatalogVersion) {
        self.tell_all(&ToBrick::Lease {
            until: ENDLESS,
            version: version.0,
        });
    }

    /// No brick may act any more.
    pub(crate) fn end_lease(&mut self) {
        self.tell_all(&ToBrick::Lease {
            until: Instant(0),
            version: 0,
        });
    }

    pub(crate) fn answer(&mut self, answers: Vec<Answer>) {
        for (origin, reply) in answers {
            self.host
                .tell(origin.brick, ToBrick::Reply(origin.token, reply));
        }
    }
}

/// Where other nodes reach a node; `None` if they cannot.
#[must_use]
pub fn peer_address(catalog: &Catalog, node: NodeId) -> Option<HostPort> {
    let addresses = &catalog.node(node)?.registration.addresses;
    (addresses.peer_port != 0).then(|| HostPort {
        host: addresses.host.clone(),
        port: addresses.peer_port,
    })
}
