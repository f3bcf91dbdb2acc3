//! E3: writes beyond what two replicas can do.

use super::overload::OURS;
use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::{Judgement, bottom, top};
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 3,
    title: "Writes past saturation",
    question: "What do two replicas of one partition do when more is written than they can take?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 5.1.2, figure 7",
        setup: "One partition, two replicas, writes of 150 bytes by two-phase commit; the offered load grows past what they can do.",
        found: "Throughput fell: one brick was saturated, mostly by garbage collection, while the other became only 30 % busy. \"Fundamental to any system that does not perform admission control.\"",
    },
    scaled: "Two replicas, each a process that leads one of the table's two partitions and backs up the other, so both have the same to do; both share one core, so the two together can be 100 % busy. The load comes through the client library, which goes to the leader of each key. The offered load is an open loop of 0.5 to 3 times what a closed loop reaches; requests that \
             are due while 50,000 others wait are not sent, and counted.",
    expected: Expected::Inverted,
    shape: "throughput stays flat past saturation, both replicas stay as busy as they were beside each other, and what is too much is refused or waits in a bounded queue",
    minutes: 2.5,
    measure,
    judge,
};

const TABLE: &str = "e3";
const TIMES: [f64; 6] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0];
const WAITING_MAX: usize = 50_000;
/// As `overload` of the benchmark: deep queues make large batches, which cost less each.
const DROWNING: f64 = 3.0;
const WARM_UPS: usize = 2;
const REPLICAS: [&str; 2] = ["replica 0", "replica 1"];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts two replicas")?;
    let nodes = Nodes::start(run, "pair", 2, Shape::default())?;
    nodes.create(TABLE, 2, &["PARTITIONS", "2"])?;
    let target = nodes.target(TABLE)?;
    let work = Work {
        keys: run.quick(5_000, 50_000),
        connections: 32,
        ..Work::DDS.writes()
    };
    let piece = run.piece(TIMES.len() + 1);
    fill(Way::Library, &work.closed(&target, piece))?;
    let processes = nodes.processes();
    let closed = see(&processes, Way::Library, &work.closed(&target, piece))?;
    let mut capacity = closed.report.count_per_s;
    for _ in 0..WARM_UPS {
        let drowned = work.open(
            &target,
            piece,
            closed.report.count_per_s * DROWNING,
            WAITING_MAX,
        );
        capacity = see(&processes, Way::Library, &drowned)?.report.count_per_s;
    }
    run.rounds(|round| {
        for at in 0..TIMES.len() {
            // Each round begins elsewhere: what one row leaves behind the next has to bear.
            let times = TIMES[(at + round as usize) % TIMES.len()];
            run.say(&format!("{times} times the capacity"))?;
            let options = work.open(&target, piece, capacity * times, WAITING_MAX);
            let seen = see(&processes, Way::Library, &options)?;
            let report = &seen.report;
            let mut measures = seen.measures();
            measures.extend([
                ("offered_per_s", capacity * times),
                ("not_sent", report.not_sent as f64),
                ("unanswered", report.unanswered as f64),
            ]);
            data.add(OURS, times, round, &measures);
            let all: f64 = seen.cpu_s.iter().sum();
            for (name, cpu_s) in REPLICAS.iter().zip(&seen.cpu_s) {
                let measures = [
                    ("busy_percent", cpu_s / seen.wall_s * 100.0),
                    ("share", cpu_s / all),
                ];
                data.add(name, times, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        "Throughput of writes on two replicas",
        Axis::linear("offered, in times what they can do"),
        Axis::linear("writes a second"),
    );
    rates.curve("offered", Look::Modelled, data.line(OURS, "offered_per_s"));
    rates.curve("done", Look::Measured, data.line(OURS, "ops_per_s"));
    let mut busy = Figure::new(
        "Processor of both replicas, which share a core",
        Axis::linear("offered, in times what they can do"),
        Axis::linear("% of a core"),
    );
    for name in REPLICAS {
        busy.curve(name, Look::Measured, data.line(name, "busy_percent"));
    }
    it.figures = vec![rates, busy];
    let line = data.line(OURS, "ops_per_s");
    let past: Vec<_> = line.iter().filter(|it| it.x >= 1.5).copied().collect();
    it.at_least(
        "throughput past saturation beside the best, at worst (2000: it fell with the idle replica)",
        bottom(&past) / top(&line),
        0.75,
    );
    let shares = data.line(REPLICAS[0], "share");
    let share = |from: f64| {
        let part: Vec<f64> = shares
            .iter()
            .filter(|it| it.x >= from)
            .map(|it| it.median)
            .collect();
        part.iter().sum::<f64>() / part.len() as f64
    };
    let below: Vec<f64> = shares
        .iter()
        .filter(|it| it.x < 1.0)
        .map(|it| it.median)
        .collect();
    let below = below.iter().sum::<f64>() / below.len() as f64;
    it.within(
        "the replicas' shares of the processor past saturation, less those before it",
        share(1.5) - below,
        -0.12..=0.12,
    );
    it.within(
        "share of one replica of the processor past saturation",
        share(1.5),
        0.3..=0.7,
    );
    it.at_most(
        "requests that were sent and never answered",
        top(&data.line(OURS, "unanswered")),
        0.0,
    );
    it.tables.push(Table::of(
        data,
        "",
        "times",
        &[
            ("offered_per_s", "offered/s"),
            ("ops_per_s", "done/s"),
            ("refused", "refused"),
            ("not_sent", "not sent"),
            ("cpu_us", "CPU µs/op"),
            ("p50_us", "p50 µs"),
            ("p99_us", "p99 µs"),
            ("busy_percent", "busy, % of a core"),
        ],
    ));
    it.remark(
        "The queue that forms in front of a server that is asked too much is kept with \
         the client here, so that its length is bounded and known; docs/benchmarks.md has the same with a queue at the server, where writes are refused with a word that clients understand.",
    );
    it
}

#[cfg(test)]
mod e03_write_overload_test {
    use super::{REPLICAS, TIMES, judge};
    use crate::data::Data;

    fn data(rate: impl Fn(f64) -> f64, share: impl Fn(f64) -> f64) -> Data {
        let mut data = Data::default();
        for times in TIMES {
            let measures = [("ops_per_s", rate(times)), ("unanswered", 0.0)];
            data.add("Brickyard", times, 0, &measures);
            data.add(REPLICAS[0], times, 0, &[("share", share(times))]);
        }
        data
    }

    #[test]
    fn flat_and_even_is_the_inverse() {
        let judgement = judge(&data(|times| times.min(1.0), |_| 0.5));
        assert!(judgement.holds(), "{:#?}", judgement.checks);
    }

    #[test]
    fn the_originals_collapse_is_not() {
        let collapse = |times: f64| if times > 1.0 { 0.4 } else { times };
        let judgement = judge(&data(
            collapse,
            |times| if times > 1.0 { 0.77 } else { 0.5 },
        ));
        assert_eq!(judgement.checks.iter().filter(|it| !it.holds).count(), 3);
    }
}
