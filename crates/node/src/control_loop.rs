//! What drives a node's part of the cluster: it finds or founds one, and is a member of it from then on.
//!
//! In:  everything that happens to it: ticks, connections, messages, reports of the disk, requests of its bricks. Out:
//! what its [`Host`](crate::Host) is asked for, and [`News`] for the owner of the process.
//!
//! ```text
//!  Founding ── found, or taken in ──▶ ClusterMember        Failed: the log cannot be made, or contradicts itself
//! ```
//! Invariant: after each input [`ControlLoop::settle`] is called, which carries out all that came of it.

use crate::address::HostPort;
use crate::bootstrap::{Bootstrap, BootstrapOutcome};
use crate::changes::ChangeOrigin;
use crate::discovery::{Kept, kept};
use crate::draining::Draining;
use crate::host::{Common, ControlIo, Source, Target};
use crate::log_writer::{LogWriter, Report};
use crate::member::{ClusterMember, First};
use crate::message::Message;
use crate::peer::{
    Consequence, HandshakeRefused, Hello, Introduction, Welcome, admit, consequence, refusal_of,
};
use crate::register::TakenIn;
use crate::storage::{self, Stored};
use brickyard_brick::ControlRequest;
use brickyard_metadata::{Catalog, Change, ClusterId, NodeKey};
use brickyard_routing::{NodeId, Replica};
use brickyard_store::Disk;
use brickyard_types::Incarnation;
use std::collections::{BTreeSet, VecDeque};

/// Something that whoever runs the process hears of.
#[derive(Debug)]
pub enum News {
    /// Bricks can be made, with this. Once.
    First(First),
    /// This node has founded a cluster.
    Founded(ClusterId),
    /// A cluster has taken it in.
    TakenIn(TakenIn),
    /// It cannot go on, and why.
    Failed(String),
    /// Another node refuses its connections, and why. Once each.
    Refused(String),
    /// Another process is this node, in that life, or it was removed: this one has to end.
    Superseded(Option<Incarnation>),
    /// The cluster has it as another node than it takes itself for: this process has to end.
    Renumbered(NodeId),
    /// It was told to stop, and nothing is left that others could take. Again after each input until it does.
    Drained,
}

/// What a node begins with.
#[derive(Debug)]
pub struct ControlStart<D: Disk> {
    /// What its directory has of a cluster.
    pub stored: Option<Stored<D>>,
    /// What it has where there is no cluster yet.
    pub kept: Kept,
    /// Where other nodes reach it.
    pub address: HostPort,
    /// Where nodes of a cluster may be found.
    pub seeds: Vec<HostPort>,
    /// How many nodes found one together; 0: this one founds none with others.
    pub expect: u32,
}

impl<D: Disk> ControlStart<D> {
    /// Which node of its cluster it is, as far as its directory knows.
    fn me(&self, key: &NodeKey) -> Option<NodeId> {
        let catalog = self.stored.as_ref()?.catalog.as_ref()?;
        Some(catalog.node_by_key(key)?.id)
    }

    /// What the node says of itself until it has a cluster, or has registered there.
    pub fn introduction(&self, key: NodeKey) -> Introduction {
        let catalog = self.stored.as_ref().and_then(|it| it.catalog.as_ref());
        Introduction {
            cluster: catalog.map(Catalog::cluster).or(self.kept.joined),
            key,
            node: self.me(&key).map(|me| (me, Incarnation(0))),
        }
    }
}

#[expect(clippy::large_enum_variant, reason = "there is one of it")]
#[derive(Debug)]
enum Phase<D: Disk> {
    /// With what its directory has of a cluster that it was taken into.
    Bootstrap(Bootstrap, Option<Stored<D>>),
    Member(ClusterMember),
    Failed,
}

/// See the module.
#[derive(Debug)]
pub struct ControlLoop<H: ControlIo> {
    /// What is outside, and what the node says of itself.
    pub common: Common<H>,
    phase: Phase<H::Disk>,
    /// It is going to stop.
    draining: Option<Draining>,
    /// Why other nodes refused its connections.
    refusals: BTreeSet<String>,
    has_begun: bool,
    news: VecDeque<News>,
}

impl<H: ControlIo> ControlLoop<H> {
    /// A node that goes on with what its directory has. [`Self::settle`] it next.
    pub fn new(mut common: Common<H>, start: ControlStart<H::Disk>) -> Self {
        let me = start.me(&common.registration.key);
        let ControlStart {
            stored,
            kept,
            address,
            seeds,
            expect,
        } = start;
        let mut news = VecDeque::new();
        let phase = match (stored, me) {
            (Some(stored), Some(me)) => {
                for seed in &seeds {
                    common.host.add_seed(seed);
                }
                begin(me, stored, &mut common, &mut news)
            }
            (stored, _) => {
                let bootstrap = Bootstrap::new(address, seeds, expect, kept, &mut common);
                Phase::Bootstrap(bootstrap, stored)
            }
        };
        Self {
            common,
            phase,
            draining: None,
            refusals: BTreeSet::new(),
            has_begun: false,
            news,
        }
    }

    /// The member of a cluster that the node is, once it is one.
    #[must_use]
    pub fn member(&self) -> Option<&ClusterMember> {
        match &self.phase {
            Phase::Member(member) => Some(member),
            Phase::Bootstrap(..) | Phase::Failed => None,
        }
    }

    /// What a node without a cluster waits for, in words.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        match &self.phase {
            Phase::Bootstrap(bootstrap, _) => Some(bootstrap.waits_for()),
            Phase::Failed => Some("nothing any more: see the log".to_owned()),
            Phase::Member(_) => None,
        }
    }

    /// Why other nodes refused its connections.
    #[must_use]
    pub fn refusals(&self) -> &BTreeSet<String> {
        &self.refusals
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_some()
    }

    /// What there is to hear, the oldest first.
    pub fn take_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Carries out everything that the last input came to.
    pub fn settle(&mut self) {
        if let Phase::Bootstrap(bootstrap, _) = &mut self.phase
            && let Some(ended) = bootstrap.take_ended()
        {
            self.end_bootstrap(ended);
        }
        let Phase::Member(member) = &mut self.phase else {
            return;
        };
        member.settle(&mut self.common);
        if !self.has_begun
            && let Some(first) = member.first()
        {
            assert_eq!(first.node, member.me(), "bricks of another node");
            self.has_begun = true;
            self.news.push_back(News::First(first));
            // From now on the catalog says where the others are.
            self.common.host.drop_seeds();
        }
        if let Some(present) = member.superseded() {
            self.news.push_back(News::Superseded(present));
        }
        if let Some(other) = member.renumbered() {
            self.news.push_back(News::Renumbered(other));
        }
        if let Some(draining) = &mut self.draining {
            if draining.poll(member, &mut self.common) {
                self.news.push_back(News::Drained);
            }
            // The leader may be this node.
            member.settle(&mut self.common);
        }
    }

    fn end_bootstrap(&mut self, ended: BootstrapOutcome) {
        let phase = std::mem::replace(&mut self.phase, Phase::Failed);
        let Phase::Bootstrap(bootstrap, stored) = phase else {
            return;
        };
        let made = match ended {
            BootstrapOutcome::Found => self.found(),
            BootstrapOutcome::Joined(taken_in) => self.join(taken_in, bootstrap, stored),
        };
        match made {
            Ok((me, stored, news)) => {
                self.news.push_back(news);
                self.phase = begin(me, stored, &mut self.common, &mut self.news);
            }
            Err(reason) => self.news.push_back(News::Failed(reason)),
        }
    }

    /// This node begins the cluster, whose others join it.
    fn found(&mut self) -> Result<(NodeId, Stored<H::Disk>, News), String> {
        let host = &mut self.common.host;
        let catalog = host.genesis(&self.common.registration)?;
        assert_eq!(
            catalog.nodes().len(),
            1,
            "a cluster begins with who founds it"
        );
        let me = catalog.node_by_key(&self.common.registration.key);
        let me = me.ok_or("the new catalog lacks its first node")?.id;
        let stored = storage::found(host.directory(), &catalog);
        let stored = stored.map_err(|error| error.to_string())?;
        let cluster = catalog.cluster();
        tracing::info!(%cluster, "cluster founded");
        let introduction = host.introduction().clone();
        host.introduce_as(Introduction {
            cluster: Some(cluster),
            ..introduction
        });
        kept::remove(&host.directory().disk);
        Ok((me, stored, News::Founded(cluster)))
    }

    fn join(
        &mut self,
        taken_in: TakenIn,
        mut bootstrap: Bootstrap,
        stored: Option<Stored<H::Disk>>,
    ) -> Result<(NodeId, Stored<H::Disk>, News), String> {
        let TakenIn {
            cluster,
            registered,
            ..
        } = taken_in;
        tracing::info!(%cluster, node = registered.node.0, "taken into the cluster");
        self.common.taken_in = Some(taken_in);
        let host = &mut self.common.host;
        let kept = bootstrap.joined(cluster);
        host.keep(&kept).map_err(|error| error.to_string())?;
        let stored = match stored {
            Some(stored) => stored,
            None => storage::joined(host.directory()).map_err(|error| error.to_string())?,
        };
        let introduction = host.introduction().clone();
        host.introduce_as(Introduction {
            cluster: Some(cluster),
            node: Some((registered.node, registered.incarnation)),
            ..introduction
        });
        Ok((registered.node, stored, News::TakenIn(taken_in)))
    }

    /// Time went on, by a tick of the agreement.
    pub fn on_tick(&mut self) {
        match &mut self.phase {
            Phase::Bootstrap(bootstrap, _) => bootstrap.on_tick(&mut self.common),
            Phase::Member(member) => member.on_tick(&mut self.common),
            Phase::Failed => {}
        }
    }

    /// The disk did something.
    pub fn on_report(&mut self, report: &Report) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_report(report);
        }
    }

    /// The bricks have read their logs and run; `is_end_cut`: the end of a log was cut off.
    pub fn on_loops(&mut self, is_end_cut: bool) {
        assert!(self.has_begun, "bricks that nobody could make");
        assert_ne!(self.common.host.bricks(), 0, "no brick runs");
        self.common.is_end_cut = is_end_cut;
        if let Phase::Member(member) = &mut self.phase {
            member.on_loops(&mut self.common);
        }
    }

    /// A brick asks for a change of the catalog.
    pub fn on_change(&mut self, origin: ChangeOrigin, change: Change) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_change(origin, change, &mut self.common);
        }
    }

    /// A brick wants to know all that was acknowledged by now.
    pub fn on_catch_up(&mut self, origin: ChangeOrigin) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_catch_up(origin, &self.common);
        }
    }

    /// A brick tells the control plane something.
    pub fn on_brick(&mut self, brick: usize, request: ControlRequest) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_brick(brick, request, &mut self.common);
        }
    }

    /// A brick wants a stream.
    pub fn on_dial(&mut self, brick: usize, peer: Replica) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_dial(brick, peer, &mut self.common);
        }
    }

    /// A stream that a brick wanted is there.
    pub fn on_stream(&mut self, own: Replica, peer: Replica) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_stream(self.common.host.now(), own, peer);
        }
    }

    /// There is none; the brick says so again if it still wants one.
    pub fn on_no_stream(&mut self, own: Replica, peer: Replica) {
        if let Phase::Member(member) = &mut self.phase {
            member.on_no_stream(self.common.host.now(), own, peer);
        }
    }

    /// The process is going to stop: what others can take is handed over.
    pub fn drain(&mut self) {
        self.draining = Some(Draining::begin(&mut self.common));
    }

    /// Whether a connection may be taken.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, hello: &Hello) -> Result<(), HandshakeRefused> {
        let introduction = self.common.host.introduction();
        admit(hello, introduction, self.member(), &self.common)
    }

    /// A node that was dialed took the connection.
    pub fn on_welcome(&mut self, target: Target, welcome: Welcome) {
        // What it refused before it does not refuse any more.
        let beginning = refusal_of(&target);
        self.refusals.retain(|it| !it.starts_with(&beginning));
        if let Phase::Bootstrap(bootstrap, _) = &mut self.phase {
            let source = Source::Dialed(target);
            bootstrap.on_welcome(source, welcome.key, welcome.cluster, &mut self.common);
        }
    }

    /// A node that was dialed did not.
    pub fn on_refused(&mut self, target: &Target, refused: &HandshakeRefused) {
        let incarnation = self.member().and_then(ClusterMember::incarnation);
        match consequence(target, refused, incarnation) {
            Consequence::DropSeed(address) => self.common.host.drop_seed(&address),
            Consequence::Superseded(present) => {
                self.news.push_back(News::Superseded(Some(present)));
            }
            Consequence::Complain(what) => {
                if self.refusals.insert(what.clone()) {
                    tracing::error!("{what}");
                    self.news.push_back(News::Refused(what));
                }
            }
        }
    }

    /// A message of a node, or of a stranger.
    pub fn on_message(&mut self, source: Source, message: Message) {
        match &mut self.phase {
            Phase::Bootstrap(bootstrap, _) => {
                bootstrap.on_message(source, message, &mut self.common);
            }
            Phase::Member(member) => member.on_message(&source, message, &mut self.common),
            Phase::Failed => {}
        }
    }

    /// A connection is gone, whoever made it.
    pub fn on_closed(&mut self, source: &Source) {
        match &mut self.phase {
            Phase::Bootstrap(bootstrap, _) => bootstrap.forget(source),
            Phase::Member(member) => {
                if let Source::Dialed(Target::Node(node)) = source {
                    member.on_lost(*node);
                }
            }
            Phase::Failed => {}
        }
    }
}

/// Begins as a member.
fn begin<H: ControlIo>(
    me: NodeId,
    stored: Stored<H::Disk>,
    common: &mut Common<H>,
    news: &mut VecDeque<News>,
) -> Phase<H::Disk> {
    let log = LogWriter::new(stored.log, stored.recovered.hard_state);
    let begun = common.host.begin_log(log);
    let member = begun.and_then(|()| ClusterMember::new(me, stored.recovered, common));
    match member {
        Ok(member) => Phase::Member(member),
        Err(reason) => {
            news.push_back(News::Failed(reason));
            Phase::Failed
        }
    }
}
