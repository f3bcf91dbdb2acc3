//! Another member of a partition, as its primary sees it.

use crate::{LinkId, ReplicaSummary, Sequence};
use brickyard_routing::Replica;
use brickyard_types::{Instant, Op, View};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) replica: Replica,
    pub(crate) is_learner: bool,
    /// Its vote counts for every uncommitted op: a backup's always, a learner's from the end of its
    /// catch-up on (rule `learner votes before promotion`).
    pub(crate) is_required: bool,
    /// The stream to it.
    pub(crate) link: Option<LinkId>,
    pub(crate) phase: Phase,
    pub(crate) copy: Copy,
    /// What the copies lead up to: the record that its stream followed.
    pub(crate) copied_to: (View, Op),
    /// A learner's promotion.
    pub(crate) promotion: Promotion,
    /// It was asked for in this view, and may take effect at any time.
    pub(crate) was_asked: bool,
    /// It holds up the op at the front.
    pub(crate) stall: Option<Stall>,
    /// When its eviction was asked for last.
    pub(crate) evict_asked: Option<Instant>,
}

/// How long a member has held up an op.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    pub(crate) op: Op,
    /// The furthest that it has voted meanwhile.
    pub(crate) vote: Sequence,
    pub(crate) waited: Duration,
}

/// Where its stream stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is no link.
    Unlinked,
    /// It refused; to be begun again later.
    Refused,
    /// It refused since its own log takes nothing; at the next tick it is begun again, or given up.
    Unfit,
    /// It refused and is given up: it is not begun again in this view, in which it does nothing any more (rule
    /// `a withdrawn member is fenced`).
    Withdrawn,
    /// To be begun at the next flush.
    Due,
    /// A learner was asked what it holds.
    AwaitsSummary,
    /// A learner has answered; its stream begins at the next flush.
    Summarized(Box<ReplicaSummary>),
    /// Gets all records; its votes from turn `since` on count.
    Streaming { since: Sequence },
}

/// A learner's catch-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    None,
    /// The owner hands over records above the op, or all of them.
    Running(Option<Op>),
    /// All were sent.
    Ended,
    /// The learner has them in its log.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promotion {
    None,
    /// Once it has voted for this turn, it holds everything.
    WaitsFor(Sequence),
    /// The control plane was asked, last at this instant. Only a newer view ends that.
    Asked(Instant),
}

impl Member {
    pub(crate) const fn new(replica: Replica, is_learner: bool) -> Self {
        Self {
            replica,
            is_learner,
            is_required: !is_learner,
            link: None,
            phase: Phase::Unlinked,
            copy: Copy::None,
            copied_to: (View(0), Op(0)),
            promotion: Promotion::None,
            was_asked: false,
            stall: None,
            evict_asked: None,
        }
    }

    /// Its stream broke or it refused: what it was sent no longer counts.
    pub(crate) fn fall_out(&mut self, phase: Phase) {
        assert!(
            self.phase != Phase::Withdrawn,
            "{} has withdrawn for this view",
            self.replica
        );
        self.phase = phase;
        self.copy = Copy::None;
        if self.is_learner && !self.was_asked {
            self.promotion = Promotion::None;
            self.is_required = false;
        }
        // Rule `learner votes before promotion`: once asked for, a promotion may take effect at any time, so the vote
        // stays required.
    }
}
