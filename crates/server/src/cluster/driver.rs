//! The task that owns the cluster's part of a node.
//!
//! In:  events of peers, orders of the control thread, reports of the disk, ticks. Out: see [`super`].

use super::loops::Loops;
use super::outside::Outside;
use super::view::{ClusterView, MembershipState};
use super::{Common, Setup};
use crate::config::HostPort;
use crate::control::{Notices, ToLoop};
use crate::peer::{Arrived, Event, Peers, incoming};
use crate::reload::Current;
use brickyard_brick::{ControlRequest, Direction};
use brickyard_metadata::{Catalog, Change};
use brickyard_node::peer::{Answer, HandshakeRefused};
use brickyard_node::{ChangeOrigin, ControlLoop, ControlStart, First, News, Report, Source};
use brickyard_routing::{NodeId, Replica};
use brickyard_tls::NodeSide;
use brickyard_types::Incarnation;
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

/// Events of peers that may wait; then their connections do.
const EVENTS_MAX: usize = 1024;

/// Ticks of the agreement in one lease: an election takes 10 to 20, and a lease should outlast it.
const TICKS_A_LEASE: u32 = 30;

/// Longest and shortest tick.
const TICK_MAX: Duration = Duration::from_millis(50);
const TICK_MIN: Duration = Duration::from_millis(10);

/// What the control thread wants.
#[derive(Debug)]
pub(crate) enum Order {
    /// The bricks run.
    Running {
        loops: Loops,
        catalog: watch::Sender<Arc<Catalog>>,
        /// The end of a log was cut off when it was read.
        is_end_cut: bool,
    },
    /// A brick asks for a change.
    Change(ChangeOrigin, Change),
    /// A brick wants to know all that was acknowledged by now.
    CatchUp(ChangeOrigin),
    /// A brick has something for the control plane.
    Brick(usize, ControlRequest),
    /// A brick wants a stream.
    Dial(usize, Replica),
    /// The node is going to stop: hand over what others can take, then say so.
    Drain(oneshot::Sender<()>),
}

/// See the module.
pub(crate) struct Driver {
    control: ControlLoop<Outside>,
    events: mpsc::Receiver<Event>,
    reports: mpsc::UnboundedReceiver<Report>,
    notices: Arc<Notices>,
    first: std_mpsc::SyncSender<Result<First, String>>,
    view: watch::Sender<ClusterView>,
    /// The node is going to stop; whom to tell when it has handed over what it can.
    draining: Option<oneshot::Sender<()>>,
    tick: Duration,
}

impl Driver {
    /// Makes it; must be called in the task set that it will run in.
    pub(crate) fn new(setup: Setup) -> Self {
        let Setup {
            stored,
            kept,
            directory,
            registration,
            listener,
            tls,
            joining,
            attributes,
            timing,
            is_tail_sure,
            boot,
            first,
            notices,
            lowest_level,
            view,
        } = setup;
        let (to_driver, events) = mpsc::channel(EVENTS_MAX);
        let (to_reports, reports) = mpsc::unbounded_channel();
        if let Some(listener) = listener {
            accept(listener, tls.clone(), to_driver.clone());
        }
        let control = brickyard_control::ControlConfig {
            lease: timing.lease,
            renew: timing.lease_renew,
            eviction_timeout: timing.eviction_timeout,
            split_after: timing.split_after,
            merge_after: timing.merge_after,
            hot: brickyard_control::HotConfig {
                busy: timing.hot.busy,
                replicas: timing.hot.replicas,
                cool: timing.hot.cool,
            },
            ..brickyard_control::ControlConfig::default()
        };
        let address = HostPort {
            host: registration.addresses.host.clone(),
            port: registration.addresses.peer_port,
        };
        let start = ControlStart {
            stored,
            kept,
            address,
            seeds: joining.seeds,
            expect: joining.expect,
        };
        let common = Common {
            host: Outside {
                peers: Peers::new(
                    start.introduction(registration.key),
                    tls,
                    to_driver,
                    lowest_level,
                ),
                loops: Loops::default(),
                directory,
                boot,
                writer: None,
                catalog: None,
                reports: to_reports,
                log_timing: Arc::default(),
                attributes,
            },
            registration,
            control,
            consensus_seed: timing.seed,
            is_tail_sure,
            is_end_cut: false,
            taken_in: None,
            drained: None,
        };
        Self {
            control: ControlLoop::new(common, start),
            events,
            reports,
            notices,
            first,
            view,
            draining: None,
            tick: (timing.lease / TICKS_A_LEASE).clamp(TICK_MIN, TICK_MAX),
        }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut ticks = tokio::time::interval(self.tick);
        // After a pause one tick is enough: the agreement counts them, and leases have clocks.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.settle();
        loop {
            tokio::select! {
                Some(report) = self.reports.recv() => self.control.on_report(&report),
                Some(event) = self.events.recv() => self.on_event(event),
                Some(order) = orders.recv() => self.on_order(order),
                () = self.notices.adopted.notified() => {}
                _ = ticks.tick() => {
                    self.control.on_tick();
                    self.show();
                }
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.control.settle();
        while let Some(news) = self.control.take_news() {
            self.hear(news);
        }
        if !self.view.borrow().is_serving() {
            self.show();
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            // The node waits for it, or has given up.
            News::First(first) => drop(self.first.send(Ok(first))),
            News::Failed(reason) => drop(self.first.send(Err(reason))),
            News::Superseded(present) => stop_superseded(present),
            News::Renumbered(other) => {
                stop_renumbered(self.control.member().map(|it| it.me()), other);
            }
            // Whoever waits for it hears that it is gone.
            News::Drained => self.draining = None,
            News::Founded(_) | News::TakenIn(_) | News::Refused(_) => {}
        }
    }

    fn on_order(&mut self, order: Order) {
        match order {
            Order::Running {
                loops,
                catalog,
                is_end_cut,
            } => {
                if let Some(current) = self.control.member().and_then(|it| it.catalog()) {
                    catalog.send_replace(Arc::clone(current));
                }
                let host = &mut self.control.common.host;
                host.loops = loops;
                host.catalog = Some(catalog);
                self.control.on_loops(is_end_cut);
            }
            Order::Change(origin, change) => self.control.on_change(origin, change),
            Order::CatchUp(origin) => self.control.on_catch_up(origin),
            Order::Brick(brick, request) => self.control.on_brick(brick, request),
            Order::Dial(brick, peer) => self.control.on_dial(brick, peer),
            Order::Drain(done) => {
                self.control.drain();
                self.draining = Some(done);
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        self.control.common.host.peers.note(&event);
        match event {
            Event::Arrived(arrived) => self.on_arrived(arrived),
            Event::Welcomed(target, welcome) => self.control.on_welcome(target, welcome),
            Event::Refused(target, refused) => self.control.on_refused(&target, &refused),
            Event::Received(source, message) => self.control.on_message(source, message),
            Event::Lost(target) => self.control.on_closed(&Source::Dialed(target)),
            Event::Left(id) => self.control.on_closed(&Source::Arrived(id)),
            Event::Stream(stream) => {
                if stream.direction == Direction::Outgoing {
                    self.control.on_stream(stream.own, stream.peer);
                }
                let brick = stream.own.member.brick.0 as usize;
                let loops = &self.control.common.host.loops;
                loops.send(brick, ToLoop::Peer(stream));
            }
            Event::NoStream(own, peer) => self.control.on_no_stream(own, peer),
        }
    }

    fn on_arrived(&mut self, arrived: Arrived) {
        match self.control.admit(&arrived.hello) {
            Ok(()) => self.control.common.host.peers.take(arrived),
            // Its own address may well be in join.
            Err(refused @ HandshakeRefused::Myself) => {
                drop(arrived.answer.send(Answer::Refused(refused)))
            }
            Err(refused) => {
                tracing::warn!(
                    from = %arrived.from,
                    node = %arrived.hello.key,
                    reason = ?refused,
                    "a node was refused"
                );
                drop(arrived.answer.send(Answer::Refused(refused)));
            }
        }
    }

    /// Shows how the node stands to whoever looks; whoever waits hears only of what it waits for, whether it serves.
    fn show(&mut self) {
        let membership = match self.control.member() {
            Some(member) => MembershipState::Member(member.show(&self.control.common)),
            None => MembershipState::Bootstrap(self.control.waits_for().unwrap_or_default()),
        };
        let refusals = self.control.refusals().iter().cloned().collect();
        let now = ClusterView {
            membership,
            refusals,
            log_timing: Arc::clone(&self.control.common.host.log_timing),
        };
        self.view.send_if_modified(|shown| {
            let before = std::mem::replace(shown, now);
            before.is_serving() != shown.is_serving()
        });
    }
}

/// Ends the process: its life of the node is over.
fn stop_superseded(present: Option<Incarnation>) -> ! {
    match present {
        None => crate::fatal::stop_control(brickyard_node::REMOVED),
        Some(present) => crate::fatal::stop_control(&format!(
            "another process has registered with this data directory or a copy of it (its incarnation is {present}): let \
             only one of them run"
        )),
    }
}

/// Ends the process: the next one is that node.
fn stop_renumbered(me: Option<NodeId>, other: NodeId) -> ! {
    let me = me.map_or_else(|| "none".to_owned(), |it| it.to_string());
    crate::fatal::stop_control(&format!(
        "this node was removed from the cluster as node {me} before it heard that it had been taken in, and was \
         taken in again as node {other}: start it again to have it run as that, or remove node {other}"
    ))
}

fn accept(listener: std::net::TcpListener, tls: Current<NodeSide>, events: mpsc::Sender<Event>) {
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => {
            tokio::task::spawn_local(incoming::accept(listener, tls, events));
        }
        Err(error) => tracing::error!(%error, "the port for nodes cannot be used"),
    }
}
