//! E1: does throughput grow with the bricks?

use crate::data::{Data, Point};
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::{Judgement, bottom, log_slope, top};
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::number::shown;
use crate::run::Run;
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 1,
    title: "Linear scaling",
    question: "Does throughput grow in proportion to the bricks?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 5.1.1, figure 5",
        setup: "1 to 128 bricks, one a processor (500 MHz), two replicas, values of 150 bytes in memory; clients with a closed pipeline of 100 operations each, more of them until throughput is flat.",
        found: "A straight line between two logarithmic axes up to 128 bricks: 61,432 reads a second and 13,582 writes a second, which is 480 and 106 for each brick; a write costs 4.5 times a read.",
    },
    scaled: "Two cores cannot show 128 bricks. What a brick can do is the inverse of the processor time that it takes for an operation, and bricks share nothing that they write: so the processor time \
             for one operation is measured on 1, 2, 3, 4 and 6 bricks, each a process, all on one core, loaded through the client library, which goes to the brick of each key. If it does not grow with \
             the bricks, throughput grows with them. From 1 to 1,024 bricks the throughput is modelled from it, one core a brick, and drawn as modelled.",
    expected: Expected::Reproduced,
    shape: "processor time for an operation does not grow with the bricks, so a straight line; and a write on two copies costs several reads, as it did",
    minutes: 4.0,
    measure,
    judge,
};

/// Bricks that run, one a node.
const BRICKS: [usize; 5] = [1, 2, 3, 4, 6];
/// Bricks that are modelled.
const MODELLED: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0];
/// Clients, each with a pipeline of 100 operations for each brick.
const CLIENTS: usize = 4;
const TABLE: &str = "e1";
/// Reads and writes of 128 bricks, and their ratio for each of them.
const PUBLISHED: [(&str, f64); 2] = [("get", 61_432.0), ("put", 13_582.0)];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let mut clusters = Vec::new();
    for bricks in BRICKS {
        run.say(&format!("starts {bricks} bricks"))?;
        let nodes = Nodes::start(run, &format!("of{bricks}"), bricks, Shape::default())?;
        // Two copies where there are two bricks, as the original had; a brick alone has one.
        nodes.create(TABLE, bricks.min(2), &["DURABILITY", "memory"])?;
        let target = nodes.target(TABLE)?;
        let work = Work {
            keys: run.quick(10_000, 100_000),
            // As much for each brick, whatever their number, and as much at a time.
            pipeline: Work::DDS.pipeline * bricks,
            connections: CLIENTS,
            ..Work::DDS
        };
        fill(Way::Library, &work.closed(&target, run.piece(10)))?;
        clusters.push((bricks, nodes, target, work));
    }
    run.rounds(|round| {
        for (name, is_write) in [("get", false), ("put", true)] {
            for (bricks, nodes, target, work) in &clusters {
                run.say(&format!("{name}, {bricks} bricks"))?;
                let work = if is_write { work.writes() } else { *work };
                let options = work.closed(target, run.piece(10));
                let seen = see(&nodes.processes(), Way::Library, &options)?;
                data.add(name, *bricks as f64, round, &seen.measures());
                // The busiest brick's share of all processor time: 1 is even.
                let sum: f64 = seen.cpu_s.iter().sum();
                let most = seen.cpu_s.iter().copied().fold(0.0, f64::max);
                let measures = [("busiest_over_mean", most * *bricks as f64 / sum)];
                data.add(name, *bricks as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

/// What so many bricks of a core each do, if an operation costs what it does on two and more bricks here, and the busiest is as busy beside the others as it was.
fn modelled(data: &Data, name: &str) -> Vec<Point> {
    let several = |measure: &str| -> Vec<Point> {
        let line = data.line(name, measure);
        line.into_iter().filter(|point| point.x > 1.0).collect()
    };
    let (cost, uneven) = (several("cpu_us"), several("busiest_over_mean"));
    if cost.is_empty() || uneven.is_empty() {
        return Vec::new();
    }
    let least = cost.iter().map(|it| it.min).fold(f64::MAX, f64::min);
    let mean = cost.iter().map(|it| it.median).sum::<f64>() / cost.len() as f64;
    let most = cost.iter().map(|it| it.max).fold(0.0, f64::max);
    let unevenness = top(&uneven);
    let rate = |bricks: f64, cost: f64| bricks * 1e6 / cost / unevenness;
    let point = |bricks: f64| Point {
        x: bricks,
        median: rate(bricks, mean),
        min: rate(bricks, most),
        max: rate(bricks, least),
    };
    MODELLED.into_iter().map(point).collect()
}

/// Of two bricks and more, what an operation cost in the round that was disturbed least.
fn quietest(data: &Data, name: &str) -> Vec<Point> {
    let line = data.line(name, "cpu_us").into_iter();
    let several = line.filter(|point| point.x > 1.0);
    several
        .map(|point| Point {
            median: point.min,
            ..point
        })
        .collect()
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut costs = Figure::new(
        "Measured: processor time of all bricks for one operation, two copies",
        Axis::linear("bricks, on one core"),
        Axis::linear("CPU µs/op"),
    );
    let mut rates = Figure::new(
        "Throughput: modelled from that with a core a brick, and published",
        Axis::log("bricks"),
        Axis::log("operations a second"),
    );
    for (name, published) in PUBLISHED {
        costs.curve(name, Look::Measured, data.line(name, "cpu_us"));
        rates.curve(
            &format!("{name}, modelled"),
            Look::Modelled,
            modelled(data, name),
        );
        let line = [1.0, 128.0].map(|bricks| (bricks, published / 128.0 * bricks));
        rates.curve(&format!("{name} in 2000"), Look::Published, exact(&line));
    }
    it.figures = vec![costs, rates];
    for (name, _) in PUBLISHED {
        // Throughput is bricks over cost: the slope of one is 1 less that of the other.
        it.within(
            &format!("slope of {name} throughput over 2 to 6 bricks between logarithmic axes, least disturbed rounds"),
            1.0 - log_slope(&quietest(data, name)),
            0.85..=1.15,
        );
    }
    let mean = |name: &str| {
        let costs = quietest(data, name);
        costs.iter().map(|point| point.median).sum::<f64>() / costs.len() as f64
    };
    it.within(
        "how many times a read a write on two copies costs (2000: 4.5)",
        mean("put") / mean("get"),
        1.0..=9.0,
    );
    let modelled = modelled(data, "get");
    let at_128 = bottom(&modelled) * 128.0;
    it.remark(format!(
        "Modelled for 128 bricks: {} reads a second, {} times the original's, on processors that are a quarter of a century younger.",
        shown(at_128),
        shown(at_128 / PUBLISHED[0].1),
    ));
    it.remark(
        "A write is more work than it was beside a read: two bricks execute it, one sends it to the other and hears the vote, and both hear that it is committed; what a read costs is little more than its bytes.",
    );
    it.remark(
        "What the model leaves out: a network between the nodes, and clients, of which as many are needed as there are bricks. The client library here is one thread, so operations a second say what it \
         does; the bricks' processor time is what is compared.",
    );
    it.tables.push(Table::of(
        data,
        "Measured",
        "bricks",
        &[
            ("cpu_us", "CPU µs/op"),
            ("busiest_over_mean", "busiest brick over mean"),
            ("ops_per_s", "ops/s of one client thread"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e01_linear_scaling_test {
    use super::{BRICKS, judge};
    use crate::data::Data;

    fn data(cost: impl Fn(&str, usize) -> f64) -> Data {
        let mut data = Data::default();
        for name in ["get", "put"] {
            for bricks in BRICKS {
                let measures = [("cpu_us", cost(name, bricks)), ("busiest_over_mean", 1.05)];
                data.add(name, bricks as f64, 0, &measures);
            }
        }
        data
    }

    #[test]
    fn a_cost_that_does_not_grow_is_a_straight_line() {
        let judgement = judge(&data(|name, _| if name == "get" { 1.0 } else { 3.0 }));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn a_cost_that_grows_with_the_bricks_is_none() {
        let judgement = judge(&data(|_, bricks| bricks as f64));
        assert!(!judgement.holds());
    }

    #[test]
    fn writes_that_cost_a_dozen_reads_are_too_dear() {
        let judgement = judge(&data(|name, _| if name == "get" { 1.0 } else { 12.0 }));
        assert_eq!(judgement.checks.iter().filter(|it| !it.holds).count(), 1);
    }
}
