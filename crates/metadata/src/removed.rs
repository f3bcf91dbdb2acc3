//! Processes whose nodes were removed.
//!
//! In:  removals. Out: whether a registration is of such a process: what it asked for before it heard that it had been taken
//! in may arrive after it was removed, over a slow way, and would take it in once more, as a node that does not exist.
//!
//! Invariant: the newest [`REMOVED_MAX`] are known to every leader; a request does not stay on its way for longer than that.
//!
//! Not here: the removal itself (`orders`).

use crate::node::Registration;
use brickyard_types::NodeKey;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many are remembered.
const REMOVED_MAX: usize = 1_024;

/// The keys of nodes, and which of their processes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Removed {
    processes: VecDeque<(NodeKey, u64)>,
}

impl Removed {
    /// Whether it is of a process whose node was removed. The next process of that directory knows of no node that it was,
    /// and may be taken in.
    pub(crate) fn has(&self, registration: &Registration) -> bool {
        let process = (registration.key, registration.run);
        self.processes.contains(&process)
    }

    pub(crate) fn note(&mut self, registration: &Registration) {
        assert!(
            self.processes.len() <= REMOVED_MAX,
            "{} are remembered",
            self.processes.len()
        );
        if self.processes.len() == REMOVED_MAX {
            self.processes.pop_front();
        }
        self.processes
            .push_back((registration.key, registration.run));
    }

    /// What contradicts the invariant; for a catalog that was read.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.processes.len() {
            ..=REMOVED_MAX => Ok(()),
            count => Err(format!("it remembers {count} nodes that were removed")),
        }
    }
}

#[cfg(test)]
#[path = "removed_test.rs"]
mod removed_test;
