//! Rounds of asking a majority whether this node still leads.
//!
//! In:  the callers' tokens. Out: each token once, confirmed or lost.
//!
//! Invariant: a round's number is never used again in this process, so that a late answer to an
//! earlier one confirms nothing.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Rounds {
    last: u64,
    /// Round and token, with the term in which it began.
    open: BTreeMap<u64, (u64, u64)>,
}

impl Rounds {
    /// Begins a round and returns its number, never 0.
    pub(crate) fn begin(&mut self, token: u64, term: u64) -> u64 {
        self.last += 1;
        let earlier = self.open.insert(self.last, (token, term));
        assert_eq!(earlier, None, "round {} was begun before", self.last);
        self.last
    }

    /// The token of a round that was answered.
    pub(crate) fn answered(&mut self, round: u64) -> Option<u64> {
        assert!(
            round <= self.last,
            "round {round} was answered, and the last is {}",
            self.last
        );
        self.open.remove(&round).map(|(token, _)| token)
    }

    /// The tokens of rounds that began in another term than the one led in now, in their order.
    pub(crate) fn lost(&mut self, leads_in: Option<u64>) -> Vec<u64> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let lost = self
            .open
            .extract_if(.., |_, (_, term)| leads_in != Some(*term));
        lost.map(|(_, (token, _))| token).collect()
    }
}

#[cfg(test)]
#[path = "rounds_test.rs"]
mod rounds_test;
