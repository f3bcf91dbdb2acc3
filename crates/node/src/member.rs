//! A node that belongs to a cluster: what it does with everything that happens.
//!
//! In:  messages, ticks, requests of its bricks, reports of its disk. Out: catalogs and leases for its
//! bricks, messages for other nodes.
//!
//! Invariant: after each input [`ClusterMember::settle`] is called, which carries out all that came of it.

use crate::agreement::{Agreement, Happened, LogView};
use crate::changes::{ChangeOrigin, Changes};
use crate::discovery;
use crate::entry::Entry;
use crate::host::{Common, Host, Source, Target, ToBrick, Urgency};
use crate::lead::{Lead, not_leader, removed};
use crate::leases::Leases;
use crate::log_writer::Report;
use crate::message::Message;
use crate::raft_id;
use crate::register::{RegistrationRequest, SeedContact, is_removed, other_number, own_node};
use crate::reports;
use crate::streams::Streams;
use brickyard_brick::{ControlReply, ControlRequest};
use brickyard_consensus::{Consensus, ConsensusConfig, RecoveredState};
use brickyard_control::LeaderContact;
use brickyard_control::message::{AstrayReport, Superseded, ToLeader, ToNode};
use brickyard_metadata::{Catalog, Change, Level, Outcome};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{BrickId, Incarnation, Instant, PartitionId};
use std::sync::Arc;
use std::time::Duration;

/// How far two readings of a clock may differ for a reading of the other one between them to count.
const READING_MAX: Duration = Duration::from_millis(1);

/// What bricks are made with.
#[derive(Clone, Debug)]
pub struct First {
    /// Which node this is.
    pub node: NodeId,
    /// This life.
    pub incarnation: Incarnation,
    /// It names this life.
    pub catalog: Arc<Catalog>,
}

/// How a member stands.
#[derive(Clone, Debug)]
pub struct MemberView {
    /// Which node this is.
    pub node: NodeId,
    /// None: this life is not registered yet.
    pub incarnation: Option<Incarnation>,
    /// Who leads the control plane, as far as this node knows.
    pub leader: Option<NodeId>,
    /// In which term.
    pub term: u64,
    /// How many leaders this process has seen begin.
    pub leaders_seen: u64,
    /// How far its control log is.
    pub log: LogView,
    /// Who votes.
    pub voters: Vec<NodeId>,
    /// Who does not, yet.
    pub learners: Vec<NodeId>,
    /// Other nodes that this one is connected to.
    pub connected: Vec<NodeId>,
    /// Nodes that are not up, as the leader has it; others do not know.
    pub down: Option<Vec<NodeId>>,
    /// There is no other node, and no lease is needed.
    pub is_alone: bool,
    /// The shortest time for which a brick may act still.
    pub lease_left: Duration,
    /// The oldest catalog that a brick acts by.
    pub adopted: u64,
}

/// See the module.
#[derive(Debug)]
pub struct ClusterMember {
    me: NodeId,
    consensus: ConsensusConfig,
    agreement: Agreement,
    /// What the bricks were told last.
    catalog: Option<Arc<Catalog>>,
    /// This life, once the catalog has it.
    incarnation: Option<Incarnation>,
    registration_request: RegistrationRequest,
    changes: Changes,
    lead: Option<Lead>,
    leader_contact: LeaderContact,
    contacts: u64,
    leases: Option<Leases>,
    seed_contact: SeedContact,
    streams: Streams,
    /// Proposals of the leader whose outcome it is to hear after the catalog.
    outcomes: Vec<(Entry, Outcome)>,
    end: End,
}

/// Why this process cannot go on as what it is.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Another process is this node, in that life; or the node was removed.
    superseded: Option<Option<Incarnation>>,
    /// It was taken in under another number.
    renumbered: Option<NodeId>,
}

impl ClusterMember {
    /// A node that goes on with what it has, or begins with what it was given. [`Self::settle`] it next.
    ///
    /// # Errors
    /// What was recovered contradicts itself; in words.
    pub fn new<H: Host>(
        me: NodeId,
        recovered: RecoveredState,
        common: &Common<H>,
    ) -> Result<Self, String> {
        let consensus = ConsensusConfig::new(raft_id(me), common.consensus_seed);
        let agreed = Consensus::new(consensus.clone(), recovered);
        let agreed = agreed.map_err(|error| format!("the control log cannot be used: {error}"))?;
        let random = common.consensus_seed.rotate_left(17);
        Ok(Self {
            me,
            consensus,
            agreement: Agreement::new(agreed),
            catalog: None,
            incarnation: None,
            registration_request: RegistrationRequest::default(),
            changes: Changes::default(),
            lead: None,
            leader_contact: LeaderContact::new(common.host.now()),
            contacts: 0,
            leases: None,
            seed_contact: SeedContact::default(),
            streams: Streams::new(random),
            outcomes: Vec::new(),
            end: End::default(),
        })
    }

    /// This life, once the catalog has it.
    #[must_use]
    pub fn incarnation(&self) -> Option<Incarnation> {
        self.incarnation
    }

    /// What the bricks were told last.
    #[must_use]
    pub fn catalog(&self) -> Option<&Arc<Catalog>> {
        self.catalog.as_ref()
    }

    /// Which node this is.
    #[must_use]
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// Whether this node leads the control plane, and knows everything.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.lead.is_some()
    }

    /// The cluster goes on with another process that has this node's key: what is there instead.
    #[must_use]
    pub fn superseded(&self) -> Option<Option<Incarnation>> {
        self.end.superseded
    }

    /// The cluster has this process as another node than it takes itself for: the next one runs as that.
    #[must_use]
    pub fn renumbered(&self) -> Option<NodeId> {
        self.end.renumbered
    }

    /// Who leads the control plane, as far as this node knows, and in which term.
    #[must_use]
    pub fn leader(&self) -> Option<(NodeId, u64)> {
        let leader = self.agreement.leader();
        leader.map(|leader| (leader, self.agreement.term()))
    }

    /// Whether others could lead in this node's place.
    #[must_use]
    pub fn has_other_voters(&self) -> bool {
        self.agreement.membership(&self.consensus).voters.len() > 1
    }

    /// How this node stands.
    pub fn show<H: Host>(&self, common: &Common<H>) -> MemberView {
        let membership = self.agreement.membership(&self.consensus);
        let leases = self.leases.as_ref();
        let connected = common.host.connected().into_iter();
        MemberView {
            node: self.me,
            incarnation: self.incarnation,
            leader: self.agreement.leader(),
            term: self.agreement.term(),
            leaders_seen: self.agreement.leaders_seen(),
            log: self.agreement.log_view(),
            voters: membership.voters.into_iter().collect(),
            learners: membership.learners.into_iter().collect(),
            connected: connected
                .filter_map(|target| match target {
                    Target::Node(node) => Some(node),
                    Target::Seed(_) => None,
                })
                .collect(),
            down: self.lead.as_ref().map(|lead| lead.controller().down()),
            is_alone: self
                .catalog
                .as_ref()
                .is_some_and(|it| it.nodes().len() == 1),
            lease_left: leases.map(|it| it.left(&common.host)).unwrap_or_default(),
            adopted: common.host.adopted(),
        }
    }

    /// What bricks can be made with, once the catalog has this very life. What a node finds of the catalog when it
    /// starts may be older than its logs: it knew more when it wrote them than it had stored as agreed. Whatever
    /// they hold was decided before this life was registered, so that there is no record of a table or a view
    /// that this catalog does not have. Read by an older one, records of a table that is not in it would be
    /// passed over, and nobody would go on from them (rule `a restart cuts nothing`).
    #[must_use]
    pub fn first(&self) -> Option<First> {
        Some(First {
            node: self.me,
            incarnation: self.incarnation?,
            catalog: Arc::clone(self.catalog.as_ref()?),
        })
    }

    /// The bricks have read their logs and run.
    pub fn on_loops<H: Host>(&mut self, common: &mut Common<H>) {
        let Some(catalog) = self.catalog.clone() else {
            return;
        };
        if let Some(incarnation) = self.incarnation {
            common.registered(incarnation);
        }
        common.catalog(&catalog);
        self.begin_leases(common);
    }

    fn begin_leases<H: Host>(&mut self, common: &mut Common<H>) {
        let (Some(catalog), Some(incarnation)) = (&self.catalog, self.incarnation) else {
            return;
        };
        let bricks = common.host.bricks();
        if self.leases.is_some() || bricks == 0 {
            return;
        }
        let config = common.control.clone();
        let now = common.host.now();
        let mut leases = Leases::new(config, self.me, incarnation, bricks, now);
        leases.on_catalog(catalog, common);
        self.leases = Some(leases);
    }

    /// Time went on, by a tick of the agreement.
    pub fn on_tick<H: Host>(&mut self, common: &mut Common<H>) {
        self.agreement.tick();
        let host = &common.host;
        let (now, unix, again) = (host.now(), host.unix(), host.now());
        if again - now <= READING_MAX
            && let Some(leases) = &mut self.leases
        {
            leases.on_clocks(again, unix, common);
        }
    }

    /// The disk did something.
    pub fn on_report(&mut self, report: &Report) {
        if let Report::Refused(reason) = report {
            self.changes.on_disk_refused(reason);
        }
        self.agreement.on_report(report);
    }

    /// The connection to a member is gone.
    pub fn on_lost(&mut self, node: NodeId) {
        self.agreement.on_lost(node);
    }

    /// A message of a node, or of a stranger.
    pub fn on_message<H: Host>(
        &mut self,
        source: &Source,
        message: Message,
        common: &mut Common<H>,
    ) {
        let from = common.host.member(source);
        match (message, from) {
            (Message::Raft(message), Some(from)) => {
                self.agreement.step(from, &message);
                self.note_leader(common.host.now());
            }
            (Message::ToLeader(message), from) => {
                self.take_for_leader(from, source, message, common)
            }
            // Who led before answers for nothing that happens now.
            (Message::ToNode(ToNode::Drained(_)), from) if from != self.agreement.leader() => {}
            (Message::ToNode(message), _) => self.take_for_node(message, common),
            (Message::Discovery(_), _) => {
                if let Some(status) = self.discovery_status(common) {
                    common.host.reply(source, &status, Urgency::Normal);
                }
            }
            (Message::Raft(_), None) => {}
        }
    }

    fn discovery_status<H>(&self, common: &Common<H>) -> Option<Message> {
        let status = discovery::DiscoveryStatus {
            key: common.registration.key,
            cluster: Some(self.catalog.as_ref()?.cluster()),
            promised: None,
            attempts: u64::MAX,
            knows: Vec::new(),
        };
        Some(Message::Discovery(discovery::DiscoveryMessage::Status(
            status,
        )))
    }

    /// The leader of an earlier term may have granted leases until now (rule `leases count from the request`).
    fn note_leader(&mut self, now: Instant) {
        let contacts = self.agreement.leader_contacts();
        if contacts != self.contacts {
            self.contacts = contacts;
            self.leader_contact.on_leader(self.agreement.term(), now);
        }
    }

    fn take_for_leader<H: Host>(
        &mut self,
        from: Option<NodeId>,
        source: &Source,
        message: ToLeader,
        common: &mut Common<H>,
    ) {
        match &mut self.lead {
            Some(lead) => {
                lead.on_message(from, Some(source), message, common, &mut self.agreement);
            }
            None => {
                if let ToLeader::Lease(request) = &message
                    && from == Some(request.node)
                {
                    // It does not reach the leader, or there is another one: who leads hears who is reached instead.
                    let report = AstrayReport {
                        node: request.node,
                        incarnation: request.incarnation,
                    };
                    self.tell_leader(ToLeader::Astray(report), Urgency::Normal, common);
                }
                if let Some(reply) = self.answer_astray(from, &message, common) {
                    common
                        .host
                        .reply(source, &Message::ToNode(reply), Urgency::Normal);
                }
            }
        }
    }

    /// What to tell a node that takes this one for the leader. Most hear who leads by the agreement; not who wants to be
    /// taken in, and not who was removed while it was cut off or down.
    fn answer_astray<H: Host>(
        &self,
        from: Option<NodeId>,
        message: &ToLeader,
        common: &Common<H>,
    ) -> Option<ToNode> {
        let catalog = self.catalog.as_deref();
        // Not by its key: who is just taken in may be unknown here. Numbers are never used again.
        let was_removed = |node: NodeId| catalog.filter(|it| it.was_removed(node));
        match message {
            ToLeader::Join(join) => match from.and_then(was_removed) {
                Some(catalog) => Some(removed(join.registration.run, catalog)),
                None => Some(not_leader(&self.agreement, common)),
            },
            ToLeader::Lease(request) => was_removed(request.node).map(|_| {
                ToNode::Superseded(Superseded {
                    incarnation: request.incarnation,
                    present: None,
                })
            }),
            _ => None,
        }
    }

    fn take_for_node<H: Host>(&mut self, message: ToNode, common: &mut Common<H>) {
        match message {
            ToNode::Grant(grant) => {
                if let Some(leases) = &mut self.leases {
                    leases.on_grant(&grant, &mut common.host);
                }
            }
            ToNode::Superseded(it) if Some(it.incarnation) == self.incarnation => {
                self.end.superseded = Some(it.present);
            }
            ToNode::LeaderContact(query) => {
                let reply =
                    self.leader_contact
                        .answer(query, self.agreement.term(), common.host.now());
                if let Some(reply) = reply {
                    self.tell_leader(ToLeader::LeaderContact(reply), Urgency::High, common);
                }
            }
            ToNode::Report(request) if Some(request.incarnation) == self.incarnation => {
                for brick in request.bricks {
                    let brick = brick.0;
                    common
                        .host
                        .tell(brick as usize, ToBrick::WantSummaries(u64::from(brick)));
                }
            }
            ToNode::Changed(changed) => {
                if let Some(Err(refusal)) = &changed.outcome {
                    self.changes.on_refused(changed.sequence, refusal);
                }
            }
            ToNode::Drained(drained) => common.drained = Some(drained),
            ToNode::Joined(joined) => {
                if self.incarnation.is_none() {
                    if is_removed(&joined, self.catalog.as_deref(), common) {
                        self.end.superseded = Some(None);
                    }
                    self.end.renumbered = other_number(self.me, &joined, common);
                }
                if let Err(refusal) = joined.outcome {
                    tracing::error!(refusal, "the cluster does not take this node");
                }
            }
            ToNode::Present(present) => self.registration_request.on_present(present, common),
            ToNode::NotLeader(_) => {}
            ToNode::Superseded(_) | ToNode::Report(_) => {}
        }
    }

    /// Tells the leader something, be it another node or this one.
    pub fn tell_leader<H: Host>(
        &mut self,
        message: ToLeader,
        urgency: Urgency,
        common: &mut Common<H>,
    ) {
        let me = self.me;
        if let Some(lead) = &mut self.lead {
            lead.on_message(Some(me), None, message, common, &mut self.agreement);
        } else if let Some(leader) = self.agreement.leader() {
            common
                .host
                .send(leader, &Message::ToLeader(message), urgency);
        }
    }

    /// A brick asks for a change of the catalog.
    pub fn on_change<H: Host>(
        &mut self,
        origin: ChangeOrigin,
        change: Change,
        common: &mut Common<H>,
    ) {
        match self.who_cannot_read(&change, common) {
            Some(reason) => common.answer(vec![(origin, ControlReply::Failed(reason))]),
            None => self.changes.ask(common.host.now(), origin, change),
        }
    }

    /// A brick wants to know all that was acknowledged by now.
    pub fn on_catch_up<H: Host>(&mut self, origin: ChangeOrigin, common: &Common<H>) {
        self.changes.look(common.host.now(), origin);
    }

    /// Why not all nodes could make a change: it would end those that do not know it.
    fn who_cannot_read<H: Host>(&self, change: &Change, common: &Common<H>) -> Option<String> {
        let needed = change.level();
        if needed == Level::FIRST {
            return None;
        }
        let others = self.catalog()?.nodes().map(|node| node.id);
        let mut others = others.filter(|node| *node != self.me);
        others.find_map(|node| match common.host.level(node) {
            Some(level) if level >= needed => None,
            Some(_) => Some(format!(
                "ERR nothing was changed: node {node} runs an earlier version of the program, which does not know this; \
                 upgrade all nodes first"
            )),
            None => Some(format!(
                "ERR nothing was changed: node {node} has not connected to this one since its start, and may run an earlier \
                 version of the program, which does not know this; start it, or remove it"
            )),
        })
    }

    /// A brick tells the control plane something.
    pub fn on_brick<H: Host>(
        &mut self,
        brick: usize,
        request: ControlRequest,
        common: &mut Common<H>,
    ) {
        let Some(own) = self.replica(brick) else {
            return;
        };
        let Some(catalog) = self.catalog.clone() else {
            return;
        };
        let messages = match request {
            ControlRequest::Promote {
                partition,
                view,
                learner,
            } => reports::promote(&catalog, own, partition, view, learner),
            ControlRequest::Evict {
                partition,
                view,
                backup,
                has_withdrawn,
            } => reports::evict(&catalog, own, (partition, view), backup, has_withdrawn),
            ControlRequest::Split {
                partition,
                view,
                begun_at,
            } => reports::split(&catalog, own, partition, view, begun_at),
            ControlRequest::Rest(rest) => vec![reports::rest(own, rest)],
            ControlRequest::Load(load) => vec![reports::load(own, load)],
            ControlRequest::Small(small) => vec![reports::small(own, small)],
            ControlRequest::Summaries(held) => {
                let tail = reports::Tail {
                    is_sure: common.is_tail_sure,
                    is_cut: common.is_end_cut,
                };
                reports::reports(&catalog, own, held, tail)
            }
            ControlRequest::Returned {
                table,
                since,
                summaries,
            } => {
                let tail = reports::Tail {
                    is_sure: common.is_tail_sure,
                    is_cut: common.is_end_cut,
                };
                reports::returned(&catalog, own, (table, since), summaries, tail)
            }
            ControlRequest::Change(_)
            | ControlRequest::CatchUp
            | ControlRequest::Authenticate { .. }
            | ControlRequest::SetAccount { .. }
            | ControlRequest::GeneratePassword { .. }
            | ControlRequest::Shutdown => Vec::new(),
        };
        for message in messages {
            self.tell_leader(message, Urgency::Normal, common);
        }
    }

    /// A brick wants a stream.
    pub fn on_dial<H: Host>(&mut self, brick: usize, peer: Replica, common: &mut Common<H>) {
        if let (Some(own), Some(catalog)) = (self.replica(brick), &self.catalog) {
            self.streams.dial(own, peer, catalog, &mut common.host);
        }
    }

    /// A stream that a brick wanted is there.
    pub fn on_stream(&mut self, now: Instant, own: Replica, peer: Replica) {
        self.streams.on_dialed(now, own, peer);
    }

    /// There is none; the brick says so again if it still wants one.
    pub fn on_no_stream(&mut self, now: Instant, own: Replica, peer: Replica) {
        self.streams.on_failed(now, own, peer);
    }

    /// Whether a connection may be taken that says to come from that life of a node: not if the catalog has a
    /// later one.
    ///
    /// # Errors
    /// The later life.
    pub fn admit(&self, from: NodeId, life: Incarnation) -> Result<(), Incarnation> {
        let node = self.catalog.as_ref().and_then(|it| it.node(from));
        match node {
            Some(node) if life != Incarnation(0) && life < node.incarnation => {
                Err(node.incarnation)
            }
            _ => Ok(()),
        }
    }

    /// Whether a stream from one brick to another may be taken here, which node `dialer` dials.
    ///
    /// # Errors
    /// The brick, or the life of it, that nobody here has heard of.
    pub fn admit_stream<H: Host>(
        &self,
        dialer: Option<NodeId>,
        from: Replica,
        to: Replica,
        common: &Common<H>,
    ) -> Result<(), Replica> {
        let catalog = self.catalog.as_ref().ok_or(to)?;
        let is_mine = to.member.node == self.me && self.incarnation == Some(to.incarnation);
        if !is_mine || !catalog.is_current(to) || common.host.bricks() == 0 {
            return Err(to);
        }
        if dialer != Some(from.member.node) || !catalog.is_current(from) {
            return Err(from);
        }
        Ok(())
    }

    fn replica(&self, brick: usize) -> Option<Replica> {
        let node = self.catalog.as_ref()?.node(self.me)?;
        (Some(node.incarnation) == self.incarnation).then(|| node.replica(BrickId(brick as u32)))
    }

    /// Carries out everything that the last input came to.
    pub fn settle<H: Host>(&mut self, common: &mut Common<H>) {
        loop {
            while let Some(happened) = self.agreement.poll() {
                self.on_happened(happened, common);
            }
            self.publish(common);
            self.maintain_lead(common);
            self.maintain_tail(common);
            self.ask(common);
            if !self.agreement.has_news() {
                break;
            }
        }
        let (now, adopted) = (common.host.now(), common.host.adopted());
        common.answer(self.changes.take_answers(now, adopted));
    }

    fn on_happened<H: Host>(&mut self, happened: Happened, common: &mut Common<H>) {
        match happened {
            Happened::Persist(persist) => common.host.persist(persist),
            Happened::Stop(reason) => common.host.stop(&reason),
            Happened::Send(to, message) => {
                common
                    .host
                    .send(to, &Message::Raft(message), Urgency::Normal);
            }
            Happened::Applied(entry, outcome) => {
                if let Entry::Asked(envelope) = &entry
                    && envelope.from == self.me
                    && Some(envelope.incarnation) == self.incarnation
                {
                    let version = self.agreement.catalog().map(Catalog::version);
                    self.changes.on_outcome(
                        common.host.now(),
                        envelope.sequence,
                        &outcome,
                        version.unwrap_or_default(),
                    );
                }
                if self.lead.is_some() {
                    self.outcomes.push((entry, outcome));
                }
            }
            Happened::Restored | Happened::Membership => {}
            Happened::HandOver(to) => tracing::warn!(
                to = to.map(|it| it.0),
                "this node's control log cannot be written, or is slow to be, and others have written theirs: it hands \
                 the lead of the control plane over; look at its disk"
            ),
            Happened::Leadership(leader, term) => {
                tracing::debug!(?leader, term, "the control plane's leader");
                if self
                    .lead
                    .as_ref()
                    .is_some_and(|it| leader != Some(self.me) || it.term() != term)
                {
                    tracing::info!(term, "this node leads the control plane no more");
                    self.lead = None;
                    self.outcomes.clear();
                }
                self.changes.hurry();
                self.registration_request.hurry();
                if let Some(leases) = &mut self.leases {
                    leases.hurry();
                }
            }
            Happened::Round(round, is_confirmed) => {
                if let Some(lead) = &mut self.lead {
                    lead.on_round(common.host.now(), round, is_confirmed);
                }
            }
        }
    }

    /// Tells everybody here of a new catalog.
    fn publish<H: Host>(&mut self, common: &mut Common<H>) {
        let Some(current) = self.agreement.catalog() else {
            return;
        };
        let former = self.catalog.as_ref().map(|catalog| catalog.version());
        if former == Some(current.version()) {
            return;
        }
        let catalog = Arc::new(current.clone());
        let own = own_node(&catalog, common).map(|node| (node.id, node.incarnation));
        if self.incarnation.is_none()
            && let Some((id, incarnation)) = own
        {
            tracing::info!(node = id.0, %incarnation, "registered");
            self.incarnation = Some(incarnation);
            common.host.introduce(id, incarnation);
            common.registered(incarnation);
        } else if self.incarnation.is_some() && own.is_none() {
            let node = catalog.node_by_key(&common.registration.key);
            self.end.superseded = Some(node.map(|node| node.incarnation));
        }
        common.catalog(&catalog);
        self.catalog = Some(Arc::clone(&catalog));
        common.host.follow(&catalog, self.me);
        self.streams.on_catalog(&catalog);
        common.host.show(&catalog);
        self.begin_leases(common);
        if let Some(leases) = &mut self.leases {
            leases.on_catalog(&catalog, common);
        }
        if let Some(lead) = &mut self.lead {
            lead.on_catalog(common.host.now(), catalog);
        }
    }

    fn maintain_lead<H: Host>(&mut self, common: &mut Common<H>) {
        let is_settled = self.agreement.is_settled();
        if let (None, true, Some(catalog)) = (&self.lead, is_settled, &self.catalog) {
            let catalog = Arc::clone(catalog);
            let lead = Lead::new(common, self.me, &self.agreement, catalog, &self.consensus);
            self.lead = Some(lead);
        }
        for (entry, outcome) in std::mem::take(&mut self.outcomes) {
            if let (Some(lead), Some(catalog)) = (&mut self.lead, &self.catalog) {
                lead.on_applied(&entry, &outcome, catalog, common);
            }
        }
        let Some(lead) = &mut self.lead else { return };
        let own = lead.run(
            self.me,
            common,
            &mut self.agreement,
            &mut self.leader_contact,
            &self.consensus,
        );
        for message in own {
            self.take_for_node(message, common);
        }
    }

    /// After the machine has stopped this node's logs may be short. They are not any more once every partition of
    /// which it is a member has it in sync, in this life (rule `a lost log end is noted first`). Not before: whoever
    /// is started a second time in the same boot could not tell.
    fn maintain_tail<H: Host>(&mut self, common: &mut Common<H>) {
        let (Some(catalog), Some(incarnation)) = (&self.catalog, self.incarnation) else {
            return;
        };
        if common.is_tail_sure || common.host.bricks() == 0 {
            return;
        }
        let is_own = |replica: &Replica| replica.member.node == self.me;
        let mut groups = catalog.tables().flat_map(|table| table.map.groups());
        let is_in_sync = groups.all(|group| {
            let change = group.change.as_deref();
            let replicas = group
                .members()
                .chain(change.iter().flat_map(|it| it.in_sync()));
            let mut own = replicas.filter(is_own);
            own.all(|replica| replica.incarnation == incarnation)
                && !group.learners.iter().any(is_own)
        });
        if is_in_sync {
            common.is_tail_sure = true;
            common.is_end_cut = false;
            common.host.confirm_tail();
        }
    }

    /// Asks for what this node needs: its registration, its lease, its bricks' changes.
    fn ask<H: Host>(&mut self, common: &mut Common<H>) {
        let now = common.host.now();
        let Some(incarnation) = self.incarnation else {
            self.registration_request.poll(common, &mut self.agreement);
            return;
        };
        let leases = self.leases.as_mut();
        let asked = leases.and_then(|it| Some((it.poll(now, &common.host)?, it.is_unheard(now))));
        if let Some((request, is_unheard)) = asked {
            let request = ToLeader::Lease(request);
            if self.lead.is_some() {
                self.tell_leader(request, Urgency::High, common);
            } else {
                let leader = self.agreement.leader().filter(|_| !is_unheard);
                self.seed_contact
                    .ask(request, Urgency::High, common, leader);
            }
        }
        if self.agreement.leader().is_some()
            && let Some(envelope) = self.changes.poll(now, self.me, incarnation)
        {
            self.tell_leader(ToLeader::Change(envelope), Urgency::Normal, common);
        }
    }
}

/// The table that has a partition.
pub(crate) fn table_of(
    catalog: &Catalog,
    partition: PartitionId,
) -> Option<&brickyard_metadata::TableEntry> {
    catalog
        .tables()
        .find(|table| table.map.group(partition).is_some())
}

#[cfg(test)]
#[path = "member_test.rs"]
mod member_test;
