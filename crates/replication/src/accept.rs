//! The two acknowledgements that the control plane counts: removals obeyed, and views accepted.
//!
//! `stopped`: every removal up to a version of the catalog is obeyed. `accepted`: and for every view that
//! names this brick as its primary, the log was synced since (PROTOCOL rule 8: an accepted view's primary
//! must not lose, in a power cut, what made it the choice).

use crate::{LogMark, Replicator, Request};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    pub(crate) stopped: u64,
    pub(crate) accepted: u64,
    /// A view was accepted since the last version was complete, and the table has a log.
    pub(crate) has_fresh: bool,
    waiting: VecDeque<Waiting>,
}

/// A version that is accepted once the log is synced.
#[derive(Debug)]
struct Waiting {
    version: u64,
    /// What has to be synced; `None`: nothing of its own, it only keeps the order.
    mark: Option<LogMark>,
    /// The host has the request: a sync from now on covers what recovery found as well.
    is_asked: bool,
}

impl Acknowledgements {
    /// The host polled `SyncLog`.
    pub(crate) fn on_asked(&mut self) {
        for waiting in &mut self.waiting {
            waiting.is_asked = true;
        }
    }

    pub(crate) fn on_synced(&mut self, upto: LogMark) {
        while let Some(front) = self.waiting.front() {
            let is_synced = front.mark.is_none_or(|mark| front.is_asked && mark <= upto);
            if !is_synced {
                break;
            }
            self.accepted = front.version;
            self.waiting.pop_front();
        }
    }

    /// Entries that the log had refused are in it now, in this batch: they belong to what is accepted.
    pub(crate) fn raise(&mut self, newest: LogMark) -> bool {
        for waiting in &mut self.waiting {
            if let Some(mark) = &mut waiting.mark {
                *mark = newest;
                waiting.is_asked = false;
            }
        }
        !self.waiting.is_empty()
    }
}

impl<P> Replicator<P> {
    /// All `adopt` and `forget` calls of this version of the catalog are done.
    pub fn adopted(&mut self, version: u64) {
        let newest = self.own.newest;
        let acknowledgements = &mut self.acknowledgements;
        acknowledgements.stopped = acknowledgements.stopped.max(version);
        let is_fresh = std::mem::take(&mut acknowledgements.has_fresh);
        if !is_fresh && acknowledgements.waiting.is_empty() {
            acknowledgements.accepted = acknowledgements.accepted.max(version);
            return;
        }
        acknowledgements.waiting.push_back(Waiting {
            version,
            // PROTOCOL rule 8: the log is synced before the view is said to be accepted.
            mark: is_fresh.then_some(newest),
            is_asked: false,
        });
        if is_fresh {
            self.requests.push_back(Request::SyncLog);
        }
    }

    /// Every removal up to this version of the catalog is obeyed. To be told the control plane only after
    /// the replies of the batch before it have left.
    #[must_use]
    pub const fn stopped(&self) -> u64 {
        self.acknowledgements.stopped
    }

    /// As [`Self::stopped`], and for each view that names this brick as its primary the log was synced since.
    #[must_use]
    pub const fn accepted(&self) -> u64 {
        self.acknowledgements.accepted
    }
}
