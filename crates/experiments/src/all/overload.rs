//! What experiments on overload share: a server, more and more outstanding operations, throughput and latency.

use crate::data::Data;
use crate::figure::{Axis, Figure};
use crate::judgement::{Judgement, log_slope, top, undisturbed};
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::peers::{REDIS, VALKEY, present};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::Target;
use brickyard_bench::process::Process;

/// What is asked.
pub(super) struct Overload {
    pub(super) work: Work,
    /// Connections, each with a pipeline of the work's.
    pub(super) connections: &'static [usize],
    pub(super) replicas: usize,
    pub(super) has_peers: bool,
}

const TABLE: &str = "overload";
pub(super) const OURS: &str = "Brickyard";

/// Measures every number of connections, in rounds.
pub(super) fn measure_overload(run: &Run<'_>, overload: &Overload) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts")?;
    let nodes = Nodes::start(run, "ours", overload.replicas, Shape::default())?;
    // One partition: all replicas see the same.
    nodes.create(
        TABLE,
        overload.replicas,
        &["DURABILITY", "memory", "PARTITIONS", "1"],
    )?;
    let target = nodes.leader(TABLE)?;
    let mut entrants: Vec<(&str, Vec<&Process>, Target)> = vec![(OURS, nodes.processes(), target)];
    let mut servers = Vec::new();
    if overload.has_peers {
        for peer in present(run, &[&VALKEY, &REDIS]) {
            servers.push((peer.name(), peer.start(run.dir)?));
        }
    }
    for (name, server) in &servers {
        entrants.push((name, vec![server], server.target.clone()));
    }
    let piece = run.piece(overload.connections.len() * entrants.len());
    for (_, _, target) in &entrants {
        fill(Way::Address, &overload.work.closed(target, piece))?;
    }
    run.rounds(|round| {
        for connections in overload.connections.iter().copied() {
            let work = Work {
                connections,
                ..overload.work
            };
            let outstanding = (connections * work.pipeline) as f64;
            for (name, processes, target) in &entrants {
                run.say(&format!("{name}, {outstanding} outstanding"))?;
                let seen = see(processes, Way::Address, &work.closed(target, piece))?;
                data.add(name, outstanding, round, &seen.measures());
                for (at, cpu_s) in seen
                    .cpu_s
                    .iter()
                    .enumerate()
                    .filter(|_| processes.len() > 1)
                {
                    let replica = format!("replica {at}");
                    let busy = cpu_s / seen.wall_s * 100.0;
                    data.add(&replica, outstanding, round, &[("busy_percent", busy)]);
                }
            }
        }
        Ok(())
    })?;
    Ok(data)
}

/// Draws throughput and latency, and holds that the top is flat.
pub(super) fn judge_overload(data: &Data, what: &str) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        &format!("Throughput of {what}"),
        Axis::log("operations outstanding"),
        Axis::linear("operations a second"),
    );
    rates.measured(data, "ops_per_s");
    let mut waits = Figure::new(
        "Median latency",
        Axis::log("operations outstanding"),
        Axis::log("µs"),
    );
    waits.measured(data, "p50_us");
    it.figures = vec![rates, waits];
    let line = undisturbed(&data.line(OURS, "ops_per_s"));
    let last = line.last().map_or(f64::NAN, |it| it.median);
    it.at_least(
        "throughput with the most outstanding, beside the best (best rounds)",
        last / top(&line),
        0.8,
    );
    let waits = data.line(OURS, "p50_us");
    let beyond = &waits[waits.len().saturating_sub(4)..];
    it.at_least(
        "slope of latency over what is outstanding past saturation, between logarithmic axes",
        log_slope(beyond),
        0.6,
    );
    it.tables.push(Table::of(
        data,
        "",
        "outstanding",
        &[
            ("ops_per_s", "ops/s"),
            ("cpu_us", "CPU µs/op"),
            ("p50_us", "p50 µs"),
            ("p99_us", "p99 µs"),
            ("busy_percent", "busy, % of a core"),
        ],
    ));
    it
}
