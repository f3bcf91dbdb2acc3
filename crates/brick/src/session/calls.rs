//! What commands of this brick's clients wait for from outside: answers of the control thread, checkpoints of the log.
//!
//! Invariant: each number is given out once, and its answer is taken once; an answer that comes again finds nothing.

use super::audit::AuditRecord;
use super::next::Then;
use crate::request::{Origin, Token};
use std::collections::BTreeMap;

/// What an answer of the control thread is for.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) token: Token,
    pub(crate) then: Then,
    /// What is to be told of it, once it is known what came of it.
    pub(crate) audited: Option<AuditRecord>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Calls {
    pending: BTreeMap<u64, Pending>,
    /// Checkpoints of this brick's log that are under way, and who waits for them.
    checkpoints: BTreeMap<u64, Origin>,
    /// From 1: 0 is the number of what nobody waits for.
    next: u64,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            next: 1,
        }
    }
}

impl Calls {
    fn number(&mut self) -> u64 {
        let number = self.next;
        assert!(number > 0, "0 is the number of what nobody waits for");
        self.next += 1;
        number
    }

    /// The number under which the control thread is asked.
    pub(crate) fn begin(&mut self, token: Token, then: Then, audited: Option<AuditRecord>) -> u64 {
        let number = self.number();
        let pending = Pending {
            token,
            then,
            audited,
        };
        let before = self.pending.insert(number, pending);
        assert!(before.is_none(), "number {number} is given out twice");
        number
    }

    /// The control thread has answered.
    pub(crate) fn end(&mut self, number: u64) -> Option<Pending> {
        self.pending.remove(&number)
    }

    /// The number of a checkpoint that `origin` waits for.
    pub(crate) fn begin_checkpoint(&mut self, origin: Origin) -> u64 {
        let number = self.number();
        let before = self.checkpoints.insert(number, origin);
        assert!(before.is_none(), "number {number} is given out twice");
        number
    }

    /// The log is synced, and its active segment sealed: who waits for that.
    pub(crate) fn end_checkpoint(&mut self, number: u64) -> Option<Origin> {
        self.checkpoints.remove(&number)
    }
}
