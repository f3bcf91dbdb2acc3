//! The agreed catalog: the room `consensus` with its disk, and the state machine behind it.
//!
//! In:  messages of other nodes, ticks, proposals, reports of the disk. Out: [`Happened`], in order.

use crate::entry::Entry;
use crate::log_writer::Report;
use crate::{node_id, raft_id};
use brickyard_consensus::{ConfChange, Consensus, ConsensusOutput, Persist, Refused};
use brickyard_control::{LogEnds, Membership, MembershipChange};
use brickyard_metadata::{Catalog, CatalogVersion, Outcome};
use brickyard_routing::NodeId;
use std::collections::VecDeque;

/// Something that the driver has to see to.
#[derive(Debug)]
pub(crate) enum Happened {
    /// To be stored; what is said of it comes after.
    Persist(Persist),
    /// To be sent to a node.
    Send(NodeId, Vec<u8>),
    /// An entry was applied.
    Applied(Entry, Outcome),
    /// The catalog is another one.
    Restored,
    /// Somebody leads, or nobody, in that term.
    Leadership(Option<NodeId>, u64),
    /// This node's disk holds up what it leads: the lead goes to that node, or to whoever is elected.
    HandOver(Option<NodeId>),
    /// Others vote or learn.
    Membership,
    /// A majority answered that round, or did not.
    Round(u64, bool),
    /// This node cannot go on, and why.
    Stop(String),
}

/// How far the control log is, as one node has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogView {
    /// The last entry of this node's log.
    pub last: u64,
    /// The last one that is known to be decided.
    pub committed: u64,
    /// The last one that the node's catalog has.
    pub applied: u64,
    /// Entries that each voter and learner has not stored, as the leader knows; of others this is empty.
    pub behind: Vec<(NodeId, u64)>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Agreement {
    consensus: Consensus,
    catalog: Option<Catalog>,
    happened: VecDeque<Happened>,
    /// Who led last, in which term, and how many did.
    led: Option<(NodeId, u64)>,
    leaders_seen: u64,
}

impl Agreement {
    pub(crate) fn new(consensus: Consensus) -> Self {
        let mut agreement = Self {
            consensus,
            catalog: None,
            happened: VecDeque::new(),
            led: None,
            leaders_seen: 0,
        };
        agreement.settle();
        agreement
    }

    /// The catalog as far as it was applied here.
    pub(crate) fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    pub(crate) fn poll(&mut self) -> Option<Happened> {
        self.happened.pop_front()
    }

    /// Whether something waits to be polled.
    pub(crate) fn has_news(&self) -> bool {
        !self.happened.is_empty()
    }

    pub(crate) fn tick(&mut self) {
        self.consensus.tick();
        self.settle();
    }

    pub(crate) fn step(&mut self, from: NodeId, message: &[u8]) {
        if let Err(error) = self.consensus.step(raft_id(from), message) {
            tracing::debug!(%from, ?error, "a message of the agreement was not taken");
        }
        self.settle();
    }

    pub(crate) fn on_report(&mut self, report: &Report) {
        match report {
            Report::Stored(number) => self.consensus.on_persisted(*number),
            Report::Refused(_) => self.consensus.on_disk_refused(),
        }
        self.settle();
    }

    /// Proposes, if this node leads.
    pub(crate) fn propose(&mut self, entry: &Entry) -> Result<(), Refused> {
        let proposed = self.consensus.propose(entry.encode());
        self.settle();
        proposed
    }

    pub(crate) fn change_membership(&mut self, change: MembershipChange) -> Result<(), Refused> {
        let change = match change {
            MembershipChange::AddLearner(node) => ConfChange::AddLearner(raft_id(node)),
            MembershipChange::Promote(node) => ConfChange::Promote(raft_id(node)),
            MembershipChange::Demote(node) => ConfChange::Demote(raft_id(node)),
            MembershipChange::Remove(node) => ConfChange::Remove(raft_id(node)),
        };
        let changed = self.consensus.change_membership(change);
        self.settle();
        changed
    }

    pub(crate) fn confirm_quorum(&mut self, round: u64) {
        self.consensus.confirm_quorum(round);
        self.settle();
    }

    pub(crate) fn transfer_leader(&mut self, to: NodeId) {
        if let Err(refused) = self.consensus.transfer_leader(raft_id(to)) {
            tracing::debug!(%to, ?refused, "the lead cannot be handed over");
        }
        self.settle();
    }

    /// The connection to a node was closed.
    pub(crate) fn on_lost(&mut self, node: NodeId) {
        self.consensus.report_unreachable(raft_id(node));
        self.consensus.suspect(raft_id(node));
        self.settle();
    }

    pub(crate) fn term(&self) -> u64 {
        self.consensus.term()
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        self.consensus.leader().map(node_id)
    }

    pub(crate) fn leader_contacts(&self) -> u64 {
        self.consensus.leader_contacts()
    }

    /// How many leaders this process has seen begin; one that leads again in another term counts again.
    pub(crate) fn leaders_seen(&self) -> u64 {
        self.leaders_seen
    }

    /// How far this node's log is, and, as it leads, how many entries others lack.
    pub(crate) fn log_view(&self) -> LogView {
        let consensus = &self.consensus;
        let (applied, committed) = (consensus.applied(), consensus.commit());
        let last = consensus.last_index();
        assert!(
            applied <= committed && committed <= last,
            "applied {applied}, committed {committed}, the log ends at {last}"
        );
        let others = consensus.voters().into_iter().chain(consensus.learners());
        let behind = others.filter_map(|id| {
            let progress = consensus.progress(id)?;
            Some((node_id(id), last.saturating_sub(progress.matched)))
        });
        LogView {
            last,
            committed,
            applied,
            behind: behind.collect(),
        }
    }

    /// Whether this node leads and knows everything that was committed before.
    pub(crate) fn is_settled(&self) -> bool {
        self.consensus.is_settled()
    }

    /// How far the log is, for whoever has this version of the catalog.
    pub(crate) fn log_ends(&self, version: CatalogVersion) -> LogEnds {
        let is_newest = |own: &Catalog| own.version() <= version;
        let applied = self.consensus.applied();
        LogEnds {
            proposed: self.consensus.last_index(),
            applied: if self.catalog().is_some_and(is_newest) {
                applied
            } else {
                0
            },
        }
    }

    pub(crate) fn membership(&self, config: &brickyard_consensus::ConsensusConfig) -> Membership {
        let commit = self.consensus.commit();
        // Who was just added counts as active, and may have no log yet, nor ever get one: only what it has stored
        // shows that it is there.
        let is_caught_up = |id: &u64| {
            let progress = self.consensus.progress(*id);
            progress.is_some_and(|it| {
                let is_there = it.is_active && it.matched > 0;
                is_there && it.matched + config.promote_behind_max >= commit
            })
        };
        let learners = self.consensus.learners();
        Membership {
            voters: self.consensus.voters().into_iter().map(node_id).collect(),
            caught_up: learners
                .iter()
                .filter(|id| is_caught_up(id))
                .map(|id| node_id(*id))
                .collect(),
            learners: learners.into_iter().map(node_id).collect(),
        }
    }

    /// Takes everything that an input came to.
    fn settle(&mut self) {
        while let Some(output) = self.consensus.poll() {
            match output {
                ConsensusOutput::Send { to, message } => {
                    self.happened
                        .push_back(Happened::Send(node_id(to), message));
                }
                ConsensusOutput::Persist(persist) => {
                    self.happened.push_back(Happened::Persist(persist))
                }
                ConsensusOutput::Apply { index, data, .. } => self.apply(index, &data),
                ConsensusOutput::Restore(snapshot) => match Catalog::decode(&snapshot.data) {
                    Ok(catalog) => {
                        self.catalog = Some(catalog);
                        self.happened.push_back(Happened::Restored);
                    }
                    Err(error) => {
                        self.stop(format!("the leader's snapshot cannot be used: {error}"));
                    }
                },
                ConsensusOutput::Membership { .. } => self.happened.push_back(Happened::Membership),
                ConsensusOutput::Leadership { leader, term } => {
                    let leader = leader.map(node_id);
                    let leads = leader.map(|leader| (leader, term));
                    if leads.is_some() && leads != self.led {
                        self.led = leads;
                        self.leaders_seen += 1;
                    }
                    self.happened.push_back(Happened::Leadership(leader, term));
                }
                ConsensusOutput::HandOver { to } => {
                    self.happened.push_back(Happened::HandOver(to.map(node_id)));
                }
                ConsensusOutput::QuorumConfirmed(round) => {
                    self.happened.push_back(Happened::Round(round, true));
                }
                ConsensusOutput::QuorumLost(round) => {
                    self.happened.push_back(Happened::Round(round, false))
                }
                ConsensusOutput::SnapshotWanted => {
                    let bytes = self
                        .catalog
                        .as_ref()
                        .map(Catalog::encode)
                        .unwrap_or_default();
                    let compacted = self.consensus.compact(self.consensus.applied(), bytes);
                    debug_assert!(compacted.is_ok(), "at what was applied: {compacted:?}");
                }
            }
        }
    }

    fn apply(&mut self, index: u64, data: &[u8]) {
        let Some(entry) = Entry::decode(data) else {
            return self.stop(format!(
                "entry {index} of the control log is of a kind that this version does not know: start \
                 a newer one on this node"
            ));
        };
        let Some(catalog) = &mut self.catalog else {
            return self.stop(format!(
                "entry {index} of the control log has nothing to be applied to"
            ));
        };
        let outcome = entry.clone().apply(catalog);
        self.happened.push_back(Happened::Applied(entry, outcome));
    }

    /// Going on would make this node's catalog another one than the others have.
    fn stop(&mut self, reason: String) {
        self.happened.push_back(Happened::Stop(reason));
    }
}

#[cfg(test)]
#[path = "agreement_test.rs"]
mod agreement_test;
