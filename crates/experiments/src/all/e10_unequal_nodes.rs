//! E10: nodes of unequal capacity, that come, go and change.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::{Judgement, top};
use crate::run::Run;
use crate::spread::{Placing, keys, keys_by_partition, moved, partitions, shares};
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 10,
    title: "Unequal nodes",
    question: "Does each node hold what its capacity says, while nodes join, leave and change?",
    original: Original {
        paper: Paper::Domus,
        place: "sections 1 and 2, and the model that they cite",
        setup: "A table over nodes of different capacity; a node's share follows its level of enrolment, which may change at run time.",
        found: "The quality of balance, the relative standard deviation of shares against the ideal, is better than with consistent hashing. The evaluation has no figures of it in its text.",
    },
    scaled: "Nothing is: the placement is the server's own, and so is the number of partitions. Capacities are 1, 1, 2 and 4; then nodes join, leave and change, eight states in all.",
    expected: Expected::Reproduced,
    shape: "shares follow capacity within a few percent through all changes, far closer than on a wheel, and hardly more moves than has to",
    minutes: 0.2,
    measure,
    judge,
};

/// A state: what happened, and which nodes there are with which weights.
const STATES: [(&str, &[(u32, u32)]); 8] = [
    ("1:1:2:4", &[(0, 1), (1, 1), (2, 2), (3, 4)]),
    ("a 2 joins", &[(0, 1), (1, 1), (2, 2), (3, 4), (4, 2)]),
    (
        "a 4 joins",
        &[(0, 1), (1, 1), (2, 2), (3, 4), (4, 2), (5, 4)],
    ),
    ("a 1 leaves", &[(1, 1), (2, 2), (3, 4), (4, 2), (5, 4)]),
    ("a 1 grows to 3", &[(1, 3), (2, 2), (3, 4), (4, 2), (5, 4)]),
    (
        "a 4 shrinks to 1",
        &[(1, 3), (2, 2), (3, 1), (4, 2), (5, 4)],
    ),
    ("a 4 leaves", &[(1, 3), (2, 2), (3, 1), (4, 2)]),
    ("an 8 joins", &[(1, 3), (2, 2), (3, 1), (4, 2), (6, 8)]),
];

const PLACINGS: [Placing; 3] = [Placing::Even, Placing::Ring(100), Placing::Ring(1)];
const KEYS: usize = 80_000;
/// Names of keys, one a round.
const PREFIXES: [&str; 3] = ["key", "user:", "session:"];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let partitions = partitions(STATES[0].1);
    let counts = PREFIXES.map(|prefix| keys_by_partition(partitions, prefix, KEYS));
    for placing in PLACINGS {
        run.say(placing.name())?;
        let mut placed = vec![Vec::new(); partitions];
        let mut before: &[(u32, u32)] = &[];
        for (at, (_, nodes)) in STATES.into_iter().enumerate() {
            let next = placing.place(nodes, &placed);
            let measures = [(
                "deviation_percent",
                deviation(&shares(nodes, &next)) * 100.0,
            )];
            data.add(placing.name(), at as f64, 0, &measures);
            for (round, counts) in counts.iter().enumerate() {
                let counts = keys(nodes, &next, counts);
                let weights: u32 = nodes.iter().map(|(_, weight)| weight).sum();
                let loads = counts.iter().zip(nodes).map(|(count, (_, weight))| {
                    *count as f64 / KEYS as f64 * f64::from(weights) / f64::from(*weight)
                });
                let loads: Vec<f64> = loads.collect();
                let measures = [("keys_deviation_percent", deviation(&loads) * 100.0)];
                data.add(placing.name(), at as f64, round as u32, &measures);
            }
            if at > 0 {
                let share = moved(&placed, &next) as f64 / placed.len() as f64;
                let measures = [
                    ("moved_percent", share * 100.0),
                    ("least_percent", least_moved(before, nodes) * 100.0),
                ];
                data.add(placing.name(), at as f64, 0, &measures);
            }
            (placed, before) = (next, nodes);
        }
    }
    Ok(data)
}

/// The relative standard deviation of what should all be 1.
fn deviation(shares: &[f64]) -> f64 {
    let square: f64 = shares.iter().map(|share| (share - 1.0).powi(2)).sum();
    (square / shares.len() as f64).sqrt()
}

/// The share of everything that has to move, however it is placed: what nodes have to gain.
fn least_moved(before: &[(u32, u32)], after: &[(u32, u32)]) -> f64 {
    let share = |nodes: &[(u32, u32)], node: u32| {
        let all: u32 = nodes.iter().map(|(_, weight)| weight).sum();
        let own = nodes.iter().find(|(it, _)| *it == node);
        own.map_or(0.0, |(_, weight)| f64::from(*weight) / f64::from(all))
    };
    let gains = after
        .iter()
        .map(|(node, _)| share(after, *node) - share(before, *node));
    gains.filter(|gain| *gain > 0.0).sum()
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let words: Vec<&str> = STATES.iter().map(|(what, _)| *what).collect();
    let mut deviations = Figure::new(
        "Standard deviation of shares over capacity",
        Axis::words("what happened", &words),
        Axis::log("% of the mean"),
    );
    for placing in PLACINGS {
        let line = data.line(placing.name(), "deviation_percent");
        deviations.curve(placing.name(), Look::Bar, line);
    }
    it.figures.push(deviations);
    let even = Placing::Even.name();
    let worst = |name: &str| top(&data.line(name, "deviation_percent"));
    it.at_most(
        "deviation of our shares in percent, at worst",
        worst(even),
        5.0,
    );
    it.at_least(
        "how many times the deviation of a wheel of 100 points is, at worst",
        worst(Placing::Ring(100).name()) / worst(even),
        2.0,
    );
    let moves = data.line(even, "moved_percent");
    let least = data.line(even, "least_percent");
    let excess = moves
        .iter()
        .zip(&least)
        .map(|(moved, least)| moved.median - least.median);
    it.at_most(
        "percent moved beyond what has to, at worst",
        if moves.is_empty() {
            f64::NAN
        } else {
            excess.fold(f64::MIN, f64::max)
        },
        2.0,
    );
    it.tables.push(Table::named(
        data,
        "",
        "state",
        &[
            ("deviation_percent", "deviation of shares, %"),
            ("keys_deviation_percent", "deviation of keys, %"),
            ("moved_percent", "moved, %"),
            ("least_percent", "had to move, %"),
        ],
        &|at| {
            words
                .get(at as usize)
                .map_or_else(String::new, |it| (*it).to_owned())
        },
    ));
    it.remark(
        "Keys deviate more than shares, since a node of small capacity has few of them: that is chance, and the same for every placement.",
    );
    it
}

#[cfg(test)]
mod e10_unequal_nodes_test {
    use super::{EXPERIMENT, deviation, least_moved};
    use crate::run::run_test::with_quick_run;

    #[test]
    fn the_rules_hold_of_a_run() {
        with_quick_run(|run| {
            let data = (EXPERIMENT.measure)(run).unwrap();
            let judgement = (EXPERIMENT.judge)(&data);
            assert!(judgement.holds(), "{:#?}", judgement.checks);
        });
    }

    #[test]
    fn what_has_to_move_is_what_nodes_gain() {
        assert!((least_moved(&[(0, 1)], &[(0, 1), (1, 1)]) - 0.5).abs() < 1e-9);
        assert!((least_moved(&[(0, 1), (1, 1)], &[(0, 1)]) - 0.5).abs() < 1e-9);
        assert!(least_moved(&[(0, 1)], &[(0, 1)]).abs() < 1e-9);
    }

    #[test]
    fn equal_shares_do_not_deviate() {
        assert!(deviation(&[1.0, 1.0]).abs() < 1e-12);
        assert!((deviation(&[0.5, 1.5]) - 0.5).abs() < 1e-12);
    }
}
