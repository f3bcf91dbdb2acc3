//! Figure 9 of Gribble et al., "Scalable, Distributed Data Structures for Internet Service Construction" (OSDI
//! 2000): throughput over time while one of three replicas is killed, comes back and catches up.
//!
//! There a partition under recovery takes no writes; here writes must go on.

use crate::client::encode;
use crate::cluster::Cluster;
use crate::deadline::wait_for;
use crate::trial::{Keys, Report, Setup, try_failure, wait_for_writes};
use crate::value::Value;
use brickyard_torture::{Kind, Recording};
use std::thread::sleep;
use std::time::Duration;

/// The pieces of time that must each have writes, in nanoseconds.
const PIECE: u64 = 500_000_000;

/// Records written in one pipeline.
const BATCH: usize = 500;

/// What came of it.
#[derive(Debug)]
pub struct Rejoined {
    /// The trial.
    pub report: Report,
    /// When a node was killed, when it was started again, and when all replicas were in sync; since the load began.
    pub marks: [Duration; 3],
    /// Successful writes in each half second from the start of the killed node until it has everything.
    pub writes: Vec<usize>,
}

/// Kills a node of a table with three replicas under load, writes so many records that it misses, and starts it again. The
/// load goes on for `calm` before, between and after.
///
/// # Panics
/// If writes stopped in any half second while it caught up, or the cluster does not become whole.
#[must_use]
pub fn rejoin(missed: usize, calm: Duration) -> Rejoined {
    let setup = Setup {
        replicas: 3,
        attributes: &["PARTITIONS", "4"],
        ..Setup::new("kill, recovery and rejoin of one of three replicas")
    };
    let mut marks = [0; 3];
    let report = try_failure(setup, Keys::Any, |cluster, load, _| {
        let holders = cluster.holders("t", "missed:0").unwrap_or_default();
        let victim = *holders.last().expect("a partition has replicas");
        // For the picture: what it is like when nothing happens.
        sleep(calm);
        marks[0] = load.now();
        cluster.kill(victim);
        wait_for_writes(load);
        sleep(calm);
        fill(cluster, missed);
        marks[1] = load.now();
        cluster.launch(victim);
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", setup.replicas);
        marks[2] = load.now();
        sleep(calm);
    });
    let report = report.expect("it asks nothing of the machine");
    let writes = writes_between(&report.recording, marks[1], marks[2]);
    assert!(
        writes.iter().all(|count| *count > 0),
        "writes in each half second of the recovery: {writes:?}"
    );
    Rejoined {
        report,
        marks: marks.map(Duration::from_nanos),
        writes,
    }
}

/// Successful writes in each piece of a time; what is left of the last one belongs to the one before.
fn writes_between(recording: &Recording, begin: u64, end: u64) -> Vec<usize> {
    let pieces = ((end - begin) / PIECE).max(1) as usize;
    let mut counts = vec![0; pieces];
    for wait in &recording.waits {
        if wait.kind == Kind::Write && (begin..=end).contains(&wait.returned) {
            let at = ((wait.returned - begin) / PIECE) as usize;
            counts[at.min(pieces - 1)] += 1;
        }
    }
    counts
}

/// Writes records of 150 bytes that are no business of the load's.
///
/// # Panics
/// If they cannot be written.
pub fn fill(cluster: &Cluster, count: usize) {
    fill_table(cluster, "t", count);
}

/// The same of another table.
///
/// # Panics
/// If nobody takes them.
pub fn fill_table(cluster: &Cluster, table: &str, count: usize) {
    let at = cluster.running()[0];
    let mut client = cluster
        .table(at, table)
        .unwrap_or_else(|error| panic!("node {at}: {error}"));
    let value = "v".repeat(150);
    for base in (0..count).step_by(BATCH) {
        let mut left: Vec<usize> = (base..count.min(base + BATCH)).collect();
        // A view that changes refuses some.
        wait_for("records to be written", || {
            let mut input = Vec::new();
            for number in &left {
                encode(&mut input, &["SET", &format!("missed:{number}"), &value]);
            }
            client.send_raw(&input).ok()?;
            left.retain(|_| !matches!(client.receive(), Ok(Value::Simple(_))));
            left.is_empty().then_some(())
        });
    }
}
