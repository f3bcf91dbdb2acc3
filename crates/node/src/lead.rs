//! The leader's part: the control plane's decisions, carried out.
//!
//! In:  what nodes tell the leader. Out: proposals, rounds, messages; which node was taken in.

use crate::agreement::Agreement;
use crate::entry::{Entry, REMOVED, is_overtaken};
use crate::host::{Common, Host, Source, Urgency, peer_address};
use crate::message::Message;
use crate::register;
use brickyard_control::message::{Changed, Join, Joined, NotLeader, Present, ToLeader, ToNode};
use brickyard_control::{ControlOutput, Controller, LeaderContact, ProposalToken, RoundToken};
use brickyard_metadata::{Catalog, Change, Node, Outcome, Registered};
use brickyard_routing::NodeId;
use brickyard_types::Instant;
use std::sync::Arc;

/// Somebody who asked to be taken in.
#[derive(Debug)]
struct Joining {
    join: Join,
    source: Source,
}

/// See the module. Made when the node leads and knows everything, dropped when it leads no more.
#[derive(Debug)]
pub(crate) struct Lead {
    controller: Controller,
    term: u64,
    joining: Vec<Joining>,
    own: Own,
}

/// What is for this very node.
pub(crate) type Own = Vec<ToNode>;

impl Lead {
    pub(crate) fn new<H: Host>(
        common: &Common<H>,
        me: NodeId,
        agreement: &Agreement,
        catalog: Arc<Catalog>,
        consensus: &brickyard_consensus::ConsensusConfig,
    ) -> Self {
        let (term, now) = (agreement.term(), common.host.now());
        tracing::info!(term, node = me.0, "this node leads the control plane");
        let membership = agreement.membership(consensus);
        let config = common.control.clone();
        Self {
            controller: Controller::new(config, me, term, now, now, catalog, membership),
            term,
            joining: Vec::new(),
            own: Own::new(),
        }
    }

    pub(crate) fn term(&self) -> u64 {
        self.term
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }

    /// A node says something; it may be this one.
    pub(crate) fn on_message<H: Host>(
        &mut self,
        from: Option<NodeId>,
        source: Option<&Source>,
        message: ToLeader,
        common: &mut Common<H>,
        agreement: &mut Agreement,
    ) {
        let now = common.host.now();
        let controller = &mut self.controller;
        match message {
            ToLeader::Lease(request) if Some(request.node) == from => {
                controller.on_lease_request(now, request);
            }
            ToLeader::LeaderContact(reply) => {
                if let Some(from) = from {
                    controller.on_leader_contact(now, from, reply);
                }
            }
            ToLeader::Report(report) if Some(report.replica.member.node) == from => {
                controller.on_report(report);
            }
            ToLeader::Promote(ask) if Some(ask.primary.member.node) == from => {
                controller.on_promote(ask);
            }
            ToLeader::Evict(ask) if Some(ask.primary.member.node) == from => {
                tracing::debug!(
                    partition = %ask.partition,
                    view = %ask.view,
                    primary = %ask.primary,
                    out = %ask.backup,
                    has_withdrawn = ask.has_withdrawn,
                    "a primary asks for a member to be taken out"
                );
                controller.on_evict(ask);
            }
            ToLeader::Split(ask) if Some(ask.primary.member.node) == from => {
                controller.on_split_ready(ask);
            }
            ToLeader::Rest(ask) if Some(ask.primary.member.node) == from => {
                controller.on_rest(ask);
            }
            ToLeader::Returned(report) if Some(report.replica.member.node) == from => {
                controller.on_returned(now, report);
            }
            ToLeader::Load(report) if Some(report.replica.member.node) == from => {
                controller.on_load(now, report);
            }
            ToLeader::Small(report) if Some(report.replica.member.node) == from => {
                controller.on_small(now, &report);
            }
            ToLeader::Astray(report) => {
                if let Some(from) = from {
                    controller.on_astray(now, from, report);
                }
            }
            ToLeader::Drain(ask) if Some(ask.node) == from => {
                controller.on_drain(now, ask, agreement.log_ends(controller.version()));
            }
            ToLeader::Change(mut envelope) if Some(envelope.from) == from => {
                match controller.admit(now, envelope.change) {
                    Ok(change) => {
                        envelope.change = change;
                        let proposed = agreement.propose(&Entry::Asked(envelope));
                        // Not taken now, it comes again.
                        tracing::trace!(?proposed, "a node's change");
                    }
                    Err(refusal) => {
                        let changed = Changed {
                            sequence: envelope.sequence,
                            outcome: Some(Err(refusal)),
                        };
                        self.answer(source, common, ToNode::Changed(changed));
                    }
                }
            }
            ToLeader::Join(join) => {
                if let Some(source) = source {
                    self.on_join(join, source, common, agreement);
                }
            }
            other => tracing::warn!(
                ?from,
                ?other,
                "a node speaks for another one; it is not heard"
            ),
        }
    }

    fn answer<H: Host>(
        &mut self,
        source: Option<&Source>,
        common: &mut Common<H>,
        message: ToNode,
    ) {
        match source {
            Some(source) => {
                common
                    .host
                    .reply(source, &Message::ToNode(message), Urgency::Normal);
            }
            // Its own: the caller polls for it.
            None => self.own.push(message),
        }
    }

    fn on_join<H: Host>(
        &mut self,
        join: Join,
        source: &Source,
        common: &mut Common<H>,
        agreement: &mut Agreement,
    ) {
        let Some(catalog) = agreement.catalog() else {
            return;
        };
        let run = join.registration.run;
        let known = catalog.node_by_key(&join.registration.key);
        if join
            .cluster
            .is_some_and(|cluster| cluster != catalog.cluster())
        {
            let refusal = format!("this is cluster {}, another one", catalog.cluster());
            let joined = joined(run, catalog, Err(refusal));
            return self.answer(Some(source), common, joined);
        }
        if let Some(node) = known.filter(|it| it.registration == join.registration) {
            let registered = Registered {
                node: node.id,
                incarnation: node.incarnation,
            };
            let joined = joined(run, catalog, Ok(registered));
            return self.answer(Some(source), common, joined);
        }
        if let Some(node) = known.filter(|it| is_overtaken(&join, it)) {
            return self.answer(Some(source), common, present(run, node));
        }
        let was_removed = catalog.has_removed(&join.registration);
        if known.is_none() && (join.cluster.is_some() || was_removed) {
            return self.answer(Some(source), common, removed(run, catalog));
        }
        let entry = Entry::Register(join.clone());
        if let Some(waiting) = self.joining.iter_mut().find(|it| it.join == join) {
            waiting.source = source.clone();
        } else {
            self.joining.push(Joining {
                join,
                source: source.clone(),
            });
        }
        let proposed = agreement.propose(&entry);
        // Not taken now, it is asked again.
        tracing::debug!(?proposed, "a node registers");
    }

    /// An entry was applied here.
    pub(crate) fn on_applied<H: Host>(
        &mut self,
        entry: &Entry,
        outcome: &Outcome,
        catalog: &Catalog,
        common: &mut Common<H>,
    ) {
        match entry {
            Entry::Decided {
                by: (term, token), ..
            } if *term == self.term => {
                self.controller
                    .on_outcome(common.host.now(), ProposalToken(*token), outcome);
            }
            Entry::Register(join) => {
                let answer = answer_to(join, outcome, catalog);
                for it in self.joining.extract_if(.., |it| it.join == *join) {
                    common.host.reply(
                        &it.source,
                        &Message::ToNode(answer.clone()),
                        Urgency::Normal,
                    );
                }
            }
            Entry::Decided { .. } | Entry::Asked(_) => {}
        }
    }

    pub(crate) fn on_catalog(&mut self, now: Instant, catalog: Arc<Catalog>) {
        self.controller.on_catalog(now, catalog);
    }

    pub(crate) fn on_round(&mut self, now: Instant, round: u64, is_confirmed: bool) {
        let token = RoundToken(round);
        if is_confirmed {
            self.controller.on_quorum(now, token);
        } else {
            self.controller.on_quorum_lost(token);
        }
    }

    /// Does what is due; what is for this very node is returned.
    pub(crate) fn run<H: Host>(
        &mut self,
        me: NodeId,
        common: &mut Common<H>,
        agreement: &mut Agreement,
        leader_contact: &mut LeaderContact,
        consensus: &brickyard_consensus::ConsensusConfig,
    ) -> Own {
        let now = common.host.now();
        self.controller
            .on_membership(agreement.membership(consensus));
        self.controller.run(now);
        while let Some(output) = self.controller.poll() {
            match output {
                ControlOutput::Round(RoundToken(round)) => {
                    leader_contact.on_leader(self.term, now);
                    agreement.confirm_quorum(round);
                }
                ControlOutput::Propose(ProposalToken(token), change) => {
                    let by = (self.term, token);
                    tell(&change);
                    let proposed = agreement.propose(&Entry::Decided { by, change });
                    if let Err(refused) = proposed {
                        let outcome = Err(format!("not proposed: {refused:?}"));
                        self.controller
                            .on_outcome(now, ProposalToken(token), &outcome);
                    }
                }
                ControlOutput::Membership(change) => {
                    let changed = agreement.change_membership(change);
                    tracing::info!(?change, ?changed, "who votes");
                }
                ControlOutput::TransferLeader(to) => agreement.transfer_leader(to),
                ControlOutput::Send(to, message) if to == me => self.own.push(message),
                ControlOutput::Send(to, message) => {
                    let urgency = match message {
                        ToNode::Grant(_) => Urgency::High,
                        _ => Urgency::Normal,
                    };
                    common.host.send(to, &Message::ToNode(message), urgency);
                }
            }
        }
        std::mem::take(&mut self.own)
    }
}

/// What somebody is told whose registration was applied.
fn answer_to(join: &Join, outcome: &Outcome, catalog: &Catalog) -> ToNode {
    let run = join.registration.run;
    let known = catalog.node_by_key(&join.registration.key);
    if let Some(node) = known.filter(|it| is_overtaken(join, it)) {
        return present(run, node);
    }
    if known.is_none() && catalog.has_removed(&join.registration) {
        return removed(run, catalog);
    }
    let outcome = outcome.as_ref().map_err(Clone::clone);
    let registered = outcome.and_then(|applied| {
        let none = || "it was not registered".to_owned();
        applied.registered.ok_or_else(none)
    });
    joined(run, catalog, registered)
}

fn present(run: u64, node: &Node) -> ToNode {
    ToNode::Present(Present {
        run,
        incarnation: node.incarnation,
    })
}

fn joined(run: u64, catalog: &Catalog, outcome: Result<Registered, String>) -> ToNode {
    ToNode::Joined(Joined {
        run,
        cluster: catalog.cluster(),
        outcome,
        is_removed: false,
        version: catalog.version(),
    })
}

/// What a node is told that was removed while it was away.
pub(crate) fn removed(run: u64, catalog: &Catalog) -> ToNode {
    ToNode::Joined(Joined {
        run,
        cluster: catalog.cluster(),
        outcome: Err(REMOVED.to_owned()),
        is_removed: true,
        version: catalog.version(),
    })
}

/// What a node that does not lead tells whoever takes it for the leader.
pub(crate) fn not_leader<H>(agreement: &Agreement, common: &Common<H>) -> ToNode {
    let leader = agreement.leader();
    let address = |node: NodeId| {
        let catalog = agreement.catalog()?;
        let own = register::own_node(catalog, common).map(|own| own.id);
        if own == Some(node) {
            return None;
        }
        let address = peer_address(catalog, node)?;
        Some((address.host, address.port))
    };
    ToNode::NotLeader(NotLeader {
        leader,
        address: leader.and_then(address),
    })
}

/// What was decided about views, for whoever looks into how long a failure took.
fn tell(change: &Change) {
    let Change::Decide(decisions) = change else {
        return;
    };
    for proposal in &decisions.proposals {
        let backups: Vec<String> = proposal.backups.iter().map(ToString::to_string).collect();
        tracing::debug!(
            partition = %proposal.partition,
            base = %proposal.base,
            ground = ?proposal.ground,
            primary = %proposal.primary,
            backups = backups.join(" "),
            "a view is proposed"
        );
    }
    for settled in &decisions.settled {
        tracing::debug!(partition = %settled.partition, view = %settled.view, "a view takes effect");
    }
}
