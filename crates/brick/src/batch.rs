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

use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::connection::Connection;
use crate::core::Core;
use brickyard_command::{Args, CommandId, Spec, lookup};
use brickyard_routing::Location;
use brickyard_table::KeyHash;
use brickyard_wire::{ProtocolError, Span, Step};

/// Requests that one run executes at most: enough to overlap their memory accesses, few enough
/// that one client's pipeline does not hold up the others.
const BATCH_MAX: usize = 128;

/// Bytes of records after which a run ends, so that a batch of the log stays small.
pub(crate) const BATCH_BYTES_MAX: usize = 4 << 20;

/// What was found in the input.
#[derive(Debug)]
pub(crate) enum Found {
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
    pub(crate) connection: ConnectionId,
    pub(crate) found: Found,
    /// The request's bytes in the connection's input; spans count from `base`.
    pub(crate) start: usize,
    pub(crate) base: usize,
    pub(crate) end: usize,
    spans: (u32, u32),
}

/// See the module. Used again for its memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    requests: Vec<Parsed>,
    /// Of all arguments of all requests.
    spans: Vec<Span>,
}

/// Whether the command may take so long that it gets a run, and a measurement, of its own.
pub(crate) fn is_heavy(spec: &Spec, arguments: usize) -> bool {
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

impl Batch {
    /// Parses what connections have sent, one by one, until there is enough; of one that may take long, that alone.
    /// With `is_single` there is one request.
    pub(crate) fn collect(&mut self, core: &Core, clients: &mut Clients, is_single: bool) {
        self.requests.clear();
        self.spans.clear();
        let len_max = if is_single { 1 } else { BATCH_MAX };
        for _ in 0..clients.queued_len() {
            if self.requests.len() >= len_max {
                break;
            }
            let Some(id) = clients.take_queued() else {
                break;
            };
            if self.parse(core, &mut clients[id], len_max) {
                clients.queue_again(id);
            } else {
                let has_requests = self.requests.last().is_some_and(|it| it.connection == id);
                clients.on_parsed(id, has_requests);
            }
            if self.requests.last().is_some_and(Parsed::is_heavy) {
                break;
            }
        }
        assert!(
            self.requests.len() <= len_max,
            "{} requests, and there may be {len_max}",
            self.requests.len()
        );
    }

    /// Parses a connection's input; whether there may be more of it.
    fn parse(&mut self, core: &Core, connection: &mut Connection, len_max: usize) -> bool {
        if !connection.may_execute() {
            return false;
        }
        let id = connection.id;
        // A stranger's requests are parsed one by one: the bounds change with AUTH.
        let len_max = if connection.input.is_strangers() {
            len_max.min(self.requests.len() + 1)
        } else {
            len_max
        };
        let mut start = connection.input.executed();
        let mut at = start;
        while self.requests.len() < len_max {
            let first = self.spans.len() as u32;
            let step = connection.input.decode(at, &mut self.spans);
            let (found, end) = match step {
                Ok(Step::Incomplete { .. }) => {
                    if at > start {
                        self.push(id, Found::Nothing, (start, at, at), first);
                    }
                    return false;
                }
                Ok(Step::Empty { consumed }) => {
                    at += consumed;
                    continue;
                }
                Ok(Step::Quoted { consumed, request }) => {
                    connection.input.unquote(at, consumed, request);
                    continue;
                }
                Err(error) => {
                    let end = connection.input.bytes().len();
                    self.push(id, Found::Garbage(error), (start, at, end), first);
                    return false;
                }
                Ok(Step::Request { consumed, .. }) => {
                    let spans = &self.spans[first as usize..];
                    let input = &connection.input.bytes()[at..at + consumed];
                    let args = Args::new(input, spans);
                    let spec = lookup(args.at(0));
                    if let Some(spec) = spec
                        && is_heavy(spec, args.len())
                    {
                        if !self.requests.is_empty() {
                            self.spans.truncate(first as usize);
                            return true;
                        }
                        let found = Found::Request {
                            spec: Some(spec),
                            target: None,
                        };
                        self.push(id, found, (start, at, at + consumed), first);
                        return true;
                    }
                    let table = connection.session.table;
                    let target = spec.and_then(|spec| aim(core, table, spec, &args));
                    (Found::Request { spec, target }, at + consumed)
                }
            };
            self.push(id, found, (start, at, end), first);
            start = end;
            at = end;
        }
        at < connection.input.bytes().len()
    }

    /// Takes a request whose arguments are the spans from `first` on.
    #[inline]
    fn push(
        &mut self,
        connection: ConnectionId,
        found: Found,
        (start, base, end): (usize, usize, usize),
        first: u32,
    ) {
        assert!(
            start <= base && base <= end,
            "a request at {base}..{end} begins at {start}"
        );
        let spans = (first, self.spans.len() as u32);
        assert!(
            spans.0 <= spans.1,
            "the arguments at {spans:?} go backwards"
        );
        self.requests.push(Parsed {
            connection,
            found,
            start,
            base,
            end,
            spans,
        });
    }

    /// Has the records of all requests fetched, whose index buckets are there by now.
    pub(crate) fn look_ahead(&self, core: &Core) {
        if self.requests.len() < 2 {
            return;
        }
        for parsed in &self.requests {
            if let Found::Request {
                target: Some(target),
                ..
            } = &parsed.found
                && let Some(state) = core.table(target.table)
                && let Some(Some(partition)) = state.partitions.get(target.location.leaf as usize)
            {
                state
                    .table
                    .prefetch_record(partition.local, KeyHash(target.location.key_hash));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Parsed> {
        self.requests.iter()
    }

    /// The arguments of a request, in the input of its connection.
    #[inline]
    pub(crate) fn args<'a>(&'a self, parsed: &Parsed, input: &'a [u8]) -> Args<'a> {
        assert!(
            parsed.end <= input.len(),
            "a request ends at {}, behind the input's end at {}",
            parsed.end,
            input.len()
        );
        let spans = &self.spans[parsed.spans.0 as usize..parsed.spans.1 as usize];
        Args::new(&input[parsed.base..parsed.end], spans)
    }
}

impl Parsed {
    fn is_heavy(&self) -> bool {
        let arguments = (self.spans.1 - self.spans.0) as usize;
        matches!(self.found, Found::Request { spec: Some(spec), .. } if is_heavy(spec, arguments))
    }
}

/// Where the first key is; its index bucket is on its way from then on.
#[inline]
fn aim(core: &Core, table: usize, spec: &Spec, args: &Args<'_>) -> Option<Target> {
    let key = args.get(usize::try_from(spec.key_first).ok().filter(|at| *at > 0)?)?;
    let state = core.table(table)?;
    let location = state.map.locate(key);
    if let Some(Some(partition)) = state.partitions.get(location.leaf as usize) {
        state
            .table
            .prefetch_bucket(partition.local, KeyHash(location.key_hash));
    }
    Some(Target { table, location })
}
