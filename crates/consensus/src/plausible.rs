//! Whether a message fits what this node knows.
//!
//! The library answers what cannot be with a panic, since among its own kind it cannot be. Here it
//! can: a disk may have lost what it promised to keep, and a peer may be broken. So what it takes for
//! granted is looked at first.

use crate::log::Log;
use crate::refused::Rejected;
use raft::eraftpb::{Message, MessageType};
use raft::{INVALID_ID, RawNode, StateRole};

/// `from` is the node at the other end of the connection.
pub(crate) fn check(raft: &RawNode<Log>, message: &Message, from: u64) -> Result<(), Rejected> {
    let core = &raft.raft;
    if message.from != from || from == core.id {
        return Err(Rejected::Sender {
            named: message.from,
            from,
        });
    }
    if message.to != core.id {
        return Err(Rejected::Receiver { to: message.to });
    }
    let is_of_this_term = message.term == core.term;
    match message.get_msg_type() {
        MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot => {
            let known = core.leader_id;
            if is_of_this_term && known != INVALID_ID && known != from {
                return Err(Rejected::TwoLeaders {
                    term: core.term,
                    known,
                    other: from,
                });
            }
            // A leader tells of commits only what it knows this node to have.
            let last = core.raft_log.last_index();
            let is_heartbeat = message.get_msg_type() == MessageType::MsgHeartbeat;
            if is_heartbeat && message.term >= core.term && message.commit > last {
                return Err(Rejected::LogLost {
                    expected: message.commit,
                    last,
                });
            }
            Ok(())
        }
        MessageType::MsgAppendResponse
        | MessageType::MsgHeartbeatResponse
        | MessageType::MsgRequestVoteResponse
        | MessageType::MsgRequestPreVoteResponse => {
            if core.prs().get(from).is_none() {
                return Err(Rejected::NotMember { from });
            }
            let is_ack = message.get_msg_type() == MessageType::MsgAppendResponse;
            let leads = core.state == StateRole::Leader && is_of_this_term;
            // Also a refusal hints at no more than was asked about.
            let claimed = message.index.max(message.reject_hint);
            if is_ack && leads && claimed > core.raft_log.last_index() {
                return Err(Rejected::Malformed("it has more than the leader"));
            }
            Ok(())
        }
        MessageType::MsgTimeoutNow => {
            if !is_of_this_term || core.leader_id != from {
                return Err(Rejected::Malformed("only the leader hands over the lead"));
            }
            Ok(())
        }
        // A candidate may have been made a member by entries that this node has not seen.
        _ => Ok(()),
    }
}

/// Whether what was found at the start hangs together.
pub(crate) mod start {
    use crate::log::members_of;
    use crate::members::ConfChange;
    use crate::state::{EntryKind, RecoverError, RecoveredState};

    pub(crate) fn check(recovered: &RecoveredState) -> Result<(), RecoverError> {
        let (mut index, mut term) = (0, 0);
        if let Some(snapshot) = &recovered.snapshot {
            if !members_of(snapshot).is_sound() || snapshot.index == 0 || snapshot.term == 0 {
                return Err(RecoverError::Snapshot);
            }
            (index, term) = (snapshot.index, snapshot.term);
        }
        let first = index;
        for entry in &recovered.entries {
            if entry.index != index + 1 {
                return Err(RecoverError::Gap {
                    expected: index + 1,
                    found: entry.index,
                });
            }
            if entry.term < term.max(1) {
                return Err(RecoverError::Term {
                    index: entry.index,
                    term: entry.term,
                });
            }
            if entry.kind == EntryKind::Membership && ConfChange::decode(&entry.data).is_none() {
                return Err(RecoverError::Membership { index: entry.index });
            }
            (index, term) = (entry.index, entry.term);
        }
        let hard_state = recovered.hard_state;
        if hard_state.term < term {
            return Err(RecoverError::Term { index, term });
        }
        if !(first..=index).contains(&hard_state.commit) {
            return Err(RecoverError::Commit {
                commit: hard_state.commit,
                between: (first, index),
            });
        }
        Ok(())
    }
}
