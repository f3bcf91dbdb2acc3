//! Drives connections against a server, in a closed or an open loop, and measures.
//!
//! In:  [`Options`], sockets past their handshake. Out: a [`Record`].
//!
//! **Closed loop**: every connection sends a pipeline of requests, waits for all of its replies,
//! and sends the next. It finds out how much a server can do; a slow server is asked less.
//!
//! **Open loop**: requests are due at their own times, whether or not earlier ones have been
//! answered, as they are when many independent users call. Latency counts from the time at which a
//! request was *due*. If it counted from the time at which it was sent, a server that stalls for a
//! second would be charged one slow request instead of all those that were due meanwhile
//! ("coordinated omission").
//!
//! Invariants:
//! - One thread owns a connection from start to end.
//! - Memory is bounded: an open loop leaves requests out, and counts them, while `waiting_max` others
//!   are due and not answered.
//!
//! Source: Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale" (NSDI
//! 2006); G. Tene, "How not to measure latency" (2013), who named coordinated omission.

use crate::{
    Error,
    connection::{Connection, Lost, SCRATCH_BYTES},
    options::{Arrivals, Options, Pace, Until},
    record::Record,
    socket::{LinkSocket, RunSocket},
    workload::RequestWriter,
};
use brickyard_wire::encode_request;
use mio::{Events, Interest, Poll, Token};
use rustix::time::{ClockId, clock_gettime};
use std::{
    io,
    time::{Duration, Instant},
};

/// Most requests that an open loop queues before it looks for replies again.
const DUE_A_TURN_MAX: usize = 4096;
/// Requests due at one time that go to one connection, as those of a pool of pipelining clients would. One
/// at a time to each, every request would cost a system call: the generator could not offer what it is asked to.
const DUE_A_CONNECTION: usize = 64;
/// The system's timers are this coarse here; closer to the next due time the loop does not sleep.
const TIMER_STEP: Duration = Duration::from_millis(2);

/// What one thread brings back.
pub(crate) struct Finished {
    pub(crate) record: Record,
    pub(crate) cpu: Duration,
    /// When the last reply came.
    pub(crate) end_ns: u64,
}

/// One thread's share of a run.
pub(crate) struct Generator {
    poll: Poll,
    connections: Vec<Connection>,
    writer: RequestWriter,
    record: Record,
    scratch: Vec<u8>,
    address: String,
    pace: Pace,
    /// Requests of the measured part that may still be sent.
    budget: u64,
    times: Times,
    end_ns: u64,
    in_flight: usize,
    last_loss: Option<io::Error>,
    /// Sent after each pipeline of a closed loop; may be empty.
    confirmation: Vec<u8>,
}

/// When what begins and ends; nanoseconds since the beginning.
struct Times {
    begin: Instant,
    measure_from_ns: u64,
    stop_at_ns: u64,
    drain_limit: Duration,
}

impl Times {
    fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }
}

impl Generator {
    pub(crate) fn new(
        options: &Options,
        streams: Vec<LinkSocket>,
        share: u64,
        begin: Instant,
    ) -> Result<Self, Error> {
        let poll = Poll::new().map_err(Error::io("cannot make an event queue"))?;
        let shares = options.threads as u64;
        let mut connections = Vec::with_capacity(streams.len());
        for (token, stream) in streams.into_iter().enumerate() {
            let made = RunSocket::new(stream);
            let mut socket = made.map_err(Error::io("cannot make a socket non-blocking"))?;
            poll.registry()
                .register(
                    &mut socket.stream,
                    Token(token),
                    Interest::READABLE | Interest::WRITABLE,
                )
                .map_err(Error::io("cannot watch a socket"))?;
            connections.push(Connection::new(socket, options.target.protocol));
        }
        let measure_from_ns = options.warm_up.as_nanos() as u64;
        let (budget, stop_at_ns) = match options.until {
            Until::Elapsed(duration) => (u64::MAX, measure_from_ns + duration.as_nanos() as u64),
            Until::Count(count) => (count / shares + u64::from(share < count % shares), u64::MAX),
        };
        let pace = match options.pace {
            Pace::Open {
                per_s,
                arrivals,
                waiting_max,
            } => Pace::Open {
                per_s: per_s / shares as f64,
                arrivals,
                waiting_max: waiting_max.div_ceil(options.threads),
            },
            closed @ Pace::Closed { .. } => closed,
        };
        Ok(Self {
            poll,
            connections,
            writer: RequestWriter::new(
                &options.workload,
                options.target.protocol,
                options.seed,
                share,
                shares,
            ),
            record: Record::new(),
            scratch: vec![0; SCRATCH_BYTES],
            address: options.target.address.clone(),
            pace,
            budget,
            times: Times {
                begin,
                measure_from_ns,
                stop_at_ns,
                drain_limit: options.drain_limit,
            },
            end_ns: measure_from_ns,
            in_flight: 0,
            last_loss: None,
            confirmation: confirmation(options.target.wait_replicas),
        })
    }

    pub(crate) fn run(mut self) -> Result<Finished, Error> {
        let cpu_begin = thread_cpu();
        match self.pace {
            Pace::Closed { pipeline } => self.run_closed(pipeline)?,
            Pace::Open {
                per_s,
                arrivals,
                waiting_max,
            } => {
                self.run_open(per_s, arrivals, waiting_max)?;
            }
        }
        self.drain()?;
        Ok(Finished {
            record: self.record,
            cpu: thread_cpu().saturating_sub(cpu_begin),
            end_ns: self.end_ns,
        })
    }

    fn run_closed(&mut self, pipeline: usize) -> Result<(), Error> {
        let mut events = Events::with_capacity(1024);
        for token in 0..self.connections.len() {
            self.send_pipeline(token, pipeline);
        }
        while self.budget > 0 && self.times.now_ns() < self.times.stop_at_ns {
            let left =
                Duration::from_nanos(self.times.stop_at_ns.saturating_sub(self.times.now_ns()));
            self.wait(&mut events, Some(left.min(Duration::from_millis(100))))?;
            for event in &events {
                let token = event.token().0;
                self.serve(token, event.is_readable(), event.is_writable())?;
                let connection = &self.connections[token];
                if connection.is_open && connection.in_flight() == 0 {
                    self.send_pipeline(token, pipeline);
                }
            }
        }
        Ok(())
    }

    /// Sends the next pipeline of a connection, or what the budget leaves of it.
    fn send_pipeline(&mut self, token: usize, pipeline: usize) {
        let now_ns = self.times.now_ns();
        if now_ns >= self.times.stop_at_ns {
            return;
        }
        let is_measured = now_ns >= self.times.measure_from_ns;
        let count = if is_measured {
            self.budget.min(pipeline as u64)
        } else {
            pipeline as u64
        };
        if is_measured {
            self.budget -= count;
        }
        for _ in 0..count {
            self.connections[token].queue(now_ns, |out| self.writer.write(out));
        }
        self.in_flight += count as usize;
        if count > 0 && !self.confirmation.is_empty() {
            self.connections[token].queue_uncounted(now_ns, &self.confirmation);
            self.in_flight += 1;
        }
        self.flush(token);
    }

    fn run_open(
        &mut self,
        per_s: f64,
        arrivals: Arrivals,
        waiting_max: usize,
    ) -> Result<(), Error> {
        let mut events = Events::with_capacity(1024);
        let mean_ns = 1e9 / per_s;
        let mut due_ns = self.times.now_ns() as f64;
        let mut turn = 0usize;
        let mut touched = Vec::new();
        loop {
            let now_ns = self.times.now_ns();
            due_ns += self.leave_out(due_ns, now_ns, mean_ns, waiting_max);
            let mut queued = 0;
            while due_ns <= now_ns as f64
                && !self.is_over(due_ns)
                && self.in_flight < waiting_max
                && queued < DUE_A_TURN_MAX
            {
                self.budget -= u64::from(due_ns >= self.times.measure_from_ns as f64);
                turn += usize::from(queued % DUE_A_CONNECTION == 0);
                self.queue_due(due_ns as u64, &mut turn, &mut touched);
                due_ns += match arrivals {
                    Arrivals::Constant => mean_ns,
                    Arrivals::Poisson => self.writer.waiting_time(mean_ns),
                };
                queued += 1;
            }
            if self.is_over(due_ns)
                || (now_ns >= self.times.stop_at_ns && self.in_flight >= waiting_max)
            {
                self.flush_all(&mut touched);
                return Ok(());
            }
            self.flush_all(&mut touched);
            // Sleeping until the next due time would oversleep it by the timer's step, so the last
            // stretch is spent asking for replies instead. It costs a core, as measuring does.
            let ahead = Duration::from_nanos((due_ns as u64).saturating_sub(self.times.now_ns()));
            self.wait(&mut events, Some(ahead.saturating_sub(TIMER_STEP)))?;
            for event in &events {
                self.serve(event.token().0, event.is_readable(), event.is_writable())?;
            }
        }
    }

    /// Whether nothing is left to be sent of a schedule whose next request is due at `due_ns`.
    fn is_over(&self, due_ns: f64) -> bool {
        due_ns >= self.times.stop_at_ns as f64 || self.budget == 0
    }

    /// Leaves out the requests that are due beyond `waiting_max`, and returns how much of the schedule
    /// they were, in nanoseconds.
    ///
    /// Requests that are due but not even written wait as well: a client that cannot keep up must not
    /// pile them up where nobody counts them. They go all at once, at the mean distance, because at ten
    /// times of what a server can do nearly all of the schedule is left out.
    fn leave_out(&mut self, due_ns: f64, now_ns: u64, mean_ns: f64, waiting_max: usize) -> f64 {
        let until_ns = now_ns.min(self.times.stop_at_ns) as f64;
        let overdue = ((until_ns - due_ns) / mean_ns).max(0.0) as u64;
        let room = waiting_max.saturating_sub(self.in_flight) as u64;
        let is_measured = due_ns >= self.times.measure_from_ns as f64;
        let mut excess = overdue.saturating_sub(room);
        if is_measured {
            excess = excess.min(self.budget);
            self.budget -= excess;
            self.record.not_sent += excess;
        }
        excess as f64 * mean_ns
    }

    /// Gives the request that is due to the connection whose turn it is, or the next one that is open.
    fn queue_due(&mut self, due_ns: u64, turn: &mut usize, touched: &mut Vec<usize>) {
        for _ in 0..self.connections.len() {
            let token = *turn % self.connections.len();
            let connection = &mut self.connections[token];
            if connection.is_open {
                if connection.unsent_bytes() == 0 {
                    touched.push(token);
                }
                connection.queue(due_ns, |out| self.writer.write(out));
                self.in_flight += 1;
                return;
            }
            *turn += 1;
        }
    }

    fn flush_all(&mut self, touched: &mut Vec<usize>) {
        for token in touched.drain(..) {
            self.flush(token);
        }
    }

    /// Waits for the replies that are still owed, for at most the drain limit.
    fn drain(&mut self) -> Result<(), Error> {
        let mut events = Events::with_capacity(1024);
        let limit_ns = self.times.now_ns() + self.times.drain_limit.as_nanos() as u64;
        while self.in_flight > 0 && self.times.now_ns() < limit_ns {
            self.wait(&mut events, Some(Duration::from_millis(100)))?;
            for event in &events {
                self.serve(event.token().0, event.is_readable(), event.is_writable())?;
            }
        }
        for connection in &mut self.connections {
            connection.give_up(self.times.measure_from_ns, &mut self.record);
        }
        Ok(())
    }

    fn wait(&mut self, events: &mut Events, timeout: Option<Duration>) -> Result<(), Error> {
        self.must_be_connected()?;
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            other => other.map_err(Error::io("cannot wait for sockets")),
        }
    }

    /// A run without a connection would wait for ever.
    fn must_be_connected(&mut self) -> Result<(), Error> {
        let Some(source) = self.last_loss.take() else {
            return Ok(());
        };
        if self.connections.iter().any(|connection| connection.is_open) {
            return Ok(());
        }
        Err(Error::ConnectionsLost {
            address: self.address.clone(),
            connections: self.connections.len(),
            source,
        })
    }

    /// Reads and writes what the socket of `token` is ready for.
    fn serve(&mut self, token: usize, readable: bool, writable: bool) -> Result<(), Error> {
        if !self.connections[token].is_open {
            return Ok(());
        }
        if writable && self.connections[token].has_unsent() {
            self.flush(token);
        }
        if readable && self.connections[token].is_open {
            let waiting = self.connections[token].in_flight();
            let result = self.connections[token].receive(
                &mut self.scratch,
                self.times.measure_from_ns,
                || self.times.now_ns(),
                &mut self.record,
            );
            self.in_flight -= waiting - self.connections[token].in_flight();
            self.end_ns = self.end_ns.max(self.times.now_ns());
            match result {
                Ok(()) => {}
                Err(Lost::Io(error)) => self.lose(token, error),
                Err(Lost::Protocol(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn flush(&mut self, token: usize) {
        if let Err(error) = self.connections[token].flush(&mut self.record) {
            self.lose(token, error);
        }
    }

    fn lose(&mut self, token: usize, error: io::Error) {
        let connection = &mut self.connections[token];
        self.in_flight -= connection.in_flight();
        connection.give_up(self.times.measure_from_ns, &mut self.record);
        self.last_loss = Some(error);
    }
}

/// The request that waits for replicas; empty for none.
fn confirmation(replicas: u32) -> Vec<u8> {
    let mut request = Vec::new();
    if replicas > 0 {
        encode_request(&mut request, &["WAIT", &replicas.to_string(), "0"]);
    }
    request
}

pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
