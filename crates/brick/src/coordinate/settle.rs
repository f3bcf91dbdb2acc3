//! The end of a transaction over two tables: its client is answered when the other table's key has its value.
//!
//! In:  a transaction that has committed; that its other key has, or has not, taken what it was given. Out: the reply; or that nobody knows.
//!
//! WHY LAST. A table may be dropped at any moment, and with the anchor's table what became of the transaction. Say that `MOVE k 1` was answered
//! as soon as it had committed, and table 0 was dropped before table 1 had resolved the key's intent: it could not be known any more whether the intent
//! is of a transaction that has committed, whose value somebody was told is there, or of one that has not, whose value nobody may see. Answered last, it is
//! neither: nobody has been told anything, and nobody has read either key, since who meets an intent waits. So it is taken back, and the
//! transaction has not happened in the table that is left.
//!
//! Invariants (rule `two tables are answered for last`):
//! - A client that was told of the outcome was told when both keys had it, in operations that had committed.
//! - Until then whoever asks is told that the transaction goes on, so that nobody but its coordinator ends it: even if the anchor's table
//!   is emptied meanwhile, and the record with it.

use super::Coordinator;
use super::asking::{names_of, resolve};
use super::commit::place_of;
use crate::distributed::{Phase, Running, Setback};
use crate::output::CommitDependency;
use crate::refusal::{dropped_table, error_line};
use brickyard_command::ErrorReply;
use brickyard_types::TableId;
use std::time::Duration;

/// How long it waits before it asks once more that an intent goes: its partition has changed hands, or a message was lost.
const PAUSE: Duration = Duration::from_millis(20);

/// The table that was to get the value is not there any more. Nothing was done.
pub(super) const OTHER_DROPPED: ErrorReply =
    ErrorReply::constant("ERR the other table was dropped meanwhile; nothing was done");

/// Nobody knows whether the other key has its value.
const UNSETTLED: ErrorReply = ErrorReply::constant(
    "UNKNOWNRESULT the key's other table could not be written in time, or one of the two was dropped meanwhile; both have the \
     outcome of the command, or neither: read the keys to know",
);

impl Coordinator<'_> {
    /// The other table is not known here: another brick has heard of it before this one, or it was dropped.
    pub(super) fn await_table(&mut self, number: u64, running: Running, table: TableId) {
        if self.core.tables.is_dropped(table) {
            return self.refuse_transaction(&running, &error_line(&OTHER_DROPPED));
        }
        let line = error_line(&dropped_table());
        self.set_back(number, running, Setback::Passing(line));
    }

    /// Whether the table of its other key was dropped. A part of it is refused in words for who works on that table.
    pub(super) fn lacks_other_table(&self, running: &Running) -> bool {
        let across = running.transaction().across;
        across.is_some_and(|it| self.core.tables.is_dropped(it.table))
    }

    /// It has committed: the other key gets what it was given. With its table that is gone, too.
    pub(super) fn resolve(&mut self, number: u64, mut running: Running) {
        assert!(running.is_across(), "{:?} is of one table", running.id);
        running.phase = Phase::Resolving;
        let mut keys = names_of(&running.asked);
        keys.retain(|(table, _)| !self.core.tables.is_dropped(*table));
        if keys.is_empty() {
            running.setback = None;
            return self.close(number, running);
        }
        self.ask_parts(number, running, keys, |portion| {
            resolve(&portion.keys, true)
        });
    }

    /// The other key may have its intent yet. It is asked for again while the client waits.
    pub(super) fn resolve_later(&mut self, number: u64, mut running: Running) {
        assert!(
            running.is_across() && running.setback.is_some(),
            "nothing keeps {:?} from being resolved",
            running.id
        );
        let until = self.core.now + PAUSE;
        let is_over = self.core.tables.is_dropped(running.request.table);
        if is_over || until >= running.request.deadline {
            let line = error_line(&UNSETTLED);
            self.reply(&running, line, CommitDependency::NONE);
            return self.leave_to_recovery(&running);
        }
        running.phase = Phase::Unresolved(until);
        self.keep(number, running);
    }

    /// Whether this brick has been the primary of the anchor's partition all the time, so that it alone has said what becomes of the
    /// transaction.
    pub(super) fn is_still_in_place(&self, running: &Running) -> bool {
        let table = self.core.tables.index_of(running.request.table);
        let now = table.and_then(|table| place_of(self.core, table, running.anchor()));
        now.is_some_and(|(place, _)| Some(place) == running.place)
    }
}
