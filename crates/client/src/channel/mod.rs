//! A connection that is opened when it is needed, and what waits for it.
//!
//! In:  calls ([`Channel::push`]). Out: each call's reply or failure ([`Call::on_reply`], [`Call::on_failure`]).
//!
//! A task of its own drives the connection (`drive`), from the first call until it breaks; the next call
//! starts another. Calls come through an inbox, which the task empties once a turn: whatever was called
//! meanwhile is written together.
//!
//! Invariants:
//! - A task serves the inbox if and only if the state says so; if it is dropped (a runtime that stops), every
//!   call in the inbox is dropped too, and so ends.
//! - A connection that has been silent for too long gets no more calls: the next one opens another. What it owes
//!   it may still answer; one for reads is used again if it does before it was replaced.
//! - After a failed attempt to connect, no further one is made before a pause that grows and differs by chance,
//!   and then one call alone finds out.

mod drive;
mod socket;

use crate::{
    call::{Call, Calls},
    peer::Peer,
    retry::AttemptFailure,
    setting::{Setting, Use},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// The handle of a connection; dropped, it closes once nothing is owed.
#[derive(Debug)]
pub(crate) struct Channel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    peer: Arc<Peer>,
    setting: Arc<Setting>,
    purpose: Use,
    /// A lock of the standard library: it is held for a push or a swap, never across an await.
    inbox: Mutex<Inbox>,
    wake: Notify,
}

#[derive(Debug)]
struct Inbox {
    calls: Calls,
    is_running: bool,
    /// The connection owes an answer and is silent: the next call opens another.
    is_stuck: bool,
    /// Which of the tasks is the one that serves the inbox.
    generation: u64,
    is_closed: bool,
    /// Attempts to connect that failed since one succeeded.
    failures: u32,
    /// Why the last one failed.
    last_failure: AttemptFailure,
}

impl Channel {
    pub(crate) fn new(peer: Arc<Peer>, setting: Arc<Setting>, purpose: Use) -> Self {
        let inbox = Inbox {
            calls: Vec::new(),
            is_running: false,
            is_stuck: false,
            generation: 0,
            is_closed: false,
            failures: 0,
            last_failure: AttemptFailure::NotSent(format!("{} does not answer", peer.address)),
        };
        Self {
            shared: Arc::new(Shared {
                peer,
                setting,
                purpose,
                inbox: Mutex::new(inbox),
                wake: Notify::new(),
            }),
        }
    }

    /// Takes a call.
    ///
    /// # Errors
    /// The call, if the last attempt to connect failed and it is too early for another.
    pub(crate) fn push(
        &self,
        call: Box<Call>,
        now: Instant,
    ) -> Result<(), (Box<Call>, AttemptFailure)> {
        let shared = &self.shared;
        let mut inbox = shared.inbox();
        if !shared.peer.is_up(now) {
            return Err((call, inbox.last_failure.clone()));
        }
        let was_empty = inbox.calls.is_empty();
        inbox.calls.push(call);
        if inbox.is_running && !inbox.is_stuck {
            drop(inbox);
            if was_empty {
                shared.wake.notify_one();
            }
            return Ok(());
        }
        inbox.is_running = true;
        inbox.is_stuck = false;
        inbox.generation += 1;
        let generation = inbox.generation;
        if inbox.failures > 0 {
            // This call finds out; the others need not wait for it.
            shared.peer.set_down(now, shared.setting.connect_timeout);
        }
        drop(inbox);
        let running = drive::Running::new(Arc::clone(shared), generation);
        shared.setting.runtime.spawn(drive::run(running));
        Ok(())
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.shared.inbox().is_closed = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // Nothing panics while it is held, and its parts are independent of each other.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Swaps what waits with an empty list.
    fn take_inbox(&self, into: &mut Calls) {
        debug_assert!(into.is_empty(), "the last inbox was used up");
        std::mem::swap(&mut self.inbox().calls, into);
    }

    /// How long silence means nothing.
    fn silence_limit(&self) -> Duration {
        match self.purpose {
            Use::Reads => self.peer.hedge_after(&self.setting),
            Use::Any | Use::SlowReads => self.setting.silence_limit,
        }
    }

    /// Takes out the calls whose attempt or deadline is over, while there is no connection for them.
    fn expire_inbox(&self, now: Instant) {
        let gone: Calls = {
            let mut inbox = self.inbox();
            inbox
                .calls
                .extract_if(.., |call| now >= call.unsent_until())
                .collect()
        };
        if gone.iter().any(|call| now < call.deadline()) {
            self.peer.set_slow(self.purpose, now);
        }
        for call in gone {
            let failure = if now >= call.deadline() {
                AttemptFailure::LateUnsent
            } else {
                AttemptFailure::NotSent(format!("{} is slow to connect to", self.peer.address))
            };
            call.on_failure(failure);
        }
    }

    /// When the first of the calls that wait for a connection is to go elsewhere.
    fn next_to_go(&self) -> Option<Instant> {
        self.inbox()
            .calls
            .iter()
            .map(|call| call.unsent_until())
            .min()
    }
}
