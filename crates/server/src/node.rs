//! A node, put together: data directory, cluster, bricks, ports, control thread.
//!
//! In:  a checked [`Config`]. Out: a running [`RunningNode`] that answers at its [`ListenAddresses`].
//!
//! Order of a start: lock the data directory, take the ports, find the cluster, read all logs at
//! once (a thread a brick), listen. Order of a stop: hand over what other nodes can take, take no more work,
//! finish what there is, sync, end the threads, give back the lock.
//!
//! Invariants:
//! - Nobody is answered before every brick has read its log, nor before the bricks have their leases, unless those do
//!   not come for a while (`control`).
//! - The number of bricks is the catalog's: it was fixed when the directory was made.

mod assembly;
mod brick_thread;
mod data;
mod error;
mod registration;
mod shared;

pub use error::{AddressUse, StartError};

use crate::addresses::ListenAddresses;
use crate::cluster::view::{ClusterView, MembershipState};
use crate::cluster::{self, Hot, Joining, Timing};
use crate::config::Config;
use crate::console;
use crate::control::{self, Control, Notices, Signals, Stopper, Tokens};
use crate::disk::IdleThread;
use crate::listener::Reserved;
use crate::random;
use crate::reload::{Reloader, Sources};
use crate::tls;
use assembly::{Assembled, Assembly};
use brickyard_store::OsDisk;
use data::Data;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// A running node. Dropping it leaves it running; [`RunningNode::wait`] sees it to its end.
#[derive(Debug)]
pub struct RunningNode {
    addresses: ListenAddresses,
    stopper: Stopper,
    bricks: Vec<JoinHandle<()>>,
    idle: IdleThread<OsDisk>,
    control: JoinHandle<()>,
    reloader: Reloader,
    ended: tokio::sync::oneshot::Sender<()>,
    serving: std_mpsc::Receiver<()>,
    data: Data,
}

impl RunningNode {
    /// Starts a node and returns when it listens, which is when it belongs to a cluster and its logs are
    /// read. Clients that come now wait until it may serve: a cluster of its own at once, a member of one that has a
    /// leader a moment later; [`RunningNode::wait_until_serving`] waits for that.
    ///
    /// # Errors
    /// [`StartError`]: nothing is left running.
    pub fn start(config: &Config, signals: Signals) -> Result<Self, StartError> {
        let mut sources = Sources::default();
        let certificates = tls::certificates(config, &mut sources)?;
        let http_tokens = Tokens::watch(&config.http_tokens, &mut sources)?;
        let reloader = Reloader::start(sources).map_err(StartError::Thread)?;
        let mut data = Data::open(config)?;
        let ports = reserve(config, data.bricks())?;
        let addresses = ports.addresses.clone();
        let registration = data.introduce(config, &addresses)?;
        let (stopper, stop) = control::stopper();
        let (to_node, first) = std_mpsc::sync_channel(1);
        let (cluster_view, cluster_view_seen) = watch::channel(ClusterView::default());
        let (serve, serving) = std_mpsc::sync_channel(1);
        let notices = Arc::new(Notices::default());
        let lowest_level = Arc::default();
        let listen = |reserved: Option<Reserved>, kind: AddressUse, at: Option<SocketAddr>| {
            let listening = reserved.map(Reserved::listen).transpose();
            listening.map_err(kind.failed(at))
        };
        let setup = control::Setup {
            http: listen(ports.http, AddressUse::Http, addresses.http)?,
            console: console::Settings::of(config, &certificates.http)?,
            http_tls: certificates.http,
            http_tokens,
            expiries: certificates.expiries,
            signals,
            reload: reloader.waker(),
            stop,
            stop_timeout: config.stop_timeout,
            cluster_view: cluster_view_seen.clone(),
            serving: serve,
            cluster: cluster::Setup {
                stored: data.stored.take(),
                kept: data.kept,
                directory: cluster::directory_of(&data.directory),
                registration,
                listener: listen(ports.peer, AddressUse::Peer, addresses.peer)?,
                tls: certificates.peers,
                joining: Joining {
                    seeds: config.join.0.iter().map(|it| config.peer_of(it)).collect(),
                    expect: config.expect,
                },
                attributes: data::default_attributes(config),
                timing: Timing {
                    lease: config.lease,
                    lease_renew: config.lease_renew,
                    eviction_timeout: config.eviction_timeout,
                    split_after: config.split_after,
                    merge_after: config.merge_after,
                    hot: Hot {
                        busy: config.hot_busy.min(100) as u8,
                        replicas: config.hot_replicas.min(u32::from(u8::MAX)) as u8,
                        cool: config.hot_cool,
                    },
                    seed: u64::from_le_bytes(random::bytes().map_err(StartError::Random)?),
                },
                is_tail_sure: !data.directory.is_tail_unsure(),
                boot: data.directory.boot().clone(),
                first: to_node,
                notices: Arc::clone(&notices),
                lowest_level: Arc::clone(&lowest_level),
                view: cluster_view,
            },
        };
        let Control {
            handle: control,
            running,
            ended,
        } = control::start(setup).map_err(StartError::Thread)?;
        let assembled = first
            .recv()
            .map_err(|_| StartError::Stopped)
            .and_then(|first| first.map_err(StartError::Cluster))
            .and_then(|first| {
                let assembly = Assembly {
                    config,
                    data: &mut data,
                    first,
                    node: ports.node,
                    bricks: ports.bricks,
                    clients_tls: certificates.clients,
                    addresses: &addresses,
                    notices: &notices,
                    lowest_level,
                };
                assembly.run()
            });
        let Assembled {
            running: parts,
            bricks,
            idle,
        } = match assembled {
            Ok(assembled) => assembled,
            Err(error) => {
                // The thread ends by that, and with it the control log's.
                drop(running);
                drop(ended);
                drop(control.join());
                return Err(error);
            }
        };
        // The control thread ends before only if it panicked or was told to stop.
        drop(running.send(parts));
        let node = Self {
            addresses,
            stopper,
            bricks,
            idle,
            control,
            reloader,
            ended,
            serving,
            data,
        };
        if node.is_alone_in_its_cluster(&cluster_view_seen) {
            node.wait_until_serving();
        }
        Ok(node)
    }

    fn is_alone_in_its_cluster(&self, cluster_view: &watch::Receiver<ClusterView>) -> bool {
        match &cluster_view.borrow().membership {
            MembershipState::Member(it) => it.is_alone,
            MembershipState::Bootstrap(_) => false,
        }
    }

    /// Waits until the cluster lets the node serve; whether it does. It does not if it was told to stop.
    pub fn wait_until_serving(&self) -> bool {
        match self.serving.try_recv() {
            Err(std_mpsc::TryRecvError::Empty) => self.serving.recv().is_ok(),
            Ok(()) => true,
            Err(std_mpsc::TryRecvError::Disconnected) => false,
        }
    }

    /// Where the node answers.
    #[must_use]
    pub fn addresses(&self) -> &ListenAddresses {
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
            idle,
            control,
            reloader,
            ended,
            serving: _,
            data,
        } = self;
        // Threads that panic end the process, so a join cannot fail.
        for brick in bricks {
            drop(brick.join());
        }
        drop(idle.finish().join());
        drop(ended);
        drop(control.join());
        reloader.finish();
        drop(data);
        tracing::info!("stopped");
    }
}

/// Everything the node will listen at.
struct ReservedPorts {
    node: Reserved,
    bricks: Vec<Reserved>,
    http: Option<Reserved>,
    peer: Option<Reserved>,
    addresses: ListenAddresses,
}

fn reserve(config: &Config, bricks: usize) -> Result<ReservedPorts, StartError> {
    let take = |kind: AddressUse, at: SocketAddr| -> Result<_, StartError> {
        let reserved = Reserved::bind(at).map_err(kind.failed(Some(at)))?;
        let address = reserved.address().map_err(kind.failed(Some(at)))?;
        Ok((reserved, address))
    };
    let (node, node_address) = take(AddressUse::Node, config.listen)?;
    let bricks =
        (0..bricks as u32).map(|index| take(AddressUse::Brick, config.brick_address(index)));
    let (bricks, brick_addresses) = bricks.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let has_users = !config.users.is_empty();
    let http = config.http_address(has_users).unwrap_or(None);
    let http = http.map(|at| take(AddressUse::Http, at)).transpose()?;
    let (http, http_address) = http.unzip();
    let peer = config.peer_address(has_users);
    let peer = peer.map(|at| take(AddressUse::Peer, at)).transpose()?;
    let (peer, peer_address) = peer.unzip();
    let addresses = ListenAddresses {
        node: node_address,
        bricks: brick_addresses,
        http: http_address,
        peer: peer_address,
    };
    Ok(ReservedPorts {
        node,
        bricks,
        http,
        peer,
        addresses,
    })
}
