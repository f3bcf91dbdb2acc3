//! One call, from when it is made until its outcome is told.
//!
//! In:  a request, and what the library has to know of it. Out: exactly one outcome to the caller.
//!
//! Invariants:
//! - Every call ends: with a reply, with an error, or, when it is dropped (a runtime that stops), with what
//!   is known of it then.
//! - Its cost is given back exactly once.

use crate::{
    Error,
    command::Place,
    connection::Request,
    peer::Peer,
    prepared::Prepared,
    retry::{AttemptFailure, Nature, honest, pause},
    setting::{Setting, Use},
};
use brickyard_wire::Value;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Who makes calls, and decides what follows when an attempt has failed.
pub(crate) trait Caller: fmt::Debug + Send + Sync {
    /// What its connections have in common.
    fn setting(&self) -> &Setting;

    /// An attempt of `call`, made at `peer`, has failed.
    fn settle(self: Arc<Self>, call: Box<Call>, peer: Option<Arc<Peer>>, failure: AttemptFailure);

    /// A call is over that took so much of the budget.
    fn give_back(&self, cost: u32);
}

/// How a call may be routed and sent again.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// To wherever its slot is, as often as it takes.
    Free {
        /// The next attempt goes here, as a `MOVED` said.
        redirect: Option<String>,
    },
    /// To one endpoint, once: a question to that one.
    Fixed,
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) prepared: Prepared,
    pub(crate) route: Route,
    /// Attempts that have been made, the current one included.
    pub(crate) attempt: u32,
    /// How often it has paused. What is sent on at once takes no time, so the first pause is short after it as well.
    pub(crate) pauses: u32,
    /// Whether an attempt has left and not been answered; only a read, or what has an id, goes on after that.
    pub(crate) has_left: bool,
    /// Others had to wait behind it: it gets a connection where they need not.
    pub(crate) holds_up: bool,
    /// How often nothing was heard of it for as long as it was to be waited.
    pub(crate) silences: u32,
    /// Who had it last and did not answer: others are asked before.
    pub(crate) avoid: Option<u64>,
    /// The number of its id, once it was prepared for a server that knows ids.
    sequence: Option<u64>,
    times: Times,
    caller: Arc<dyn Caller>,
    reply: Option<oneshot::Sender<Result<Value, Error>>>,
    /// What it took of the budget.
    cost: Option<u32>,
    /// Who was asked last, counted as load there until the attempt is over.
    peer: Option<Arc<Peer>>,
}

/// When a call began, and how long it waits for what.
#[derive(Clone, Copy, Debug)]
struct Times {
    started: Instant,
    deadline: Instant,
    /// When the attempt at hand is over, answered or not.
    attempt_deadline: Instant,
    /// When it goes elsewhere if it has not left.
    unsent_until: Instant,
}

/// Calls that wait. They are passed from list to list several times, each time as one pointer.
pub(crate) type Calls = Vec<Box<Call>>;

impl Call {
    pub(crate) fn new(
        prepared: Prepared,
        route: Route,
        caller: Arc<dyn Caller>,
        cost: Option<u32>,
        (started, deadline): (Instant, Instant),
    ) -> (Box<Self>, oneshot::Receiver<Result<Value, Error>>) {
        let (reply, receiver) = oneshot::channel();
        let call = Self {
            prepared,
            route,
            attempt: 1,
            pauses: 0,
            has_left: false,
            holds_up: false,
            silences: 0,
            avoid: None,
            sequence: None,
            times: Times {
                started,
                deadline,
                attempt_deadline: deadline,
                unsent_until: deadline,
            },
            caller,
            reply: Some(reply),
            cost,
            peer: None,
        };
        (Box::new(call), receiver)
    }

    pub(crate) const fn is_read(&self) -> bool {
        self.prepared.shape.is_read
    }

    /// Whether its next attempt goes where a `MOVED` said.
    pub(crate) const fn is_redirected(&self) -> bool {
        matches!(self.route, Route::Free { redirect: Some(_) })
    }

    /// Whether only a node port can answer it.
    pub(crate) fn needs_node_port(&self) -> bool {
        self.prepared.shape.place == Place::Node
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.times.deadline
    }

    /// How long it may take as a whole.
    pub(crate) fn allowance(&self) -> Duration {
        self.times
            .deadline
            .saturating_duration_since(self.times.started)
    }

    /// What it is, as to sending it again.
    pub(crate) const fn nature(&self) -> Nature {
        if self.is_read() {
            Nature::Read
        } else if self.sequence.is_some() {
            Nature::Named
        } else {
            Nature::Plain
        }
    }

    /// Makes the bytes of the attempt: with an id, if the server knows ids. False if it cannot be asked, since
    /// an attempt with an id may have been executed.
    pub(crate) fn prepare(&mut self, has_ids: bool) -> bool {
        if !self.prepared.is_nameable() {
            return true;
        }
        if !has_ids {
            self.prepared.put_plain();
            let was_named = self.sequence.take().is_some();
            return !(was_named && self.has_left);
        }
        let ids = &self.caller.setting().ids;
        let sequence = *self.sequence.get_or_insert_with(|| ids.next());
        self.prepared.put_id(ids.client, sequence, self.has_left);
        true
    }

    /// The id was refused for being too low, and the command not executed: the next attempt has another.
    pub(crate) fn rename(&mut self, floor: u64) {
        self.caller.setting().ids.raise(floor);
        self.sequence = None;
    }

    /// What is true of the call as a whole when its last attempt ended so.
    pub(crate) fn honest(&self, error: Error) -> Error {
        honest(error, self.has_left && !self.is_read())
    }

    /// It is given to a connection of `peer`.
    ///
    /// A read, or a write with an id, can be asked of somebody else: at once when the connection has fallen silent. Another
    /// write may not be sent twice, so its time is all for this attempt, once it has left.
    pub(crate) fn on_handed_to(&mut self, peer: &Arc<Peer>, purpose: Option<Use>, now: Instant) {
        peer.add_load();
        self.peer = Some(Arc::clone(peer));
        let setting = self.caller.setting();
        let gets_id = peer.has_ids() && self.prepared.is_nameable();
        let half = self.times.deadline.saturating_duration_since(now) / 2;
        let is_fixed = matches!(self.route, Route::Fixed);
        let hedge_after = peer.hedge_after(setting) * (1 << self.silences.min(10));
        let hedge_after = hedge_after.min(setting.silence_limit);
        self.times.attempt_deadline = if purpose == Some(Use::Reads) && !is_fixed {
            now + half.min(hedge_after)
        } else if self.is_read() || gets_id {
            now + half.min(setting.silence_limit)
        } else {
            self.times.deadline
        };
        self.times.unsent_until = if is_fixed {
            self.times.deadline
        } else {
            now + half.min(hedge_after * 2)
        };
    }

    /// When it goes elsewhere, if there is no connection for it by then.
    pub(crate) const fn unsent_until(&self) -> Instant {
        self.times.unsent_until
    }

    /// The attempt at `peer` came to nothing: what that says of the peer, and whom to ask next.
    pub(crate) fn note_failure(&mut self, failure: &AttemptFailure, peer: &Peer, now: Instant) {
        let setting = self.caller.setting();
        let is_hedged = self.is_read() && setting.greeting.reads_from_backups;
        match failure {
            AttemptFailure::Silent if is_hedged => {
                self.silences += 1;
                self.avoid = Some(peer.identity);
                peer.set_slow(Use::Reads, now);
            }
            AttemptFailure::Silent => {
                self.avoid = Some(peer.identity);
                peer.set_slow(Use::Any, now);
                // A write may wait for another replica: reads that need not are answered.
                if !setting.greeting.reads_from_backups {
                    peer.set_down(now, pause(self.attempt + 4, &setting.random));
                }
            }
            // It cannot, or says that it will not.
            AttemptFailure::NotSent(_) | AttemptFailure::Lost(_) | AttemptFailure::Reply(_) => {
                self.avoid = Some(peer.identity);
            }
            _ => {}
        }
    }

    fn take_back(&mut self) -> Option<Arc<Peer>> {
        let peer = self.peer.take()?;
        peer.remove_load();
        Some(peer)
    }

    /// The attempt is answered.
    pub(crate) fn on_reply(mut self: Box<Self>, value: Value) {
        match value {
            Value::Error(line) => self.on_failure(AttemptFailure::Reply(line)),
            value => {
                self.take_back();
                self.finish(Ok(value));
            }
        }
    }

    /// The attempt has failed.
    pub(crate) fn on_failure(mut self: Box<Self>, failure: AttemptFailure) {
        let peer = self.take_back();
        let caller = Arc::clone(&self.caller);
        caller.settle(self, peer, failure);
    }

    /// Tells the outcome.
    pub(crate) fn finish(&mut self, outcome: Result<Value, Error>) {
        self.give_back();
        if let Some(reply) = self.reply.take() {
            // Nobody may be waiting any more.
            let _ = reply.send(outcome);
        }
    }

    fn give_back(&mut self) {
        if let Some(cost) = self.cost.take() {
            self.caller.give_back(cost);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let was_sent = self.take_back().is_some();
        if self.reply.is_some() {
            let outcome = if (was_sent || self.has_left) && !self.is_read() {
                Error::unknown("the runtime stopped before it was answered")
            } else {
                Error::Closed
            };
            self.finish(Err(outcome));
        }
    }
}

impl Request for Box<Call> {
    fn bytes(&self) -> &[u8] {
        self.prepared.bytes()
    }

    fn deadline(&self) -> Instant {
        self.times.deadline
    }

    fn attempt_deadline(&self) -> Instant {
        self.times.attempt_deadline
    }
}
