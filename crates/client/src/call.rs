//! One call, from when it is made until its outcome is told.
//!
//! In:  a request, and what the library has to know of it. Out: exactly one outcome to whoever made it.
//!
//! Invariants:
//! - Every call ends: with a reply, with an error, or, when it is dropped (a runtime that stops), with what
//!   is known of it then.
//! - Its cost is given back exactly once.

use crate::{
    Error,
    command::{Place, Shape},
    connection::Request,
    endpoint::Peer,
    retry::Failure,
    router::Router,
};
use brickyard_wire::{Value, encode_request};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shape: Shape,
    /// By which a read prefers one replica.
    pub(crate) key_hash: u64,
}

/// Room for the counts and lengths of a short request.
const FRAME_BYTES: usize = 16;

impl Prepared {
    pub(crate) fn new<A: AsRef<[u8]>>(shape: Shape, key_hash: u64, words: &[A]) -> Self {
        let len = words.iter().map(|word| word.as_ref().len() + FRAME_BYTES);
        let mut bytes = Vec::with_capacity(len.sum::<usize>() + FRAME_BYTES);
        encode_request(&mut bytes, words);
        Self {
            bytes,
            shape,
            key_hash,
        }
    }
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
    /// Whether an attempt has left and not been answered; only a read goes on after that.
    pub(crate) has_left: bool,
    started: Instant,
    deadline: Instant,
    patience: Instant,
    router: Arc<Router>,
    reply: Option<oneshot::Sender<Result<Value, Error>>>,
    /// What it took of the budget.
    cost: Option<u32>,
    /// Who was asked last, counted as load there until the attempt is over.
    peer: Option<Arc<Peer>>,
}

/// Calls that wait. They are passed from list to list several times, each time as one pointer.
pub(crate) type Calls = Vec<Box<Call>>;

impl Call {
    pub(crate) fn new(
        prepared: Prepared,
        route: Route,
        router: Arc<Router>,
        cost: Option<u32>,
        (started, deadline): (Instant, Instant),
    ) -> (Box<Self>, oneshot::Receiver<Result<Value, Error>>) {
        let (reply, receiver) = oneshot::channel();
        let call = Self {
            prepared,
            route,
            attempt: 1,
            has_left: false,
            started,
            deadline,
            patience: deadline,
            router,
            reply: Some(reply),
            cost,
            peer: None,
        };
        (Box::new(call), receiver)
    }

    pub(crate) const fn is_read(&self) -> bool {
        self.prepared.shape.is_read
    }

    /// Whether only a node port can answer it.
    pub(crate) fn needs_node_port(&self) -> bool {
        self.prepared.shape.place == Place::Node
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// How long it may take as a whole.
    pub(crate) fn allowance(&self) -> Duration {
        self.deadline.saturating_duration_since(self.started)
    }

    /// It is given to a connection of `peer`.
    ///
    /// A read leaves half of its time for asking somebody else. A write may not be sent twice, so its time is
    /// all for this attempt.
    pub(crate) fn on_handed_to(&mut self, peer: &Arc<Peer>, now: Instant) {
        peer.add_load();
        self.peer = Some(Arc::clone(peer));
        self.patience = if self.is_read() {
            now + self.deadline.saturating_duration_since(now) / 2
        } else {
            self.deadline
        };
    }

    fn take_back(&mut self) -> Option<Arc<Peer>> {
        let peer = self.peer.take()?;
        peer.remove_load();
        Some(peer)
    }

    /// The attempt is answered.
    pub(crate) fn on_reply(mut self: Box<Self>, value: Value) {
        match value {
            Value::Error(line) => self.on_failure(Failure::Reply(line)),
            value => {
                self.take_back();
                self.finish(Ok(value));
            }
        }
    }

    /// The attempt has failed.
    pub(crate) fn on_failure(mut self: Box<Self>, failure: Failure) {
        let peer = self.take_back();
        let router = Arc::clone(&self.router);
        router.settle(self, peer, failure);
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
            self.router.client.budget.give_back(cost);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let was_sent = self.take_back().is_some();
        if self.reply.is_some() {
            let outcome = if was_sent && !self.is_read() {
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
        &self.prepared.bytes
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn patience(&self) -> Instant {
        self.patience
    }
}
