//! When this voter last heard a leader: what a new leader has to know of the leases that others granted.
//!
//! In: each sign of life of a leader, this node's own rounds included. Out: answers to [`LeaderContactQuery`].
//!
//! A leader grants leases only up to one lease after the start of its last round that a majority answered.
//! Any majority shares a voter with that one, and that voter heard it no earlier than its start.

use crate::message::{LeaderContactQuery, LeaderContactReply};
use brickyard_types::Instant;

/// See the module. Lost with the process: then its start counts as a sign of life.
#[derive(Clone, Debug)]
pub struct LeaderContact {
    /// The latest term of a leader that was heard, and when.
    last: Option<(u64, Instant)>,
    /// The latest sign of life of any leader of a lower term, or the start of the process.
    before: Instant,
}

impl LeaderContact {
    /// A voter whose process starts now.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        // Rule `leases count from the request`: what it heard before it restarted it has forgotten.
        Self {
            last: None,
            before: now,
        }
    }

    /// The leader of `term` gave a sign of life, or is this node and begins a round.
    pub fn on_leader(&mut self, term: u64, now: Instant) {
        match &mut self.last {
            Some((last, _)) if term < *last => self.before = self.before.max(now),
            Some((last, at)) if term == *last => *at = (*at).max(now),
            Some((last, at)) => {
                self.before = self.before.max(*at);
                (*last, *at) = (term, now);
            }
            None => self.last = Some((term, now)),
        }
    }

    /// The answer to a query; `None` if this voter is not in the query's term: then it could still hear an
    /// earlier leader, or the one that asks leads no more.
    #[must_use]
    pub fn answer(
        &self,
        query: LeaderContactQuery,
        own_term: u64,
        now: Instant,
    ) -> Option<LeaderContactReply> {
        // Rule `leases count from the request`: the answer is given in the new term, or it would not be the last
        // word.
        if own_term != query.term {
            return None;
        }
        let contact = match self.last {
            Some((term, at)) if term < query.term => self.before.max(at),
            _ => self.before,
        };
        Some(LeaderContactReply {
            term: query.term,
            ago: now - contact,
        })
    }
}

#[cfg(test)]
#[path = "leader_contact_test.rs"]
mod leader_contact_test;
