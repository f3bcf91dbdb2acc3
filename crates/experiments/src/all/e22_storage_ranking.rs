//! E22: which medium suits a mix of operations, by a formula.

use super::media::{MIXES, Medium, measure_media};
use crate::data::{Data, Point};
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::Judgement;
use crate::number::shown;
use crate::run::Run;
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 22,
    title: "Ranking the media",
    question: "Do costs of reads and writes alone tell which medium suits a mix of both?",
    original: Original {
        paper: Paper::Domus,
        place: "section 2, and the ranking formula of the paper that it cites for its storage",
        setup: "All storage technologies measured operation by operation; a formula weighs the costs by the client's access pattern and ranks them.",
        found: "The formula itself stands in the cited paper; this one's text has no figures of it.",
    },
    scaled: "One brick on one core; all media and durabilities, values of 150 bytes, a pipeline of 100. The formula: a mix costs (1 − w) times a read plus w times a write, in processor time. Mixes are measured too, in the same rounds, and compared with what the formula says.",
    expected: Expected::Reproduced,
    shape: "the formula predicts what mixes cost, and so ranks the media as measuring would",
    minutes: 3.0,
    measure,
    judge,
};

/// Share of writes from 0 to 1, in steps, that the curves are drawn with.
const STEPS: u32 = 10;
/// Costs that are so near to each other may rank either way.
const TIE: f64 = 1.15;

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    measure_media(run, &Medium::ALL)
}

/// What an operation costs in a mix of so many writes.
fn weighed(read: f64, write: f64, writes: f64) -> f64 {
    (1.0 - writes) * read + writes * write
}

/// Media from the cheapest to the dearest in a mix, with what they cost.
fn ranking(costs: &[(&'static str, f64, f64)], writes: f64) -> Vec<(&'static str, f64)> {
    let weigh =
        |(name, read, write): &(&'static str, f64, f64)| (*name, weighed(*read, *write, writes));
    let mut ranked: Vec<_> = costs.iter().map(weigh).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let cost = |name: &str, mix: f64| data.median(name, mix, "cpu_us");
    let names = Medium::ALL.map(Medium::name);
    let costs = names.map(|name| (name, cost(name, 0.0), cost(name, 1.0)));
    let mut figure = Figure::new(
        "Processor time for an operation: measured, and by the formula",
        Axis::linear("share of writes"),
        Axis::linear("CPU µs/op"),
    );
    for (name, read, write) in &costs {
        // Colours go by what stands before a comma.
        let label = name.replace(", ", " ");
        figure.curve(&label, Look::Measured, data.line(name, "cpu_us"));
        let point = |step: u32| {
            let writes = f64::from(step) / f64::from(STEPS);
            let cost = weighed(*read, *write, writes);
            Point {
                x: writes,
                median: cost,
                min: cost,
                max: cost,
            }
        };
        if read.is_finite() && write.is_finite() {
            let line = (0..=STEPS).map(point).collect();
            figure.curve(&format!("{label}, formula"), Look::Modelled, line);
        }
    }
    it.figures.push(figure);
    let mixed: Vec<f64> = MIXES
        .into_iter()
        .filter(|mix| *mix > 0.0 && *mix < 1.0)
        .collect();
    let errors = costs.iter().flat_map(|(name, read, write)| {
        mixed.iter().map(move |mix| {
            let measured = cost(name, *mix);
            (weighed(*read, *write, *mix) / measured - 1.0).abs() * 100.0
        })
    });
    let mut errors: Vec<f64> = errors.collect();
    errors.sort_by(f64::total_cmp);
    let last = errors.last().copied().unwrap_or(f64::NAN);
    let middle = errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN);
    it.at_most(
        "percent that the formula is off, in the middle",
        middle,
        30.0,
    );
    it.at_most("percent that the formula is off, at worst", last, 100.0);
    let mut table = Table::new(
        "Ranked by the formula, the cheapest first",
        &["share of writes", "ranking"],
    );
    for mix in mixed {
        let ranked = ranking(&costs, mix);
        let best = ranked.first().map_or("", |(name, _)| name);
        let measured_best = names
            .map(|name| cost(name, mix))
            .into_iter()
            .fold(f64::NAN, f64::min);
        it.at_most(
            &format!(
                "what the formula's choice costs at {} writes, beside the cheapest by measuring",
                shown(mix)
            ),
            cost(best, mix) / measured_best,
            TIE,
        );
        let words: Vec<String> = ranked
            .iter()
            .map(|(name, cost)| format!("{name} ({} µs)", shown(*cost)))
            .collect();
        table.row(vec![shown(mix), words.join("; ")]);
    }
    it.tables.push(table);
    it.tables.push(Table::of(
        data,
        "Measured",
        "share of writes",
        &[
            ("cpu_us", "CPU µs/op"),
            ("ops_per_s", "ops/s, one client thread"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it.remark(
        "The cheapest is not what a user wants: what an acknowledgement promises comes first. Among media that promise the same, the ranking chooses.",
    );
    it
}

#[cfg(test)]
mod e22_storage_ranking_test {
    use super::{MIXES, Medium, judge, ranking, weighed};
    use crate::data::Data;

    #[test]
    fn the_mix_decides_who_is_first() {
        let costs = [("reader", 1.0, 9.0), ("writer", 3.0, 4.0)];
        assert_eq!(ranking(&costs, 0.1)[0].0, "reader");
        assert_eq!(ranking(&costs, 0.9)[0].0, "writer");
        assert!((weighed(1.0, 9.0, 0.5) - 5.0).abs() < 1e-12);
    }

    fn data(cost: impl Fn(f64, f64) -> f64) -> Data {
        let mut data = Data::default();
        for (at, medium) in Medium::ALL.into_iter().enumerate() {
            for mix in MIXES {
                data.add(
                    medium.name(),
                    mix,
                    0,
                    &[("cpu_us", cost(at as f64 + 1.0, mix))],
                );
            }
        }
        data
    }

    #[test]
    fn mixes_that_cost_what_the_formula_says_hold() {
        assert!(judge(&data(|dear, mix| 1.0 + dear * mix)).holds());
    }

    #[test]
    fn mixes_that_cost_three_times_that_do_not() {
        let surprise = |dear: f64, mix: f64| {
            let factor = if mix > 0.0 && mix < 1.0 { 3.0 } else { 1.0 };
            (1.0 + dear * mix) * factor
        };
        assert!(!judge(&data(surprise)).holds());
    }
}
