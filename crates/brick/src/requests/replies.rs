//! Replies that are made and wait for what they rest on to commit.
//!
//! In:  a reply to another brick, held back whole; or one in a client's output, of a request that had waited. Out: the
//!      first when it may leave; of both, those whose time is up, to be answered with an unknown outcome.
//!
//! What a request waits for that was executed as it came ends with its batch (`Log::give_up`): that is no younger than the
//! request. One that waited for a view, for a value, or for another brick that did not answer, may rest on what was prepared
//! when it had waited for long, also by others; and may itself have been prepared with what has time left (rule `only the primary expires keys`).

use crate::output::{CommitDependency, Lost, Meets};
use crate::request::Origin;
use brickyard_types::Instant;

/// A reply that is held back.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) dependency: CommitDependency,
    pub(crate) origin: Origin,
    /// When it is given up; `None`: with its batch.
    pub(crate) deadline: Option<Instant>,
    pub(crate) bytes: Vec<u8>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    held: Vec<Held>,
    /// Those in an output, until their deadlines: only there it is known what they wait for, since a reply in parts waits for
    /// what all of its parts rest on, and for what stands between.
    in_output: Vec<(Instant, Origin)>,
}

impl Replies {
    /// Whether no reply is held back. (One in an output is there as its client's.)
    pub(crate) fn all_left(&self) -> bool {
        self.held.is_empty()
    }

    pub(crate) fn hold(&mut self, held: Held) {
        self.held.push(held);
    }

    /// What is in its client's output is given up at this time.
    pub(crate) fn expect(&mut self, deadline: Instant, origin: Origin) {
        self.in_output.push((deadline, origin));
    }

    /// Those that may leave now, in the order in which they were made.
    pub(crate) fn take_open(&mut self, log: &impl Meets) -> Vec<(Origin, Vec<u8>)> {
        let open = self.held.extract_if(.., |held| log.meets(held.dependency));
        open.map(|held| (held.origin, held.bytes)).collect()
    }

    /// Operations were lost: each reply that rests on one of them becomes `error`, a whole line.
    pub(crate) fn refuse(&mut self, lost: Lost, error: &[u8]) {
        for held in &mut self.held {
            if let Some(error) = held.dependency.error(lost, error) {
                held.bytes = error;
                held.dependency = CommitDependency::NONE;
            }
        }
    }

    /// Ends those that have waited for too long: they become `error`, a whole line. Returns whose time in an output is up,
    /// whether they wait there or not, and the error; `None`: nobody's time is up.
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        log: &impl Meets,
        error: impl FnOnce() -> Vec<u8>,
    ) -> Option<(Vec<u8>, Vec<Origin>)> {
        let is_late =
            |held: &Held| held.deadline.is_some_and(|it| it <= now) && !log.meets(held.dependency);
        let in_output = self.in_output.extract_if(.., |it| it.0 <= now);
        let in_output: Vec<Origin> = in_output.map(|it| it.1).collect();
        if in_output.is_empty() && !self.held.iter().any(is_late) {
            return None;
        }
        let error = error();
        for held in self.held.iter_mut().filter(|held| is_late(held)) {
            held.bytes.clone_from(&error);
            (held.dependency, held.deadline) = (CommitDependency::NONE, None);
        }
        Some((error, in_output))
    }
}

#[cfg(test)]
#[path = "replies_test.rs"]
mod replies_test;
