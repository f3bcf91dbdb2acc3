//! When the leader examines the nodes, and when it decides.
//!
//! In:  inputs that may change a decision, decisions, the time. Out: whether it is time for the next.
//!
//! A decision passes over all partitions, and there are many: what nothing but time changes, as that a lease has run out,
//! is examined at intervals and not after every message.
//!
//! Invariant: once a decision is made, no input that came before it is the reason of another.

use super::liveness::LivenessView;
use crate::config::ControlConfig;
use brickyard_routing::Replica;
use brickyard_types::Instant;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug)]
pub(super) struct DecisionTimer {
    /// An input came since the last decision that may change it.
    is_dirty: bool,
    /// When the nodes were last examined; `None`: grants that were given since may have changed the result.
    examined_at: Option<Instant>,
    decided_at: Instant,
    /// The bricks that were live at the last decision.
    live: BTreeSet<Replica>,
    /// Some partition waits for something that has no event of its own.
    is_waiting: bool,
    balanced_at: Instant,
}

impl DecisionTimer {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            is_dirty: true,
            examined_at: None,
            decided_at: now,
            live: BTreeSet::new(),
            is_waiting: false,
            balanced_at: now,
        }
    }

    /// An input may change the next decision.
    pub(super) const fn mark_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Grants were given: bricks may be live that were not.
    pub(super) const fn on_grants(&mut self) {
        self.examined_at = None;
    }

    /// Whether to examine the nodes.
    pub(super) fn must_examine(&self, now: Instant, config: &ControlConfig) -> bool {
        let is_early = |at| now - at < config.renew / 30;
        self.is_dirty || !self.examined_at.is_some_and(is_early)
    }

    pub(super) const fn on_examined(&mut self, now: Instant) {
        self.examined_at = Some(now);
    }

    /// Whether to decide. `awaits_stops`: view changes wait for bricks to stop, or for their leases to run out.
    pub(super) fn must_decide(
        &self,
        view: &LivenessView,
        awaits_stops: bool,
        config: &ControlConfig,
    ) -> bool {
        let since = view.now() - self.decided_at;
        let may_balance = self.may_balance(view.now(), config);
        let is_waiting = (self.is_waiting || may_balance) && since >= config.renew;
        let may_have_run_out = awaits_stops && since >= config.renew / 6;
        self.is_dirty || *view.live() != self.live || is_waiting || may_have_run_out
    }

    /// A decision begins.
    pub(super) fn on_decision(&mut self, view: &LivenessView) {
        assert_eq!(
            self.examined_at,
            Some(view.now()),
            "a decision by nodes as they were examined before"
        );
        self.is_dirty = false;
        self.decided_at = view.now();
        self.live.clone_from(view.live());
    }

    /// Some partition waits, or none does, after a decision.
    pub(super) const fn set_waiting(&mut self, is_waiting: bool) {
        self.is_waiting = is_waiting;
    }

    /// Whether it is time for a step of the balance.
    pub(super) fn may_balance(&self, now: Instant, config: &ControlConfig) -> bool {
        now - self.balanced_at >= config.balance_pause
    }

    pub(super) fn on_balanced(&mut self, now: Instant) {
        assert!(
            now >= self.balanced_at,
            "{now:?} is before {:?}",
            self.balanced_at
        );
        self.balanced_at = now;
    }
}
