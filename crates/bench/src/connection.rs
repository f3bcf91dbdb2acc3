//! One non-blocking connection of a generator: requests waiting to leave, replies coming back.
//!
//! In:  requests with the time at which they were meant to be sent; a readable or writable socket.
//! Out: bytes on the socket; counts and latencies in the [`Record`].
//!
//! Invariant: replies come in the order of requests, so `in_flight` pairs them up front to back.

use crate::{
    Error,
    record::Record,
    reply::{Outcome, Protocol, skip},
    socket::RunSocket,
    workload::Operation,
};
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
};

/// Room for one read. All connections share it: a buffer of their own each would push the
/// workload out of the cache.
pub(crate) const SCRATCH_BYTES: usize = 256 * 1024;

/// A request whose reply has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InFlight {
    /// When it was meant to be sent, in nanoseconds of the generator's clock.
    intended_ns: u64,
    /// `None`: it only makes the client wait, and is not counted.
    operation: Option<Operation>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: RunSocket,
    protocol: Protocol,
    /// Requests that are written but not sent begin at `output_start`.
    output: Vec<u8>,
    output_start: usize,
    /// The front of a reply whose rest has not come.
    leftover: Vec<u8>,
    in_flight: VecDeque<InFlight>,
    /// Cleared when the connection breaks; the generator then leaves it alone.
    pub(crate) is_open: bool,
}

impl Connection {
    pub(crate) fn new(socket: RunSocket, protocol: Protocol) -> Self {
        Self {
            socket,
            protocol,
            output: Vec::with_capacity(64 * 1024),
            output_start: 0,
            leftover: Vec::new(),
            in_flight: VecDeque::new(),
            is_open: true,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(crate) fn unsent_bytes(&self) -> usize {
        self.output.len() - self.output_start
    }

    /// Whether something waits for the socket to be writable.
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent_bytes() > 0 || self.socket.is_blocked()
    }

    /// Queues one request that `write` appends.
    #[inline]
    pub(crate) fn queue(
        &mut self,
        intended_ns: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Operation,
    ) {
        let operation = write(&mut self.output);
        self.in_flight.push_back(InFlight {
            intended_ns,
            operation: Some(operation),
        });
    }

    /// Queues a request whose reply is waited for and not counted.
    pub(crate) fn queue_uncounted(&mut self, intended_ns: u64, request: &[u8]) {
        self.output.extend_from_slice(request);
        self.in_flight.push_back(InFlight {
            intended_ns,
            operation: None,
        });
    }

    /// Sends as much as the socket takes; the rest waits until it is writable.
    pub(crate) fn flush(&mut self, record: &mut Record) -> io::Result<()> {
        while self.output_start < self.output.len() {
            match self.socket.write(&self.output[self.output_start..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    self.output_start += sent;
                    record.bytes_sent += sent as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // What is left moves to the front, so the buffer holds only unsent bytes.
                    self.output.drain(..self.output_start);
                    self.output_start = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.output_start = 0;
        // What was encrypted and not taken.
        self.socket.flush()
    }

    /// Reads all that has come and counts the replies; latencies end at `clock()`, read after each
    /// read. Requests meant before `measure_from_ns` are taken off but not counted.
    pub(crate) fn receive(
        &mut self,
        scratch: &mut Vec<u8>,
        measure_from_ns: u64,
        clock: impl Fn() -> u64,
        record: &mut Record,
    ) -> Result<(), Lost> {
        loop {
            // A reply longer than the scratch grows it, so that every read makes progress.
            let begin = self.leftover.len();
            if scratch.len() < begin + SCRATCH_BYTES {
                scratch.resize(2 * begin + SCRATCH_BYTES, 0);
            }
            scratch[..begin].copy_from_slice(&self.leftover);
            self.leftover.clear();
            let read = match self.socket.read(&mut scratch[begin..]) {
                Ok(0) => return Err(Lost::Io(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => read,
                Err(error) => {
                    self.leftover.extend_from_slice(&scratch[..begin]);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => return Ok(()),
                        io::ErrorKind::Interrupted => continue,
                        _ => return Err(Lost::Io(error)),
                    }
                }
            };
            record.bytes_received += read as u64;
            let end = begin + read;
            let consumed = self.take_replies(&scratch[..end], measure_from_ns, clock(), record)?;
            self.leftover.extend_from_slice(&scratch[consumed..end]);
            // A short read has emptied the socket; more bytes raise a new event.
            if end < scratch.len() {
                return Ok(());
            }
        }
    }

    /// Counts the whole replies at the front of `input` and returns their length.
    fn take_replies(
        &mut self,
        input: &[u8],
        measure_from_ns: u64,
        now_ns: u64,
        record: &mut Record,
    ) -> Result<usize, Lost> {
        let mut consumed = 0;
        // Replies to one pipeline have one intended time: they are counted as a run.
        let mut run: Option<(InFlight, Outcome, u64)> = None;
        while let Some(reply) = skip(self.protocol, &input[consumed..]).map_err(Lost::Protocol)? {
            let bytes = &input[consumed..consumed + reply.bytes];
            consumed += reply.bytes;
            let Some(request) = self.in_flight.pop_front() else {
                return Err(Lost::Protocol(Error::reply(bytes)));
            };
            if request.intended_ns < measure_from_ns || request.operation.is_none() {
                continue;
            }
            if reply.outcome == Outcome::Refused {
                record.refused(bytes);
                continue;
            }
            match &mut run {
                Some((first, outcome, count)) if *first == request && *outcome == reply.outcome => {
                    *count += 1;
                }
                _ => {
                    count_run(run, now_ns, record);
                    run = Some((request, reply.outcome, 1));
                }
            }
        }
        count_run(run, now_ns, record);
        Ok(consumed)
    }

    /// Gives up on the connection: what it still owed is unanswered.
    pub(crate) fn give_up(&mut self, measure_from_ns: u64, record: &mut Record) {
        self.is_open = false;
        record.unanswered += self
            .in_flight
            .iter()
            .filter(|request| request.intended_ns >= measure_from_ns)
            .filter(|request| request.operation.is_some())
            .count() as u64;
        self.in_flight.clear();
        self.output.clear();
        self.output_start = 0;
    }
}

fn count_run(run: Option<(InFlight, Outcome, u64)>, now_ns: u64, record: &mut Record) {
    if let Some((request, outcome, count)) = run
        && let Some(operation) = request.operation
    {
        let latency_ns = now_ns.saturating_sub(request.intended_ns);
        record.succeeded(operation, outcome, latency_ns, count);
    }
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The socket broke: this connection only.
    Io(io::Error),
    /// The bytes are no replies: the whole run makes no sense.
    Protocol(Error),
}
