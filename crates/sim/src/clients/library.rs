//! Clients that do as the client library does: writes have ids, and what has failed is sent again, maybe elsewhere,
//! as `brickyard_client` decides.
//!
//! In:  one call at a time. Out: attempts, and in the end what is true of the call.
//!
//! Not here: the library's map of slots, its sockets and tasks: a call goes anywhere, and where it is told to.

use super::answer::outcome;
use super::{Expected, PATIENCE};
use crate::clock::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use crate::power::node_at;
use crate::reply::Reply;
use crate::world::World;
use brickyard_brick::Port;
use brickyard_client::Error;
use brickyard_client::retry::{Again, AttemptFailure, Nature, Verdict, honest, judge};
use brickyard_history::{Bytes, Outcome};
use brickyard_node::HostPort;
use brickyard_wire::ids_up_to;
use std::time::Duration;

/// A connection that owes an answer and says nothing for so long is left.
const SILENCE: Nanos = 2 * SECOND;

/// What a client knows that uses the library.
#[derive(Debug)]
pub(super) struct Library {
    client: u64,
    /// What the servers' clock says in microseconds, at some time.
    clock: Option<(u64, Nanos)>,
    last: u64,
    call: Option<Call>,
    /// Where the next attempt goes, if somebody said so.
    redirect: Option<(usize, usize, Port)>,
}

/// A call until its end.
#[derive(Debug)]
pub(super) struct Call {
    operation: usize,
    words: Vec<Bytes>,
    nature: Nature,
    /// None: not sent yet, or what was sent is known to have been too old.
    sequence: Option<u64>,
    attempt: u32,
    /// An earlier attempt may have been executed.
    has_left: bool,
    is_sent: bool,
    deadline: Nanos,
    not_before: Nanos,
    otherwise: Error,
}

impl Call {
    pub(super) fn new(operation: usize, words: Vec<Bytes>, is_read: bool, now: Nanos) -> Self {
        Self {
            operation,
            words,
            nature: if is_read { Nature::Read } else { Nature::Named },
            sequence: None,
            attempt: 1,
            has_left: false,
            is_sent: false,
            deadline: now + PATIENCE,
            not_before: now,
            otherwise: Error::Unreachable {
                reason: "it was never sent".to_owned(),
            },
        }
    }
}

impl Library {
    pub(super) fn new(client: u64) -> Self {
        Self {
            client,
            clock: None,
            last: 0,
            call: None,
            redirect: None,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.call.is_some()
    }

    pub(super) fn take_redirect(&mut self) -> Option<(usize, usize, Port)> {
        self.redirect.take()
    }

    fn next_id(&mut self, now: Nanos) -> u64 {
        let clock = self
            .clock
            .map_or(0, |(micros, at)| micros + (now - at) / MICROSECOND);
        self.last = clock.max(self.last + 1);
        self.last
    }
}

impl World {
    pub(super) fn call(&mut self, at: usize, call: Call) {
        if let Some(library) = &mut self.clients.all[at].library {
            library.call = Some(call);
        }
        self.go_on_calling(at);
    }

    /// Sends the call if it can be sent now, or gives it up.
    pub(super) fn go_on_calling(&mut self, at: usize) {
        let now = self.now;
        let client = &self.clients.all[at];
        let is_ready = client.connection.is_some() && client.is_in_table && client.asked.is_empty();
        let is_silent = client
            .asked
            .front()
            .is_some_and(|it| now - it.since > SILENCE);
        let Some(call) = client.library.as_ref().and_then(|it| it.call.as_ref()) else {
            return;
        };
        if now >= call.deadline {
            return self.time_out(at);
        }
        if call.is_sent && is_silent {
            return self.fail_call(at, AttemptFailure::Silent);
        }
        if !call.is_sent && is_ready && now >= call.not_before {
            self.send_call(at);
        }
    }

    fn send_call(&mut self, at: usize) {
        let now = self.now;
        let Some(library) = &mut self.clients.all[at].library else {
            return;
        };
        let Some(mut call) = library.call.take() else {
            return;
        };
        call.is_sent = true;
        let mut words: Vec<Bytes> = Vec::new();
        if call.nature == Nature::Named {
            let sequence = call.sequence.unwrap_or_else(|| library.next_id(now));
            call.sequence = Some(sequence);
            let attempt: &[u8] = if call.has_left { b"AGAIN" } else { b"FIRST" };
            words.push(b"REQUEST".as_slice().into());
            words.push(library.client.to_string().as_bytes().into());
            words.push(sequence.to_string().as_bytes().into());
            words.push(attempt.into());
        }
        words.extend(call.words.iter().cloned());
        if call.attempt > 1 {
            let (attempt, operation) = (call.attempt, call.operation);
            self.count("attempts again");
            self.tell(|| format!("client {at} sends operation {operation} again ({attempt})"));
        }
        if let Some(library) = &mut self.clients.all[at].library {
            library.call = Some(call);
        }
        let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
        self.send_command(at, &words, Expected::Call);
    }

    /// The server's clock, by which ids are numbered.
    pub(super) fn answer_clock(&mut self, at: usize, reply: &Reply) {
        let now = self.now;
        let micros = match reply {
            Reply::Number(micros) => u64::try_from(*micros).ok(),
            Reply::Bulk(text) | Reply::Simple(text) => std::str::from_utf8(text)
                .ok()
                .and_then(|it| it.parse().ok()),
            _ => None,
        };
        match (micros, &mut self.clients.all[at].library) {
            (Some(micros), Some(library)) => library.clock = Some((micros, now)),
            _ => self.object(format!("{reply} is no answer to REQUEST NOW")),
        }
    }

    pub(super) fn answer_call(&mut self, at: usize, reply: &Reply) {
        if let Reply::Error(line) = reply {
            return self.fail_call(at, AttemptFailure::Reply(line.clone()));
        }
        let library = &mut self.clients.all[at].library;
        if let Some(call) = library.as_mut().and_then(|it| it.call.take()) {
            self.answer_one(call.operation, reply);
        }
    }

    /// The connection is gone: the call was lost with it, if it was sent.
    pub(super) fn lose_call(&mut self, at: usize) {
        let call = self.clients.all[at].library.as_ref();
        if call
            .and_then(|it| it.call.as_ref())
            .is_some_and(|it| it.is_sent)
        {
            self.fail_call(
                at,
                AttemptFailure::Lost("the connection is gone".to_owned()),
            );
        }
    }

    /// There is no time for another attempt.
    fn time_out(&mut self, at: usize) {
        let library = self.clients.all[at].library.as_mut();
        let Some(call) = library.and_then(|it| it.call.take_if(|call| !call.is_sent)) else {
            return self.fail_call(at, AttemptFailure::Late);
        };
        let may_be_executed = call.has_left && call.nature != Nature::Read;
        let error = honest(call.otherwise.clone(), may_be_executed);
        self.end_call(at, &call, error, false);
    }

    /// An attempt has failed: what the library makes of it is done.
    fn fail_call(&mut self, at: usize, failure: AttemptFailure) {
        let now = self.now;
        let Some(library) = &mut self.clients.all[at].library else {
            return;
        };
        let Some(mut call) = library.call.take() else {
            return;
        };
        let must_leave = matches!(failure, AttemptFailure::Silent | AttemptFailure::Late);
        call.is_sent = false;
        call.has_left |= failure.is_open(call.nature);
        if let AttemptFailure::Reply(line) = &failure
            && let Some(floor) = ids_up_to(line).filter(|_| !call.has_left)
        {
            library.last = library.last.max(floor);
            call.sequence = None;
        }
        let may_be_executed = call.has_left && call.nature != Nature::Read;
        let verdict = judge(
            failure,
            call.nature,
            call.attempt,
            Duration::from_nanos(PATIENCE),
        );
        let again = match verdict {
            Verdict::Fail(error) => {
                return self.end_call(at, &call, honest(error, may_be_executed), must_leave);
            }
            Verdict::Again { again, otherwise } => {
                call.otherwise = otherwise;
                again
            }
        };
        call.attempt += 1;
        let place = match again {
            Again::At { host, port, .. } => place_of(host, port),
            Again::AfterPause { .. } => {
                let most = ((4 * MILLISECOND) << call.attempt.min(7)).min(500 * MILLISECOND);
                call.not_before = now + most / 2;
                None
            }
        };
        library.call = Some(call);
        library.redirect = place;
        // Elsewhere, or there again: whatever comes.
        self.leave(at);
    }

    fn end_call(&mut self, at: usize, call: &Call, error: Error, must_leave: bool) {
        let operation = call.operation;
        self.tell(|| format!("client {at} is told by the library: {error}"));
        let outcome = match &error {
            Error::UnknownOutcome { .. } | Error::Timeout { .. } => Outcome::Unknown,
            Error::Refused { text } => {
                let action = &self.clients.history[operation].action;
                outcome(action, &Reply::Error(text.clone().into_bytes()))
            }
            _ => Outcome::Refused,
        };
        self.conclude(operation, outcome);
        if must_leave {
            self.leave(at);
        }
    }
}

/// The node and brick that answer at an address of a `MOVED`, and whether as a node.
fn place_of(host: String, port: u16) -> Option<(usize, usize, Port)> {
    let node = node_at(&HostPort { host, port })?;
    let brick = usize::from(port.checked_sub(7_000)?);
    Some((node, brick, Port::Brick))
}
