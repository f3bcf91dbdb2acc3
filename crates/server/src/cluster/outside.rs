//! What a member of a cluster has outside of itself, on a real machine.

use super::loops::Loops;
use super::storage::Directory;
use super::writer::Writer;
use crate::control::{CatalogFile, ToLoop};
use crate::disk::Timing;
use crate::peer::{Peers, dial};
use crate::{clock, fatal};
use brickyard_consensus::Persist;
use brickyard_control::LoopState;
use brickyard_metadata::{Catalog, Level, Registration};
use brickyard_node::discovery::{Kept, kept};
use brickyard_node::peer::Introduction;
use brickyard_node::{
    ControlIo, Host, HostPort, LogWriter, Message, Report, Source, Target, ToBrick, Urgency,
};
use brickyard_routing::{NodeId, Replica};
use brickyard_store::{BootNote, OsDisk};
use brickyard_types::{Incarnation, Instant, TableAttributes, UnixMillis};
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

/// See the module.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) peers: Peers,
    pub(crate) loops: Loops,
    pub(crate) directory: Directory,
    pub(crate) boot: BootNote,
    /// None before the node is a member.
    pub(crate) writer: Option<Writer>,
    /// The last catalog, for whoever looks.
    pub(crate) catalog: Option<watch::Sender<Arc<Catalog>>>,
    /// For the writer, which says there what is stored.
    pub(crate) reports: UnboundedSender<Report>,
    /// And there how long that takes.
    pub(crate) log_timing: Arc<Timing>,
    /// What a cluster is founded with.
    pub(crate) attributes: TableAttributes,
}

impl Host for Outside {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn unix(&self) -> UnixMillis {
        clock::unix()
    }

    fn member(&self, source: &Source) -> Option<NodeId> {
        self.peers.member(source)
    }

    fn level(&self, node: NodeId) -> Option<Level> {
        self.peers.level(node)
    }

    fn send(&mut self, to: NodeId, message: &Message, urgency: Urgency) -> bool {
        self.peers.send(to, message, urgency)
    }

    fn reply(&mut self, source: &Source, message: &Message, urgency: Urgency) {
        self.peers.reply(source, message, urgency);
    }

    fn connected(&self) -> Vec<Target> {
        self.peers.connected()
    }

    fn add_seed(&mut self, address: &HostPort) {
        self.peers.add_seed(address);
    }

    fn keep(&mut self, kept: &Kept) -> io::Result<()> {
        kept::store(&self.directory.disk, kept)
    }

    fn follow(&mut self, catalog: &Catalog, me: NodeId) {
        self.peers.follow(catalog, me);
    }

    fn introduce(&mut self, me: NodeId, incarnation: Incarnation) {
        self.peers
            .introduce(|introduction| introduction.node = Some((me, incarnation)));
    }

    fn dial(&mut self, own: Replica, peer: Replica, connection: u64, address: HostPort) {
        let events = self.peers.events();
        dial::dial(
            own,
            peer,
            connection,
            address,
            self.peers.introduction(),
            self.peers.tls(),
            events,
        );
    }

    fn bricks(&self) -> usize {
        self.loops.len()
    }

    fn tell(&mut self, brick: usize, message: ToBrick) {
        self.loops.send(brick, ToLoop::Brick(message));
    }

    fn states(&self) -> Vec<LoopState> {
        self.loops.states()
    }

    fn adopted(&self) -> u64 {
        self.loops.adopted()
    }

    fn persist(&mut self, persist: Persist) {
        if let Some(writer) = &self.writer {
            writer.persist(persist);
        }
    }

    fn show(&mut self, catalog: &Arc<Catalog>) {
        if let Some(writer) = &self.writer {
            writer.copy(Arc::clone(catalog));
        }
        if let Some(shown) = &self.catalog {
            shown.send_replace(Arc::clone(catalog));
        }
    }

    fn confirm_tail(&mut self) {
        if let Some(writer) = &self.writer {
            writer.confirm_tail(self.boot.clone());
        }
    }

    fn stop(&mut self, reason: &str) {
        fatal::stop_control(reason);
    }
}

impl ControlIo for Outside {
    type Disk = OsDisk;

    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn begin_log(&mut self, log: LogWriter<OsDisk>) -> Result<(), String> {
        let copy = CatalogFile::new(self.directory.disk.clone());
        let timing = Arc::clone(&self.log_timing);
        let writer = Writer::start(log, copy, self.reports.clone(), timing);
        let writer = writer.map_err(|error| format!("cannot start a thread: {error}"))?;
        self.writer = Some(writer);
        Ok(())
    }

    fn genesis(&mut self, registration: &Registration) -> Result<Catalog, String> {
        super::genesis(registration.clone(), self.attributes.clone())
    }

    fn introduction(&self) -> &Introduction {
        self.peers.introduction()
    }

    fn introduce_as(&mut self, introduction: Introduction) {
        self.peers.introduce(|it| *it = introduction);
    }

    fn drop_seed(&mut self, address: &HostPort) {
        self.peers.drop_seed(address);
    }

    fn drop_seeds(&mut self) {
        self.peers.drop_seeds();
    }
}
