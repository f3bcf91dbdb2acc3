//! Whether a request can be granted now.
//!
//! The library drops most of what it cannot do without a word, and does some of what it should not: it
//! would let a leader remove itself, and then trip over it.

use crate::consensus::Consensus;
use crate::members::ConfChange;
use crate::refused::Refused;
use raft::INVALID_ID;

impl Consensus {
    pub(crate) fn check_leads(&self) -> Result<(), Refused> {
        if !self.is_leader() {
            return Err(Refused::NotLeader {
                leader: self.leader(),
            });
        }
        match self.raft.raft.lead_transferee {
            Some(_) => Err(Refused::Transferring),
            None => Ok(()),
        }
    }

    pub(crate) fn check_change(&self, change: ConfChange) -> Result<(), Refused> {
        let core = &self.raft.raft;
        // A new leader has to commit something of its own first: an earlier leader's change may
        // still be on its way.
        if core.has_pending_conf() || !core.commit_to_current_term() {
            return Err(Refused::Pending);
        }
        let members = self.members_now();
        let id = change.node();
        let is_voter = members.voters.contains(&id);
        let is_learner = members.learners.contains(&id);
        match change {
            ConfChange::AddLearner(_) if is_learner || is_voter => Err(Refused::IsSo),
            ConfChange::AddLearner(id) if id == INVALID_ID => Err(Refused::NotMember),
            ConfChange::AddLearner(_) => Ok(()),
            ConfChange::Promote(_) if is_voter => Err(Refused::IsSo),
            ConfChange::Promote(_) if is_learner => self.check_caught_up(id),
            ConfChange::Demote(_) if is_learner => Err(Refused::IsSo),
            ConfChange::Demote(_) | ConfChange::Remove(_) if is_voter => {
                if members.voters.len() == 1 {
                    Err(Refused::LastVoter)
                } else if id == self.config.id {
                    Err(Refused::IsLeader)
                } else {
                    Ok(())
                }
            }
            ConfChange::Remove(_) if is_learner => Ok(()),
            ConfChange::Promote(_) | ConfChange::Demote(_) | ConfChange::Remove(_) => {
                Err(Refused::NotMember)
            }
        }
    }

    fn check_caught_up(&self, id: u64) -> Result<(), Refused> {
        let progress = self.progress(id).ok_or(Refused::NotMember)?;
        let commit = self.commit();
        if progress.is_active && progress.matched + self.config.promote_behind_max >= commit {
            return Ok(());
        }
        Err(Refused::Behind {
            matched: progress.matched,
            commit,
        })
    }
}
