//! E1: does throughput grow with the bricks?

use crate::data::{Data, Point};
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::{Judgement, bottom, top};
use crate::load::{Way, Work, fill, see, see_together};
use crate::nodes::{Nodes, Shape};
use crate::number::shown;
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::{Options, Target};
use std::time::Duration;

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
    scaled: "Two cores cannot show 128 bricks. What a brick can do is the inverse of the processor time that it takes for an operation, and bricks share nothing that they write: if an operation takes \
             no more where there are more bricks, throughput grows with them. So that time is measured on 1, 2, 4 and 6 bricks, each a process, loaded through the client library, which goes to the brick of \
             each key. All of them have one core and its caches between them, which bricks on machines of their own do not: so the same number of bricks as clusters of two, which know nothing of each other, \
             is measured beside them, on the same core under the same load in the same rounds. What is dearer in the one cluster is what a cluster's size costs. From 1 to 1,024 bricks the throughput is \
             modelled, one core a brick, and drawn as modelled.",
    expected: Expected::Explained,
    shape: "nearly a straight line: an operation costs at most half as much again in one cluster as in as many bricks that are clusters of two, since a client's pipeline is spread over more bricks and fewer requests come together; and a write on two copies costs several reads, as it did",
    minutes: 4.0,
    measure,
    judge,
};

/// Bricks that run, one a node.
const BRICKS: [usize; 4] = [1, 2, 4, 6];
/// Of these, as many are also there as clusters of two.
const BESIDE: [usize; 2] = [4, 6];
/// Bricks that are modelled.
const MODELLED: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0];
/// Clients, each with a pipeline of 100 operations for each brick: whatever their number, a brick has as much to do at a time from as many connections.
const CLIENTS: usize = 6;
const TABLE: &str = "e1";
/// Reads and writes of 128 bricks, and their ratio for each of them.
const PUBLISHED: [(&str, f64); 2] = [("get", 61_432.0), ("put", 13_582.0)];

/// A cluster, and what it is asked for.
struct Loaded {
    bricks: usize,
    nodes: Nodes,
    target: Target,
    work: Work,
}

impl Loaded {
    fn start(run: &Run<'_>, name: &str, bricks: usize) -> anyhow::Result<Self> {
        run.say(&format!("starts {bricks} bricks"))?;
        let nodes = Nodes::start(run, name, bricks, Shape::default())?;
        // Two copies where there are two bricks, as the original had; a brick alone has one.
        nodes.create(TABLE, bricks.min(2), &["DURABILITY", "memory"])?;
        let target = nodes.target(TABLE)?;
        let work = Work {
            keys: run.quick(5_000, 50_000) * bricks as u64,
            pipeline: Work::DDS.pipeline * bricks,
            connections: CLIENTS,
            ..Work::DDS
        };
        fill(Way::Library, &work.closed(&target, run.piece(PIECES)))?;
        Ok(Self {
            bricks,
            nodes,
            target,
            work,
        })
    }

    fn load(&self, is_write: bool, time: Duration) -> Options {
        let work = if is_write {
            self.work.writes()
        } else {
            self.work
        };
        // A thread of clients for two bricks, be they a cluster or part of one.
        Options {
            threads: (self.bricks / 2).max(1),
            ..work.closed(&self.target, time)
        }
    }
}

/// Measurements of a round.
const PIECES: usize = 2 * (BRICKS.len() + BESIDE.len());

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let mut clusters = Vec::new();
    for bricks in BRICKS {
        clusters.push(Loaded::start(run, &format!("of{bricks}"), bricks)?);
    }
    let mut pairs = Vec::new();
    for number in 0..BESIDE[1] / 2 {
        pairs.push(Loaded::start(run, &format!("pair{number}"), 2)?);
    }
    let time = run.piece(PIECES);
    run.rounds(|round| {
        for (name, is_write) in [("get", false), ("put", true)] {
            for cluster in &clusters {
                let bricks = cluster.bricks;
                run.say(&format!("{name}, {bricks} bricks"))?;
                let options = cluster.load(is_write, time);
                let seen = see(&cluster.nodes.processes(), Way::Library, &options)?;
                data.add(name, bricks as f64, round, &seen.measures());
                // The busiest brick's share of all processor time: 1 is even.
                let sum: f64 = seen.cpu_s.iter().sum();
                let most = seen.cpu_s.iter().copied().fold(0.0, f64::max);
                let measures = [("busiest_over_mean", most * bricks as f64 / sum)];
                data.add(name, bricks as f64, round, &measures);
                if !BESIDE.contains(&bricks) {
                    continue;
                }
                run.say(&format!("{name}, {bricks} bricks in clusters of two"))?;
                let pairs = &pairs[..bricks / 2];
                let processes: Vec<_> = pairs.iter().flat_map(|it| it.nodes.processes()).collect();
                let loads: Vec<_> = pairs.iter().map(|it| it.load(is_write, time)).collect();
                let apart = see_together(&processes, Way::Library, &loads)?.cpu_us();
                let measures = [("apart_us", apart), ("beside_apart", seen.cpu_us() / apart)];
                data.add(name, bricks as f64, round, &measures);
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
        costs.curve(
            &format!("{name}, in clusters of two"),
            Look::Measured,
            data.line(name, "apart_us"),
        );
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
        for bricks in BESIDE {
            it.within(
                &format!("time for a {name} in one cluster of {bricks} bricks, beside {} clusters of two", bricks / 2),
                data.median(name, bricks as f64, "beside_apart"),
                0.8..=1.5,
            );
        }
    }
    let mean = |name: &str| {
        let costs = data.line(name, "cpu_us").into_iter();
        let several: Vec<f64> = costs.filter(|it| it.x > 1.0).map(|it| it.median).collect();
        several.iter().sum::<f64>() / several.len() as f64
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
        "The original handled each operation by itself. Here what comes together is read, executed, replicated and answered together, which is most of why an operation takes a microsecond; a client that asks more bricks has \
         fewer requests for each at a time, and a brick with more peers fewer records for each. That ends where each comes alone, and grows no further.",
    );
    it.remark(
        "What the model leaves out: a network between the nodes, and clients, of which as many are needed as there are bricks. The clients share one core, so operations a second say what they \
         do; the bricks' processor time is what is compared.",
    );
    it.tables.push(Table::of(
        data,
        "Measured",
        "bricks",
        &[
            ("cpu_us", "CPU µs/op"),
            ("apart_us", "in clusters of two"),
            ("beside_apart", "beside them"),
            ("busiest_over_mean", "busiest brick over mean"),
            ("ops_per_s", "ops/s of the clients' core"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e01_linear_scaling_test {
    use super::{BESIDE, BRICKS, judge};
    use crate::data::Data;

    /// What an operation costs on so many bricks, in one cluster (`true`) or in clusters of two.
    fn data(cost: impl Fn(&str, usize, bool) -> f64) -> Data {
        let mut data = Data::default();
        for name in ["get", "put"] {
            for bricks in BRICKS {
                let one = cost(name, bricks, true);
                let measures = [("cpu_us", one), ("busiest_over_mean", 1.05)];
                data.add(name, bricks as f64, 0, &measures);
                if BESIDE.contains(&bricks) {
                    let apart = cost(name, bricks, false);
                    let measures = [("apart_us", apart), ("beside_apart", one / apart)];
                    data.add(name, bricks as f64, 0, &measures);
                }
            }
        }
        data
    }

    #[test]
    fn a_cost_that_does_not_grow_is_a_straight_line() {
        let judgement = judge(&data(|name, _, _| if name == "get" { 1.0 } else { 3.0 }));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn what_a_core_costs_that_is_shared_is_not_the_clusters() {
        let judgement = judge(&data(|_, bricks, _| 1.0 + bricks as f64 / 10.0));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn a_cost_that_grows_with_the_cluster_is_no_straight_line() {
        let judgement = judge(&data(
            |_, bricks, is_one| if is_one { bricks as f64 } else { 2.0 },
        ));
        assert_eq!(judgement.checks.iter().filter(|it| !it.holds).count(), 4);
    }

    #[test]
    fn writes_that_cost_a_dozen_reads_are_too_dear() {
        let judgement = judge(&data(|name, _, _| if name == "get" { 1.0 } else { 12.0 }));
        assert_eq!(judgement.checks.iter().filter(|it| !it.holds).count(), 1);
    }
}
