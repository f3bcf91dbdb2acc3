//! A node that belongs to a cluster: what it does with everything that happens.
//!
//! In:  messages, ticks, requests of its bricks, reports of its disk. Out: catalogs and leases for its
//! bricks, messages for other nodes.
//!
//! Invariant: after each input [`Member::settle`] is called, which carries out all that came of it.

use super::agreement::{Agreement, Happened};
use super::changes::{Asker, Changes};
use super::claims;
use super::entry::Entry;
use super::lead::{Lead, not_leader};
use super::leases::Leases;
use super::register::{Registrar, own_node};
use super::streams::Streams;
use super::view::MemberView;
use super::writer::{Report, Writer};
use super::{Common, First, Stored, raft_id};
use crate::clock;
use crate::control::{CatalogFile, ToLoop};
use crate::peer::{Message, Source, Urgency};
use brickyard_brick::ControlRequest;
use brickyard_consensus::{Config, Consensus};
use brickyard_control::Heard;
use brickyard_control::message::{ToLeader, ToNode};
use brickyard_metadata::{Catalog, Change, Outcome};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{BrickId, Incarnation, Instant, PartitionId};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// How far two readings of a clock may differ for a reading of the other one between them to count.
const READING_MAX: std::time::Duration = std::time::Duration::from_millis(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Member {
    me: NodeId,
    consensus: Config,
    agreement: Agreement,
    /// What the bricks were told last.
    catalog: Option<Arc<Catalog>>,
    /// This life, once the catalog has it.
    pub(crate) incarnation: Option<Incarnation>,
    registrar: Registrar,
    pub(crate) changes: Changes,
    lead: Option<Lead>,
    heard: Heard,
    contacts: u64,
    leases: Option<Leases>,
    pub(crate) streams: Streams,
    /// Proposals of the leader whose outcome it is to hear after the catalog.
    outcomes: Vec<(Entry, Outcome)>,
    superseded: Option<Option<Incarnation>>,
}

impl Member {
    /// A node that goes on with what it has, or begins with what it was given.
    pub(crate) fn new(
        me: NodeId,
        stored: Stored,
        common: &Common,
        reports: UnboundedSender<Report>,
    ) -> Result<Self, String> {
        let Stored { log, recovered, .. } = stored;
        let consensus = Config::new(raft_id(me), common.consensus_seed);
        let hard_state = super::storage::hard_state(recovered.hard_state);
        let copy = CatalogFile::new(common.directory.disk.clone());
        let writer = Writer::start(log, hard_state, copy, reports);
        let writer = writer.map_err(|error| format!("cannot start a thread: {error}"))?;
        let agreed = Consensus::new(consensus.clone(), recovered);
        let agreed = agreed.map_err(|error| format!("the control log cannot be used: {error}"))?;
        let random = common.consensus_seed.rotate_left(17);
        Ok(Self {
            me,
            consensus,
            agreement: Agreement::new(agreed, writer),
            catalog: None,
            incarnation: None,
            registrar: Registrar::default(),
            changes: Changes::default(),
            lead: None,
            heard: Heard::new(clock::now()),
            contacts: 0,
            leases: None,
            streams: Streams::new(random),
            outcomes: Vec::new(),
            superseded: None,
        })
    }

    pub(crate) fn catalog(&self) -> Option<&Arc<Catalog>> {
        self.catalog.as_ref()
    }

    pub(crate) fn me(&self) -> NodeId {
        self.me
    }

    pub(crate) fn lead(&self) -> Option<&Lead> {
        self.lead.as_ref()
    }

    /// The cluster goes on with another process that has this node's key: what is there instead.
    pub(crate) fn superseded(&self) -> Option<Option<Incarnation>> {
        self.superseded
    }

    /// Whether others could lead in this node's place.
    pub(crate) fn has_other_voters(&self) -> bool {
        self.agreement.membership(&self.consensus).voters.len() > 1
    }

    /// How this node stands.
    pub(crate) fn show(&self, common: &Common) -> MemberView {
        let now = clock::now();
        let membership = self.agreement.membership(&self.consensus);
        let leases = self.leases.as_ref();
        MemberView {
            node: self.me,
            incarnation: self.incarnation,
            leader: self.agreement.leader(),
            term: self.agreement.term(),
            voters: membership.voters.into_iter().collect(),
            learners: membership.learners.into_iter().collect(),
            connected: common.peers.connected_members().collect(),
            down: self.lead.as_ref().map(|lead| lead.controller().down()),
            is_alone: self
                .catalog
                .as_ref()
                .is_some_and(|it| it.nodes().len() == 1),
            lease_left: leases
                .map(|it| it.left(now, &common.loops))
                .unwrap_or_default(),
            adopted: common.loops.adopted(),
        }
    }

    /// What bricks can be made with, as soon as they can.
    pub(crate) fn first(&self) -> Option<First> {
        let catalog = self.catalog.as_ref()?;
        catalog.node(self.me)?;
        // Alone it registers in no time, and the bricks begin with a catalog that names their life.
        let is_alone = catalog.nodes().len() == 1;
        (self.incarnation.is_some() || !is_alone).then(|| First {
            node: self.me,
            incarnation: self.incarnation.unwrap_or_default(),
            catalog: Arc::clone(catalog),
        })
    }

    /// The bricks have read their logs and run.
    pub(crate) fn on_loops(&mut self, common: &Common) {
        let Some(catalog) = &self.catalog else { return };
        if let Some(incarnation) = self.incarnation {
            common.loops.registered(incarnation);
        }
        common.loops.catalog(catalog);
        self.begin_leases(common);
    }

    fn begin_leases(&mut self, common: &Common) {
        let (Some(catalog), Some(incarnation)) = (&self.catalog, self.incarnation) else {
            return;
        };
        if self.leases.is_some() || !common.loops.are_there() {
            return;
        }
        let config = common.control.clone();
        let bricks = common.loops.len();
        let mut leases = Leases::new(config, self.me, incarnation, bricks, clock::now());
        leases.on_catalog(catalog, &common.loops);
        self.leases = Some(leases);
    }

    pub(crate) fn on_tick(&mut self, common: &Common) {
        self.agreement.tick();
        let (now, unix, again) = (clock::now(), clock::unix(), clock::now());
        if again - now <= READING_MAX
            && let Some(leases) = &mut self.leases
        {
            leases.on_clocks(again, unix, &common.loops);
        }
    }

    pub(crate) fn on_report(&mut self, report: &Report) {
        if let Report::Refused(reason) = report {
            self.changes.on_disk_refused(reason);
        }
        self.agreement.on_report(report);
    }

    pub(crate) fn on_lost(&mut self, node: NodeId) {
        self.agreement.on_lost(node);
    }

    /// A message of a node, or of a stranger.
    pub(crate) fn on_message(&mut self, source: &Source, message: Message, common: &mut Common) {
        let from = common.peers.member(source);
        match (message, from) {
            (Message::Raft(message), Some(from)) => {
                self.agreement.step(from, &message);
                self.note_leader();
            }
            (Message::ToLeader(message), from) => {
                self.take_for_leader(from, source, message, common)
            }
            (Message::ToNode(message), _) => self.take_for_node(message, common),
            (Message::Forming(_), _) => {
                if let Some(status) = self.forming_status(common) {
                    common.peers.reply(source, &status, Urgency::Normal);
                }
            }
            (Message::Raft(_), None) => {}
        }
    }

    fn forming_status(&self, common: &Common) -> Option<Message> {
        let status = super::forming::Status {
            key: common.registration.key,
            cluster: Some(self.catalog.as_ref()?.cluster()),
            promised: None,
            attempts: u64::MAX,
            knows: Vec::new(),
        };
        Some(Message::Forming(super::forming::Word::Status(status)))
    }

    /// The leader of an earlier term may have granted leases until now (PROTOCOL rule 22).
    fn note_leader(&mut self) {
        let contacts = self.agreement.leader_contacts();
        if contacts != self.contacts {
            self.contacts = contacts;
            self.heard.on_leader(self.agreement.term(), clock::now());
        }
    }

    fn take_for_leader(
        &mut self,
        from: Option<NodeId>,
        source: &Source,
        message: ToLeader,
        common: &mut Common,
    ) {
        match &mut self.lead {
            Some(lead) => {
                lead.on_message(from, Some(source), message, common, &mut self.agreement);
            }
            None => {
                // Only who wants to be taken in has to know; the others hear it by the agreement.
                if matches!(message, ToLeader::Join(_)) {
                    let reply = Message::ToNode(not_leader(&self.agreement, common));
                    common.peers.reply(source, &reply, Urgency::Normal);
                }
            }
        }
    }

    fn take_for_node(&mut self, message: ToNode, common: &mut Common) {
        match message {
            ToNode::Grant(grant) => {
                if let Some(leases) = &mut self.leases {
                    leases.on_grant(&grant, clock::now(), &common.loops);
                }
            }
            ToNode::Superseded(it) if Some(it.incarnation) == self.incarnation => {
                self.superseded = Some(it.present);
            }
            ToNode::Heard(query) => {
                let reply = self
                    .heard
                    .answer(query, self.agreement.term(), clock::now());
                if let Some(reply) = reply {
                    self.tell_leader(ToLeader::Heard(reply), Urgency::High, common);
                }
            }
            ToNode::Report(request) if Some(request.incarnation) == self.incarnation => {
                for brick in request.bricks {
                    common
                        .loops
                        .send(brick.0 as usize, ToLoop::WantClaims(u64::from(brick.0)));
                }
            }
            ToNode::Changed(changed) => {
                if let Some(outcome) = &changed.outcome {
                    self.changes
                        .on_outcome(clock::now(), changed.sequence, outcome);
                }
            }
            ToNode::Drained(drained) => common.drained = Some(drained),
            ToNode::Joined(joined) => {
                if let Err(refusal) = joined.outcome {
                    tracing::error!(refusal, "the cluster does not take this node");
                }
            }
            ToNode::NotLeader(_) => {}
            ToNode::Superseded(_) | ToNode::Report(_) => {}
        }
    }

    /// Tells the leader something, be it another node or this one.
    pub(crate) fn tell_leader(&mut self, message: ToLeader, urgency: Urgency, common: &mut Common) {
        let me = self.me;
        if let Some(lead) = &mut self.lead {
            lead.on_message(Some(me), None, message, common, &mut self.agreement);
        } else if let Some(leader) = self.agreement.leader() {
            common
                .peers
                .send(leader, &Message::ToLeader(message), urgency);
        }
    }

    /// A brick asks for a change of the catalog.
    pub(crate) fn on_change(&mut self, asker: Asker, change: Change) {
        self.changes.ask(clock::now(), asker, change);
    }

    /// A brick tells the control plane something.
    pub(crate) fn on_brick(&mut self, brick: usize, request: ControlRequest, common: &mut Common) {
        let Some(own) = self.seat(brick) else { return };
        let Some(catalog) = self.catalog.clone() else {
            return;
        };
        let messages = match request {
            ControlRequest::Promote {
                partition,
                view,
                learner,
            } => claims::promote(&catalog, own, partition, view, learner),
            ControlRequest::Evict {
                partition,
                view,
                backup,
            } => claims::evict(&catalog, own, partition, view, backup),
            ControlRequest::Claims(held) => {
                claims::reports(&catalog, own, held, common.is_tail_sure)
            }
            ControlRequest::Change(_)
            | ControlRequest::Authenticate { .. }
            | ControlRequest::Shutdown => Vec::new(),
        };
        for message in messages {
            self.tell_leader(message, Urgency::Normal, common);
        }
    }

    /// A brick wants a stream.
    pub(crate) fn on_dial(&mut self, brick: usize, peer: Seat, common: &Common) {
        if let (Some(own), Some(catalog)) = (self.seat(brick), &self.catalog) {
            self.streams.dial(clock::now(), own, peer, catalog, common);
        }
    }

    fn seat(&self, brick: usize) -> Option<Seat> {
        let node = self.catalog.as_ref()?.node(self.me)?;
        (Some(node.incarnation) == self.incarnation).then(|| node.seat(BrickId(brick as u32)))
    }

    /// Carries out everything that the last input came to.
    pub(crate) fn settle(&mut self, common: &mut Common) {
        loop {
            while let Some(happened) = self.agreement.poll() {
                self.on_happened(happened, common);
            }
            self.publish(common);
            self.see_to_lead(common);
            self.ask(common);
            if !self.agreement.has_news() {
                break;
            }
        }
        let adopted = common.loops.adopted();
        common
            .loops
            .answer(self.changes.take_answers(clock::now(), adopted));
    }

    fn on_happened(&mut self, happened: Happened, common: &mut Common) {
        match happened {
            Happened::Send(to, message) => {
                common
                    .peers
                    .send(to, &Message::Raft(message), Urgency::Normal);
            }
            Happened::Applied(entry, outcome) => {
                if let Entry::Asked(envelope) = &entry
                    && envelope.from == self.me
                    && Some(envelope.incarnation) == self.incarnation
                {
                    self.changes
                        .on_outcome(clock::now(), envelope.sequence, &outcome);
                }
                if self.lead.is_some() {
                    self.outcomes.push((entry, outcome));
                }
            }
            Happened::Restored | Happened::Membership => {}
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
                self.registrar.hurry();
                if let Some(leases) = &mut self.leases {
                    leases.hurry();
                }
            }
            Happened::Round(round, is_confirmed) => {
                if let Some(lead) = &mut self.lead {
                    lead.on_round(round, is_confirmed);
                }
            }
        }
    }

    /// Tells everybody here of a new catalog.
    fn publish(&mut self, common: &mut Common) {
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
            common
                .peers
                .introduce(|introduction| introduction.node = Some((id, incarnation)));
            common.loops.registered(incarnation);
        } else if self.incarnation.is_some() && own.is_none() {
            let node = catalog.node_by_key(&common.registration.key);
            self.superseded = Some(node.map(|node| node.incarnation));
        }
        common.loops.catalog(&catalog);
        self.catalog = Some(Arc::clone(&catalog));
        common.peers.follow(&catalog, self.me);
        self.streams.on_catalog(&catalog);
        self.agreement.writer().copy(Arc::clone(&catalog));
        self.begin_leases(common);
        if let Some(leases) = &mut self.leases {
            leases.on_catalog(&catalog, &common.loops);
        }
        if let Some(lead) = &mut self.lead {
            lead.on_catalog(Arc::clone(&catalog));
        }
        if let Some(shown) = &common.catalog {
            shown.send_replace(catalog);
        }
    }

    fn see_to_lead(&mut self, common: &mut Common) {
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
            &mut self.heard,
            &self.consensus,
        );
        for message in own {
            self.take_for_node(message, common);
        }
    }

    /// Asks for what this node needs: its registration, its lease, its bricks' changes.
    fn ask(&mut self, common: &mut Common) {
        let now: Instant = clock::now();
        let Some(incarnation) = self.incarnation else {
            if self.catalog.is_some() {
                self.registrar.poll(now, common, &mut self.agreement);
            }
            return;
        };
        let leases = self.leases.as_mut();
        if let Some(request) = leases.and_then(|it| it.poll(now, &common.loops)) {
            self.tell_leader(ToLeader::Lease(request), Urgency::High, common);
        }
        if self.agreement.leader().is_some()
            && let Some(envelope) = self.changes.poll(now, self.me, incarnation)
        {
            self.tell_leader(ToLeader::Change(envelope), Urgency::Normal, common);
        }
    }
}

/// The table that has a partition.
pub(super) fn table_of(
    catalog: &Catalog,
    partition: PartitionId,
) -> Option<&brickyard_metadata::Table> {
    catalog
        .tables()
        .find(|table| table.map.group(partition).is_some())
}
