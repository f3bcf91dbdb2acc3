//! E8: how many keys each node has.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure};
use crate::judgement::Judgement;
use crate::number::shown;
use crate::peers::infinispan::Grid;
use crate::run::Run;
use crate::spread::{
    Placing, alike, keys, keys_by_partition, least_over_mean, most_over_mean, moved, partitions,
    perfect,
};
use crate::table::Table;
use brickyard_bench::grouped;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 8,
    title: "Keys per node",
    question: "How evenly do a thousand keys a node spread over 3 to 100 nodes?",
    original: Original {
        paper: Paper::Infinispan,
        place: "the table \"actual number of keys per node\"",
        setup: "3, 5, 7 and 9 nodes with a thousand keys each on average; Infinispan's consistent hash of 2011, a wheel with one point a node, against an \
                ideal one that gives each node exactly a thousand.",
        found: "The fullest node had 2.18, 1.86, 2.61 and 2.85 times the mean, and some had next to nothing (3 keys of a thousand). The ideal hash knew the keys.",
    },
    scaled: "Nothing is: placement and hash are those of the server, and no node is needed to ask them. Thirty and a hundred nodes, which the note wished for, are added, \
             and a hundred thousand keys a node. Infinispan of today is its very class for default settings, with random node ids as at each start.",
    expected: Expected::Inverted,
    shape: "no node has more than chance gives it: within a twentieth of a perfect hash at a thousand keys a node, within a fiftieth of the mean at a hundred thousand",
    minutes: 1.0,
    measure,
    judge,
};

const NODES: [usize; 6] = [3, 5, 7, 9, 30, 100];
/// Names of keys, one a round.
const PREFIXES: [&str; 5] = ["key", "user:", "session:", "a/longer/name/of/a/key/", "k"];

/// Keys of each node in 2011.
const IN_2011: [&[u64]; 4] = [
    &[2175, 494, 331],
    &[500, 660, 1855, 585, 1400],
    &[1775, 487, 37, 239, 1396, 457, 2609],
    &[1548, 3, 545, 2854, 201, 2025, 7, 1609, 208],
];

/// One node joined after the other.
const GROWN: &str = "Brickyard, grown node by node";
const PERFECT: &str = "perfect hash";
const INFINISPAN: &str = "Infinispan";

/// The same series with another number of keys a node.
fn series(name: &str, each: usize) -> String {
    format!("{name}, {} keys a node", grouped(each as u64))
}

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let many = run.quick(10_000, 100_000);
    let mut data = ours(run, &[1_000, many])?;
    let Some(grid) = Grid::find(run)? else {
        return Ok(data);
    };
    for each in [1_000, many] {
        for nodes in NODES {
            run.say(&format!("Infinispan, {nodes} nodes"))?;
            for (round, counts) in grid.keys(nodes, each, &PREFIXES)?.iter().enumerate() {
                add(
                    &mut data,
                    &series(INFINISPAN, each),
                    nodes,
                    round as u32,
                    counts,
                );
            }
        }
    }
    Ok(data)
}

fn ours(run: &Run<'_>, each: &[usize]) -> anyhow::Result<Data> {
    let mut data = Data::default();
    for each in each.iter().copied() {
        for nodes in NODES {
            run.say(&format!(
                "{nodes} nodes, {} keys each",
                grouped(each as u64)
            ))?;
            let members = alike(nodes);
            let nowhere = vec![Vec::new(); partitions(&members)];
            let counts = PREFIXES.map(|it| keys_by_partition(nowhere.len(), it, nodes * each));
            for placing in [Placing::Even, Placing::Ring(100), Placing::Ring(1)] {
                let placed = placing.place(&members, &nowhere);
                for (round, counts) in counts.iter().enumerate() {
                    let counts = keys(&members, &placed, counts);
                    let name = series(placing.name(), each);
                    add(&mut data, &name, nodes, round as u32, &counts);
                }
                if each == 1_000 {
                    add_moves(&mut data, placing, nodes, &placed);
                }
            }
            if !run.quick(true, false) {
                let one_by_one = |now: Vec<_>, nodes| Placing::Even.place(&alike(nodes), &now);
                let placed = (1..=nodes).fold(nowhere, one_by_one);
                for (round, counts) in counts.iter().enumerate() {
                    let counts = keys(&members, &placed, counts);
                    add(
                        &mut data,
                        &series(GROWN, each),
                        nodes,
                        round as u32,
                        &counts,
                    );
                }
            }
            for round in 0..PREFIXES.len() as u32 {
                let counts = perfect(nodes, each, u64::from(round) + nodes as u64);
                add(&mut data, &series(PERFECT, each), nodes, round, &counts);
            }
        }
    }
    Ok(data)
}

fn add(data: &mut Data, series: &str, nodes: usize, round: u32, counts: &[u64]) {
    let measures = [
        ("most_over_mean", most_over_mean(counts)),
        ("least_over_mean", least_over_mean(counts)),
    ];
    data.add(series, nodes as f64, round, &measures);
}

/// What moves when a node joins and when one leaves, over what has to.
fn add_moves(
    data: &mut Data,
    placing: Placing,
    nodes: usize,
    placed: &[Vec<brickyard_routing::Member>],
) {
    let after = placing.place(&alike(nodes + 1), placed);
    let needed = placed.len() as f64 / (nodes + 1) as f64;
    let moved = moved(placed, &after) as f64;
    let left = placing.place(&alike(nodes)[1..], placed);
    let orphans = placed
        .iter()
        .filter(|it| it.first().is_some_and(|it| it.node.0 == 0));
    let orphans = orphans.count().max(1) as f64;
    let measures = [
        ("moved_over_least", moved / needed),
        (
            "moved_by_leave_over_least",
            crate::spread::moved(placed, &left) as f64 / orphans,
        ),
    ];
    let name = series(placing.name(), 1_000);
    data.add(&name, nodes as f64, 0, &measures);
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut figure = Figure::new(
        "The fullest node's keys over the mean, a thousand keys a node",
        Axis::log("nodes"),
        Axis {
            least: Some(1.0),
            ..Axis::log("most over mean")
        },
    );
    let names = [
        Placing::Even.name(),
        Placing::Ring(100).name(),
        Placing::Ring(1).name(),
        PERFECT,
        INFINISPAN,
    ];
    for name in names {
        let line = data.line(&series(name, 1_000), "most_over_mean");
        figure.curve(name, crate::figure::Look::Measured, line);
    }
    let in_2011: Vec<(f64, f64)> = IN_2011
        .iter()
        .map(|counts| (counts.len() as f64, most_over_mean(counts)))
        .collect();
    figure.published("Infinispan of 2011", &in_2011);
    it.figures.push(figure);
    rules(&mut it, data);
    let mut published = Table::new(
        "Infinispan of 2011, as published",
        &["", "nodes", "most over mean", "least over mean", "keys"],
    );
    for counts in IN_2011 {
        let words: Vec<String> = counts.iter().map(u64::to_string).collect();
        published.row(vec![
            "wheel of 2011".to_owned(),
            counts.len().to_string(),
            shown(most_over_mean(counts)),
            shown(least_over_mean(counts)),
            words.join(" "),
        ]);
    }
    it.tables.push(Table::of(
        data,
        "Measured",
        "nodes",
        &[
            ("most_over_mean", "most over mean"),
            ("least_over_mean", "least over mean"),
            (
                "moved_over_least",
                "moves of a join over the least possible",
            ),
        ],
    ));
    it.tables.push(published);
    it.remark(
        "Equal shares of the hash space are not equal numbers of keys: a thousand keys a node differ by chance, for any hash that does not know them. So the rule \
         compares with draws of a perfect hash, and the larger number of keys shows what is left when chance is gone.",
    );
    it
}

fn rules(it: &mut Judgement, data: &Data) {
    let at = |name: &str, each: usize, nodes: usize| {
        data.median(&series(name, each), nodes as f64, "most_over_mean")
    };
    let worst = |of: &dyn Fn(usize) -> f64| NODES.map(of).into_iter().fold(f64::MIN, nan_max);
    let even = Placing::Even.name();
    it.at_most(
        "most over mean beside a perfect hash's, a thousand keys a node, at worst",
        worst(&|nodes| at(even, 1_000, nodes) / at(PERFECT, 1_000, nodes)),
        1.05,
    );
    // A quick run has fewer keys, and chance has more to say.
    let each = [100_000, 10_000]
        .into_iter()
        .find(|each| !data.line(&series(even, *each), "most_over_mean").is_empty());
    if let Some(each) = each {
        let bound = if each == 100_000 { 1.02 } else { 1.05 };
        it.at_most(
            &format!(
                "most over mean with {} keys a node, at worst",
                grouped(each as u64)
            ),
            worst(&|nodes| at(even, each, nodes)),
            bound,
        );
    }
    it.at_most(
        "moves of a join over the least possible, at worst",
        worst(&|nodes| data.median(&series(even, 1_000), nodes as f64, "moved_over_least")),
        1.02,
    );
    it.at_most(
        "moves of a leave over those that have to, at worst",
        worst(&|nodes| {
            data.median(
                &series(even, 1_000),
                nodes as f64,
                "moved_by_leave_over_least",
            )
        }),
        1.02,
    );
    it.at_least(
        "most over mean of a wheel of one point on 9 nodes (2011: 2.85)",
        at(Placing::Ring(1).name(), 1_000, 9),
        1.8,
    );
    if !data
        .line(&series(INFINISPAN, 1_000), "most_over_mean")
        .is_empty()
    {
        it.at_most(
            "most over mean beside today's Infinispan's, a thousand keys a node, at worst",
            worst(&|nodes| at(even, 1_000, nodes) / at(INFINISPAN, 1_000, nodes)),
            1.03,
        );
    }
}

/// The larger, or no number if either is none.
fn nan_max(a: f64, b: f64) -> f64 {
    if b.is_nan() || a.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

#[cfg(test)]
mod e08_keys_per_node_test {
    use super::{EXPERIMENT, IN_2011, ours};
    use crate::run::run_test::with_quick_run;

    #[test]
    fn the_rules_hold_of_a_quick_run_without_peers() {
        with_quick_run(|run| {
            let data = ours(run, &[1_000, 10_000]).unwrap();
            let judgement = (EXPERIMENT.judge)(&data);
            assert!(judgement.holds(), "{:#?}", judgement.checks);
            assert_eq!(judgement.figures.len(), 1);
        });
    }

    #[test]
    fn the_published_table_has_a_thousand_keys_a_node() {
        for counts in IN_2011 {
            assert_eq!(counts.iter().sum::<u64>(), 1_000 * counts.len() as u64);
        }
    }
}
