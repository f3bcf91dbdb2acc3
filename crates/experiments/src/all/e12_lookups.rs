//! E12: finding who has a key without the whole map.

use crate::data::{Data, Point};
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use crate::spread::{alike, partitions};
use crate::table::Table;
use brickyard_client::{LookupStrategy, Lookups};
use brickyard_routing::graph::{Graph, LookupTrial};

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 12,
    title: "Lookups without the map",
    question: "What does it cost to hold half of the map, a quarter of it or nothing, and to ask from node to node instead?",
    original: Original {
        paper: Paper::Domus,
        place: "section 4.1.2, figure 4",
        setup: "The best deployments of figure 1 again with other lookups: direct (D), half or a quarter of the map in a cache and then from a random start (C, R), and always from a random start (R), over a Chord graph with aggregated routing.",
        found: "A cache of 50 % has 35 % of the throughput of direct lookups, one of 25 % has 60 % of that, which is 21 %; random is the worst. All scale linearly.",
    },
    scaled: "The strategies are measured on 15 nodes, as many as the original had, which share one core, through the client library on another: each client begins with an empty cache, and what it does in the first half of its time \
             does not count. Beside that, routing alone, with the code that bricks and clients route by: hops and hits are counted, for tables on 3 to 10,000 nodes, and throughput is modelled, as if a request to a node cost the same \
             whether it asks for the next hop or for the value.",
    expected: Expected::Reproduced,
    shape: "direct before half a cache before a quarter before none; hops are those of theory; and aggregated routing saves some",
    minutes: 2.0,
    measure,
    judge,
};

const NODES: [usize; 8] = [3, 16, 64, 256, 1_000, 1_024, 4_096, 10_000];
const QUICK_NODES_MAX: usize = 300;
/// As many as the original's cluster had.
const CLUSTER: usize = 15;
const SEEDS: u32 = 3;
const STRATEGIES: [(&str, f64); 3] = [("C 50 %, R", 0.5), ("C 25 %, R", 0.25), ("R", 0.0)];
/// Beside direct lookups. What R had is in the picture alone.
const PUBLISHED: [(f64, f64); 3] = [(0.0, 1.0), (1.0, 0.35), (2.0, 0.21)];
/// Hops over theory: from so many nodes on, where a whole number of hops is not most of it.
const NODES_OF_THEORY: f64 = 64.0;

fn theory(graph: Graph) -> String {
    format!("{graph}, theory")
}

fn series(graph: Graph, is_aggregated: bool) -> String {
    let kind = if is_aggregated { "aggregated" } else { "plain" };
    format!("{graph}, {kind}")
}

/// What is measured of real nodes.
const LIVE: &str = "measured";
const TABLE: &str = "e12";
/// Of a table on 15 nodes; a client remembers half of them or a quarter.
const PARTITIONS: &str = "4096";

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = counted(run)?;
    live(run, &mut data)?;
    Ok(data)
}

/// Real nodes, asked through the client library.
fn live(run: &Run<'_>, data: &mut Data) -> anyhow::Result<()> {
    let count = run.quick(3, CLUSTER);
    run.say(&format!("starts {count} nodes"))?;
    let nodes = Nodes::start(run, "live", count, Shape::default())?;
    let attributes = ["DURABILITY", "memory", "PARTITIONS", PARTITIONS];
    nodes.create(TABLE, 1, &attributes)?;
    let target = nodes.target(TABLE)?;
    let work = Work {
        keys: run.quick(10_000, 100_000),
        ..Work::DDS
    };
    // A round has each strategy once, with as much again to warm up. Rounds are short and many: half a cache and a quarter differ by a
    // seventh, and the host takes more than that from some of them.
    let time = run.piece(6 * (STRATEGIES.len() + 1));
    fill(Way::Library, &work.closed(&target, time))?;
    let all = [("D", 1.0)].into_iter().chain(STRATEGIES);
    run.rounds(|round| {
        let mut direct = f64::NAN;
        for (at, (name, cached_share_max)) in all.clone().enumerate() {
            run.say(name)?;
            let mut target = target.clone();
            target.lookups = Lookups {
                strategy: match name {
                    "D" => LookupStrategy::Direct,
                    "R" => LookupStrategy::Random,
                    _ => LookupStrategy::CachedRandom,
                },
                cached_share_max,
                ..Lookups::default()
            };
            let mut load = work.closed(&target, time);
            load.warm_up = time;
            let seen = see(&nodes.processes(), Way::Library, &load)?;
            if at == 0 {
                direct = seen.report.count_per_s;
            }
            // Processor time would be that of the first half, too.
            let mut measures = vec![
                ("ops_per_s", seen.report.count_per_s),
                ("throughput", seen.report.count_per_s / direct),
            ];
            if let Some(lookups) = &seen.report.lookups {
                let (known, asked) = (lookups.cached, lookups.near + lookups.random);
                let share = known as f64 / (known + asked).max(1) as f64;
                let hops = lookups.hops as f64 / asked.max(1) as f64;
                measures.extend([("hits", share), ("hops", hops)]);
            }
            data.add(LIVE, at as f64, round, &measures);
        }
        Ok(())
    })
}

/// Routing alone.
fn counted(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let most = run.quick(QUICK_NODES_MAX, usize::MAX);
    for graph in Graph::ALL {
        for nodes in NODES.into_iter().filter(|nodes| *nodes <= most) {
            run.say(&format!("{graph}, {nodes} nodes"))?;
            for round in 0..SEEDS {
                let trial = LookupTrial {
                    seed: u64::from(round) + 1,
                    ..LookupTrial::of(graph, nodes)
                };
                let figures = trial.run()?;
                data.add(
                    graph.name(),
                    nodes as f64,
                    round,
                    &[("hops", figures.hops_mean)],
                );
                let measures = [("hops", figures.hops_expected)];
                data.add(&theory(graph), nodes as f64, round, &measures);
            }
        }
        for is_aggregated in [true, false] {
            strategies(run, &mut data, graph, is_aggregated)?;
        }
    }
    Ok(data)
}

fn strategies(
    run: &Run<'_>,
    data: &mut Data,
    graph: Graph,
    is_aggregated: bool,
) -> anyhow::Result<()> {
    let name = series(graph, is_aggregated);
    run.say(&name)?;
    for round in 0..SEEDS {
        data.add(
            &name,
            0.0,
            round,
            &[("hits", 1.0), ("requests", 1.0), ("throughput", 1.0)],
        );
        for (at, (_, cached_share)) in STRATEGIES.into_iter().enumerate() {
            let trial = LookupTrial {
                partitions: partitions(&alike(CLUSTER)),
                is_aggregated,
                cached_share,
                seed: u64::from(round) + 1,
                ..LookupTrial::of(graph, CLUSTER)
            };
            let figures = trial.run()?;
            // Who does not know asks a first node, and one more for each hop; then comes the operation itself.
            let requests = 1.0 + (1.0 - figures.hits) * (figures.hops_mean + 1.0);
            let measures = [
                ("hits", figures.hits),
                ("hops", figures.hops_mean),
                ("requests", requests),
                ("throughput", 1.0 / requests),
                ("client_bytes", figures.client_bytes as f64),
            ];
            data.add(&name, at as f64 + 1.0, round, &measures);
        }
    }
    Ok(())
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let words = ["D", STRATEGIES[0].0, STRATEGIES[1].0, STRATEGIES[2].0];
    let mut throughput = Figure::new(
        "Throughput beside that of direct lookups, 15 nodes",
        Axis::words("lookup", &words),
        Axis::linear("times direct"),
    );
    let mut hops = Figure::new(
        "Hops from a node drawn by chance, a partition a node",
        Axis::log("nodes"),
        Axis::linear("hops"),
    );
    throughput.curve(LIVE, Look::Bar, data.line(LIVE, "throughput"));
    for graph in Graph::ALL {
        for is_aggregated in [true, false] {
            let name = series(graph, is_aggregated);
            // Colours go by what stands before a comma.
            throughput.curve(
                &format!("{} modelled", name.replace(", ", " ")),
                Look::Bar,
                data.line(&name, "throughput"),
            );
        }
        hops.curve(
            graph.name(),
            Look::Measured,
            data.line(graph.name(), "hops"),
        );
        hops.curve(
            &theory(graph),
            Look::Modelled,
            data.line(&theory(graph), "hops"),
        );
    }
    throughput.curve(
        "2007, Chord aggregated",
        Look::PublishedBar,
        exact(&PUBLISHED),
    );
    it.figures = vec![throughput, hops];
    rules(&mut it, data);
    it.tables.push(Table::named(
        data,
        "",
        "lookup, or nodes",
        &[
            ("throughput", "throughput beside D"),
            ("ops_per_s", "ops/s"),
            ("requests", "requests an operation"),
            ("hits", "share known"),
            ("hops", "hops of the others"),
            ("client_bytes", "bytes of a client"),
        ],
        &|at| {
            // Numbers of nodes begin with 3.
            let is_strategy = at < words.len() as f64;
            let word = words.get(at as usize).filter(|_| is_strategy);
            word.map_or_else(|| crate::number::shown(at), |word| (*word).to_owned())
        },
    ));
    it.remark(
        "By requests alone caches would lose less than they did: the model has a lookup cost what an operation costs. In the original a look into the cache was itself slow beside the direct method, and a miss cost a chain of services in Python.",
    );
    it.remark(
        "Direct lookups stay the default: a map is bounded, and one client in a thousand-node cluster holds less than the buffers of its connections. The other strategies are for clients that shall not hold it.",
    );
    it
}

fn rules(it: &mut Judgement, data: &Data) {
    let at = |strategy: usize| data.median(LIVE, strategy as f64, "throughput");
    it.check(
        "throughput falls from D to half a cache, to a quarter, to none (measured; Chord, aggregated)",
        (0..4)
            .map(|strategy| crate::number::shown(at(strategy)))
            .collect::<Vec<_>>()
            .join(" > "),
        (0..3).all(|strategy| at(strategy) > at(strategy + 1)),
    );
    it.within(
        "half a cache beside direct (2007: 0.35)",
        at(1),
        0.25..=0.75,
    );
    it.within(
        "a quarter beside half a cache (2007: 0.6)",
        at(2) / at(1),
        0.45..=0.95,
    );
    for graph in Graph::ALL {
        let line: Vec<Point> = data.line(graph.name(), "hops");
        let off = line
            .iter()
            .filter(|point| point.x >= NODES_OF_THEORY)
            .map(|point| point.median / data.median(&theory(graph), point.x, "hops"))
            .map(|ratio| (ratio - 1.0).abs() * 100.0);
        it.at_most(
            &format!("percent that hops over {graph} are off theory, at worst, from 64 nodes on"),
            off.fold(f64::NAN, f64::max),
            5.0,
        );
    }
    let saved = |graph: Graph| {
        let requests = |is_aggregated| data.median(&series(graph, is_aggregated), 3.0, "requests");
        requests(true) / requests(false)
    };
    it.at_most(
        "requests of R with aggregated routing beside plain, Chord",
        saved(Graph::Chord),
        1.0,
    );
}

#[cfg(test)]
mod e12_lookups_test {
    use super::{LIVE, counted, judge};
    use crate::data::Data;
    use crate::run::run_test::with_quick_run;

    /// What is counted, and what nodes would have done.
    fn data(beside: [f64; 4]) -> Data {
        let mut all = Data::default();
        with_quick_run(|run| all = counted(run).unwrap());
        for (at, beside) in beside.into_iter().enumerate() {
            all.add(LIVE, at as f64, 0, &[("throughput", beside)]);
        }
        all
    }

    #[test]
    fn the_rules_hold_of_what_is_counted_and_of_the_originals_figures() {
        let judgement = judge(&data([1.0, 0.35, 0.21, 0.15]));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn a_cache_that_is_worse_than_none_is_told() {
        let judgement = judge(&data([1.0, 0.35, 0.14, 0.15]));
        assert!(!judgement.holds());
        assert!(!judge(&Data::default()).holds());
    }
}
