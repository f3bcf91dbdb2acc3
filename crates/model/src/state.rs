//! Everything that a state of the model is made of.

use crate::log::{Entry, Log, OPS_MAX};
use crate::map::{Plane, Role};

/// Bricks, each on a node of its own.
pub(crate) const BRICKS: usize = 3;

/// Views that a run may come to, and one more.
pub(crate) const VIEWS_MAX: usize = 8;

/// A brick in one of its lives, which are counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    /// The brick.
    pub brick: u8,
    /// The life; 0: nobody.
    pub life: u8,
}

impl Replica {
    pub(crate) const fn new(at: usize, life: u8) -> Self {
        Self {
            brick: at as u8,
            life,
        }
    }

    pub(crate) const fn at(self) -> usize {
        self.brick as usize
    }
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The bricks.
    pub bricks: [Brick; BRICKS],
    /// What is under way from each brick, as a primary, to each other, and back.
    pub streams: [Stream; BRICKS * BRICKS],
    /// The control plane.
    pub plane: Plane,
    /// What clients were told; the checkers' memory.
    pub past: Past,
    /// What may still happen.
    pub left: Left,
}

/// One brick and its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Brick {
    /// Its process runs.
    pub is_up: bool,
    /// Which life it is in, or was in last.
    pub life: u8,
    /// The version of the map that it acts by.
    pub adopted: u8,
    /// The last effective view that it entered; 0: none.
    pub view: u8,
    /// Its role there.
    pub role: Role,
    /// The primary there.
    pub primary: Replica,
    /// A change is under way that names another primary.
    pub is_handing_over: bool,
    /// The highest view for which it stopped.
    pub stopped: u8,
    /// The highest view that it accepted as its primary.
    pub accepted: u8,
    /// The commit position.
    pub committed: u8,
    /// What it has on its disk.
    pub disk: Disk,
    /// Its lease.
    pub lease: Lease,
    /// As a backup or learner.
    pub follow: Follow,
    /// As a primary: the other members, by brick.
    pub members: [Member; BRICKS],
}

/// A brick's log, and what of it is sure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The log; after a crash, what is on the disk.
    pub log: Log,
    /// How much of the log a power cut leaves.
    pub synced: u8,
    /// A catch-up has not finished: what may be claimed until it has.
    pub partial: Option<u8>,
    /// Nothing at the end of the log can have been lost.
    pub is_tail_sure: bool,
}

/// Until when a brick may act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The version of the map that the present lease names; `None`: it has run out.
    pub names: Option<u8>,
    /// The brick acts by a lease that is over (only without rule `leases count from the request`).
    pub is_late: bool,
}

/// What a backup or learner knows of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Follow {
    /// The brick whose stream is followed.
    pub stream: Option<u8>,
    /// The brick that was told what a learner holds, and has not answered.
    pub reported_to: Option<u8>,
    /// The view that began here.
    pub begun: u8,
    /// How far the primary has committed.
    pub known: u8,
    /// Copies come in.
    pub is_copying: bool,
}

/// Another member, as the primary sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Member {
    /// The life that is a member; 0: it is none.
    pub life: u8,
    /// It is catching up.
    pub is_learner: bool,
    /// Its vote counts.
    pub is_required: bool,
    /// Where its stream stands.
    pub phase: Phase,
    /// The vote from which on it counts, in this view.
    pub since: u8,
    /// The op that this vote covers.
    pub base: u8,
    /// All copies were sent; and are in its log.
    pub copy: Copied,
    /// Its promotion.
    pub promotion: Promotion,
}

/// Where a member's stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// There is none.
    #[default]
    Unlinked,
    /// It refused.
    Refused,
    /// It was asked what it holds.
    AwaitsSummary,
    /// It gets all records.
    Streaming,
}

/// How far the copies for a learner are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copied {
    /// Not at all.
    #[default]
    None,
    /// All are sent.
    Sent,
    /// All are in its log.
    Held,
}

/// How far a promotion is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Promotion {
    /// There is none.
    #[default]
    None,
    /// Once this vote is there.
    WaitsFor(u8),
    /// The control plane was asked.
    Asked,
}

/// One connection, and what is under way on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Both ends are there.
    pub is_connected: bool,
    /// The number of the last frame that asks for a vote.
    pub sent: u8,
    /// The last one that was voted for.
    pub voted: u8,
    /// The receiver has refused the partition on it.
    pub is_refused: bool,
    /// What the receiver votes for once it is synced.
    pub unvoted: u8,
    /// From the primary.
    pub down: Vec<Down>,
    /// To the primary.
    pub up: Vec<Up>,
}

/// What a primary sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Down {
    /// The view begins, with all that is pending.
    Begin {
        /// The frame's number.
        number: u8,
        /// The view.
        view: u8,
        /// The primary's log: the views of what has committed, and the records above.
        log: Log,
        /// What has committed.
        committed: u8,
    },
    /// A learner is asked what it holds.
    Ask {
        /// The view.
        view: u8,
    },
    /// A record.
    Record {
        /// The frame's number.
        number: u8,
        /// The op.
        op: u8,
        /// The record.
        entry: Entry,
    },
    /// The commit position.
    Commit {
        /// The op.
        op: u8,
    },
    /// What a learner's stream begins with.
    CopyStart {
        /// The frame's number.
        number: u8,
        /// The view.
        view: u8,
        /// Up to where the learner's log stays.
        cut: u8,
        /// What it follows: the commit position.
        first: u8,
        /// Only the views of what the copies will bring, then the pending records.
        log: Log,
    },
    /// All copies.
    CopyEnd {
        /// What they bring.
        log: Log,
    },
}

/// What a backup or learner answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Up {
    /// Everything up to this frame is in the log.
    Vote {
        /// The frame's number.
        number: u8,
    },
    /// No vote from here on covers the partition.
    Refuse {
        /// The view that is refused.
        view: u8,
    },
    /// What a learner holds.
    Summary {
        /// The view.
        view: u8,
        /// Its log, as far as it may be claimed.
        log: Log,
        /// What it knows to be committed of that.
        committed: u8,
    },
    /// The copies are in the learner's log.
    CopyDone {
        /// The view.
        view: u8,
    },
    /// The map names the view now.
    Join {
        /// The view.
        view: u8,
    },
    /// The peer is gone.
    Closed,
}

/// What was acknowledged, and whether that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// All that primaries committed.
    pub outcome: Log,
    /// For each of these ops, the bricks that held it while they were in sync, as bits.
    pub holders: [u8; OPS_MAX],
    /// For each view, the brick that committed in it, from 1 on.
    pub committers: [u8; VIEWS_MAX],
    /// Two committed different things at one op.
    pub has_forked: bool,
    /// Two bricks committed in one view.
    pub has_two_primaries: bool,
    /// A commit position went back.
    pub has_gone_back: bool,
}

/// What may still happen, of what a scope allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Writes.
    pub writes: u8,
    /// Views that the control plane proposes because members are gone or for any other reason.
    pub views: u8,
    /// Promotions.
    pub promotions: u8,
    /// Learners that it adds.
    pub learners: u8,
    /// Processes killed; what they had written to the operating system stays.
    pub kills: u8,
    /// Power cuts; what was not synced goes.
    pub power_cuts: u8,
    /// Restarts.
    pub restarts: u8,
    /// Leases that run out, as if the node were paused or cut off.
    pub lapses: u8,
    /// Leases that are granted again.
    pub grants: u8,
    /// Streams that break and come back.
    pub reconnects: u8,
    /// Changes of the control plane's leader.
    pub leaders: u8,
}

impl Past {
    /// Of what was acknowledged the ops up to this one count.
    pub(crate) fn forget(&mut self, op: u8) {
        self.outcome.cut(op);
        self.holders[usize::from(op)..].fill(0);
    }
}

impl Stream {
    /// Sends a frame; on a connection that is gone nothing leaves.
    pub(crate) fn send(&mut self, frame: Down) {
        if self.is_connected {
            self.down.push(frame);
        }
    }
}

impl State {
    pub(crate) fn stream(&self, from: usize, to: usize) -> &Stream {
        &self.streams[from * BRICKS + to]
    }

    pub(crate) fn stream_mut(&mut self, from: usize, to: usize) -> &mut Stream {
        &mut self.streams[from * BRICKS + to]
    }

    /// The brick in its present life.
    pub(crate) fn replica(&self, at: usize) -> Replica {
        Replica::new(at, self.bricks[at].life)
    }
}

impl Brick {
    /// Votes and commits in the present view are allowed: rules `a primary accepts its view` and
    /// `acknowledged views are remembered`.
    pub(crate) const fn is_current(&self) -> bool {
        self.stopped <= self.view && self.accepted <= self.view
    }

    /// Orders operations.
    pub(crate) fn leads(&self) -> bool {
        self.is_up && self.role == Role::Primary && self.is_current()
    }

    /// May act, as far as its lease goes.
    pub(crate) fn is_leased(&self) -> bool {
        let is_valid = self
            .lease
            .names
            .is_some_and(|version| self.adopted >= version);
        self.is_up && (is_valid || self.lease.is_late)
    }

    /// Answers reads of keys without pending operations.
    pub(crate) fn serves_reads(&self) -> bool {
        let is_in = match self.role {
            Role::Primary => true,
            Role::Backup => self.follow.begun == self.view,
            Role::None | Role::Learner => false,
        };
        self.is_leased() && is_in && self.stopped <= self.view
    }
}
