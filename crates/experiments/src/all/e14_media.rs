//! E14: a table in memory against one on disk.

use super::media::{Medium, measure_media};
use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::Judgement;
use crate::run::Run;
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 14,
    title: "Memory or disk",
    question: "How much of a memory table's throughput does one on disk keep?",
    original: Original {
        paper: Paper::Domus,
        place: "section 5.1, figure 6",
        setup: "Insertions into tables kept in memory (Python dictionaries) and by BerkeleyDB on disk, whose files fit into the file system's cache.",
        found: "The disk tables have about 85 % of the memory tables' throughput, and need more clients to be busy.",
    },
    scaled: "One brick on one core; a pipeline of 100. Throughput of a full core is the inverse of the processor time for an operation. The memory table keeps no log, as a dictionary; the disk table's values are in its log, and nothing waits for the disk, as BerkeleyDB without transactions. Values of 150 bytes.",
    expected: Expected::Explained,
    shape: "a disk table has at least a fifth of a memory table's writes, and three fifths of its reads; the servers' work for a request has become so small that writing a log is a larger share of it than in Python",
    minutes: 2.0,
    measure,
    judge,
};

const MEDIA: [Medium; 3] = [Medium::Memory, Medium::Logged, Medium::Disk];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    measure_media(run, &MEDIA)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let words: Vec<&str> = MEDIA.iter().map(|it| it.name()).collect();
    let mut costs = Figure::new(
        "Operations of a full core beside those of a table in memory",
        Axis::words("", &words),
        Axis::linear("times the memory table's"),
    );
    let cost = |medium: Medium, mix: f64| data.median(medium.name(), mix, "cpu_us");
    for (mix, name) in [(0.0, "get"), (1.0, "set")] {
        let points: Vec<(f64, f64)> = MEDIA
            .iter()
            .enumerate()
            .map(|(at, medium)| (at as f64, cost(Medium::Memory, mix) / cost(*medium, mix)))
            .filter(|(_, ratio)| ratio.is_finite())
            .collect();
        costs.curve(name, Look::Bar, exact(&points));
    }
    costs.curve(
        "2007, insert",
        Look::PublishedBar,
        exact(&[(0.0, 1.0), (2.0, 0.85)]),
    );
    it.figures.push(costs);
    it.at_least(
        "writes of a disk table beside a memory table's (2007: 0.85)",
        cost(Medium::Memory, 1.0) / cost(Medium::Disk, 1.0),
        0.2,
    );
    it.at_least(
        "reads of a disk table beside a memory table's, where the values fit in memory",
        cost(Medium::Memory, 0.0) / cost(Medium::Disk, 0.0),
        0.6,
    );
    it.tables.push(Table::of(
        data,
        "",
        "share of writes",
        &[
            ("cpu_us", "CPU µs/op"),
            ("ops_per_s", "ops/s, one client thread"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e14_media_test {
    use super::{MEDIA, judge};
    use crate::data::Data;

    fn data(slower: f64) -> Data {
        let mut data = Data::default();
        for (at, medium) in MEDIA.iter().enumerate() {
            for mix in [0.0, 1.0] {
                let cost = if at == 0 { 1.0 } else { slower };
                data.add(medium.name(), mix, 0, &[("cpu_us", cost)]);
            }
        }
        data
    }

    #[test]
    fn the_originals_ratio_holds_and_a_tenth_does_not() {
        assert!(judge(&data(1.0 / 0.85)).holds());
        assert!(!judge(&data(10.0)).holds());
    }
}
