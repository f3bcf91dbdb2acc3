//! Requests that are with another brick, which does not answer: it is gone, or was taken out, or is late.
//!
//! In:  streams that broke, a new catalog, the time. Out: the same requests, placed anew where that is safe; what can
//!      truly be said to those who wait for the others.

use super::{Remote, only_reads};
use crate::brick::Brick;
use crate::core::Core;
use crate::forward::{Token, Work};
use crate::keyed::error_line;
use crate::output::Gate;
use brickyard_command::ErrorReply;
use brickyard_routing::{Group, Seat};
use std::collections::{BTreeMap, BTreeSet};

impl Brick {
    /// The stream to a brick is gone, and what it had been asked with it.
    pub(crate) fn on_remote_lost(&mut self, peer: Seat) {
        self.remotes.hearing.lose(peer);
        let pending = self.remotes.pending.iter();
        let lost = pending.filter(|(_, remote)| remote.sent == Some(peer));
        let lost = lost.map(|(id, _)| *id).collect();
        self.ask_elsewhere(peer, lost);
    }

    /// By a new catalog the partition goes on without the brick that was asked. That one may never answer, though the
    /// stream to it stands: its process is paused, or the network swallows what is sent. What may be asked
    /// twice is asked of the new primary.
    pub(crate) fn leave_removed(&mut self) {
        let catalog = &self.core.catalog;
        let is_current = |seat| catalog.is_current(seat);
        self.remotes.hearing.forget(is_current);
        let mut left: BTreeMap<Seat, Vec<u64>> = BTreeMap::new();
        for (id, remote) in &self.remotes.pending {
            let work = &remote.request.work;
            let may_repeat = only_reads(work) || matches!(work, Work::Request(..));
            if let Some(peer) = remote.sent
                && may_repeat
                && self.core.has_left(remote)
            {
                left.entry(peer).or_default().push(*id);
            }
        }
        for (peer, ids) in left {
            self.ask_elsewhere(peer, ids);
        }
    }

    /// `peer` does not answer these.
    fn ask_elsewhere(&mut self, peer: Seat, lost: Vec<u64>) {
        let mut stalled = BTreeSet::new();
        for id in lost {
            let Some(mut remote) = self.remotes.take(id) else {
                continue;
            };
            self.core.replicas.wake();
            let is_overtaken = self.remotes.is_overtaken(id, remote.lane, peer);
            if let Work::Request(request, ..) = &mut remote.request.work
                && !is_overtaken
            {
                request.lose();
                stalled.insert(remote.lane);
                self.stall_one(remote);
            } else if !only_reads(&remote.request.work) {
                let reason = format!("the connection to brick {} broke", remote.to);
                self.tell_unknown(remote.request.token, &reason);
            } else if self.remotes.has_later_write(id, remote.lane) {
                // Read again, it would see what its connection wrote only afterwards.
                self.refuse_unplaced(remote.request.token);
            } else {
                stalled.insert(remote.lane);
                self.stall_one(remote);
            }
        }
        // Behind all of them.
        for lane in stalled {
            self.stall_unsent(lane);
        }
    }

    /// Requests whose time is up.
    pub(crate) fn end_remote(&mut self) {
        let now = self.core.now;
        let is_cut_off = self.is_cut_off();
        let is_over =
            |remote: &Remote| remote.request.until <= now || (is_cut_off && remote.sent.is_none());
        let over: Vec<u64> = self
            .remotes
            .pending
            .iter()
            .filter(|(_, remote)| is_over(remote))
            .map(|(id, _)| *id)
            .collect();
        for id in over {
            let Some(remote) = self.remotes.take(id) else {
                continue;
            };
            self.core.replicas.wake();
            let token = remote.request.token;
            let reason = format!("brick {} did not answer in time", remote.to);
            let was_sent = remote.sent.is_some() || remote.request.work.was_lost();
            if was_sent && !only_reads(&remote.request.work) {
                self.tell_unknown(token, &reason);
            } else {
                let error = ErrorReply::new(format!(
                    "CLUSTERDOWN {reason}; the command was not executed, try again"
                ));
                self.on_part(token, error_line(&error), Gate::OPEN);
            }
        }
    }

    pub(super) fn tell_unknown(&mut self, token: Token, reason: &str) {
        let error = ErrorReply::new(format!(
            "UNKNOWNRESULT {reason}; the write may or may not have been executed: read the key to know"
        ));
        self.on_part(token, error_line(&error), Gate::OPEN);
    }
}

impl Core {
    /// Whether what a request is about has another primary than the brick that it is for.
    pub(super) fn has_moved(&self, remote: &Remote) -> bool {
        match self.group_of(remote) {
            Some(group) => group.primary.member != remote.to,
            None => self.shares_otherwise(remote),
        }
    }

    /// Whether what a request is about is in sync with others, and not with the brick that was asked.
    pub(super) fn has_left(&self, remote: &Remote) -> bool {
        let is_its = |seat: Seat| match remote.sent {
            Some(peer) => seat == peer,
            None => seat.member == remote.to,
        };
        match self.group_of(remote) {
            Some(group) => !group.in_sync().any(is_its),
            None => self.shares_otherwise(remote),
        }
    }

    /// Whether the brick would be asked for another share of the table now.
    fn shares_otherwise(&self, remote: &Remote) -> bool {
        let Work::Share(spec, args, share) = &remote.request.work else {
            return false;
        };
        let table = self.table_by_id.get(&remote.request.table);
        table.is_some_and(|table| {
            let now = self.share(spec, args.as_args(), *table, remote.to);
            *share != 0 && *share != now && only_reads(&remote.request.work)
        })
    }

    /// The replica group that a request is about.
    pub(super) fn group_of(&self, remote: &Remote) -> Option<&Group> {
        let key = remote.request.work.first_key()?;
        let table = *self.table_by_id.get(&remote.request.table)?;
        let leaf = self.locate(table, key)?.leaf;
        self.table(table)?.map.groups().get(leaf as usize)
    }
}
