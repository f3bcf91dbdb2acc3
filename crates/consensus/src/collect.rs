//! What comes of an input: the library's results, in the order in which they may leave.

use crate::consensus::{Consensus, Handed};
use crate::log::{entry_of_library, members_of, snapshot_of_library};
use crate::members::{ConfChange, History, Members};
use crate::output::{ConsensusOutput, Persist};
use crate::pending_acks::PendingAck;
use crate::state::{EntryKind, HardState, Snapshot};
use crate::wire;
use raft::eraftpb;

impl Consensus {
    /// The next thing to do; `None` until there was another input.
    pub fn poll(&mut self) -> Option<ConsensusOutput> {
        loop {
            match self.outputs.pop_front() {
                Some(Handed::Nothing(index)) => self.advance_applied(index),
                Some(Handed::Output(output)) => {
                    match &output {
                        ConsensusOutput::Apply { index, .. } => self.advance_applied(*index),
                        ConsensusOutput::Restore(snapshot) => {
                            let (index, applied) = (snapshot.index, self.applied);
                            assert!(index >= applied, "entry {applied} is restored to {index}");
                            self.applied = index;
                        }
                        // It may be that of a snapshot.
                        ConsensusOutput::Membership { index, .. } if *index != self.applied => {
                            self.advance_applied(*index);
                        }
                        _ => {}
                    }
                    // Now there may be enough for a snapshot.
                    self.ask_for_snapshot();
                    return Some(output);
                }
                None if self.raft.has_ready() => {
                    self.collect();
                    self.settle();
                }
                None => return None,
            }
        }
    }

    /// The state machine is at `index` from now on.
    fn advance_applied(&mut self, index: u64) {
        assert!(
            index > self.applied,
            "entry {index} is handed out after {}",
            self.applied
        );
        self.applied = index;
    }

    pub(crate) fn hand(&mut self, output: ConsensusOutput) {
        self.outputs.push_back(Handed::Output(output));
    }

    pub(crate) fn hand_restored(&mut self, snapshot: Snapshot) {
        let members = members_of(&snapshot);
        assert!(members.is_sound(), "a snapshot with {members:?}");
        let Members { voters, learners } = members;
        let index = snapshot.index;
        self.hand(ConsensusOutput::Restore(snapshot));
        self.hand(ConsensusOutput::Membership {
            index,
            voters,
            learners,
        });
    }

    /// Takes what the library hands out.
    ///
    /// A leader's messages may leave beside the write; all others wait for it, and so do the
    /// leader's as long as its own election is not stored (the only voter leads at once).
    pub(crate) fn collect(&mut self) {
        while self.raft.has_ready() {
            let mut ready = self.raft.ready();
            let library = ready.number();
            let free = outputs_of(ready.take_messages());
            let bound = outputs_of(ready.take_persisted_messages());
            let entries = ready.take_entries();
            let committed = ready.take_committed_entries();
            let hard_state = ready.hs().map(|hard_state| HardState {
                term: hard_state.term,
                vote: hard_state.vote,
                commit: hard_state.commit,
            });
            let snapshot = Some(ready.snapshot())
                .filter(|snapshot| !snapshot.is_empty())
                .cloned();
            let must_sync = ready.must_sync();
            if let Some(snapshot) = &snapshot {
                let members = Members::of(snapshot.get_metadata().get_conf_state());
                self.members = History::new(snapshot.get_metadata().index, members);
                self.raft.mut_store().restore(snapshot.clone());
            }
            self.raft.mut_store().append(&entries);
            self.raft.advance_append_async(ready);

            let core = &self.raft.raft;
            let is_election_stored = (core.term, core.vote) == self.vote_stored;
            let (free, mut held) = if is_election_stored {
                (free, bound)
            } else {
                (Vec::new(), [bound, free].concat())
            };
            for output in free {
                self.hand(output);
            }
            if hard_state.is_some() || !entries.is_empty() || snapshot.is_some() {
                let former = self.hard_state;
                self.hard_state = hard_state.unwrap_or(former);
                assert!(
                    self.hard_state.term >= former.term && self.hard_state.commit >= former.commit,
                    "a promise is taken back: {former:?}, then {:?}",
                    self.hard_state
                );
                let snapshot = snapshot.as_ref().map(snapshot_of_library);
                let ack = PendingAck {
                    since: self.own_disk.now(),
                    library: Some(library),
                    vote: hard_state.map(|it| (it.term, it.vote)),
                    restored: snapshot.clone(),
                    held,
                    ..PendingAck::default()
                };
                let number = self.pending_acks.add(ack);
                self.hand(ConsensusOutput::Persist(Persist {
                    number,
                    hard_state: hard_state
                        .or_else(|| snapshot.is_some().then_some(self.hard_state)),
                    entries: entries.iter().map(entry_of_library).collect(),
                    snapshot,
                    must_sync,
                }));
            } else if let Some(latest) = self.pending_acks.latest() {
                // There is nothing of it to be stored: the library takes its number with the next one.
                latest.held.append(&mut held);
            } else {
                self.raft.on_persist_ready(library);
                for output in held {
                    self.hand(output);
                }
            }
            self.apply(&committed);
        }
    }

    /// Stores the state machine's snapshot in place of the log before it.
    pub(crate) fn hand_compacted(&mut self, snapshot: Snapshot) {
        let entries = self.raft.store().after(snapshot.index);
        let entries = entries.map(entry_of_library).collect();
        self.raft
            .mut_store()
            .compact(snapshot.clone(), self.config.entries_kept);
        let hard_state = self.hard_state;
        // A node that starts expects what is known to be committed at or behind its snapshot.
        assert!(
            hard_state.commit >= snapshot.index,
            "a snapshot of {} is stored with entries up to {} known to be committed",
            snapshot.index,
            hard_state.commit
        );
        let number = self.pending_acks.add(PendingAck {
            since: self.own_disk.now(),
            vote: Some((hard_state.term, hard_state.vote)),
            ..PendingAck::default()
        });
        self.hand(ConsensusOutput::Persist(Persist {
            number,
            hard_state: Some(hard_state),
            entries,
            snapshot: Some(snapshot),
            must_sync: true,
        }));
    }

    fn apply(&mut self, committed: &[eraftpb::Entry]) {
        for entry in committed {
            let (index, term) = (entry.index, entry.term);
            let entry = entry_of_library(entry);
            let change = match entry.kind {
                EntryKind::Membership => ConfChange::decode(&entry.data),
                EntryKind::Data => None,
            };
            if let Some(change) = change {
                self.apply_change(index, change);
            } else if entry.kind == EntryKind::Data && !entry.data.is_empty() {
                self.hand(ConsensusOutput::Apply {
                    index,
                    term,
                    data: entry.data,
                });
            } else {
                self.outputs.push_back(Handed::Nothing(index));
            }
        }
        if let Some(last) = committed.last() {
            self.raft.advance_apply_to(last.index);
        }
    }

    fn apply_change(&mut self, index: u64, change: ConfChange) {
        // What the leader let through can only be refused by all nodes alike; then nothing happens.
        if self.raft.apply_conf_change(&change.library()).is_err() {
            self.outputs.push_back(Handed::Nothing(index));
            return;
        }
        let members = self.members_now();
        // A leader does not remove itself, but it may finish what an earlier leader began. The
        // library would go on leading without being a member, and trip over it.
        if self.is_leader() && !members.voters.contains(&self.config.id) {
            let term = self.term();
            self.raft.raft.become_follower(term, raft::INVALID_ID);
        }
        let Members { voters, learners } = members.clone();
        self.members.push(index, members);
        self.hand(ConsensusOutput::Membership {
            index,
            voters,
            learners,
        });
    }

    pub(crate) fn settle_rounds(&mut self) {
        for state in std::mem::take(&mut self.raft.raft.read_states) {
            let round = <[u8; 8]>::try_from(&state.request_ctx[..]).map(u64::from_le_bytes);
            if let Some(token) = round.ok().and_then(|it| self.rounds.answered(it)) {
                self.hand(ConsensusOutput::QuorumConfirmed(token));
            }
        }
        let leads_in = self.is_leader().then(|| self.term());
        for token in self.rounds.lost(leads_in) {
            self.hand(ConsensusOutput::QuorumLost(token));
        }
    }

    /// Tells of another leader or term; of this node's own lead only when its election is stored.
    pub(crate) fn announce(&mut self) {
        let core = &self.raft.raft;
        let is_stored = (core.term, core.vote) == self.vote_stored;
        let now = (self.leader(), self.term());
        if now != self.announced && (!self.is_leader() || is_stored) {
            assert!(
                now.1 >= self.announced.1,
                "term {} follows term {}",
                now.1,
                self.announced.1
            );
            self.announced = now;
            let (leader, term) = now;
            self.hand(ConsensusOutput::Leadership { leader, term });
        }
    }

    pub(crate) fn ask_for_snapshot(&mut self) {
        let is_missing = self.raft.store().take_snapshot_missing();
        let unsaved = self
            .applied
            .saturating_sub(self.raft.store().snapshot_index());
        let is_due = unsaved >= self.config.snapshot_after_entries;
        if (is_missing || is_due) && !self.is_snapshot_asked {
            self.is_snapshot_asked = true;
            self.hand(ConsensusOutput::SnapshotWanted);
        }
    }
}

fn outputs_of(messages: Vec<eraftpb::Message>) -> Vec<ConsensusOutput> {
    let sends = messages.into_iter().filter_map(|message| {
        let to = message.to;
        wire::encode(&message).map(|message| ConsensusOutput::Send { to, message })
    });
    sends.collect()
}

#[cfg(test)]
#[path = "collect_test.rs"]
mod collect_test;
