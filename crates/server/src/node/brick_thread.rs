//! One brick's thread: read the log, say so, wait for the ports, serve, sync, end.
//!
//! The log is read on the thread that will serve, so that the tables' memory is its own.

use crate::clock;
use crate::control::ControlLink;
use crate::disk::{self, DiskSetup, DiskStats, IdleJob};
use crate::driver::{self, ClientPorts, Links, LoopIo};
use crate::handout::{self, Handout};
use crate::huge_pages;
use crate::listener::Listener;
use crate::mesh::Endpoint;
use crate::random;
use crate::reload::Current;
use crate::ring::Ring;
use crate::wake::Waker;
use brickyard_brick::shared::Shared;
use brickyard_brick::{BrickConfig, Forward};
use brickyard_metadata::Catalog;
use brickyard_node::disk::SyncPace;
use brickyard_node::recovery::{self, RecoveredBrick};
use brickyard_store::{self as store, Access, Disk, DiskFile as _, OsDisk};
use brickyard_tls::rustls::ServerConfig;
use brickyard_types::{BrickId, Incarnation};
use mio::Poll;
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

/// What a brick gets once all bricks have read their logs.
pub(super) struct Ports {
    pub(super) node: Option<(Listener, Handout)>,
    pub(super) brick: Listener,
    /// What their connections go by.
    pub(super) tls: Current<Arc<ServerConfig>>,
}

/// Everything a brick's thread starts with.
pub(super) struct BrickThread {
    pub(super) index: usize,
    pub(super) log: BrickLog,
    pub(super) catalog: Arc<Catalog>,
    /// 0: the node is not registered yet.
    pub(super) incarnation: Incarnation,
    pub(super) shared: Arc<Shared>,
    pub(super) poll: Poll,
    pub(super) wakers: Arc<[Waker]>,
    pub(super) mesh: Endpoint<Vec<Forward>>,
    pub(super) control: ControlLink,
    pub(super) handed: Option<Consumer<handout::Accepted>>,
    pub(super) inside: Consumer<handout::Accepted>,
    pub(super) request_bytes_max: usize,
    /// Its clients' sockets are served through a ring.
    pub(super) has_ring: bool,
    /// Told what was damaged once the log is read.
    pub(super) recovered: Sender<Result<Vec<(usize, String)>, store::StoreError>>,
    /// Gone when the start failed elsewhere.
    pub(super) ports: Receiver<Ports>,
}

/// Where its log is, how it is kept, and who serves it.
pub(super) struct BrickLog {
    pub(super) disk: OsDisk,
    pub(super) config: store::LogConfig,
    pub(super) idle: SyncSender<IdleJob<OsDisk>>,
    pub(super) stats: Arc<DiskStats>,
    pub(super) pace: SyncPace,
    pub(super) inline_append_max: usize,
}

/// Of clients' handshakes at one brick no more may not be over: all bricks together leave three of four places to who has come to
/// speak.
fn handshakes_max(shared: &Shared) -> usize {
    let maxclients = shared.settings.maxclients.load(Relaxed);
    let share = maxclients / shared.address.bricks.len().max(1) as u64 / 4;
    share.clamp(16, 1024) as usize
}

impl BrickThread {
    pub(super) fn run(self) {
        let bricks = self.shared.address.bricks.len() as u32;
        let make = || BrickConfig {
            id: BrickId(self.index as u32),
            incarnation: self.incarnation,
            bricks,
            shared: Arc::clone(&self.shared),
            catalog: Arc::clone(&self.catalog),
            seed: seed(),
        };
        let now = || (clock::now(), clock::unix());
        huge_pages::expect(file_sizes(&self.log.disk));
        let recovered =
            recovery::recover(&self.log.disk, &self.log.config, &self.catalog, now, make);
        let RecoveredBrick { brick, opened } = match recovered {
            Ok(recovered) => {
                let damages = recovered.opened.report.damages.iter();
                let damages = damages.map(|damage| (self.index, damage.to_string()));
                // Nobody listens any more if another brick's log could not be read.
                drop(self.recovered.send(Ok(damages.collect())));
                recovered
            }
            Err(error) => {
                drop(self.recovered.send(Err(error)));
                return;
            }
        };
        // The node counts the bricks that are done by their senders.
        drop(self.recovered);
        let Ok(ports) = self.ports.recv() else { return };
        let setup = DiskSetup {
            brick: self.index as u32,
            wakers: &self.wakers,
            pace: self.log.pace,
            inline_append_max: self.log.inline_append_max,
            stats: self.log.stats,
        };
        let started = disk::start(opened, self.log.idle, setup);
        #[expect(
            clippy::expect_used,
            reason = "without its disk threads a brick cannot serve"
        )]
        let (disk, disk_threads) = started.expect("the system has no room for three threads");
        let links = Links {
            disk,
            mesh: self.mesh,
            control: self.control,
        };
        let ports = ClientPorts {
            node: ports.node,
            brick: Some(ports.brick),
            handed: self.handed,
            inside: self.inside,
            tls: ports.tls,
            handshakes_max: handshakes_max(&self.shared),
            is_open: false,
            accepted: Vec::new(),
        };
        let ring = self.has_ring.then(Ring::new);
        let ring = ring.and_then(|made| {
            let refused = |error| tracing::warn!(brick = self.index, %error, "no io_uring");
            made.map_err(refused).ok()
        });
        let io = LoopIo::new(self.index, self.poll, self.wakers, links, ports, ring);
        // `io` is dropped when it returns, and with it the disk threads' orders: they finish.
        #[expect(clippy::expect_used, reason = "a loop that cannot poll cannot serve")]
        driver::run(brick, self.request_bytes_max, io)
            .expect("the operating system refused to poll");
        for thread in disk_threads {
            // A panic there ends the process.
            drop(thread.join());
        }
    }
}

/// Of what a brick's directory holds; what cannot be read is for the recovery to tell.
fn file_sizes(disk: &impl Disk) -> impl Iterator<Item = u64> {
    let names = disk.list().unwrap_or_default();
    names.into_iter().filter_map(|name| {
        let file = disk.open(&name, Access::Read).ok()?;
        file.byte_len().ok()
    })
}

/// Random bits for eviction and RANDOMKEY; the clock does where the system has none.
fn seed() -> u64 {
    random::bytes().map_or_else(|_| clock::now().0, u64::from_le_bytes)
}
