//! A node, put together: data directory, bricks, ports, control thread.
//!
//! In:  a checked [`Config`]. Out: a running [`Node`] that answers at its [`Addresses`].
//!
//! Order of a start: lock the data directory, take the ports, read the catalog, read all logs at
//! once (a thread a brick), listen. Order of a stop: take no more work, finish what there is, sync,
//! end the threads, give back the lock.
//!
//! Invariants:
//! - Nobody is answered before every brick has read its log.
//! - The number of bricks is the catalog's: it was fixed when the directory was made.

mod brick_thread;
mod data;
mod error;
mod shared;

pub use error::{Address, StartError};

use crate::config::Config;
use crate::control::{
    self, Authenticator, Control, Notices, Opened, Running, Signals, Stopper, link,
};
use crate::disk::{DiskStats, HintThread};
use crate::driver::WAKER;
use crate::handout;
use crate::listener::{Listener, Reserved};
use crate::mesh;
use crate::notify::{self, State};
use crate::wake::Waker;
use crate::{descriptors, fatal};
use brick_thread::{BrickThread, Ports};
use brickyard_store::OsDisk;
use data::Data;
use mio::Poll;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, watch};

/// Where a node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The node port: any key.
    pub node: SocketAddr,
    /// The bricks' ports, by brick.
    pub bricks: Vec<SocketAddr>,
    /// Health, metrics and status.
    pub http: Option<SocketAddr>,
}

/// A running node. Dropping it leaves it running; [`Node::wait`] sees it to its end.
#[derive(Debug)]
pub struct Node {
    addresses: Addresses,
    stopper: Stopper,
    bricks: Vec<JoinHandle<()>>,
    hints: HintThread<OsDisk>,
    control: JoinHandle<()>,
    ended: tokio::sync::oneshot::Sender<()>,
    data: Data,
}

impl Node {
    /// Starts a node and returns when it answers.
    ///
    /// # Errors
    /// [`StartError`]: nothing is left running.
    pub fn start(config: &Config, signals: Signals) -> Result<Self, StartError> {
        let data = Data::open(config)?;
        let bricks = data.catalog.bricks().len();
        let ports = reserve(config, bricks)?;
        let addresses = ports.addresses.clone();
        let maxclients = descriptors::reserve(config.maxclients, bricks as u32);
        let shared = Arc::new(shared::shared(config, &data, &addresses, maxclients)?);

        let (stopper, stop) = control::stopper();
        let http = ports.http.map(Reserved::listen).transpose();
        let http = http.map_err(Address::Http.failed(addresses.http))?;
        let stop_timeout = config.stop_timeout;
        let setup = control::Setup {
            http,
            signals,
            stop,
            stop_timeout,
        };
        let Control {
            handle: control,
            running,
            ended,
        } = control::start(setup).map_err(StartError::Thread)?;

        let (catalog, catalog_seen) = watch::channel(Arc::clone(&data.catalog));
        let hints = HintThread::start(catalog_seen.clone()).map_err(StartError::Thread)?;
        let polls = (0..bricks)
            .map(|_| Poll::new())
            .collect::<Result<Vec<_>, _>>();
        let polls = polls.map_err(StartError::Thread)?;
        let wakers = polls.iter().map(|poll| Waker::new(poll.registry(), WAKER));
        let wakers: Arc<[Waker]> = wakers
            .collect::<Result<_, _>>()
            .map_err(StartError::Thread)?;
        let (to_control, requests) = mpsc::channel(control::REQUESTS_MAX);
        let notices = Arc::new(Notices::default());
        let (handout, taking) = handout::new(&wakers);
        let disks: Vec<_> = (0..bricks)
            .map(|_| Arc::new(DiskStats::default()))
            .collect();

        let mut handed = std::iter::once(None).chain(taking.into_iter().map(Some));
        let mut loops = Vec::new();
        let mut threads = Vec::new();
        let (to_node, recovered) = std_mpsc::channel();
        for (index, (poll, mesh)) in polls.into_iter().zip(mesh::endpoints(&wakers)).enumerate() {
            let (loop_link, control_link) = link(index, &wakers, to_control.clone(), &notices);
            loops.push(loop_link);
            let (go, ports) = std_mpsc::sync_channel(1);
            let thread = BrickThread {
                index,
                disk: data.brick(index)?,
                store: data.store_config(config, index),
                catalog: Arc::clone(&data.catalog),
                shared: Arc::clone(&shared),
                poll,
                wakers: Arc::clone(&wakers),
                mesh,
                control: control_link,
                handed: handed.next().flatten(),
                hints: hints.sender(),
                stats: Arc::clone(&disks[index]),
                sync_interval: config.sync_interval,
                request_bytes_max: config.request_bytes_max.to_usize(),
                recovered: to_node.clone(),
                ports,
            };
            let handle = fatal::spawn(format!("brick{index}"), move || thread.run());
            threads.push((go, handle.map_err(StartError::Thread)?));
        }
        drop(to_node);
        let damages = wait_for_logs(&recovered)?;

        let data = data.confirm()?;
        let authenticator = Authenticator::new(&shared::users(config), data::random()?);
        let keepalive = config.tcp_keepalive;
        let node_port = Listener::new(ports.node, keepalive);
        let mut node_port = Some((
            node_port.map_err(Address::Node.failed(Some(addresses.node)))?,
            handout,
        ));
        let mut bricks = Vec::new();
        for ((go, handle), (reserved, address)) in threads
            .into_iter()
            .zip(ports.bricks.into_iter().zip(&addresses.bricks))
        {
            let brick_port = Listener::new(reserved, keepalive);
            let brick_port = brick_port.map_err(Address::Brick.failed(Some(*address)))?;
            // A thread that ended has panicked, and with it the process.
            drop(go.send(Ports {
                node: node_port.take(),
                brick: brick_port,
            }));
            bricks.push(handle);
        }
        let opened = Opened {
            shared,
            disks,
            catalog: catalog_seen,
            addresses: addresses.clone(),
            damages,
        };
        let catalog_file = data.catalog_file();
        // The same holds for the control thread.
        drop(running.send(Running {
            opened,
            loops,
            requests,
            notices,
            authenticator,
            catalog_file,
            catalog,
        }));
        notify::notify(State::Ready);
        Ok(Self {
            addresses,
            stopper,
            bricks,
            hints,
            control,
            ended,
            data,
        })
    }

    /// Where the node answers.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// A way to stop the node from anywhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until the node was asked to stop and has: everything is synced, the lock given back,
    /// a temporary directory removed.
    pub fn wait(self) {
        let Self {
            addresses: _,
            stopper: _,
            bricks,
            hints,
            control,
            ended,
            data,
        } = self;
        // Threads that panic end the process, so a join cannot fail.
        for brick in bricks {
            drop(brick.join());
        }
        drop(hints.finish().join());
        drop(ended);
        drop(control.join());
        drop(data);
        tracing::info!("stopped");
    }
}

/// Everything the node will listen at.
struct ReservedPorts {
    node: Reserved,
    bricks: Vec<Reserved>,
    http: Option<Reserved>,
    addresses: Addresses,
}

fn reserve(config: &Config, bricks: usize) -> Result<ReservedPorts, StartError> {
    let take = |kind: Address, at: SocketAddr| -> Result<_, StartError> {
        let reserved = Reserved::bind(at).map_err(kind.failed(Some(at)))?;
        let address = reserved.address().map_err(kind.failed(Some(at)))?;
        Ok((reserved, address))
    };
    let (node, node_address) = take(Address::Node, config.listen)?;
    let bricks = (0..bricks as u32).map(|index| take(Address::Brick, config.brick_address(index)));
    let (bricks, brick_addresses) = bricks.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let http = config
        .http_address(!config.users.is_empty())
        .unwrap_or(None);
    let http = http.map(|at| take(Address::Http, at)).transpose()?;
    let (http, http_address) = http.unzip();
    let addresses = Addresses {
        node: node_address,
        bricks: brick_addresses,
        http: http_address,
    };
    Ok(ReservedPorts {
        node,
        bricks,
        http,
        addresses,
    })
}

/// Waits for every brick to have read its log; returns what was damaged.
fn wait_for_logs(
    recovered: &std_mpsc::Receiver<Result<Vec<String>, brickyard_store::Error>>,
) -> Result<Vec<String>, StartError> {
    let mut damages = Vec::new();
    while let Ok(result) = recovered.recv() {
        damages.extend(result?);
    }
    Ok(damages)
}
