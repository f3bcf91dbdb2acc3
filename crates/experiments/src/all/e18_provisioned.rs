//! E18: past what was provisioned.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape, must};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::Target;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 18,
    title: "Past what was provisioned",
    question: "What does a user see who asks for more than was agreed, and what do those see who do not?",
    original: Original {
        paper: Paper::Zht,
        place: "sections 3.1 and 3.2",
        setup: "DynamoDB with a provisioned capacity, asked by up to 64 nodes of 8 clients, against ZHT.",
        found: "DynamoDB's throughput ends at its capacity, then requests fail; the slowest 5 % took three times as long. Its latency is 22 times ZHT's with 4 nodes, and 90 % of its latencies lie in a window 20 times as wide; low load does not make it faster.",
    },
    scaled: "DynamoDB cannot run here. A user with a limit of operations a second takes its place, asked by an open loop at a quarter to three times of the limit; another user without a limit asks a little meanwhile in the runs that follow each. One brick on one core.",
    expected: Expected::Inverted,
    shape: "exactly what was agreed is done, the rest is refused at once in words, and what is done takes no longer than before; low load is fast",
    minutes: 1.5,
    measure,
    judge,
};

const LIMIT: f64 = 4_000.0;
const TIMES: [f64; 6] = [0.25, 0.5, 0.75, 1.5, 2.0, 3.0];
/// What a limit lets through at once, in seconds' worth.
const BURST_S: f64 = 0.1;
const USER: &str = "provisioned";
const PASSWORD: &str = "of-this-experiment";
const LIMITED: &str = "the user with a limit";
const OTHER: &str = "another user";

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts")?;
    let nodes = Nodes::start(run, "ours", 1, Shape::default())?;
    nodes.create("e18", 1, &["DURABILITY", "memory"])?;
    let free = nodes.target("e18")?;
    let node = Target {
        table: None,
        ..free.clone()
    };
    let limit = format!("limit:ops={LIMIT}");
    let password = format!(">{PASSWORD}");
    must(
        &node,
        &[
            "ACL",
            "SETUSER",
            USER,
            "on",
            &password,
            "~*",
            "&*",
            "+@all",
            "alltables",
            &limit,
        ],
    )?;
    let limited = Target {
        user: Some(USER.to_owned()),
        password: Some(PASSWORD.to_owned()),
        ..free.clone()
    };
    let work = Work {
        keys: 5_000,
        connections: 8,
        ..Work::DDS.one_at_a_time()
    };
    let piece = run.piece(TIMES.len() * 2);
    fill(Way::Address, &work.closed(&free, piece))?;
    run.rounds(|round| {
        for times in TIMES {
            run.say(&format!("{times} times the limit"))?;
            for (name, target, rate) in [
                (LIMITED, &limited, LIMIT * times),
                (OTHER, &free, LIMIT / 4.0),
            ] {
                let options = work.open(target, piece, rate, 10_000);
                let seen = see(&nodes.processes(), Way::Address, &options)?;
                let asked = rate * seen.report.elapsed_s.max(1e-9);
                let mut measures = seen.measures();
                // A tenth of a second's worth may come at once, and is given back over time.
                let sustained = (seen.report.count as f64 - LIMIT * BURST_S).max(0.0);
                measures.extend([
                    ("offered_per_s", rate),
                    (
                        "sustained_per_s",
                        sustained / seen.report.elapsed_s.max(1e-9),
                    ),
                    (
                        "refused_percent",
                        seen.report.refused_count() as f64 / asked * 100.0,
                    ),
                ]);
                data.add(name, times, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let x = || Axis::linear("offered, in times the limit");
    let mut rates = Figure::new("What is done", x(), Axis::linear("operations a second"));
    rates.curve(
        "offered",
        Look::Modelled,
        data.line(LIMITED, "offered_per_s"),
    );
    rates.curve("done", Look::Measured, data.line(LIMITED, "ops_per_s"));
    let mut waits = Figure::new("How long it takes", x(), Axis::log("µs"));
    for (measure, name) in [("p50_us", "median"), ("p99_us", "p99")] {
        waits.curve(
            &format!("{name} of {LIMITED}"),
            Look::Measured,
            data.line(LIMITED, measure),
        );
        waits.curve(
            &format!("{name} of {OTHER}"),
            Look::Measured,
            data.line(OTHER, measure),
        );
    }
    it.figures = vec![rates, waits];
    let at = |times: f64, measure: &str| data.median(LIMITED, times, measure);
    it.at_most(
        "percent refused below the limit, at worst",
        {
            let below = [0.25, 0.5].map(|times| at(times, "refused_percent"));
            below.into_iter().fold(f64::NAN, f64::max)
        },
        2.0,
    );
    for times in [2.0, 3.0] {
        it.within(
            &format!("done at {times} times the limit, beside the limit, a burst of a tenth of a second apart"),
            at(times, "sustained_per_s") / LIMIT,
            0.85..=1.1,
        );
    }
    it.at_most(
        "median ms of what is done at 3 times the limit",
        at(3.0, "p50_us") / 1e3,
        10.0,
    );
    it.at_most(
        "p90 latency at 3 times the limit beside half of it (DynamoDB's slowest 5 %: 3)",
        at(3.0, "p90_us") / at(0.5, "p90_us"),
        3.0,
    );
    it.tables.push(Table::of(
        data,
        "",
        "times",
        &[
            ("offered_per_s", "offered/s"),
            ("ops_per_s", "done/s"),
            ("sustained_per_s", "without a burst"),
            ("refused_percent", "refused, %"),
            ("cpu_us", "CPU µs/op done"),
            ("p50_us", "p50 µs"),
            ("p90_us", "p90 µs"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e18_provisioned_test {
    use super::{LIMIT, LIMITED, TIMES, judge};
    use crate::data::Data;

    fn data(done: impl Fn(f64) -> f64, latency: impl Fn(f64) -> f64) -> Data {
        let mut data = Data::default();
        for times in TIMES {
            let measures = [
                ("sustained_per_s", done(times) * LIMIT),
                ("refused_percent", (times - 1.0).max(0.0) * 100.0),
                ("p50_us", latency(times)),
                ("p90_us", latency(times)),
            ];
            data.add(LIMITED, times, 0, &measures);
        }
        data
    }

    #[test]
    fn exactly_what_was_agreed_holds_and_more_or_slower_does_not() {
        assert!(judge(&data(|times| times.min(1.0), |_| 100.0)).holds());
        assert!(!judge(&data(|times| times, |_| 100.0)).holds());
        assert!(!judge(&data(|times| times.min(1.0), |times| 100.0 * times.powi(2))).holds());
    }
}
