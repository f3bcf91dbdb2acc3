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

/// A reply that waits.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) dependency: CommitDependency,
    pub(crate) origin: Origin,
    /// When it is given up; `None`: with its batch.
    pub(crate) deadline: Option<Instant>,
    /// `None`: it is in its client's output already.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Replies(Vec<Held>);

impl Replies {
    /// Whether no reply to a brick is held back. (One in an output is there as its client's.)
    pub(crate) fn all_left(&self) -> bool {
        self.0.iter().all(|held| held.bytes.is_none())
    }

    pub(crate) fn hold(&mut self, held: Held) {
        assert!(
            held.bytes.is_some() || held.deadline.is_some(),
            "nothing of the reply to {:?} waits",
            held.origin
        );
        self.0.push(held);
    }

    /// Those that may leave now, in the order in which they were made.
    pub(crate) fn take_open(&mut self, log: &impl Meets) -> Vec<(Origin, Vec<u8>)> {
        let open = self.0.extract_if(.., |held| log.meets(held.dependency));
        open.filter_map(|held| Some((held.origin, held.bytes?)))
            .collect()
    }

    /// Operations were lost: each reply that rests on one of them becomes `error`, a whole line.
    pub(crate) fn refuse(&mut self, lost: Lost, error: &[u8]) {
        for held in &mut self.0 {
            let bytes = held.bytes.as_mut();
            if let Some((bytes, error)) = bytes.zip(held.dependency.error(lost, error)) {
                *bytes = error;
                held.dependency = CommitDependency::NONE;
            }
        }
    }

    /// Ends those that have waited for too long: they become `error`, a whole line. Returns whose are in an output, and
    /// whether there was any.
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        log: &impl Meets,
        error: impl FnOnce() -> Vec<u8>,
    ) -> Option<(Vec<u8>, Vec<Origin>)> {
        let is_late =
            |held: &Held| held.deadline.is_some_and(|it| it <= now) && !log.meets(held.dependency);
        if !self.0.iter().any(is_late) {
            return None;
        }
        let error = error();
        for held in self.0.iter_mut().filter(|held| is_late(held)) {
            if let Some(bytes) = &mut held.bytes {
                bytes.clone_from(&error);
                (held.dependency, held.deadline) = (CommitDependency::NONE, None);
            }
        }
        let in_output = self
            .0
            .extract_if(.., |held| held.bytes.is_none() && is_late(held));
        let in_output: Vec<Origin> = in_output.map(|held| held.origin).collect();
        Some((error, in_output))
    }
}

#[cfg(test)]
#[path = "replies_test.rs"]
mod replies_test;
