//! The outputs of the leader, and the one proposal that is in flight.
//!
//! In:  what components send, the change that a decision came to, outcomes. Out: [`ControlOutput`]s in order.
//!
//! Invariants:
//! - At most one proposal is in flight: a decision is made by the catalog that has the one before it.
//! - A token is never used twice.

use crate::message::ToNode;
use crate::output::{ControlOutput, ProposalToken};
use brickyard_metadata::{CatalogVersion, Change, Decisions, Outcome};
use brickyard_routing::NodeId;
use brickyard_types::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub(super) struct Outbox {
    outputs: VecDeque<ControlOutput>,
    in_flight: Option<ProposalToken>,
    next_token: u64,
    /// The version of the last outcome: the next decision needs a catalog that has it.
    outcome_version: CatalogVersion,
    /// The next decision is made no earlier: a change that failed would fail again at once.
    hold_until: Instant,
}

impl Outbox {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            outputs: VecDeque::new(),
            in_flight: None,
            next_token: 1,
            outcome_version: CatalogVersion(0),
            hold_until: now,
        }
    }

    pub(super) fn push(&mut self, output: ControlOutput) {
        assert!(
            !matches!(output, ControlOutput::Propose(..)),
            "a proposal goes through `propose`, which counts it: {output:?}"
        );
        self.outputs.push_back(output);
    }

    pub(super) fn send(&mut self, to: NodeId, message: ToNode) {
        self.push(ControlOutput::Send(to, message));
    }

    pub(super) fn poll(&mut self) -> Option<ControlOutput> {
        self.outputs.pop_front()
    }

    /// Whether a decision may be proposed now, by a catalog of that version.
    pub(super) fn may_propose(&self, now: Instant, version: CatalogVersion) -> bool {
        self.in_flight.is_none() && version >= self.outcome_version && now >= self.hold_until
    }

    /// Proposes a change.
    ///
    /// # Panics
    /// If another proposal is in flight (a caller bug).
    pub(super) fn propose(&mut self, change: Change) {
        assert_eq!(
            self.in_flight, None,
            "a second proposal in flight: {change:?}"
        );
        if let Change::Decide(decisions) = &change {
            check(decisions);
        }
        let token = ProposalToken(self.next_token);
        self.next_token += 1;
        self.in_flight = Some(token);
        self.outputs
            .push_back(ControlOutput::Propose(token, change));
        self.check();
    }

    /// The outcome of a proposal, an error also if it is not known. After a failure nothing is proposed for `pause`.
    /// Returns whether it was the one in flight.
    pub(super) fn on_outcome(
        &mut self,
        now: Instant,
        token: ProposalToken,
        outcome: &Outcome,
        pause: Duration,
    ) -> bool {
        if self.in_flight != Some(token) {
            return false;
        }
        self.in_flight = None;
        // What did not come about is decided again, by the catalog as it is then.
        match outcome {
            Ok(applied) if applied.stale.is_empty() => self.outcome_version = applied.version,
            Ok(applied) => {
                self.outcome_version = applied.version;
                self.hold_until = now + pause;
            }
            Err(_) => self.hold_until = now + pause,
        }
        self.check();
        true
    }

    fn check(&self) {
        if let Some(token) = self.in_flight {
            assert!(
                token.0 < self.next_token,
                "{token:?} is in flight and was not handed out"
            );
        }
    }
}

/// What the catalog expects of decisions, which it would refuse as stale otherwise: of each partition one thing, and in a view
/// one member of a node.
fn check(decisions: &Decisions) {
    assert!(!decisions.is_empty(), "a decision about nothing");
    let settled = decisions.settled.iter().map(|it| it.partition);
    let splits = decisions.splits.iter().map(|it| it.partition);
    let merges = decisions.merges.iter().flatten().map(|it| it.partition);
    let proposals = decisions.proposals.iter().map(|it| it.partition);
    let learners = decisions.learners.iter().map(|it| it.partition);
    let mut decided = BTreeSet::new();
    for partition in settled
        .chain(splits)
        .chain(merges)
        .chain(proposals)
        .chain(learners)
    {
        assert!(decided.insert(partition), "two decisions about {partition}");
    }
    for proposal in &decisions.proposals {
        let members = proposal.in_sync().chain(proposal.learners.iter().copied());
        let mut nodes = BTreeSet::new();
        for replica in members {
            let is_apart = nodes.insert(replica.member.node);
            assert!(
                is_apart,
                "{} twice on a node: {proposal:?}",
                proposal.partition
            );
        }
    }
}
