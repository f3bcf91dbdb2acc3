//! Pending acknowledgements of the disk: things that were handed out to be stored, and what waits for them.
//!
//! A node's answers are promises, so they leave only when what they promise is stored. A leader's
//! entries may leave earlier; but no message of a term may leave before the term is stored,
//! or after a crash the node could lead the same term again and contradict itself.
//!
//! Invariant: things are stored in the order of their numbers, and what waits is let go in it.

use crate::output::ConsensusOutput;
use crate::state::Snapshot;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct PendingAcks {
    last: u64,
    acks: VecDeque<PendingAck>,
}

/// One thing to be stored.
#[derive(Debug, Default)]
pub(crate) struct PendingAck {
    pub(crate) number: u64,
    /// The tick at which it was handed out.
    pub(crate) since: u64,
    /// Up to where the library may believe it stored.
    pub(crate) library: Option<u64>,
    /// Term and vote in it.
    pub(crate) vote: Option<(u64, u64)>,
    /// A leader's snapshot in it, for the state machine.
    pub(crate) restored: Option<Snapshot>,
    /// What is let go then.
    pub(crate) held: Vec<ConsensusOutput>,
}

impl PendingAcks {
    pub(crate) fn is_empty(&self) -> bool {
        self.acks.is_empty()
    }

    /// Adds a acknowledgement and returns its number.
    pub(crate) fn add(&mut self, ack: PendingAck) -> u64 {
        assert_eq!(ack.number, 0, "debts are numbered here");
        self.last += 1;
        self.acks.push_back(PendingAck {
            number: self.last,
            ..ack
        });
        self.check();
        self.last
    }

    /// When the oldest was handed out.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.acks.front().map(|ack| ack.since)
    }

    /// The latest acknowledgement that is not paid yet.
    pub(crate) fn latest(&mut self) -> Option<&mut PendingAck> {
        self.acks.back_mut()
    }

    /// The first acknowledgement, if it is paid when everything up to `number` is.
    ///
    /// # Panics
    /// If `number` was never handed out (a caller bug).
    pub(crate) fn paid(&mut self, number: u64) -> Option<PendingAck> {
        assert!(
            number <= self.last,
            "{number} is reported as stored, and the last that was handed out is {}",
            self.last
        );
        let is_paid = self.acks.front()?.number <= number;
        let paid = is_paid.then(|| self.acks.pop_front()).flatten();
        self.check();
        paid
    }

    fn check(&self) {
        // Numbers are consecutive, and the last that was handed out is the last that is owed.
        if let (Some(first), Some(last)) = (self.acks.front(), self.acks.back()) {
            assert_eq!(
                last.number, self.last,
                "the last number that was handed out"
            );
            let pending_acks = last.number - first.number + 1;
            assert_eq!(pending_acks, self.acks.len() as u64, "a number is missing");
        }
    }
}
