//! The two acknowledgements that the control plane counts: removals obeyed, and views accepted.
//!
//! `stopped`: every removal up to a version of the catalog is obeyed. `accepted`: and for every view that
//! names this brick as its primary, the log was synced since (rule `a primary accepts its view`: an accepted view's
//! primary must not lose, in a power cut, what made it the choice).

use crate::LogMark;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    pub(crate) stopped: u64,
    pub(crate) accepted: u64,
    /// A view was accepted since the last version was complete, and the table has a log.
    pub(crate) has_fresh: bool,
    /// The newest version that was adopted, some view of which waits to be accepted.
    held: Option<u64>,
    waiting: VecDeque<Waiting>,
}

/// A version that is accepted once the log is synced.
#[derive(Debug)]
struct Waiting {
    version: u64,
    /// What has to be synced; `None`: nothing of its own, it only keeps the order.
    mark: Option<LogMark>,
    /// The owner has asked for it: a sync from now on covers what recovery found as well.
    is_asked: bool,
}

impl Acknowledgements {
    /// The owner has asked for a sync.
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

    /// Entries that the log had refused are in it now, in this batch: they belong to what is accepted. Whether a sync is
    /// wanted for that.
    pub(crate) fn raise(&mut self, newest: LogMark) -> bool {
        for waiting in &mut self.waiting {
            if let Some(mark) = &mut waiting.mark {
                assert!(*mark <= newest, "{mark} is newer than {newest}");
                *mark = newest;
                waiting.is_asked = false;
            }
        }
        !self.waiting.is_empty()
    }

    /// The same, but for views that are accepted later ([`Self::take_held`]).
    pub(crate) fn hold(&mut self, version: u64) {
        self.stopped = self.stopped.max(version);
        self.held = self.held.max(Some(version));
    }

    /// Nothing of the version that was held waits any more: it is to be adopted as a whole.
    pub(crate) fn take_held(&mut self) -> Option<u64> {
        self.held.take()
    }

    /// The whole of a version of the catalog was adopted, while `newest` was the newest batch. Whether a sync is wanted.
    pub(crate) fn on_adopted(&mut self, version: u64, newest: LogMark) -> bool {
        self.stopped = self.stopped.max(version);
        self.held = None;
        let is_fresh = std::mem::take(&mut self.has_fresh);
        if !is_fresh && self.waiting.is_empty() {
            self.accepted = self.accepted.max(version);
            return false;
        }
        self.waiting.push_back(Waiting {
            version,
            // Rule `a primary accepts its view`: the log is synced before the view is said to be accepted.
            mark: is_fresh.then_some(newest),
            is_asked: false,
        });
        assert!(
            self.accepted <= self.stopped,
            "accepted {} of {}",
            self.accepted,
            self.stopped
        );
        is_fresh
    }
}
