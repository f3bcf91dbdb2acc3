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
pub(crate) struct Owed {
    last: u64,
    debts: VecDeque<Debt>,
}

/// One thing to be stored.
#[derive(Debug, Default)]
pub(crate) struct Debt {
    pub(crate) number: u64,
    /// Up to where the library may believe it stored.
    pub(crate) library: Option<u64>,
    /// Term and vote in it.
    pub(crate) vote: Option<(u64, u64)>,
    /// A leader's snapshot in it, for the state machine.
    pub(crate) restored: Option<Snapshot>,
    /// What is let go then.
    pub(crate) held: Vec<ConsensusOutput>,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        self.debts.is_empty()
    }

    /// Adds a debt and returns its number.
    pub(crate) fn add(&mut self, debt: Debt) -> u64 {
        assert_eq!(debt.number, 0, "debts are numbered here");
        self.last += 1;
        self.debts.push_back(Debt {
            number: self.last,
            ..debt
        });
        self.check();
        self.last
    }

    /// The latest debt that is not paid yet.
    pub(crate) fn latest(&mut self) -> Option<&mut Debt> {
        self.debts.back_mut()
    }

    /// The first debt, if it is paid when everything up to `number` is.
    ///
    /// # Panics
    /// If `number` was never handed out (a caller bug).
    pub(crate) fn paid(&mut self, number: u64) -> Option<Debt> {
        assert!(
            number <= self.last,
            "{number} is reported as stored, and the last that was handed out is {}",
            self.last
        );
        let is_paid = self.debts.front()?.number <= number;
        let paid = is_paid.then(|| self.debts.pop_front()).flatten();
        self.check();
        paid
    }

    fn check(&self) {
        // Numbers are consecutive, and the last that was handed out is the last that is owed.
        if let (Some(first), Some(last)) = (self.debts.front(), self.debts.back()) {
            assert_eq!(
                last.number, self.last,
                "the last number that was handed out"
            );
            let owed = last.number - first.number + 1;
            assert_eq!(owed, self.debts.len() as u64, "a number is missing");
        }
    }
}
