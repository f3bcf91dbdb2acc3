//! E5: a table larger than memory, loaded in order and at random.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::Judgement;
use crate::load::{Way, Work, see};
use crate::nodes::{Nodes, Shape, must};
use crate::run::Run;
use crate::table::Table;
use anyhow::Context as _;
use brickyard_bench::{Distribution, KeySpace, Options, Target, Until, Workload};
use std::time::Instant;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 5,
    title: "Larger than memory",
    question: "What does a table larger than memory cost, if it is loaded at random instead of in order?",
    original: Original {
        paper: Paper::DdsLong,
        place: "the section on capacity (1.28 TB)",
        setup: "512 partitions on 128 disks, one replica, values of 8 KB, 10 GB a brick. Loaded by a loader that knows the order on the disks, and by keys in random order; then read at random.",
        found: "In order 130 minutes, 22,015 writes a second; at random 319 minutes, 8,985: 2.45 times slower. Random reads 14,459 a second. A log-structured layout \"might significantly improve\" it.",
    },
    scaled: "One brick on one core, values of 8 KB, and a bound on the table's memory of a tenth of what is loaded. The machine's page cache is larger than the table, so the disk's seeks are not in it: what is measured is the layout's own work and what it writes.",
    expected: Expected::Inverted,
    shape: "random load about as fast as ordered load, since both append to a log; every byte written about once",
    minutes: 3.0,
    measure,
    judge,
};

const TABLE: &str = "e5";
const VALUE_BYTES: usize = 8_000;
const KEY_BYTES: usize = 16;
const ORDERED: &str = "ordered load";
const RANDOM: &str = "random load";
const READS: &str = "random reads";
/// Then: operations a second for each disk's brick, of 128.
const PUBLISHED: [(&str, f64); 3] = [(ORDERED, 22_015.0), (RANDOM, 8_985.0), (READS, 14_459.0)];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let nodes = Nodes::start(run, "ours", 1, Shape::default())?;
    let count = run.quick(2_000_u64, 25_000);
    let bound = (count as usize * VALUE_BYTES / 10)
        .max(4_000_000)
        .to_string();
    run.rounds(|round| {
        // The one that comes first finds a cleaner disk: they take turns.
        let mut loads = [
            (ORDERED, Distribution::Sequential),
            (RANDOM, Distribution::Uniform),
        ];
        if round % 2 == 1 {
            loads.reverse();
        }
        for (name, distribution) in loads {
            run.say(name)?;
            nodes.create(TABLE, 1, &["MEDIUM", "disk", "MAXMEMORY", &bound])?;
            let target = nodes.target(TABLE)?;
            load(
                &nodes,
                &target,
                &mut data,
                round,
                (name, distribution, count),
            )?;
            if name == RANDOM {
                run.say(READS)?;
                let mut options = options(&target, Distribution::Uniform, count);
                options.workload.set_share = 0.0;
                options.until = Until::Elapsed(run.piece(4));
                let seen = see(&nodes.processes(), Way::Address, &options)?;
                data.add(READS, 0.0, round, &seen.measures());
            }
            let node = Target {
                table: None,
                ..target
            };
            must(&node, &["TABLE", "DROP", TABLE, "CONFIRM", TABLE])?;
            nodes
                .process(0)
                .context("the node is gone")?
                .wait_until_quiet()?;
        }
        Ok(())
    })?;
    Ok(data)
}

fn options(target: &Target, distribution: Distribution, count: u64) -> Options {
    let work = Work {
        set_share: 1.0,
        keys: count,
        key_bytes: KEY_BYTES,
        value_bytes: VALUE_BYTES,
        pipeline: 16,
        connections: 4,
    };
    let options = work.closed(target, std::time::Duration::ZERO);
    Options {
        workload: Workload {
            keys: KeySpace {
                distribution,
                ..options.workload.keys
            },
            ..options.workload
        },
        until: Until::Count(count),
        ..options
    }
}

/// Writes so many values, and waits until the server has done all that is left to do.
fn load(
    nodes: &Nodes,
    target: &Target,
    data: &mut Data,
    round: u32,
    (name, distribution, count): (&str, Distribution, u64),
) -> anyhow::Result<()> {
    let process = nodes.process(0).context("the node is gone")?;
    let log = || {
        process
            .log_bytes()
            .context("the node does not say how long its log is")
    };
    let (before, cpu_before, begin) = (log()?, process.cpu()?, Instant::now());
    let seen = see(
        &[process],
        Way::Address,
        &options(target, distribution, count),
    )?;
    let wall_s = begin.elapsed().as_secs_f64();
    process.wait_until_quiet()?;
    let (user, system) = process.cpu()?.since(&cpu_before);
    let written = (log()?.0 - before.0) as f64;
    let payload = (count as usize * (KEY_BYTES + VALUE_BYTES)) as f64;
    let mut measures = seen.measures();
    measures.retain(|(name, _)| *name != "cpu_us");
    measures.extend([
        ("cpu_us", (user + system) * 1e6 / count as f64),
        ("mb_per_s", payload / 1e6 / wall_s),
        ("written_over_payload", written / payload),
    ]);
    data.add(name, 0.0, round, &measures);
    Ok(())
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let words: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
    let mut rates = Figure::new(
        "Operations a second beside those of the ordered load",
        Axis::words("", &words),
        Axis::linear("times the ordered load"),
    );
    let base = data.median(ORDERED, 0.0, "ops_per_s");
    let ours = words.iter().enumerate().filter_map(|(at, name)| {
        let point = data.point(name, 0.0, "ops_per_s")?;
        Some(crate::data::Point {
            x: at as f64,
            median: point.median / base,
            min: point.min / base,
            max: point.max / base,
        })
    });
    rates.curve("Brickyard", Look::Bar, ours.collect());
    let then: Vec<(f64, f64)> = PUBLISHED
        .iter()
        .enumerate()
        .map(|(at, (_, rate))| (at as f64, rate / PUBLISHED[0].1))
        .collect();
    rates.curve("2000", Look::PublishedBar, exact(&then));
    it.figures.push(rates);
    it.at_most(
        "how many times longer a random load takes than an ordered one (2000: 2.45)",
        base / data.median(RANDOM, 0.0, "ops_per_s"),
        1.25,
    );
    it.at_most(
        "how many times the processor of an ordered load a random one takes",
        data.median(RANDOM, 0.0, "cpu_us") / data.median(ORDERED, 0.0, "cpu_us"),
        1.25,
    );
    it.at_most(
        "bytes written for each byte of a random load",
        data.median(RANDOM, 0.0, "written_over_payload"),
        1.5,
    );
    it.tables.push(Table::of(
        data,
        "",
        "",
        &[
            ("ops_per_s", "ops/s"),
            ("mb_per_s", "MB/s"),
            ("cpu_us", "CPU µs/op"),
            ("p99_us", "p99 µs"),
            ("written_over_payload", "bytes written for each of payload"),
        ],
    ));
    it.remark(
        "A random load writes about a third of its keys more than once, as it draws them, and the same number of values in all; processor time has all that the server does until it is quiet.",
    );
    it
}

#[cfg(test)]
mod e05_larger_than_memory_test {
    use super::{ORDERED, RANDOM, judge};
    use crate::data::Data;

    fn data(random: f64) -> Data {
        let mut data = Data::default();
        for (name, rate) in [(ORDERED, 1_000.0), (RANDOM, random)] {
            let measures = [
                ("ops_per_s", rate),
                ("cpu_us", 1e6 / rate),
                ("written_over_payload", 1.01),
            ];
            data.add(name, 0.0, 0, &measures);
        }
        data
    }

    #[test]
    fn as_fast_at_random_is_the_inverse_and_the_originals_ratio_is_not() {
        assert!(judge(&data(950.0)).holds());
        assert!(!judge(&data(1_000.0 / 2.45)).holds());
    }
}
