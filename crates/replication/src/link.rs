//! One stream to or from another brick: its bytes out, and how far it was voted for.
//!
//! A stream is named by (sender seat, receiver seat, connection number); all that is known of it dies with
//! it (PROTOCOL rule 2).

use crate::frame::Writer;
use crate::{Direction, LinkId, LogMark, Turn};
use brickyard_routing::Seat;
use brickyard_types::{Durability, Instant, PartitionId, View};
use std::collections::{BTreeMap, VecDeque};

/// Partitions of which one link may be told that they are refused; a peer that makes up more is cut off.
pub(crate) const REFUSED_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) peer: Seat,
    pub(crate) direction: Direction,
    /// Another stream took its place: what still comes on it is dropped, nothing more is sent.
    pub(crate) is_stale: bool,
    pub(crate) output: Output,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Something was received since the last tick.
    pub(crate) is_heard: bool,
    pub(crate) heard_at: Option<Instant>,
    pub(crate) told_at: Option<Instant>,
}

/// Bytes to be sent.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    /// How many of them are sent.
    pub(crate) sent: usize,
    /// The host was not told of it yet.
    pub(crate) is_queued: bool,
    /// Something was written since the last tick.
    pub(crate) is_told: bool,
}

/// How far a stream's receiver holds it, each level as durably as its name says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Voted {
    pub(crate) received: Turn,
    pub(crate) appended: Turn,
    pub(crate) synced: Turn,
}

/// The sender's side: this brick is the primary of what goes out.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// The last turn that was closed on this stream.
    pub(crate) sent: Turn,
    pub(crate) voted: Voted,
    /// Which partitions wait for the vote of which turn, by [`level`].
    pub(crate) waiting: [VecDeque<(Turn, u32)>; 3],
    /// The frame of records that is being written.
    pub(crate) records: Option<Writer>,
    /// There is something to vote for in this turn.
    pub(crate) needs_vote: bool,
    /// Commit positions for the end of this turn.
    pub(crate) commits: Vec<(PartitionId, brickyard_types::Op)>,
    pub(crate) is_touched: bool,
}

/// The receiver's side: this brick follows what comes in.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// The newest batch of the own log that has anything of this stream.
    pub(crate) mark: LogMark,
    pub(crate) received: Turn,
    /// Turns and the batch that has everything up to them; the first `appended` of them are appended.
    pub(crate) unvoted: VecDeque<(Turn, LogMark)>,
    /// How far those are appended.
    pub(crate) appended: usize,
    pub(crate) told: Voted,
    /// Partitions out of step on this stream, and the view they were refused in (PROTOCOL rule 1).
    pub(crate) refused: BTreeMap<PartitionId, View>,
    /// Finished catch-ups whose base is not in the log yet.
    pub(crate) done: VecDeque<(LogMark, PartitionId, View, Durability)>,
}

impl Link {
    pub(crate) fn new(id: LinkId, peer: Seat, direction: Direction) -> Self {
        Self {
            id,
            peer,
            direction,
            is_stale: false,
            output: Output::default(),
            sender: Sender::default(),
            receiver: Receiver::default(),
            is_heard: true,
            heard_at: None,
            told_at: None,
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

impl Voted {
    pub(crate) const fn at(&self, durability: Durability) -> Turn {
        match durability {
            Durability::Memory => self.received,
            Durability::Log => self.appended,
            Durability::Fsync => self.synced,
        }
    }
}

impl Output {
    pub(crate) fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn on_sent(&mut self, n: usize) {
        /// A buffer that has grown past this is given back once it is empty.
        const KEPT: usize = 1 << 20;
        self.sent = (self.sent + n).min(self.bytes.len());
        if self.sent == self.bytes.len() {
            self.sent = 0;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
        } else if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl Receiver {
    /// A turn was received whole: it is voted for once `mark` is in the log.
    pub(crate) fn on_turn(&mut self, turn: Turn) {
        self.received = turn;
        let is_open = self.appended < self.unvoted.len();
        match self.unvoted.back_mut() {
            // Turns of one batch are voted for together.
            Some(back) if back.1 == self.mark && is_open => {
                back.0 = turn;
            }
            _ => self.unvoted.push_back((turn, self.mark)),
        }
    }

    /// What may be voted for now.
    pub(crate) fn vote(&mut self, appended: LogMark, synced: LogMark) -> Voted {
        let mut vote = Voted {
            received: self.received,
            ..self.told
        };
        while let Some(&(turn, mark)) = self.unvoted.get(self.appended) {
            if mark > appended {
                break;
            }
            vote.appended = turn;
            self.appended += 1;
        }
        while let Some(&(turn, mark)) = self.unvoted.front() {
            if self.appended == 0 || mark > synced {
                break;
            }
            vote.synced = turn;
            self.unvoted.pop_front();
            self.appended -= 1;
        }
        vote
    }
}

#[cfg(test)]
#[path = "link_test.rs"]
mod link_test;
