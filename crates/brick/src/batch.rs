//! Requests in batches: parse and look ahead over many, then execute them in order.
//!
//! HOW A BATCH HIDES MEMORY. A key's record is somewhere in gigabytes: to fetch it costs a hundred
//! nanoseconds, more than all the rest of a GET. So the whole batch is parsed first, and for each
//! key the processor is told to start fetching its index bucket, then (a pass later, when the
//! buckets are there) its record. By the time the commands execute, their memory has arrived.
//!
//! Invariants:
//! - Requests of one connection execute in the order in which they came.
//! - A request that must not run yet (its connection is blocked) stops those behind it on its
//!   connection, and no others.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::settings::Settings;
use crate::slowlog::{self, SlowCommand};
use brickyard_command::{Args, CommandId, Spec, lookup, table::flag};
use brickyard_routing::Location;
use brickyard_table::KeyHash;
use brickyard_types::UnixMillis;
use brickyard_wire::{ProtocolError, RequestDecoder, Span, Step};
use std::sync::atomic::Ordering::Relaxed;

/// Requests that one run executes at most: enough to overlap their memory accesses, few enough
/// that one client's pipeline does not hold up the others.
const BATCH_MAX: usize = 128;

/// Bytes of records after which a run ends, so that a batch of the log stays small.
pub(crate) const BATCH_BYTES_MAX: usize = 4 << 20;

/// What was found in the input.
#[derive(Debug)]
enum Found {
    Request {
        spec: Option<&'static Spec>,
        target: Option<Target>,
    },
    /// Nothing to execute; only to be skipped.
    Nothing,
    Garbage(ProtocolError),
}

/// Where the first key of a request is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) table: usize,
    pub(crate) location: Location,
}

/// One request of the batch.
#[derive(Debug)]
pub(crate) struct Parsed {
    connection: ConnectionId,
    found: Found,
    /// The request's bytes in the connection's input; spans count from `base`.
    start: usize,
    base: usize,
    end: usize,
    spans: (u32, u32),
}

/// Whether the command may take so long that it gets a run, and a measurement, of its own.
fn is_heavy(spec: &Spec, arguments: usize) -> bool {
    arguments > 1000
        || matches!(
            spec.id,
            CommandId::Keys
                | CommandId::Scan
                | CommandId::Flushall
                | CommandId::Flushdb
                | CommandId::TableDigest
                | CommandId::TableExport
                | CommandId::Exec
                | CommandId::Info
                | CommandId::Command
                | CommandId::Client
                | CommandId::Bitcount
                | CommandId::Bitop
                | CommandId::Bitpos
                | CommandId::Lcs
                | CommandId::Cluster
        )
}

impl Brick {
    /// Executes a batch of the requests that have arrived, or one that may take long.
    pub fn run(&mut self) {
        self.take_messages();
        self.run_inbox();
        self.run_stalled();
        self.core.count_out_cleared();
        self.batch.clear();
        self.spans.clear();
        let single = self.logs_everything();
        let batch_max = if single { 1 } else { BATCH_MAX };
        for _ in 0..self.clients.queued_len() {
            if self.batch.len() >= batch_max {
                break;
            }
            let Some(id) = self.clients.take_queued() else {
                break;
            };
            if self.parse(id, batch_max) {
                self.clients.queue_again(id);
            } else {
                let has_requests = self.batch.last().is_some_and(|it| it.connection == id);
                self.clients.on_parsed(id, has_requests);
            }
            if matches!(self.batch.last(), Some(Parsed { found: Found::Request { spec: Some(spec), .. }, spans, .. }) if is_heavy(spec, (spans.1 - spans.0) as usize))
            {
                break;
            }
        }
        self.look_ahead();
        self.clients.begin_batch();
        self.execute_batch(single);
        self.clients.end_batch();
        self.tend_tables();
    }

    /// With a very low slow-log threshold every command is measured by itself.
    fn logs_everything(&self) -> bool {
        const STEP_BELOW_US: i64 = 100;
        let threshold = self
            .core
            .shared
            .settings
            .slowlog_log_slower_than
            .load(Relaxed);
        (0..STEP_BELOW_US).contains(&threshold)
    }

    /// Parses a connection's input into the batch; whether there may be more of it.
    fn parse(&mut self, id: ConnectionId, batch_max: usize) -> bool {
        let Some(connection) = self.clients.get_mut(id) else {
            return false;
        };
        if !connection.may_execute() {
            return false;
        }
        // A stranger's requests are parsed one by one: the bounds change with AUTH.
        let batch_max = if connection.decoder.limits().unauthenticated {
            batch_max.min(self.batch.len() + 1)
        } else {
            batch_max
        };
        let mut start = connection.executed;
        let mut at = start;
        while self.batch.len() < batch_max {
            let first = self.spans.len() as u32;
            let step = connection
                .decoder
                .decode(&connection.input[at..], &mut self.spans);
            let (found, end) = match step {
                Ok(Step::Incomplete { .. }) => {
                    if at > start {
                        self.batch.push(Parsed {
                            connection: id,
                            found: Found::Nothing,
                            start,
                            base: at,
                            end: at,
                            spans: (first, first),
                        });
                    }
                    return false;
                }
                Ok(Step::Empty { consumed }) => {
                    at += consumed;
                    continue;
                }
                Ok(Step::Quoted { consumed, request }) => {
                    connection.input.splice(at..at + consumed, request);
                    continue;
                }
                Err(error) => (Found::Garbage(error), connection.input.len()),
                Ok(Step::Request { consumed, .. }) => {
                    let spans = &self.spans[first as usize..];
                    let input = &connection.input[at..at + consumed];
                    let args = Args::new(input, spans);
                    let spec = lookup(args.at(0));
                    if let Some(spec) = spec
                        && is_heavy(spec, args.len())
                    {
                        if !self.batch.is_empty() {
                            self.spans.truncate(first as usize);
                            return true;
                        }
                        self.push_request(id, spec, None, (start, at, at + consumed), first);
                        return true;
                    }
                    let target = spec.and_then(|spec| {
                        let key =
                            args.get(usize::try_from(spec.key_first).ok().filter(|at| *at > 0)?)?;
                        let table = connection.session.table;
                        let state = self.core.table(table)?;
                        let location = state.map.locate(key);
                        if let Some(Some(partition)) = state.partitions.get(location.leaf as usize)
                        {
                            state
                                .table
                                .prefetch_bucket(partition.local, KeyHash(location.key_hash));
                        }
                        Some(Target { table, location })
                    });
                    (Found::Request { spec, target }, at + consumed)
                }
            };
            let is_garbage = matches!(found, Found::Garbage(_));
            let spans = (first, self.spans.len() as u32);
            self.batch.push(Parsed {
                connection: id,
                found,
                start,
                base: at,
                end,
                spans,
            });
            if is_garbage {
                return false;
            }
            start = end;
            at = end;
        }
        at < connection.input.len()
    }

    fn push_request(
        &mut self,
        connection: ConnectionId,
        spec: &'static Spec,
        target: Option<Target>,
        (start, base, end): (usize, usize, usize),
        first: u32,
    ) {
        let spans = (first, self.spans.len() as u32);
        let found = Found::Request {
            spec: Some(spec),
            target,
        };
        self.batch.push(Parsed {
            connection,
            found,
            start,
            base,
            end,
            spans,
        });
    }

    fn look_ahead(&self) {
        if self.batch.len() < 2 {
            return;
        }
        for parsed in &self.batch {
            if let Found::Request {
                target: Some(target),
                ..
            } = &parsed.found
                && let Some(state) = self.core.table(target.table)
                && let Some(Some(partition)) = state.partitions.get(target.location.leaf as usize)
            {
                state
                    .table
                    .prefetch_record(partition.local, KeyHash(target.location.key_hash));
            }
        }
    }

    fn execute_batch(&mut self, single: bool) {
        let batch = std::mem::take(&mut self.batch);
        let spans = std::mem::take(&mut self.spans);
        let mut last = None;
        for parsed in &batch {
            if last.is_some_and(|last| last != parsed.connection) {
                self.end_requests(last);
            }
            last = Some(parsed.connection);
            let is_next = self
                .clients
                .get(parsed.connection)
                .is_some_and(|it| it.executed == parsed.start && it.may_execute());
            if is_next && self.core.log.building_len() < BATCH_BYTES_MAX {
                self.execute_parsed(parsed, &spans, single);
            } else {
                self.stop_at(parsed);
            }
        }
        self.end_requests(last);
        self.batch = batch;
        self.spans = spans;
    }

    /// A request that cannot run yet: its connection goes on there later.
    fn stop_at(&mut self, parsed: &Parsed) {
        let Some(connection) = self.clients.get_mut(parsed.connection) else {
            return;
        };
        // The decoder may be inside a request behind this one, which will be parsed anew.
        connection.decoder = RequestDecoder::new(*connection.decoder.limits());
        self.clients.resume(parsed.connection);
    }

    fn execute_parsed(&mut self, parsed: &Parsed, spans: &[Span], single: bool) {
        let id = parsed.connection;
        match &parsed.found {
            Found::Nothing => self.clients[id].executed = parsed.end,
            Found::Garbage(error) => {
                let connection = &mut self.clients[id];
                let reply = connection.output.begin();
                let start = reply.len();
                brickyard_wire::Reply::new(reply, connection.session.protocol)
                    .protocol_error(error);
                connection.output.end(start, crate::output::Gate::OPEN);
                connection.executed = parsed.end;
                self.core.stats().protocol_errors.add(1);
                self.clients.close(id);
            }
            Found::Request { spec, target } => {
                let spans = &spans[parsed.spans.0 as usize..parsed.spans.1 as usize];
                // The input is lent to the command and given back: the command may change
                // anything else of its connection.
                let input = std::mem::take(&mut self.clients[id].input);
                let args = Args::new(&input[parsed.base..parsed.end], spans);
                if single || spec.is_some_and(|spec| is_heavy(spec, args.len())) {
                    self.note_slow(id, *spec, &args);
                }
                self.execute(id, *spec, *target, &args);
                if let Some(connection) = self.clients.get_mut(id) {
                    connection.input = input;
                    connection.executed = parsed.end;
                }
            }
        }
    }

    fn note_slow(&mut self, id: ConnectionId, spec: Option<&Spec>, args: &Args<'_>) {
        let threshold = self
            .core
            .shared
            .settings
            .slowlog_log_slower_than
            .load(Relaxed);
        let is_kept_out =
            spec.is_some_and(|spec| spec.has(flag::SKIP_SLOWLOG) || spec.id == CommandId::Slowlog);
        let Some(connection) = self.clients.get(id) else {
            return;
        };
        if threshold < 0
            || is_kept_out
            || Settings::load(&self.core.shared.settings.slowlog_max_len) == 0
        {
            return;
        }
        self.ran_slow = Some(SlowCommand {
            id: 0,
            at: UnixMillis(self.core.unix.0),
            microseconds: 0,
            arguments: slowlog::shortened(spec, args),
            client: connection.accepted.peer.clone(),
            client_name: String::from_utf8_lossy(&connection.session.name).into_owned(),
        });
    }

    /// The batch has no more requests of this connection: what it may send is listed, its input
    /// trimmed.
    fn end_requests(&mut self, id: Option<ConnectionId>) {
        if let Some(id) = id {
            self.clients.end_requests(id, self.core.stats());
        }
    }
}
