//! One connection's protocol, without its socket: requests to bytes, bytes to replies.
//!
//! In:  requests ([`Connection::submit`]), how many bytes were written and read, what time it is.
//! Out: bytes to write ([`Connection::poll_output`]), each reply with the request that it answers
//!      ([`Connection::poll_reply`]), requests whose time has passed ([`Connection::take_expired`]), and
//!      when it breaks what became of each ([`Connection::into_lost`]).
//!
//! Invariants:
//! - Replies come in the order of requests, so they are paired front to back. A request that was given up
//!   keeps its place until its reply has come.
//! - A request is either *waiting* (nothing of it can have been executed) or *leaving*, and then it is not
//!   taken back. Only [`OUTPUT_BYTES`] are leaving at a time, so that most of a queue stays waiting when the
//!   other side takes nothing.
//! - Memory follows the bytes that have arrived, not the lengths that they announce.
//!
//! Not here: sockets and clocks (`channel`), whether a request is sent again (`retry`).

mod greeting;
mod input;

pub(crate) use greeting::{Answer, Greeting, GreetingStep};

use brickyard_wire::{ReplyDecoder, ReplyError, ReplyLimits, ReplyStep, Value};
use input::Input;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Requests become bytes to write until there are so many of those.
const OUTPUT_BYTES: usize = 256 * 1024;

/// An empty output with more room than this gives it back.
const OUTPUT_ROOM_MAX: usize = 1024 * 1024;

/// What a connection carries.
pub(crate) trait Request {
    /// The request as the server reads it.
    fn bytes(&self) -> &[u8];
    /// When nobody waits for it any more.
    fn deadline(&self) -> Instant;
    /// When it may be sent elsewhere, if this connection has been silent since it left.
    fn attempt_deadline(&self) -> Instant;
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Connection<R> {
    waiting: VecDeque<R>,
    leaving: VecDeque<Leaving<R>>,
    output: Vec<u8>,
    output_start: usize,
    /// Bytes ever put into the output, and ever written.
    encoded: u64,
    written: u64,
    input: Input,
    decoder: ReplyDecoder,
    last_heard: Option<Instant>,
    silence_limit: Duration,
    is_mute: bool,
    /// No request has to be looked at before this.
    next_time: Option<Instant>,
}

/// A request that has become bytes.
#[derive(Debug)]
struct Leaving<R> {
    /// Nothing, if it was given up and only its reply is still to come.
    request: Option<R>,
    since: Instant,
    /// Where its last byte is among all that are ever written.
    end: u64,
}

/// Something that came in.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming<R> {
    /// The reply to a request; to nothing, if that was given up.
    Reply(Option<R>, Value),
    /// A message that answers no request.
    Push(Value),
}

/// Why the bytes of the other side cannot be understood.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Garbage {
    #[error("{0}")]
    Reply(#[from] ReplyError),
    /// The server speaks without being asked, as it does before it closes a connection.
    #[error("a reply that answers no request: {0}")]
    Unasked(String),
}

/// A request whose time has passed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expired<R> {
    /// Its deadline passed before anything of it left.
    Waiting(R),
    /// Its deadline passed after it left.
    Late {
        request: R,
        /// Nothing has come for long: the connection is probably dead.
        is_silent: bool,
    },
    /// Its attempt is over and nothing has come for long.
    Silent {
        request: R,
        /// The other side owes nothing that comes before it: it is what keeps it silent, unless that is dead.
        is_first: bool,
    },
    /// One that was given up before has been met by silence ever since; told once.
    Mute,
}

/// What became of the requests of a broken connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost<R> {
    /// Not wholly written: not executed.
    pub(crate) unsent: Vec<R>,
    /// Written and not answered.
    pub(crate) sent: Vec<R>,
}

impl<R: Request> Connection<R> {
    /// A new connection. Silence for less than `silence_limit` means nothing.
    pub(crate) fn new(limits: ReplyLimits, silence_limit: Duration) -> Self {
        Self {
            waiting: VecDeque::new(),
            leaving: VecDeque::new(),
            output: Vec::new(),
            output_start: 0,
            encoded: 0,
            written: 0,
            input: Input::new(),
            decoder: ReplyDecoder::new(limits),
            last_heard: None,
            silence_limit,
            is_mute: false,
            next_time: None,
        }
    }

    /// Silence for less than this means nothing.
    pub(crate) fn set_silence_limit(&mut self, limit: Duration) {
        self.silence_limit = limit;
    }

    /// Queues a request.
    pub(crate) fn submit(&mut self, request: R) {
        self.look_at(request.attempt_deadline().min(request.deadline()));
        self.waiting.push_back(request);
    }

    /// Whether nothing is queued and no reply is owed.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.leaving.is_empty()
    }

    /// The bytes that are to be written now.
    pub(crate) fn poll_output(&mut self, now: Instant) -> &[u8] {
        while self.output.len() - self.output_start < OUTPUT_BYTES {
            let Some(request) = self.waiting.pop_front() else {
                break;
            };
            let bytes = request.bytes();
            self.output.extend_from_slice(bytes);
            self.encoded += bytes.len() as u64;
            self.leaving.push_back(Leaving {
                request: Some(request),
                since: now,
                end: self.encoded,
            });
        }
        self.output.get(self.output_start..).unwrap_or_default()
    }

    /// The first `count` bytes of the output were written.
    pub(crate) fn on_written(&mut self, count: usize) {
        self.written += count as u64;
        self.output_start += count;
        if self.output_start >= self.output.len() {
            self.output_start = 0;
            self.output.clear();
            if self.output.capacity() > OUTPUT_ROOM_MAX {
                self.output = Vec::new();
            }
        } else if self.output_start >= OUTPUT_BYTES {
            self.output.drain(..self.output_start);
            self.output_start = 0;
        }
    }

    /// Room for bytes that arrive; never empty.
    pub(crate) fn input_space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// The first `count` bytes of the room were filled.
    pub(crate) fn on_received(&mut self, count: usize, now: Instant) {
        self.input.fill(count);
        self.last_heard = Some(now);
    }

    /// The next thing that has arrived as a whole.
    ///
    /// # Errors
    /// [`Garbage`]: break the connection.
    pub(crate) fn poll_reply(&mut self) -> Result<Option<Incoming<R>>, Garbage> {
        let Some(input) = self.input.unread() else {
            return Ok(None);
        };
        let (consumed, value) = match self.decoder.decode(input)? {
            ReplyStep::Incomplete { need } => {
                self.input.wait_for(need);
                return Ok(None);
            }
            ReplyStep::Reply { consumed, value } => (consumed, value),
        };
        self.input.consume(consumed);
        if matches!(value, Value::Push(_)) {
            return Ok(Some(Incoming::Push(value)));
        }
        match self.leaving.pop_front() {
            Some(leaving) => Ok(Some(Incoming::Reply(leaving.request, value))),
            None => {
                let text = value.error().or_else(|| value.bytes()).unwrap_or_default();
                let text = text.get(..text.len().min(200)).unwrap_or_default();
                Err(Garbage::Unasked(String::from_utf8_lossy(text).into_owned()))
            }
        }
    }

    /// When [`Self::take_expired`] has something to look at; nothing while nothing is asked.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        self.next_time.filter(|_| !self.is_idle())
    }

    /// Takes out the requests whose time has passed.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<Expired<R>> {
        let mut expired = Vec::new();
        if self.next_time.is_none_or(|time| now < time) {
            return expired;
        }
        self.next_time = None;
        for leaving in std::mem::take(&mut self.leaving) {
            let is_first = self.leaving.is_empty();
            let leaving = self.check_leaving(leaving, is_first, now, &mut expired);
            self.leaving.push_back(leaving);
        }
        for request in std::mem::take(&mut self.waiting) {
            if now >= request.deadline() {
                expired.push(Expired::Waiting(request));
            } else {
                self.look_at(waiting_time(&request, now));
                self.waiting.push_back(request);
            }
        }
        expired
    }

    fn check_leaving(
        &mut self,
        mut leaving: Leaving<R>,
        is_first: bool,
        now: Instant,
        expired: &mut Vec<Expired<R>>,
    ) -> Leaving<R> {
        let last_heard = self.last_heard.unwrap_or(leaving.since);
        let silent_at = last_heard.max(leaving.since) + self.silence_limit;
        let is_silent = now >= silent_at;
        let Some(request) = leaving.request.take() else {
            if is_silent && !self.is_mute {
                self.is_mute = true;
                expired.push(Expired::Mute);
            } else if !self.is_mute {
                self.look_at(silent_at);
            }
            return leaving;
        };
        let attempt_deadline = request.attempt_deadline().max(silent_at);
        let deadline = request.deadline();
        if now >= deadline {
            if !is_silent {
                self.look_at(silent_at);
            }
            expired.push(Expired::Late { request, is_silent });
        } else if now >= attempt_deadline && is_silent {
            expired.push(Expired::Silent { request, is_first });
        } else {
            self.look_at(attempt_deadline.min(deadline));
            leaving.request = Some(request);
        }
        leaving
    }

    fn look_at(&mut self, time: Instant) {
        self.next_time = Some(self.next_time.map_or(time, |next| next.min(time)));
    }

    /// Takes out what has not left: it can go elsewhere.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<R> {
        std::mem::take(&mut self.waiting)
    }

    /// The connection is broken: what became of each request. One that was written in part counts as unsent,
    /// since no server executes half a request.
    pub(crate) fn into_lost(self) -> Lost<R> {
        let (mut sent, mut unsent) = (Vec::new(), Vec::new());
        for leaving in self.leaving {
            let list = if leaving.end <= self.written {
                &mut sent
            } else {
                &mut unsent
            };
            list.extend(leaving.request);
        }
        unsent.extend(self.waiting);
        Lost { unsent, sent }
    }
}

/// When a request that waits at `now` is to be looked at: it may leave at any time, and then its attempt_deadline
/// counts.
fn waiting_time<R: Request>(request: &R, now: Instant) -> Instant {
    let (attempt_deadline, deadline) = (request.attempt_deadline(), request.deadline());
    if attempt_deadline > now {
        attempt_deadline.min(deadline)
    } else {
        deadline
    }
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod connection_test;
