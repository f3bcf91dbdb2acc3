//! Processes whose nodes were removed.
//!
//! In:  removals. Out: whether a registration is of such a process: what it asked for before it heard that it had been taken
//! in may arrive after it was removed, over a slow way, and would take it in once more, as a node that nobody is.
//!
//! Invariant: the newest [`REMOVED_MAX`] are known, whoever leads; a request does not stay on its way for longer than that.
//!
//! Not here: the removal itself (`orders`).

use crate::{
    catalog::Catalog,
    node::{NodeKey, Registration},
};
use std::collections::VecDeque;

/// So many are remembered.
pub(crate) const REMOVED_MAX: usize = 1_024;

/// The keys of nodes, and which of their processes, oldest first.
pub(crate) type Removed = VecDeque<(NodeKey, u64)>;

impl Catalog {
    /// Whether it is of a process whose node was removed. The next process of that directory knows of no node that it was,
    /// and may be taken in.
    #[must_use]
    pub fn has_removed(&self, registration: &Registration) -> bool {
        let process = (registration.key, registration.run);
        self.removed.contains(&process)
    }

    pub(crate) fn note_removed(&mut self, registration: &Registration) {
        if self.removed.len() == REMOVED_MAX {
            self.removed.pop_front();
        }
        self.removed.push_back((registration.key, registration.run));
    }
}

#[cfg(test)]
#[path = "removed_test.rs"]
mod removed_test;
