//! A node's part in the agreement: its inputs.
//!
//! In:  ticks, messages, proposals, reports. Out: [`ConsensusOutput`]s from [`Consensus::poll`].
//!
//! Not here: what comes of an input (`collect`).

use crate::chance;
use crate::config::ConsensusConfig;
use crate::log::{Log, members_of};
use crate::members::{ConfChange, History, Members};
use crate::output::ConsensusOutput;
use crate::own_disk::OwnDisk;
use crate::pending_acks::PendingAcks;
use crate::plausible;
use crate::refused::{Refused, Rejected};
use crate::rounds::Rounds;
use crate::state::{HardState, RecoverError, RecoveredState, Snapshot};
use crate::succession::Succession;
use crate::wire;
use raft::eraftpb::MessageType;
use raft::{ProgressState, RawNode, SnapshotStatus, StateRole};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// No proposal is longer: a message carries at least one entry as a whole.
pub const ENTRY_BYTES_MAX: usize = 16 << 20;

/// See the module.
pub struct Consensus {
    pub(crate) config: ConsensusConfig,
    pub(crate) raft: RawNode<Log>,
    pub(crate) outputs: VecDeque<Handed>,
    pub(crate) pending_acks: PendingAcks,
    pub(crate) rounds: Rounds,
    pub(crate) members: History,
    /// Term and vote that are stored.
    pub(crate) vote_stored: (u64, u64),
    /// What was handed out to be stored last.
    pub(crate) hard_state: HardState,
    /// The leader and term that were announced last.
    pub(crate) announced: (Option<u64>, u64),
    /// The index that the caller's state machine is at.
    pub(crate) applied: u64,
    pub(crate) is_snapshot_asked: bool,
    /// Followers that were sent a snapshot, and for how many ticks they did not answer.
    sending: BTreeMap<u64, u32>,
    pub(crate) leader_contacts: u64,
    pub(crate) own_disk: OwnDisk,
    pub(crate) succession: Succession,
}

/// What waits to be polled.
#[derive(Debug)]
pub(crate) enum Handed {
    Output(ConsensusOutput),
    /// There was nothing for the state machine up to here.
    Nothing(u64),
}

impl Consensus {
    /// What the first node of a cluster stores before it starts: a snapshot that makes it the only
    /// voter, with `data` as the state machine's first state.
    #[must_use]
    pub fn bootstrap(id: u64, data: Vec<u8>) -> RecoveredState {
        RecoveredState {
            hard_state: HardState {
                term: 1,
                vote: 0,
                commit: 1,
            },
            snapshot: Some(Snapshot {
                index: 1,
                term: 1,
                voters: vec![id],
                learners: Vec::new(),
                data,
            }),
            entries: Vec::new(),
        }
    }

    /// Starts with what was stored. The only voter stands at once; a node that found nothing waits
    /// for a leader.
    ///
    /// # Errors
    /// [`RecoverError`]: the node must not take part.
    pub fn new(config: ConsensusConfig, recovered: RecoveredState) -> Result<Self, RecoverError> {
        plausible::start::check(&recovered)?;
        let snapshot = recovered.snapshot.clone();
        let hard_state = recovered.hard_state;
        let applied = snapshot.as_ref().map_or(0, |snapshot| snapshot.index);
        let members = snapshot.as_ref().map(members_of).unwrap_or_default();
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let library = config.library(applied);
        let raft = library
            .validate()
            .and_then(|()| RawNode::new(&library, Log::new(recovered), &logger))
            .map_err(|error| RecoverError::Config(error.to_string()))?;
        let mut this = Self {
            config,
            raft,
            outputs: VecDeque::new(),
            pending_acks: PendingAcks::default(),
            rounds: Rounds::default(),
            members: History::new(applied, members),
            vote_stored: (hard_state.term, hard_state.vote),
            hard_state,
            announced: (None, hard_state.term),
            applied: 0,
            is_snapshot_asked: false,
            sending: BTreeMap::new(),
            leader_contacts: 0,
            own_disk: OwnDisk::default(),
            succession: Succession::default(),
        };
        if let Some(snapshot) = snapshot {
            this.hand_restored(snapshot);
        }
        // Who votes may have changed by an entry that is known to be committed.
        this.collect();
        this.settle();
        if this.voters() == [this.config.id] {
            this.campaign();
        }
        Ok(this)
    }

    /// Time went on.
    pub fn tick(&mut self) {
        let patience = self.disk_patience();
        self.own_disk.tick(self.pending_acks.oldest(), patience);
        let core = &self.raft.raft;
        let is_due = core.election_elapsed + 1 >= core.randomized_election_timeout();
        if core.state == StateRole::Leader || !is_due {
            self.own_disk.on_no_election();
            self.raft.tick();
        } else if self.may_stand() {
            self.raft.tick();
        }
        self.resend_snapshots();
        self.settle();
    }

    /// Whether this node may stand now that it is time.
    fn may_stand(&mut self) -> bool {
        // A candidate has to have stored all that it received: the library relies on it. One whose disk was bad lately lets the
        // others stand first, for as long as any of them may take: it would be elected and hold up everything again.
        let longest = self.config.election_ticks * 2;
        self.is_all_stored()
            && (self.voters() == [self.config.id] || !self.own_disk.holds_back(longest))
    }

    /// A message came. `from` is the node that the connection was proved to come from, not the one that the message names.
    ///
    /// Requests are taken from nodes that are no members here: they may have been made members by
    /// entries that this node has not seen yet. Which nodes to listen to at all is the caller's affair.
    ///
    /// # Errors
    /// [`Rejected`]; nothing changed.
    pub fn step(&mut self, from: u64, message: &[u8]) -> Result<(), Rejected> {
        let message = wire::decode(message)?;
        plausible::check(&self.raft, &message, from)?;
        let kind = message.get_msg_type();
        if kind == MessageType::MsgTimeoutNow && !self.is_all_stored() {
            return Err(Rejected::Busy);
        }
        let term = message.term;
        let stepped = self.raft.step(message);
        let is_leaders = matches!(
            kind,
            MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot
        );
        if is_leaders && term == self.raft.raft.term && self.raft.raft.leader_id == from {
            self.leader_contacts += 1;
        }
        self.settle();
        stepped.map_err(|_| Rejected::NotMember { from })
    }

    /// Appends to the log, if this node leads. That it is taken does not mean that it will be
    /// committed: another leader may not know of it, and then it is gone without a word.
    ///
    /// # Errors
    /// [`Refused`]; it will not be committed.
    ///
    /// # Panics
    /// If `data` is empty (a caller bug): such an entry is the library's own.
    pub fn propose(&mut self, data: Vec<u8>) -> Result<(), Refused> {
        assert!(!data.is_empty(), "an empty proposal");
        self.check_leads()?;
        if data.len() > ENTRY_BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        let proposed = self.raft.propose(Vec::new(), data);
        proposed.map_err(|_| Refused::Full)
    }

    /// Changes which nodes take part, if this node leads. As with a proposal, it may be lost; it has
    /// happened when [`ConsensusOutput::Membership`] says so.
    ///
    /// # Errors
    /// [`Refused`]; it will not happen.
    pub fn change_membership(&mut self, change: ConfChange) -> Result<(), Refused> {
        self.check_leads()?;
        self.check_change(change)?;
        let proposed = self
            .raft
            .propose_conf_change(change.encode(), change.library());
        proposed.map_err(|_| Refused::Full)
    }

    /// Asks a majority of voters whether this node leads. The answer is
    /// [`ConsensusOutput::QuorumConfirmed`] or [`ConsensusOutput::QuorumLost`] with the token; it may take until the
    /// leader notices that it hears no other voter.
    pub fn confirm_quorum(&mut self, token: u64) {
        if !self.is_leader() || !self.raft.raft.commit_to_current_term() {
            self.hand(ConsensusOutput::QuorumLost(token));
            return;
        }
        let round = self.rounds.begin(token, self.term());
        assert_ne!(round, 0, "0 is the round of a message that is of none");
        self.raft.read_index(round.to_le_bytes().to_vec());
        self.settle();
    }

    /// Hands the lead over to a voter. It may come to nothing.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn transfer_leader(&mut self, to: u64) -> Result<(), Refused> {
        self.check_leads()?;
        if to == self.config.id {
            return Err(Refused::IsSo);
        }
        if !self.voters().contains(&to) {
            return Err(Refused::NotMember);
        }
        self.raft.transfer_leader(to);
        Ok(())
    }

    /// Stands for leader now, if it is a voter and has stored all that it received.
    pub fn campaign(&mut self) {
        let core = &self.raft.raft;
        if core.state != StateRole::Leader && core.promotable() && self.is_all_stored() {
            // It fails only if there is nothing to be done.
            let _ = self.raft.campaign();
            self.settle();
        }
    }

    /// The connection to a node was closed by its end, as when its process has ended. If it leads, this node stands
    /// without waiting for its silence, and votes for another that does.
    ///
    /// It is a hint: no node is elected unless a majority of voters has lost the leader.
    pub fn suspect(&mut self, id: u64) {
        let core = &mut self.raft.raft;
        if core.state == StateRole::Follower && core.leader_id == id {
            // What is left is the part that differs by chance, lest all stand at once.
            core.election_elapsed = core.election_elapsed.max(core.election_timeout());
        }
    }

    /// Everything up to this number was stored, and what had to survive a power cut does.
    ///
    /// # Panics
    /// If no such number was handed out (a caller bug).
    pub fn on_persisted(&mut self, number: u64) {
        while let Some(ack) = self.pending_acks.paid(number) {
            if let Some(vote) = ack.vote {
                assert!(
                    vote.0 >= self.vote_stored.0,
                    "term {} was stored after {}",
                    vote.0,
                    self.vote_stored.0
                );
                self.vote_stored = vote;
            }
            if let Some(library) = ack.library {
                self.raft.on_persist_ready(library);
            }
            for output in ack.held {
                self.hand(output);
            }
            if let Some(snapshot) = ack.restored {
                self.raft.advance_apply_to(snapshot.index);
                self.hand_restored(snapshot);
            }
        }
        let patience = self.disk_patience();
        self.own_disk.take(self.pending_acks.oldest(), patience);
        self.settle();
    }

    /// The disk takes nothing of what it was given, as when it is full; it is tried again.
    pub fn on_disk_refused(&mut self) {
        self.own_disk.refuse();
        self.settle();
    }

    /// The state machine's snapshot at `index`, where it has applied everything and nothing more. The
    /// log before it is forgotten, here and (by an [`ConsensusOutput::Persist`]) on the disk.
    ///
    /// # Errors
    /// [`Refused::NotApplied`].
    pub fn compact(&mut self, index: u64, data: Vec<u8>) -> Result<(), Refused> {
        if index > self.applied {
            return Err(Refused::NotApplied {
                applied: self.applied,
            });
        }
        self.is_snapshot_asked = false;
        let Ok(term) = self.raft.store().term_at(index) else {
            return Ok(());
        };
        assert!(
            index <= self.commit(),
            "a snapshot of entry {index}, and {} are committed",
            self.commit()
        );
        if index > self.raft.store().snapshot_index() {
            let Members { voters, learners } = self.members.at(index);
            self.members.forget_before(index);
            let snapshot = Snapshot {
                index,
                term,
                voters,
                learners,
                data,
            };
            self.hand_compacted(snapshot);
        }
        self.settle();
        Ok(())
    }

    /// A message to a node could not be sent; what follows it is not sent blindly.
    pub fn report_unreachable(&mut self, id: u64) {
        self.raft.report_unreachable(id);
    }

    /// What became of a snapshot that was to be sent.
    pub fn report_snapshot(&mut self, id: u64, is_sent: bool) {
        let status = if is_sent {
            SnapshotStatus::Finish
        } else {
            SnapshotStatus::Failure
        };
        self.raft.report_snapshot(id, status);
    }

    /// What has to be done after an input that may change the term, the leader or what a majority said, and after what
    /// the library hands out. What a leader is asked to send changes none of them.
    pub(crate) fn settle(&mut self) {
        let core = &mut self.raft.raft;
        let timeout = chance::election_timeout(
            self.config.seed,
            core.id,
            core.term,
            self.config.election_ticks,
        );
        core.set_randomized_election_timeout(timeout);
        self.maintain_succession();
        self.settle_rounds();
        self.announce();
        self.ask_for_snapshot();
    }

    /// Nothing is on its way to the disk, nor waits to be handed out to it.
    fn is_all_stored(&self) -> bool {
        let log = &self.raft.raft.raft_log;
        let is_handed_out = log.unstable_entries().is_empty() && log.unstable_snapshot().is_none();
        is_handed_out && self.pending_acks.is_empty()
    }

    /// The library waits for ever for the answer to a snapshot; the network may have lost either.
    fn resend_snapshots(&mut self) {
        if !self.is_leader() {
            self.sending.clear();
            return;
        }
        let progress = self.raft.raft.prs().iter();
        let now: Vec<u64> = progress
            .filter(|(_, progress)| progress.state == ProgressState::Snapshot)
            .map(|(id, _)| *id)
            .collect();
        self.sending.retain(|id, _| now.contains(id));
        for id in now {
            let ticks = self.sending.entry(id).or_default();
            *ticks += 1;
            if *ticks >= self.config.snapshot_ticks {
                self.sending.remove(&id);
                self.raft.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }
}

impl fmt::Debug for Consensus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consensus")
            .field("id", &self.config.id)
            .field("term", &self.term())
            .field("leader", &self.leader())
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "consensus_test.rs"]
mod consensus_test;
