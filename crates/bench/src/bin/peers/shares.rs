//! Where the microseconds of an operation go: system calls, and the parts of the program.
//!
//! In:  Brickyard, as it is and as it was, and the echo server; Linux's `perf`. Out: for each kind of work the processor time of one
//! operation in parts, of each of them. What the echo server takes is the floor: it does nothing but receive and send.
//!
//! A sample of the server is counted where it stands: in the kernel by the system call that it is in (the kernel does the work of
//! loopback's receiver within the call that sends), in the program by the crate of the function.

use crate::{
    campaign::{Campaign, Cell, Load, echo_bytes},
    steady::OVERWRITES,
    tables::{PIPELINE_1, PIPELINE_100, VALUE_BYTES, cell},
};
use anyhow::{Context, ensure};
use brickyard_bench::peer::{Durability, Found, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, pin};
use brickyard_bench::{Operation, Until, grouped};
use std::{collections::BTreeMap, fmt::Write, path::Path, process::Command, time::Duration};

const KEYS: u64 = 300_000;

/// Samples a second: not a multiple of what else ticks.
const SAMPLES_PER_S: &str = "1999";

/// `perf` begins a little after it was told to.
const PERF_START: Duration = Duration::from_millis(700);

const WORKS: [(Operation, (usize, usize), Durability); 5] = [
    (Operation::Get, PIPELINE_1, Durability::Log),
    (Operation::Set, PIPELINE_1, Durability::Log),
    (Operation::Set, PIPELINE_1, Durability::Fsync),
    (Operation::Set, PIPELINE_100, Durability::Log),
    (Operation::Set, PIPELINE_100, Durability::Fsync),
];

/// What a frame's name begins with, or has in it, and what the sample then is; the first that fits.
const CALLS: [(&str, &str); 12] = [
    ("io_send", "send"),
    ("__sys_sendto", "send"),
    ("io_recv", "receive"),
    ("__sys_recvfrom", "receive"),
    ("epoll_wait", "wait for sockets"),
    ("pwrite64", "write to the log"),
    ("fdatasync", "sync the log"),
    ("pread64", "read for the cleaner"),
    ("futex", "wake threads, be woken"),
    ("eventfd", "wake threads, be woken"),
    ("ksys_write", "wake threads, be woken"),
    ("io_uring_enter", "batches of calls"),
];

const CRATES: [(&str, &str); 10] = [
    ("brickyard_wire", "parse and render"),
    ("brickyard_table", "table"),
    ("brickyard_brick", "brick"),
    ("brickyard_replication", "replication"),
    ("brickyard_store", "store"),
    ("brickyard_types", "records"),
    ("brickyard_node", "loop"),
    ("brickyard_server", "loop"),
    ("crc32fast", "checksums"),
    ("mi_", "memory"),
];

const OTHER_KERNEL: &str = "kernel, other";
const OTHER_PROGRAM: &str = "program, other";

/// The parts in the order of the rows.
const PARTS: [&str; 19] = [
    "send",
    "receive",
    "batches of calls",
    "wait for sockets",
    "write to the log",
    "sync the log",
    "read for the cleaner",
    "wake threads, be woken",
    OTHER_KERNEL,
    "parse and render",
    "loop",
    "brick",
    "replication",
    "table",
    "records",
    "store",
    "checksums",
    "memory",
    OTHER_PROGRAM,
];

/// One server under one kind of work.
#[derive(Default)]
struct Profile {
    cpu_us: f64,
    samples: BTreeMap<&'static str, u64>,
}

/// All kinds of work on all servers that have a part in it.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let mut out = format!(
        "{} keys of 16 bytes, values of {VALUE_BYTES} bytes, each key written {OVERWRITES} times more before. Microseconds of the server's \
         processor for one operation, all of its threads; {} rounds of {:.0} s.\n\n",
        grouped(KEYS.min(campaign.effort.keys)),
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
    );
    let chosen = |found: &&Found| found.peer.is_brickyard() || found.peer == Peer::Echo;
    let mut entrants: Vec<_> = campaign.found.iter().filter(chosen).collect();
    // As it was, as it is, and the floor.
    entrants.sort_by_key(|found| {
        [Peer::Before, Peer::Brickyard]
            .iter()
            .position(|it| *it == found.peer)
            .unwrap_or(2)
    });
    for (operation, shape, durability) in WORKS {
        let load = Load {
            keys: KEYS.min(campaign.effort.keys),
            value_bytes: VALUE_BYTES,
            overwrites: OVERWRITES,
        };
        let cell = cell(operation, shape);
        let mut servers = Vec::new();
        for found in &entrants {
            servers.push(start(campaign, found, durability, load, cell)?);
        }
        let mut profiles: Vec<Profile> = entrants.iter().map(|_| Profile::default()).collect();
        for round in 1..=campaign.effort.rounds {
            let name = operation.name();
            eprintln!("shares: round {round}, {name}, pipeline {}", cell.pipeline);
            for (server, profile) in servers.iter().zip(&mut profiles) {
                add_profile(campaign, server, load, cell, profile)?;
            }
        }
        let _ = writeln!(
            out,
            "**{}, pipeline {}, {} connections, `{}`**\n",
            operation.name().to_uppercase(),
            cell.pipeline,
            cell.connections,
            Peer::Brickyard.durability_word(durability)
        );
        write_table(&mut out, &entrants, &profiles, campaign.effort.rounds);
    }
    Ok(out)
}

fn start(
    campaign: &Campaign<'_>,
    found: &Found,
    durability: Durability,
    load: Load,
    cell: Cell,
) -> anyhow::Result<Process> {
    if found.peer != Peer::Echo {
        return Ok(campaign.start_filled_process(found, durability, load)?.0);
    }
    let setup = Setup {
        echo_bytes: echo_bytes(load, cell.operation),
        ..Setup::of(Durability::Memory)
    };
    Process::start(found, &setup, campaign.dir)
}

/// Runs the load, and looks where the server is meanwhile.
fn add_profile(
    campaign: &Campaign<'_>,
    server: &Process,
    load: Load,
    cell: Cell,
    profile: &mut Profile,
) -> anyhow::Result<()> {
    let data = campaign.dir.join("perf.data");
    let span = campaign.effort.duration;
    let mut perf = Command::new("perf")
        .args(["record", "--quiet", "-g", "-F", SAMPLES_PER_S, "-p"])
        .arg(server.id().to_string())
        .arg("-o")
        .arg(&data)
        .args(["--", "sleep", &span.as_secs_f64().to_string()])
        .spawn()
        .context("cannot start perf; install Linux's perf to see where time goes")?;
    let mut options = campaign.options(&server.target, load, cell);
    options.until = Until::Elapsed(span + PERF_START);
    let before = server.cpu()?;
    let report = server.run(&options)?;
    let (user_s, system_s) = server.cpu()?.since(&before);
    ensure!(perf.wait()?.success(), "perf record failed");
    profile.cpu_us += (user_s + system_s) * 1e6 / report.count.max(1) as f64;
    count_samples(&stacks(&data)?, &mut profile.samples);
    Ok(())
}

/// The stacks of all samples, as text.
fn stacks(data: &Path) -> anyhow::Result<String> {
    let output = Command::new("perf")
        .args(["script", "-F", "comm,ip,sym", "-i"])
        .arg(data)
        .output()
        .context("cannot run perf script")?;
    ensure!(output.status.success(), "perf script failed");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A sample is a line with the thread's name, and a line for each frame, the innermost first.
fn count_samples(stacks: &str, counts: &mut BTreeMap<&'static str, u64>) {
    for sample in stacks.split("\n\n") {
        let mut frames = sample.lines().skip(1).filter_map(|line| {
            let (address, name) = line.trim().split_once(' ')?;
            Some((is_kernel(address), name))
        });
        let Some(innermost) = frames.next() else {
            continue;
        };
        let all = std::iter::once(innermost).chain(frames);
        *counts.entry(part(innermost, all)).or_default() += 1;
    }
}

fn part<'a>(
    innermost: (bool, &str),
    frames: impl Iterator<Item = (bool, &'a str)>,
) -> &'static str {
    let kernel: Vec<&str> = frames
        .filter(|(is_kernel, _)| *is_kernel)
        .map(|(_, name)| name)
        .collect();
    let find = |list: &[(&str, &'static str)], names: &[&str]| {
        let mut fitting = list
            .iter()
            .filter(|(word, _)| names.iter().any(|name| name.contains(word)));
        fitting.next().map(|(_, part)| *part)
    };
    if innermost.0 {
        return find(&CALLS, &kernel).unwrap_or(OTHER_KERNEL);
    }
    find(&CRATES, &[innermost.1]).unwrap_or(OTHER_PROGRAM)
}

/// The kernel has the upper half of all addresses.
fn is_kernel(address: &str) -> bool {
    u64::from_str_radix(address, 16).is_ok_and(|address| address >> 63 == 1)
}

fn write_table(out: &mut String, entrants: &[&Found], profiles: &[Profile], rounds: usize) {
    let names = entrants.iter().map(|found| found.peer.name());
    let _ = writeln!(out, "| | {} |", names.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(entrants.len()));
    let mean = |profile: &Profile| profile.cpu_us / rounds as f64;
    let mut write_row = |name: &str, value: &dyn Fn(&Profile) -> f64| {
        let values: Vec<f64> = profiles.iter().map(value).collect();
        if values.iter().all(|value| *value < 0.0005) {
            return;
        }
        let cells = values.iter().map(|value| match value {
            value if *value < 0.0005 => String::new(),
            value => format!("{value:.3}"),
        });
        let _ = writeln!(
            out,
            "| {name} | {} |",
            cells.collect::<Vec<_>>().join(" | ")
        );
    };
    for part in PARTS {
        write_row(part, &|profile| {
            let all: u64 = profile.samples.values().sum();
            let own = profile.samples.get(part).copied().unwrap_or_default();
            mean(profile) * own as f64 / all.max(1) as f64
        });
    }
    write_row("**all**", &mean);
    out.push('\n');
}

#[cfg(test)]
#[path = "shares_test.rs"]
mod shares_test;
