//! The bricks of a node, from their logs to their ports.
//!
//! In:  what the cluster said at first, the ports that were taken. Out: running loops, and their ends for
//! the control thread.

use super::brick_thread::{BrickLog, BrickThread, Ports};
use super::data::Data;
use super::error::{AddressUse, StartError};
use super::shared;
use crate::addresses::ListenAddresses;
use crate::config::Config;
use crate::control::{self, Authenticator, Notices, Opened, Running, link};
use crate::disk::{DiskStats, IdleThread};
use crate::driver::WAKER;
use crate::listener::{Listener, Reserved};
use crate::reload::Current;
use crate::wake::Waker;
use crate::{descriptors, fatal, handout, mesh, random};
use brickyard_brick::lowest_level::LowestLevel;
use brickyard_node::First;
use brickyard_node::disk::SyncPace;
use brickyard_store::OsDisk;
use brickyard_tls::rustls::ServerConfig;
use mio::Poll;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, watch};

/// What is put together.
pub(super) struct Assembly<'a> {
    pub(super) config: &'a Config,
    pub(super) data: &'a mut Data,
    pub(super) first: First,
    pub(super) node: Reserved,
    pub(super) bricks: Vec<Reserved>,
    pub(super) clients_tls: Current<Arc<ServerConfig>>,
    pub(super) addresses: &'a ListenAddresses,
    pub(super) notices: &'a Arc<Notices>,
    pub(super) lowest_level: Arc<LowestLevel>,
}

/// What came of it.
pub(super) struct Assembled {
    pub(super) running: Running,
    pub(super) bricks: Vec<JoinHandle<()>>,
    pub(super) idle: IdleThread<OsDisk>,
}

impl Assembly<'_> {
    pub(super) fn run(self) -> Result<Assembled, StartError> {
        let Self {
            config,
            data,
            first,
            node,
            bricks: brick_ports,
            clients_tls,
            addresses,
            notices,
            lowest_level,
        } = self;
        data.check(&first)?;
        let bricks = data.bricks();
        let maxclients = descriptors::reserve(config.maxclients, bricks as u32);
        let shared = shared::shared(config, data, &first, addresses, maxclients, lowest_level)?;
        let shared = Arc::new(shared);
        let (catalog, catalog_seen) = watch::channel(Arc::clone(&first.catalog));
        let idle = IdleThread::start(catalog_seen.clone()).map_err(StartError::Thread)?;
        let polls = (0..bricks)
            .map(|_| Poll::new())
            .collect::<Result<Vec<_>, _>>();
        let polls = polls.map_err(StartError::Thread)?;
        let wakers = polls.iter().map(|poll| Waker::new(poll.registry(), WAKER));
        let wakers: Arc<[Waker]> = wakers
            .collect::<Result<_, _>>()
            .map_err(StartError::Thread)?;
        let (to_control, requests) = mpsc::channel(control::REQUESTS_MAX);
        let (handout, taking) = handout::new(&wakers);
        let (doors, inside) = handout::doors(&wakers);
        let disks: Vec<_> = (0..bricks)
            .map(|_| Arc::new(DiskStats::default()))
            .collect();

        let mut handed = std::iter::once(None).chain(taking.into_iter().map(Some));
        let mut loops = Vec::new();
        let mut threads = Vec::new();
        let (to_node, recovered) = std_mpsc::channel();
        let parts = polls.into_iter().zip(mesh::endpoints(&wakers));
        for (index, ((poll, mesh), inside)) in parts.zip(inside).enumerate() {
            let (loop_link, control_link) = link(index, &wakers, to_control.clone(), notices);
            loops.push(loop_link);
            let (go, ports) = std_mpsc::sync_channel(1);
            let thread = BrickThread {
                index,
                log: BrickLog {
                    disk: data.brick(index)?,
                    config: data.store_config(config, index),
                    idle: idle.sender(),
                    stats: Arc::clone(&disks[index]),
                    pace: SyncPace {
                        interval: config.sync_interval,
                        bytes: config.sync_bytes.0,
                    },
                    inline_append_max: config.inline_append_max.to_usize(),
                },
                catalog: Arc::clone(&first.catalog),
                incarnation: first.incarnation,
                shared: Arc::clone(&shared),
                poll,
                wakers: Arc::clone(&wakers),
                mesh,
                control: control_link,
                handed: handed.next().flatten(),
                inside,
                request_bytes_max: config.request_bytes_max.to_usize(),
                has_ring: shared.identity.io_uring.is_ok(),
                recovered: to_node.clone(),
                ports,
            };
            let handle = fatal::spawn(format!("brick{index}"), move || thread.run());
            threads.push((go, handle.map_err(StartError::Thread)?));
        }
        drop(to_node);
        let damages = wait_for_logs(&recovered)?;

        data.confirm()?;
        let authenticator = Authenticator::new(random::bytes().map_err(StartError::Random)?);
        let keepalive = config.tcp_keepalive;
        // Who is answered at any port finds all of them listening: the first one answers when all do.
        let mut listeners = Vec::new();
        for (reserved, address) in brick_ports.into_iter().zip(&addresses.bricks) {
            let brick_port = Listener::new(reserved, keepalive);
            listeners.push(brick_port.map_err(AddressUse::Brick.failed(Some(*address)))?);
        }
        let node_port = Listener::new(node, keepalive);
        let mut node_port = Some((
            node_port.map_err(AddressUse::Node.failed(Some(addresses.node)))?,
            handout,
        ));
        let mut bricks = Vec::new();
        for ((go, handle), brick_port) in threads.into_iter().zip(listeners) {
            // A thread that ended has panicked, and with it the process.
            drop(go.send(Ports {
                node: node_port.take(),
                brick: brick_port,
                tls: clients_tls.clone(),
            }));
            bricks.push(handle);
        }
        let opened = Opened {
            shared,
            doors,
            file_systems: Arc::new(data.file_systems()?),
            disks,
            catalog: catalog_seen,
            addresses: addresses.clone(),
            damages,
        };
        let running = Running {
            opened,
            loops,
            requests,
            authenticator,
            catalog,
            is_end_cut: data.is_end_cut(),
        };
        Ok(Assembled {
            running,
            bricks,
            idle,
        })
    }
}

/// Waits for every brick to have read its log; returns what was damaged.
fn wait_for_logs(
    recovered: &std_mpsc::Receiver<Result<Vec<(usize, String)>, brickyard_store::StoreError>>,
) -> Result<Vec<(usize, String)>, StartError> {
    let mut damages = Vec::new();
    while let Ok(result) = recovered.recv() {
        damages.extend(result?);
    }
    Ok(damages)
}
