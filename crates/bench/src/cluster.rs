//! The same load through the client library: each request goes to the brick that has its key.
//!
//! In:  [`Options`]. Out: a [`Report`]. A connection of the options is here a caller: it makes a pipeline's worth
//! of calls, awaits them, and makes the next. In an open loop calls are made when they are due, and latency
//! counts from then, as in `generator`.
//!
//! The library sends again what may be sent again, so the loss of a node shows as latency; what has no answer
//! within its deadline, or an unknown fate, is counted as unanswered.

use crate::{
    Error,
    generator::thread_cpu,
    link::{Link, Target},
    options::{Arrivals, Options, Pace, Until},
    record::Record,
    reply::{Outcome, Protocol},
    report::{LookupReport, Report},
    workload::{Draw, Operation, RequestWriter},
};
use brickyard_client::{Client, LookupStrategy, Options as ClientOptions, Pending, Table};
use brickyard_wire::Value;
use std::{
    cell::RefCell,
    collections::BTreeSet,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};
use tokio::task::{LocalSet, yield_now};

/// Closer to the next due time an open loop does not sleep: timers are this coarse.
const TIMER_STEP: Duration = Duration::from_millis(2);

/// Whether a server belongs to a cluster of several nodes, by what it says of itself.
///
/// # Errors
/// It cannot be reached, or refuses the user, the password or the table.
pub fn has_several_nodes(target: &Target) -> Result<bool, Error> {
    if target.protocol != Protocol::Resp {
        return Ok(false);
    }
    let map = Link::open(target)?.call(&["CLUSTER", "SLOTS"])?;
    let mut nodes = BTreeSet::new();
    for range in map.elements().unwrap_or_default() {
        for member in range.elements().unwrap_or_default() {
            if let Some([host, port, ..]) = member.elements() {
                nodes.insert((
                    host.bytes().unwrap_or_default().to_vec(),
                    port.integer().unwrap_or_default(),
                ));
            }
        }
    }
    // A node alone is asked through its node port as well as through its bricks'.
    let told = told_nodes(&map);
    Ok(if told.is_empty() {
        nodes.len()
    } else {
        told.len()
    } > 1)
}

/// The nodes by their node ports, which only a server of this make tells: with a brick, or as what stands for a brick's copies.
fn told_nodes(map: &Value) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let mut told = BTreeSet::new();
    for range in map.elements().unwrap_or_default() {
        for member in range.elements().unwrap_or_default() {
            let Some([host, own, _, Value::Array(metadata), ..]) = member.elements() else {
                continue;
            };
            let port = match &metadata[..] {
                [Value::Bulk(name), Value::Bulk(port), ..] if name == b"node-port" => port.clone(),
                [Value::Bulk(name), ..] if name == b"brick-port" => {
                    own.integer().unwrap_or_default().to_string().into_bytes()
                }
                _ => continue,
            };
            told.insert((host.bytes().unwrap_or_default().to_vec(), port));
        }
    }
    told
}

/// Runs a load against a cluster, through the client library.
///
/// # Errors
/// - [`Error::Options`]: nothing was sent; the text says what to change.
/// - [`Error::Connect`], [`Error::Handshake`], [`Error::Cluster`]: nothing was sent.
pub fn run_through_client(options: &Options) -> Result<Report, Error> {
    options.validate()?;
    if options.target.protocol != Protocol::Resp {
        return Err(Error::options(
            "the client library does not speak memcached's protocol; measure the address itself",
        ));
    }
    // Told once, in the server's words, and not of every request.
    drop(Link::open(&options.target)?);
    let begin = Instant::now();
    let results: Vec<Result<(Run, Duration), Error>> = thread::scope(|scope| {
        let share = |share| move || run_share(options, share, begin);
        let others: Vec<_> = (1..options.threads as u64)
            .map(|number| scope.spawn(share(number)))
            .collect();
        let mut results = vec![share(0)()];
        for other in others {
            let joined = other.join();
            results.push(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    let mut record = Record::new();
    let (mut cpu, mut end) = (Duration::ZERO, options.warm_up);
    let mut lookups = LookupReport::default();
    for result in results {
        let (run, theirs) = result?;
        record.merge(&run.record);
        lookups = lookups.merge(&LookupReport::of(&run.table.lookup_counts()));
        cpu += theirs;
        end = end.max(run.end);
    }
    let elapsed = end.saturating_sub(options.warm_up);
    let offered = match options.pace {
        Pace::Closed { .. } => None,
        Pace::Open { per_s, .. } => Some(per_s),
    };
    let has_lookups = options.target.lookups.strategy != LookupStrategy::Direct;
    Ok(Report {
        lookups: has_lookups.then_some(lookups),
        ..Report::new(&record, elapsed, offered, cpu)
    })
}

/// One thread's share of a run.
struct Run {
    table: Table,
    writer: RequestWriter,
    key: Vec<u8>,
    expire: Option<String>,
    record: Record,
    begin: Instant,
    measure_from: Duration,
    stop_at: Duration,
    /// Requests of the measured part that may still be sent.
    budget: u64,
    in_flight: usize,
    /// When the last reply came.
    end: Duration,
}

type Shared = Rc<RefCell<Run>>;

/// A call under way.
struct Flight {
    operation: Operation,
    /// From when its latency counts.
    since: Duration,
    bytes: usize,
    is_measured: bool,
    reply: Pending<Value>,
}

fn run_share(options: &Options, share: u64, begin: Instant) -> Result<(Run, Duration), Error> {
    let cpu_begin = thread_cpu();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::io("cannot start a runtime"))?;
    let local = LocalSet::new();
    let run = local.block_on(&runtime, async {
        let run = Rc::new(RefCell::new(Run::connect(options, share, begin).await?));
        match options.pace {
            Pace::Closed { pipeline } => run_closed(options, share, pipeline, &run).await,
            Pace::Open {
                per_s,
                arrivals,
                waiting_max,
            } => {
                let shares = options.threads as f64;
                let waiting_max = waiting_max.div_ceil(options.threads);
                run_open(1e9 * shares / per_s, arrivals, waiting_max, &run).await;
            }
        }
        drain(options.drain_limit, &run).await;
        Ok(run)
    })?;
    // Calls that were given up end with the runtime's tasks.
    drop(local);
    drop(runtime);
    let cpu = thread_cpu().saturating_sub(cpu_begin);
    match Rc::try_unwrap(run) {
        Ok(run) => Ok((run.into_inner(), cpu)),
        Err(_) => unreachable!("every task that shares it has ended"),
    }
}

/// Callers that make a pipeline's worth of calls at a time.
async fn run_closed(options: &Options, share: u64, pipeline: usize, run: &Shared) {
    let (callers, shares) = (options.connections as u64, options.threads as u64);
    let mine = callers / shares + u64::from(share < callers % shares);
    let callers: Vec<_> = (0..mine)
        .map(|_| {
            let run = Rc::clone(run);
            tokio::task::spawn_local(async move {
                loop {
                    let flights = run.borrow_mut().start_pipeline(pipeline);
                    if flights.is_empty() {
                        return;
                    }
                    for flight in flights {
                        finish(flight, &run).await;
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        if let Err(error) = caller.await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// Calls at their times, whether or not earlier ones are answered.
async fn run_open(mean_ns: f64, arrivals: Arrivals, waiting_max: usize, run: &Shared) {
    let mut due_ns = run.borrow().begin.elapsed().as_nanos() as f64;
    loop {
        {
            let mut it = run.borrow_mut();
            let now_ns = it.begin.elapsed().as_nanos() as f64;
            while due_ns <= now_ns && !it.is_over(due_ns) {
                let due = Duration::from_nanos(due_ns as u64);
                if it.in_flight < waiting_max {
                    let flight = it.start(due);
                    let run = Rc::clone(run);
                    tokio::task::spawn_local(async move { finish(flight, &run).await });
                } else if due >= it.measure_from {
                    it.budget -= 1;
                    it.record.not_sent += 1;
                }
                due_ns += match arrivals {
                    Arrivals::Constant => mean_ns,
                    Arrivals::Poisson => it.writer.waiting_time(mean_ns),
                };
            }
            if it.is_over(due_ns) {
                return;
            }
        }
        let ahead = Duration::from_nanos(due_ns as u64).saturating_sub(run.borrow().now());
        if ahead > TIMER_STEP {
            tokio::time::sleep(ahead - TIMER_STEP).await;
        } else {
            yield_now().await;
        }
    }
}

/// Waits for what is under way, within bounds; the rest is unanswered.
async fn drain(limit: Duration, run: &Shared) {
    let until = Instant::now() + limit;
    while run.borrow().in_flight > 0 && Instant::now() < until {
        tokio::time::sleep(TIMER_STEP).await;
    }
    let mut run = run.borrow_mut();
    run.record.unanswered += run.in_flight as u64;
}

async fn finish(flight: Flight, run: &Shared) {
    let result = flight.reply.await;
    let mut run = run.borrow_mut();
    run.in_flight -= 1;
    let now = run.now();
    run.end = now;
    let record = &mut run.record;
    record.bytes_sent += flight.bytes as u64;
    match result {
        Ok(value) => {
            record.bytes_received += value.bytes().map_or(0, <[u8]>::len) as u64;
            let is_miss = flight.operation == Operation::Get && value == Value::Null;
            let outcome = if is_miss {
                Outcome::Miss
            } else {
                Outcome::Done
            };
            let latency = now.saturating_sub(flight.since).as_nanos() as u64;
            if flight.is_measured {
                record.succeeded(flight.operation, outcome, latency, 1);
            }
        }
        Err(_) if !flight.is_measured => {}
        Err(brickyard_client::Error::Overloaded { .. }) => record.refused_as("OVERLOADED"),
        Err(error) => match error.prefix() {
            Some(kind) => record.refused_as(kind),
            None => record.unanswered += 1,
        },
    }
}

impl Run {
    async fn connect(options: &Options, share: u64, begin: Instant) -> Result<Self, Error> {
        let target = &options.target;
        let client = ClientOptions {
            user: target.user.clone(),
            password: target.password.clone(),
            tls: target.tls.clone(),
            lookups: target.lookups,
            ..ClientOptions::new([target.address.clone()])
        };
        let client = Client::connect(client).await;
        let client = client.map_err(|reason| Error::Cluster {
            address: target.address.clone(),
            reason,
        })?;
        let measure_from = options.warm_up;
        let shares = options.threads as u64;
        let (budget, stop_at) = match options.until {
            Until::Elapsed(duration) => (u64::MAX, measure_from + duration),
            Until::Count(count) => (
                count / shares + u64::from(share < count % shares),
                Duration::MAX,
            ),
        };
        Ok(Self {
            table: match &target.table {
                Some(name) => client.table(name),
                None => client.home_table(),
            },
            writer: RequestWriter::new(
                &options.workload,
                Protocol::Resp,
                options.seed,
                share,
                shares,
            ),
            key: Vec::new(),
            expire: options.workload.expire_ms.map(|ms| ms.to_string()),
            record: Record::new(),
            begin,
            measure_from,
            stop_at,
            budget,
            in_flight: 0,
            end: measure_from,
        })
    }

    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Whether nothing is left to be sent of a schedule whose next request is due then.
    fn is_over(&self, due_ns: f64) -> bool {
        self.budget == 0 || due_ns >= self.stop_at.as_nanos() as f64
    }

    /// Starts so many calls, or what the budget leaves of them.
    fn start_pipeline(&mut self, count: usize) -> Vec<Flight> {
        let now = self.now();
        let mut flights = Vec::with_capacity(count);
        while flights.len() < count && self.budget > 0 && now < self.stop_at {
            flights.push(self.start(now));
        }
        flights
    }

    fn start(&mut self, since: Duration) -> Flight {
        let is_measured = since >= self.measure_from;
        self.budget -= u64::from(is_measured);
        self.in_flight += 1;
        let draw = self.writer.draw();
        let mut key = std::mem::take(&mut self.key);
        self.writer.key_name(&draw, &mut key);
        let reply = self.call(&draw, &key);
        let bytes = key.len() + self.writer.value(&draw).len();
        self.key = key;
        Flight {
            operation: draw.operation,
            since,
            bytes,
            is_measured,
            reply,
        }
    }

    fn call(&self, draw: &Draw, key: &[u8]) -> Pending<Value> {
        let value = self.writer.value(draw);
        let (get, set): ([&[u8]; 2], [&[u8]; 3]) = ([b"GET", key], [b"SET", key, value]);
        match (draw.operation, &self.expire) {
            (Operation::Get, _) => self.table.command(&get),
            (Operation::Set, None) => self.table.command(&set),
            (Operation::Set, Some(ms)) => {
                let words: [&[u8]; 5] = [b"SET", key, value, b"PX", ms.as_bytes()];
                self.table.command(&words)
            }
        }
    }
}
