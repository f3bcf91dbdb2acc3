//! E4: reads of values of 50 to 8,000 bytes.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::peers::{MEMCACHED, REDIS, VALKEY, present};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::Target;
use brickyard_bench::process::Process;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 4,
    title: "Value size",
    question: "From which size on do bytes cost more than operations?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 5.1.3, figure 8",
        setup: "A hash table of 8 bricks, reads of values of 50 to 8,000 bytes.",
        found: "Throughput was flat from 50 to 1,000 bytes, then it fell: bytes copied took over from work for each operation. At 8,000 bytes each node of two bricks moved 60 Mb/s.",
    },
    scaled: "One brick on one core, since bricks share nothing; a pipeline of 100. Sizes go on to 32,000 bytes, since copying has become cheaper beside system calls than it was. Peers are asked the same in the same rounds.",
    expected: Expected::Reproduced,
    shape: "flat to about a thousand bytes, then bound by bytes",
    minutes: 2.5,
    measure,
    judge,
};

const SIZES: [usize; 8] = [50, 150, 500, 1_000, 2_000, 4_000, 8_000, 32_000];
const TABLE: &str = "e4";
const OURS: &str = "Brickyard";

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts")?;
    let nodes = Nodes::start(run, "ours", 1, Shape::default())?;
    let mut servers = Vec::new();
    for peer in present(run, &[&VALKEY, &REDIS, &MEMCACHED]) {
        servers.push((peer.name(), peer.start(run.dir)?));
    }
    let mut all: Vec<(&str, Vec<&Process>, Target, Work)> = Vec::new();
    for size in SIZES {
        // So few that they stay in the processor's larger caches whatever their size, and all of them fit the memory.
        let work = Work {
            keys: run.quick(500, 4_000_000 / size as u64 + 500),
            key_bytes: key_bytes(size),
            value_bytes: size,
            connections: 4,
            ..Work::DDS
        };
        let table = format!("{TABLE}-{size}");
        nodes.create(&table, 1, &["DURABILITY", "memory"])?;
        all.push((OURS, nodes.processes(), nodes.target(&table)?, work));
        for (name, server) in &servers {
            all.push((name, vec![server], server.target.clone(), work));
        }
    }
    for (_, _, target, work) in &all {
        fill(Way::Address, &work.closed(target, run.piece(1)))?;
    }
    let piece = run.piece(all.len());
    run.rounds(|round| {
        for (name, processes, target, work) in &all {
            run.say(&format!("{name}, {} bytes", work.value_bytes))?;
            let seen = see(processes, Way::Address, &work.closed(target, piece))?;
            let mut measures = seen.measures();
            let megabits = seen.report.count_per_s * work.value_bytes as f64 * 8.0 / 1e6;
            // What a core would do if nothing else held it up.
            measures.extend([
                ("mbit_per_s", megabits),
                ("ops_per_core_s", 1e6 / seen.cpu_us()),
            ]);
            data.add(name, work.value_bytes as f64, round, &measures);
        }
        Ok(())
    })?;
    Ok(data)
}

/// Keys of each size have a length of their own: so they do not meet in a server that has one table.
fn key_bytes(size: usize) -> usize {
    let at = SIZES.iter().position(|it| *it == size);
    16 + at.unwrap_or_default()
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        "Reads that a core of the server can do a second",
        Axis::log("bytes of a value"),
        Axis::log("operations a second"),
    );
    rates.measured(data, "ops_per_core_s");
    it.figures.push(rates);
    let at = |size: f64| data.median(OURS, size, "ops_per_core_s");
    it.at_least(
        "reads of 1,000 bytes beside those of 50",
        at(1_000.0) / at(50.0),
        0.5,
    );
    it.at_most(
        "reads of 32,000 bytes beside those of 1,000",
        at(32_000.0) / at(1_000.0),
        0.5,
    );
    it.at_least(
        "Mbit/s for a core at 8,000 bytes (2000: 60 for a node of two)",
        at(8_000.0) * 8_000.0 * 8.0 / 1e6,
        60.0,
    );
    it.tables.push(Table::of(
        data,
        "",
        "bytes",
        &[
            ("ops_per_core_s", "ops/s of a core"),
            ("cpu_us", "CPU µs/op"),
            ("ops_per_s", "ops/s, one client thread"),
            ("mbit_per_s", "Mbit/s"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e04_value_size_test {
    use super::{SIZES, judge, key_bytes};
    use crate::data::Data;
    use std::collections::BTreeSet;

    #[test]
    fn a_cost_for_each_and_a_cost_for_bytes_is_the_shape() {
        let mut data = Data::default();
        for size in SIZES {
            let cost_us = 1.0 + size as f64 / 2_000.0;
            data.add(
                "Brickyard",
                size as f64,
                0,
                &[("ops_per_core_s", 1e6 / cost_us)],
            );
        }
        assert!(judge(&data).holds());
    }

    #[test]
    fn a_cost_for_bytes_alone_is_not() {
        let mut data = Data::default();
        for size in SIZES {
            data.add(
                "Brickyard",
                size as f64,
                0,
                &[("ops_per_core_s", 1e9 / size as f64)],
            );
        }
        assert!(!judge(&data).holds());
    }

    #[test]
    fn keys_of_two_sizes_never_meet() {
        let lengths: BTreeSet<usize> = SIZES.into_iter().map(key_bytes).collect();
        assert_eq!(lengths.len(), SIZES.len());
    }
}
