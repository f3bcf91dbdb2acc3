//! One stream to or from another brick: how far what went out was voted for, and what came in.
//!
//! A stream is named by (sender replica, receiver replica, connection number); all that is known of it dies with
//! it (rule `votes belong to a stream`).
//!
//! Not here: bytes to be sent (`outbox`), which streams there are (`links`).

use crate::frame::Vote;
use crate::pace::Pace;
use crate::{Direction, LinkId, LogMark, Sequence};
use brickyard_routing::Replica;
use brickyard_types::{Durability, Op, PartitionId, View};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Partitions of which one link may be told that they are refused; a peer that makes up more is cut off.
pub(crate) const REFUSED_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) peer: Replica,
    pub(crate) direction: Direction,
    /// Another stream took its place: what still comes on it is dropped, nothing more is sent.
    pub(crate) is_stale: bool,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Something was received since the last tick.
    pub(crate) has_contact: bool,
    /// For how long nothing was received, as ticks see it.
    pub(crate) silent_for: Duration,
}

/// The sender's side: this brick is the primary of what goes out.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// The last turn that was closed on this stream.
    pub(crate) sent: Sequence,
    pub(crate) voted: Vote,
    /// The last turn with something that is to be synced.
    pub(crate) sent_to_sync: Sequence,
    /// How long votes take: of what is appended, and of what is synced.
    appends: Pace,
    syncs: Pace,
    /// Which partitions wait for the vote of which turn, by [`level`].
    pub(crate) waiting: [VecDeque<(Sequence, u32)>; 3],
    /// There is something to vote for in this turn.
    pub(crate) needs_vote: bool,
    /// Commit positions for the end of this turn.
    pub(crate) commits: Vec<(PartitionId, Op)>,
    pub(crate) is_touched: bool,
}

/// The receiver's side: this brick follows what comes in.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// The newest batch of the own log that has anything of this stream.
    pub(crate) mark: LogMark,
    pub(crate) received: Sequence,
    /// Turns and the batch that has everything up to them; the first `appended` of them are appended.
    pub(crate) unvoted: VecDeque<(Sequence, LogMark)>,
    /// How far those are appended.
    pub(crate) appended: usize,
    /// What has come since the last turn's end has something that is voted for without a log.
    has_unlogged: bool,
    /// The last turn that had.
    unlogged: Sequence,
    pub(crate) told: Vote,
    /// Partitions out of step on this stream, and the view they were refused in (rule
    /// `votes cover what was appended`).
    pub(crate) refused: BTreeMap<PartitionId, View>,
    /// Finished catch-ups whose baseline is not in the log yet.
    pub(crate) done: VecDeque<(LogMark, PartitionId, View, Durability)>,
}

impl Link {
    pub(crate) fn new(id: LinkId, peer: Replica, direction: Direction) -> Self {
        Self {
            id,
            peer,
            direction,
            is_stale: false,
            sender: Sender::default(),
            receiver: Receiver::default(),
            has_contact: true,
            silent_for: Duration::ZERO,
        }
    }
}

/// Which of a vote's levels a table needs.
pub(crate) const fn level(durability: Durability) -> usize {
    match durability {
        Durability::Memory => 0,
        Durability::Log => 1,
        Durability::Fsync => 2,
    }
}

impl Vote {
    /// What is synced is appended, and what is appended was received.
    pub(crate) fn is_ordered(self) -> bool {
        self.synced <= self.appended && self.appended <= self.received
    }

    pub(crate) const fn at(&self, durability: Durability) -> Sequence {
        match durability {
            Durability::Memory => self.received,
            Durability::Log => self.appended,
            Durability::Fsync => self.synced,
        }
    }
}

impl Sender {
    /// The partition is committed up to there, which is to be told.
    pub(crate) fn tell(&mut self, commit: (PartitionId, Op)) {
        match self.commits.last_mut() {
            Some(last) if last.0 == commit.0 => *last = commit,
            _ => self.commits.push(commit),
        }
    }

    /// A tick: looks how long votes take.
    pub(crate) fn look(&mut self, passed: Duration) {
        let (sent, to_sync) = (self.sent.0, self.sent_to_sync.0);
        self.appends.look(passed, sent, self.voted.appended.0);
        self.syncs.look(passed, to_sync, self.voted.synced.0);
    }

    /// For how long the vote at hand has been waited for.
    pub(crate) fn waited(&self) -> Duration {
        self.appends.waited().max(self.syncs.waited())
    }

    /// How long one may take: more than `least` where votes took long of late.
    pub(crate) fn patience(&self, least: Duration, most: Duration) -> Duration {
        let appends = self.appends.patience(least, most);
        appends.max(self.syncs.patience(least, most))
    }

    /// Whether votes take long as a rule.
    pub(crate) const fn is_slow(&self) -> bool {
        self.appends.is_slow() || self.syncs.is_slow()
    }

    /// The partition waits for the vote of that turn.
    pub(crate) fn await_vote(&mut self, sequence: Sequence, slot: u32, durability: Durability) {
        self.waiting[level(durability)].push_back((sequence, slot));
        if durability == Durability::Fsync {
            self.sent_to_sync = self.sent_to_sync.max(sequence);
        }
    }
}

impl Receiver {
    /// A turn was received whole: it is voted for once `mark` is in the log.
    pub(crate) fn on_sequence(&mut self, sequence: Sequence) {
        assert!(
            sequence > self.received,
            "turn {sequence} after {}",
            self.received
        );
        self.received = sequence;
        if std::mem::take(&mut self.has_unlogged) {
            self.unlogged = sequence;
        }
        let is_open = self.appended < self.unvoted.len();
        match self.unvoted.back_mut() {
            // Turns of one batch are voted for together.
            Some(back) if back.1 == self.mark && is_open => {
                back.0 = sequence;
            }
            _ => self.unvoted.push_back((sequence, self.mark)),
        }
    }

    /// Something of a partition came, in that durability: its primary waits for the vote of the turn at hand.
    #[inline]
    pub(crate) fn note(&mut self, durability: Durability) {
        self.has_unlogged |= durability == Durability::Memory;
    }

    /// What the primary is to be told, if it waits for that: of a table with a log it waits until the log has what came, and
    /// to hear before that that it came would only wake it.
    pub(crate) fn next_vote(&mut self, appended: LogMark, synced: LogMark) -> Option<Vote> {
        let (vote, told) = (self.vote(appended, synced), self.told);
        let is_stored = vote.appended > told.appended || vote.synced > told.synced;
        if !is_stored && self.unlogged <= told.received {
            return None;
        }
        self.told = vote;
        Some(vote)
    }

    /// What may be voted for now.
    fn vote(&mut self, appended: LogMark, synced: LogMark) -> Vote {
        let mut vote = Vote {
            received: self.received,
            ..self.told
        };
        while let Some(&(sequence, mark)) = self.unvoted.get(self.appended) {
            if mark > appended {
                break;
            }
            vote.appended = sequence;
            self.appended += 1;
        }
        while let Some(&(sequence, mark)) = self.unvoted.front() {
            if self.appended == 0 || mark > synced {
                break;
            }
            vote.synced = sequence;
            self.unvoted.pop_front();
            self.appended -= 1;
        }
        // What the primary checks when the vote arrives.
        assert!(vote.is_ordered(), "a vote out of order: {vote:?}");
        assert!(vote.synced >= self.told.synced && vote.appended >= self.told.appended);
        vote
    }
}

#[cfg(test)]
#[path = "link_test.rs"]
mod link_test;
