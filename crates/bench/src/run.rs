//! One run: opens the connections, shares them among threads, adds up what they counted.
//!
//! In:  [`Options`]. Out: a [`Report`].
//! Not here: how a thread drives its connections (`generator`).

use crate::{
    Error,
    generator::{Finished, Generator},
    link::Link,
    options::{Options, Pace},
    record::Record,
    report::Report,
    socket::LinkSocket,
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Runs a load against a server and reports what happened.
///
/// # Errors
/// - [`Error::Options`]: nothing was sent; the text says what to change.
/// - [`Error::Connect`], [`Error::Handshake`]: nothing was sent.
/// - [`Error::Reply`]: the server does not speak the protocol.
/// - [`Error::ConnectionsLost`]: the server went away in the middle.
pub fn run(options: &Options) -> Result<Report, Error> {
    options.validate()?;
    let mut streams = Vec::with_capacity(options.connections);
    for number in 0..options.connections {
        let target = options.target.of_connection(number);
        streams.push(Link::open(&target)?.into_socket());
    }
    let mut shares: Vec<Vec<LinkSocket>> = std::iter::repeat_with(Vec::new)
        .take(options.threads)
        .collect();
    for (position, stream) in streams.into_iter().enumerate() {
        shares[position % options.threads].push(stream);
    }
    let begin = Instant::now();
    let mut generators = Vec::with_capacity(options.threads);
    for (share, streams) in shares.into_iter().enumerate() {
        generators.push(Generator::new(options, streams, share as u64, begin)?);
    }
    let results: Vec<Result<Finished, Error>> = thread::scope(|scope| {
        // The first share runs here: a run of one thread starts none, and keeps the caller's core.
        let mut generators = generators.into_iter();
        let first = generators.next();
        let others: Vec<_> = generators
            .map(|generator| scope.spawn(move || generator.run()))
            .collect();
        let mut results: Vec<_> = first.into_iter().map(Generator::run).collect();
        for other in others {
            results.push(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        results
    });
    let mut record = Record::new();
    let mut cpu = Duration::ZERO;
    let mut end_ns = 0;
    for result in results {
        let finished = result?;
        record.merge(&finished.record);
        cpu += finished.cpu;
        end_ns = end_ns.max(finished.end_ns);
    }
    let elapsed = Duration::from_nanos(end_ns).saturating_sub(options.warm_up);
    let offered = match options.pace {
        Pace::Closed { .. } => None,
        Pace::Open { per_s, .. } => Some(per_s),
    };
    Ok(Report::new(&record, elapsed, offered, cpu))
}

#[cfg(test)]
#[path = "run_test.rs"]
mod run_test;
