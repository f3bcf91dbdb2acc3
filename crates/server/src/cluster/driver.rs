//! The task that owns the cluster's part of a node.
//!
//! In:  events of peers, orders of the control thread, reports of the disk, ticks. Out: see [`super`].

use super::loops::Loops;
use super::outside::Outside;
use super::view::{ClusterView, Standing};
use super::writer::Writer;
use super::{Common, Setup, Stored, storage};
use crate::clock;
use crate::config::HostPort;
use crate::control::{CatalogFile, Notices, ToLoop};
use crate::peer::{Arrived, Event, Peers, incoming};
use brickyard_brick::{ControlRequest, Direction};
use brickyard_metadata::{Catalog, Change};
use brickyard_node::forming::kept;
use brickyard_node::peer::{
    Answer, Consequence, HandshakeRefused, Hello, Introduction, consequence, judge,
};
use brickyard_node::{
    Asker, ClusterMember, Draining, Ended, First, Founding, Host as _, Report, Source, Target,
};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{Incarnation, TableAttributes};
use std::collections::BTreeSet;
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
    Change(Asker, Change),
    /// A brick has something for the control plane.
    Brick(usize, ControlRequest),
    /// A brick wants a stream.
    Dial(usize, Seat),
    /// The node is going to stop: hand over what others can take, then say so.
    Drain(oneshot::Sender<()>),
}

#[expect(clippy::large_enum_variant, reason = "there is one of it")]
#[derive(Debug)]
enum Phase {
    Founding(Founding, Option<Stored>),
    Member(ClusterMember),
    /// It cannot go on; told at the start, or in the log.
    Failed,
}

/// See the module.
pub(crate) struct Driver {
    common: Common,
    phase: Phase,
    events: mpsc::Receiver<Event>,
    reports: mpsc::UnboundedReceiver<Report>,
    to_reports: mpsc::UnboundedSender<Report>,
    notices: Arc<Notices>,
    first: Option<std_mpsc::SyncSender<Result<First, String>>>,
    view: watch::Sender<ClusterView>,
    /// The node is going to stop; whom to tell when it has handed over what it can.
    draining: Option<(Draining, oneshot::Sender<()>)>,
    attributes: TableAttributes,
    tick: Duration,
    seeds: Vec<HostPort>,
    /// What peers refused, told once each.
    refusals: BTreeSet<String>,
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
            seeds,
            expect,
            attributes,
            timing,
            is_tail_sure,
            boot,
            first,
            notices,
            view,
        } = setup;
        let (to_driver, events) = mpsc::channel(EVENTS_MAX);
        let (to_reports, reports) = mpsc::unbounded_channel();
        let catalog = stored.as_ref().and_then(|stored| stored.catalog.as_ref());
        let introduction = Introduction {
            cluster: catalog.map(Catalog::cluster).or(kept.joined),
            key: registration.key,
            node: catalog
                .and_then(|catalog| catalog.node_by_key(&registration.key))
                .map(|node| (node.id, Incarnation(0))),
        };
        if let Some(listener) = listener {
            accept(listener, to_driver.clone());
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
        let mut common = Common {
            host: Outside {
                peers: Peers::new(introduction, to_driver),
                loops: Loops::default(),
                directory,
                boot,
                writer: None,
                catalog: None,
            },
            registration,
            control,
            consensus_seed: timing.seed,
            is_tail_sure,
            is_end_cut: false,
            taken_in: None,
            drained: None,
        };
        let me = catalog.and_then(|catalog| catalog.node_by_key(&common.registration.key));
        let me = me.map(|node| node.id);
        let phase = match (stored, me) {
            (Some(stored), Some(me)) => member(me, stored, &mut common, &to_reports, &first),
            (stored, _) => {
                let seeds = seeds.clone();
                let founding = Founding::new(address, seeds, expect, kept, &mut common);
                Phase::Founding(founding, stored)
            }
        };
        if matches!(phase, Phase::Member(_)) {
            for seed in &seeds {
                common.host.peers.add_seed(seed);
            }
        }
        Self {
            common,
            phase,
            events,
            reports,
            to_reports,
            notices,
            first: Some(first),
            view,
            draining: None,
            attributes,
            tick: (timing.lease / TICKS_A_LEASE).clamp(TICK_MIN, TICK_MAX),
            seeds,
            refusals: BTreeSet::new(),
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
                Some(report) = self.reports.recv() => {
                    if let Phase::Member(member) = &mut self.phase {
                        member.on_report(&report);
                    }
                }
                Some(event) = self.events.recv() => self.on_event(event),
                Some(order) = orders.recv() => self.on_order(order),
                () = self.notices.adopted.notified() => {}
                _ = ticks.tick() => self.on_tick(),
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        if let Phase::Founding(founding, _) = &mut self.phase
            && let Some(ended) = founding.take_ended()
        {
            self.end_founding(ended);
        }
        let Phase::Member(member) = &mut self.phase else {
            return;
        };
        member.settle(&mut self.common);
        if let Some(first) = &self.first
            && let Some(made) = member.first()
        {
            // The node waits for it, or has given up.
            drop(first.send(Ok(made)));
            self.first = None;
        }
        if member.incarnation().is_some() && !self.seeds.is_empty() && self.first.is_none() {
            // From now on the catalog says where the others are.
            self.common.host.peers.drop_seeds();
            self.seeds.clear();
        }
        if let Some(present) = member.superseded() {
            stop_superseded(present);
        }
        if let Some(other) = member.renumbered() {
            stop_renumbered(member.me(), other);
        }
        self.go_on_draining();
        if !self.view.borrow().is_serving() {
            self.show();
        }
    }

    fn end_founding(&mut self, ended: Ended) {
        let Phase::Founding(mut founding, stored) =
            std::mem::replace(&mut self.phase, Phase::Failed)
        else {
            return;
        };
        let made = match ended {
            Ended::Found => self.found(),
            Ended::Joined(taken_in) => {
                self.common.taken_in = Some(taken_in);
                let (cluster, registered) = (taken_in.cluster, taken_in.registered);
                tracing::info!(%cluster, node = registered.node.0, "taken into the cluster");
                let kept = founding.joined(cluster);
                let kept = self.common.host.keep(&kept);
                let stored = kept.map_err(|error| error.to_string()).and_then(|()| {
                    let made = || storage::joined(&self.common.host.directory);
                    stored
                        .map_or_else(made, Ok)
                        .map_err(|error| error.to_string())
                });
                self.common.host.peers.introduce(|introduction| {
                    introduction.cluster = Some(cluster);
                    introduction.node = Some((registered.node, registered.incarnation));
                });
                stored.map(|stored| (registered.node, stored))
            }
        };
        let first = self.first.clone();
        self.phase = match (made, first) {
            (Ok((me, stored)), Some(first)) => {
                member(me, stored, &mut self.common, &self.to_reports, &first)
            }
            (Err(reason), Some(first)) => {
                drop(first.send(Err(reason)));
                Phase::Failed
            }
            (_, None) => Phase::Failed,
        };
    }

    fn found(&mut self) -> Result<(NodeId, Stored), String> {
        let registration = self.common.registration.clone();
        let key = registration.key;
        let catalog = super::genesis(registration, self.attributes.clone())?;
        let stored = storage::found(&self.common.host.directory, &catalog);
        let stored = stored.map_err(|error| error.to_string())?;
        let cluster = catalog.cluster();
        tracing::info!(%cluster, "cluster founded");
        self.common
            .host
            .peers
            .introduce(|introduction| introduction.cluster = Some(cluster));
        let me = catalog.node_by_key(&key).map(|node| node.id);
        let me = me.ok_or_else(|| "the new catalog lacks its first node".to_owned())?;
        kept::remove(&self.common.host.directory.disk);
        Ok((me, stored))
    }

    fn on_order(&mut self, order: Order) {
        if let Order::Drain(done) = order {
            self.draining = Some((Draining::begin(&mut self.common), done));
            return;
        }
        let Phase::Member(member) = &mut self.phase else {
            return;
        };
        match order {
            Order::Running {
                loops,
                catalog,
                is_end_cut,
            } => {
                self.common.is_end_cut = is_end_cut;
                self.common.host.loops = loops;
                if let Some(current) = member.catalog() {
                    catalog.send_replace(Arc::clone(current));
                }
                self.common.host.catalog = Some(catalog);
                member.on_loops(&mut self.common);
            }
            Order::Change(asker, change) => member.on_change(clock::now(), asker, change),
            Order::Brick(brick, request) => member.on_brick(brick, request, &mut self.common),
            Order::Dial(brick, peer) => member.on_dial(brick, peer, &mut self.common),
            Order::Drain(_) => {}
        }
    }

    fn on_tick(&mut self) {
        match &mut self.phase {
            Phase::Founding(founding, _) => founding.on_tick(&mut self.common),
            Phase::Member(member) => member.on_tick(&mut self.common),
            Phase::Failed => {}
        }
        self.show();
    }

    fn on_event(&mut self, event: Event) {
        self.common.host.peers.note(&event);
        if let Event::Arrived(arrived) = event {
            return self.on_arrived(arrived);
        }
        let member = match &mut self.phase {
            Phase::Founding(founding, _) => return tell(founding, event, &mut self.common),
            Phase::Member(member) => member,
            Phase::Failed => return,
        };
        match event {
            Event::Received(source, message) => {
                member.on_message(&source, message, &mut self.common);
            }
            Event::Lost(Target::Node(node)) => member.on_lost(node),
            Event::Refused(target, refused) => {
                match consequence(&target, &refused, member.incarnation()) {
                    Consequence::DropSeed(address) => self.common.host.peers.drop_seed(&address),
                    Consequence::Superseded(present) => stop_superseded(Some(present)),
                    Consequence::Complain(what) => {
                        if self.refusals.insert(what.clone()) {
                            tracing::error!("{what}");
                        }
                    }
                }
            }
            Event::Stream(stream) => {
                if stream.direction == Direction::Outgoing {
                    member.on_stream(stream.own, stream.peer);
                }
                let brick = stream.own.member.brick.0 as usize;
                self.common.host.loops.send(brick, ToLoop::Peer(stream));
            }
            Event::NoStream(own, peer) => member.on_no_stream(clock::now(), own, peer),
            Event::Welcomed(..) | Event::Lost(_) | Event::Left(_) | Event::Arrived(_) => {}
        }
    }

    fn on_arrived(&mut self, arrived: Arrived) {
        match self.judge(&arrived.hello) {
            Ok(()) => self.common.host.peers.take(arrived),
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

    fn judge(&self, hello: &Hello) -> Result<(), HandshakeRefused> {
        let introduction = self.common.host.peers.introduction();
        let member = match &self.phase {
            Phase::Member(member) => Some(member),
            Phase::Founding(..) | Phase::Failed => None,
        };
        judge(hello, introduction, member, &self.common)
    }

    /// Hands over what is here, until that is done.
    fn go_on_draining(&mut self) {
        if let (Some((draining, _)), Phase::Member(member)) = (&mut self.draining, &mut self.phase)
            && draining.poll(member, &mut self.common)
        {
            // Whoever waits for it hears that it is gone.
            self.draining = None;
        }
    }

    /// Shows how the node stands to whoever looks.
    fn show(&mut self) {
        let standing = match &self.phase {
            Phase::Founding(founding, _) => Standing::Founding(founding.waits_for()),
            Phase::Member(member) => Standing::Member(member.show(&self.common)),
            Phase::Failed => Standing::Founding("nothing any more: see the log".to_owned()),
        };
        let refusals = self.refusals.iter().cloned().collect();
        self.view.send_replace(ClusterView { standing, refusals });
    }
}

/// Tells a node without a cluster what its connections say.
fn tell(founding: &mut Founding, event: Event, common: &mut Common) {
    match event {
        Event::Welcomed(target, welcome) => {
            let source = Source::Dialed(target);
            founding.on_welcome(source, welcome.key, welcome.cluster, common);
        }
        Event::Refused(target, refused) => match consequence(&target, &refused, None) {
            Consequence::DropSeed(address) => common.host.peers.drop_seed(&address),
            // It has no life yet that could be over.
            Consequence::Superseded(_) => {}
            Consequence::Complain(what) => founding.complain(what),
        },
        Event::Received(source, message) => founding.on_message(source, message, common),
        Event::Lost(target) => founding.forget(&Source::Dialed(target)),
        Event::Left(id) => founding.forget(&Source::Arrived(id)),
        Event::Arrived(_) | Event::Stream(_) | Event::NoStream(..) => {}
    }
}

fn member(
    me: NodeId,
    stored: Stored,
    common: &mut Common,
    reports: &mpsc::UnboundedSender<Report>,
    first: &std_mpsc::SyncSender<Result<First, String>>,
) -> Phase {
    match begin(me, stored, common, reports) {
        Ok(member) => Phase::Member(member),
        Err(reason) => {
            drop(first.send(Err(reason)));
            Phase::Failed
        }
    }
}

fn begin(
    me: NodeId,
    stored: Stored,
    common: &mut Common,
    reports: &mpsc::UnboundedSender<Report>,
) -> Result<ClusterMember, String> {
    let copy = CatalogFile::new(common.host.directory.disk.clone());
    let state = stored.recovered.hard_state;
    let writer = Writer::start(stored.log, state, copy, reports.clone());
    let writer = writer.map_err(|error| format!("cannot start a thread: {error}"))?;
    common.host.writer = Some(writer);
    ClusterMember::new(me, stored.recovered, common)
}

/// Ends the process: its life of the node is over.
fn stop_superseded(present: Option<Incarnation>) -> ! {
    let present = present.map_or_else(|| "none".to_owned(), |it| it.to_string());
    crate::fatal::stop_control(&format!(
        "another process has registered with this data directory or a copy of it (its incarnation is {present}), or this \
         node was removed from the cluster"
    ))
}

/// Ends the process: the next one is that node.
fn stop_renumbered(me: NodeId, other: NodeId) -> ! {
    crate::fatal::stop_control(&format!(
        "this node was removed from the cluster as node {me} before it heard that it had been taken in, and was \
         taken in again as node {other}: start it again to have it run as that, or remove node {other}"
    ))
}

fn accept(listener: std::net::TcpListener, events: mpsc::Sender<Event>) {
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => {
            tokio::task::spawn_local(incoming::accept(listener, events));
        }
        Err(error) => tracing::error!(%error, "the port for nodes cannot be used"),
    }
}
