//! Requests that are with another brick, which does not answer: it is gone, or was taken out, or is late.
//!
//! In:  streams that broke, a new catalog, the time. Out: the same requests, placed anew where that is safe; what can
//!      truly be said to those who wait for the others.

use super::{Exchange, Remote};
use crate::core::Core;
use crate::refusal::{CHANGING_HANDS, error_line};
use crate::request::Work;
use crate::session::subrequest::subrequest_name;
use brickyard_command::ErrorReply;
use brickyard_routing::{Group, Replica};
use std::collections::{BTreeMap, BTreeSet};

impl Exchange<'_> {
    /// The stream to a brick is gone, and what it had been asked with it.
    pub(crate) fn on_lost(&mut self, peer: Replica) {
        self.remotes.failure_detector.lose(peer);
        let pending = self.remotes.pending.iter();
        let lost = pending.filter(|(_, remote)| remote.sent == Some(peer));
        let lost = lost.map(|(number, _)| *number).collect();
        self.ask_elsewhere(peer, lost);
    }

    /// By a new catalog the partition goes on without the brick that was asked. That one may never answer, though the
    /// stream to it stands: its process is paused, or the network swallows what is sent. What may be asked
    /// twice is asked of the new primary.
    pub(crate) fn leave_removed(&mut self) {
        let catalog = self.core.tables.catalog();
        let is_current = |replica| catalog.is_current(replica);
        self.remotes.failure_detector.forget(is_current);
        let mut left: BTreeMap<Replica, Vec<u64>> = BTreeMap::new();
        for (number, remote) in &self.remotes.pending {
            let request = self.core.requests.get(remote.id);
            let is_named = request.is_some_and(|it| it.work.named().is_some());
            if let Some(peer) = remote.sent
                && (remote.only_reads || is_named)
                && remote.has_left(self.core)
            {
                left.entry(peer).or_default().push(*number);
            }
        }
        for (peer, numbers) in left {
            self.ask_elsewhere(peer, numbers);
        }
    }

    /// `peer` does not answer these.
    fn ask_elsewhere(&mut self, peer: Replica, lost: Vec<u64>) {
        let mut returned = BTreeSet::new();
        for number in lost {
            let Some((remote, mut request)) = self.take_remote(number) else {
                continue;
            };
            self.core.replicas.wake();
            let is_overtaken = self.remotes.is_overtaken(number, remote.order, peer);
            if let Work::Attempt(attempt, ..) = &mut request.work
                && !is_overtaken
            {
                attempt.lose();
                returned.insert(remote.order);
                self.dispatch_returned(request);
            } else if !remote.only_reads {
                let reason = format!("the connection to brick {} broke", remote.to);
                self.answers.push((request.origin.token, unknown(&reason)));
            } else if self.remotes.has_later_write(number, remote.order) {
                // Read again, it would see what its connection wrote only afterwards.
                self.answers
                    .push((request.origin.token, error_line(&CHANGING_HANDS)));
            } else {
                returned.insert(remote.order);
                self.dispatch_returned(request);
            }
        }
        // Behind all of them.
        for order in returned {
            self.dispatch_unsent(order);
        }
    }
}

/// What the client of a write is told of which nobody knows whether it was executed.
pub(crate) fn unknown(reason: &str) -> Vec<u8> {
    error_line(&ErrorReply::new(format!(
        "UNKNOWNRESULT {reason}; the write may or may not have been executed: read the key to know"
    )))
}

impl Remote {
    /// Whether what a request is about has another primary than the brick that it is for.
    pub(super) fn has_moved(&self, core: &Core) -> bool {
        match self.group(core) {
            Some(group) => group.primary.member != self.to,
            None => self.shares_otherwise(core),
        }
    }

    /// Whether what a request is about is in sync with others, and not with the brick that was asked.
    pub(super) fn has_left(&self, core: &Core) -> bool {
        let is_its = |replica: Replica| match self.sent {
            Some(peer) => replica == peer,
            None => replica.member == self.to,
        };
        match self.group(core) {
            Some(group) => !group.in_sync().any(is_its),
            None => self.shares_otherwise(core),
        }
    }

    /// Whether the brick would be asked for another share of the table now.
    fn shares_otherwise(&self, core: &Core) -> bool {
        let Some(request) = core.requests.get(self.id).filter(|_| self.only_reads) else {
            return false;
        };
        let Work::Subrequest(spec, args, subrequest) = &request.work else {
            return false;
        };
        let table = core.tables.index_of(request.table);
        table.is_some_and(|table| {
            let now = subrequest_name(core, spec, args.as_args(), table, self.to);
            *subrequest != 0 && *subrequest != now
        })
    }

    /// The replica group that a request is about.
    pub(super) fn group<'a>(&self, core: &'a Core) -> Option<&'a Group> {
        let request = core.requests.get(self.id)?;
        let key = request.work.first_key()?;
        let table = core.tables.index_of(request.table)?;
        let leaf = core.locate(table, key)?.leaf;
        core.table(table)?.map.groups().get(leaf as usize)
    }
}
