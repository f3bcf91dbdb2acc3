//! E19: what operations and bytes cost.

use crate::data::{Data, Point};
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::number::shown;
use crate::peers::{MEMCACHED, REDIS, VALKEY, present};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::Target;
use brickyard_bench::process::Process;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 19,
    title: "What it costs",
    question: "How much does a billion operations cost, and a gigabyte that is kept for an hour?",
    original: Original {
        paper: Paper::Zht,
        place: "section 3.1",
        setup: "The hourly cost of instances of a cloud for ZHT, and of the provisioned capacity for DynamoDB, at equal throughput.",
        found: "DynamoDB is 423 times dearer with 2 nodes, and still 9 times at the largest scale that it supports.",
    },
    scaled: "DynamoDB cannot run here, and prices change: so costs are in the price of a core for an hour, and a gigabyte of memory for an hour is an eighth of that, about what clouds ask. The formula: a billion operations cost the processor time for one, times a billion, in hours; a gigabyte of values costs the \
             memory that it really takes, times its price. Peers by the same formula, in the same rounds.",
    expected: Expected::Explained,
    shape: "a billion operations cost less than a core-hour of well-fed pipelines, and no more than twice what the cheapest peer takes; replication, which the peers do not have here, is E1's",
    minutes: 1.5,
    measure,
    judge,
};

const OURS: &str = "Brickyard";
/// Of a gigabyte for an hour, in the price of a core for an hour.
const GIGABYTE_PRICE: f64 = 0.125;
/// What is measured: the name, the share of writes, requests in a pipeline.
const WORK: [(&str, f64, usize); 4] = [
    ("get, one at a time", 0.0, 1),
    ("get, 100 at a time", 0.0, 100),
    ("set, one at a time", 1.0, 1),
    ("set, 100 at a time", 1.0, 100),
];
const VALUE_BYTES: usize = 150;

/// The price of a billion operations of so many microseconds.
fn billion(cpu_us: f64) -> f64 {
    cpu_us * 1e-6 * 1e9 / 3_600.0
}

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts")?;
    let nodes = Nodes::start(run, "ours", 1, Shape::default())?;
    nodes.create("e19", 1, &["DURABILITY", "memory"])?;
    let mut servers = Vec::new();
    for peer in present(run, &[&VALKEY, &REDIS, &MEMCACHED]) {
        servers.push((peer.name(), peer.start(run.dir)?));
    }
    let mut entrants: Vec<(&str, Vec<&Process>, Target)> =
        vec![(OURS, nodes.processes(), nodes.target("e19")?)];
    for (name, server) in &servers {
        entrants.push((name, vec![server], server.target.clone()));
    }
    let work = Work {
        keys: run.quick(20_000, 300_000),
        value_bytes: VALUE_BYTES,
        ..Work::DDS
    };
    let piece = run.piece(entrants.len() * WORK.len());
    for (name, processes, target) in &entrants {
        let before = processes[0].resident_bytes()? as f64;
        fill(Way::Address, &work.closed(target, piece))?;
        let grown = processes[0].resident_bytes()? as f64 - before;
        let measures = [(
            "memory_over_values",
            grown / (work.keys as f64 * VALUE_BYTES as f64),
        )];
        data.add(name, 0.0, 0, &measures);
    }
    run.rounds(|round| {
        for (at, (what, set_share, pipeline)) in WORK.into_iter().enumerate() {
            for (name, processes, target) in &entrants {
                run.say(&format!("{name}, {what}"))?;
                let work = Work {
                    set_share,
                    pipeline,
                    connections: if pipeline == 1 { 50 } else { 8 },
                    ..work
                };
                let seen = see(processes, Way::Address, &work.closed(target, piece))?;
                let cpu_us = seen.cpu_us();
                let measures = [
                    ("cpu_us", cpu_us),
                    ("core_hours_a_billion", billion(cpu_us)),
                ];
                data.add(name, at as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let words = WORK.map(|(name, _, _)| name);
    let mut figure = Figure::new(
        "A billion operations, in the price of a core for an hour",
        Axis::words("", &words),
        Axis::linear("core-hours"),
    );
    let names = data.series_with("core_hours_a_billion");
    for name in &names {
        figure.curve(name, Look::Bar, data.line(name, "core_hours_a_billion"));
    }
    it.figures.push(figure);
    let price = |name: &str, at: usize| data.median(name, at as f64, "core_hours_a_billion");
    it.at_most(
        "core-hours of a billion reads, 100 at a time",
        price(OURS, 1),
        1.0,
    );
    for (at, words) in words.iter().enumerate() {
        let peers = names
            .iter()
            .filter(|name| **name != OURS)
            .map(|name| price(name, at));
        let cheapest = peers.fold(f64::NAN, f64::min);
        if cheapest.is_finite() {
            it.at_most(
                &format!("{words}: beside the cheapest peer"),
                price(OURS, at) / cheapest,
                2.0,
            );
        }
    }
    let mut table = Table::new(
        "In the price of a core for an hour; a gigabyte for an hour is an eighth",
        &[
            "",
            "memory for each byte of values",
            "a gigabyte of values for an hour",
        ],
    );
    for name in data.series_with("memory_over_values") {
        let memory: Option<Point> = data.point(name, 0.0, "memory_over_values");
        let memory = memory.map_or(f64::NAN, |it| it.median);
        table.row(vec![
            name.to_owned(),
            shown(memory),
            shown(memory * GIGABYTE_PRICE),
        ]);
    }
    it.tables.push(Table::named(
        data,
        "",
        "work",
        &[
            ("cpu_us", "CPU µs/op"),
            ("core_hours_a_billion", "core-hours a billion"),
        ],
        &|at| {
            words
                .get(at as usize)
                .map_or_else(String::new, |it| (*it).to_owned())
        },
    ));
    it.tables.push(table);
    it.remark(
        "Why it is explained and not reproduced: what the paper compares is a price list against a program. Against programs of today, on the same core, differences are in the range of one to two.",
    );
    it
}

#[cfg(test)]
mod e19_costs_test {
    use super::billion;

    #[test]
    fn a_microsecond_each_is_a_quarter_of_an_hour_or_so() {
        assert!((billion(3.6) - 1.0).abs() < 1e-12);
    }
}
