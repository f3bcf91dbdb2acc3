//! E6: throughput over time while one of three replicas is killed, comes back and catches up.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use crate::table::Table;
use brickyard_torture::{Kind, Load, LoadOptions, Recording};
use std::thread::sleep;
use std::time::Duration;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 6,
    title: "A failure over time",
    question: "What do clients see while one of three replicas is killed, comes back and recovers?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 5.2, figure 9",
        setup: "One partition of 100 MB, three replicas, reads of 150 bytes; one replica is killed, and its recovery begun later, by a copy of the whole partition at 12 MB/s.",
        found: "450 reads a second, 300 at once after the kill, 300 during the copy, a short dip while the cache warms, 450 again with oscillations of garbage collection. \
                The partition took no writes while it was copied.",
    },
    scaled: "Three nodes that share one core: so a killed replica takes no third of the capacity along, and the load is one that is paced (six clients that write and two that read, a thousand operations a second \
             each at most). What can be seen is what clients wait for, whether writes go on, and how long recovery takes. Each of the records that fill the table has 150 bytes.",
    expected: Expected::Inverted,
    shape: "writes go on while the replica catches up, every wait is bounded by the detection of the failure, and every history is linearizable",
    minutes: 3.0,
    measure,
    judge,
};

const TABLE: &str = "e6";
const KEYS: usize = 40;
/// A point of the curves.
const PIECE: Duration = Duration::from_millis(100);
/// Pieces of time in each of which there have to be writes.
const WRITES_PIECE: u64 = 500_000_000;
/// Writes that there have to be before and after.
const WRITES: u64 = 300;
const PATIENCE: Duration = Duration::from_secs(60);
const PHASES: [&str; 4] = [
    "three replicas",
    "one is away",
    "it catches up",
    "three again",
];

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.rounds(|round| one(run, round, &mut data))?;
    Ok(data)
}

fn one(run: &Run<'_>, round: u32, data: &mut Data) -> anyhow::Result<()> {
    let calm = run.quick(Duration::from_millis(700), Duration::from_secs(4));
    let mut nodes = Nodes::start(run, &format!("round{round}"), 3, Shape::default())?;
    nodes.create(TABLE, 3, &["PARTITIONS", "4"])?;
    let target = nodes.target(TABLE)?;
    let work = Work {
        // Of 150 bytes each: 90 MB.
        keys: run.quick(10_000, 600_000),
        ..Work::DDS
    };
    run.say("fills the table")?;
    fill(Way::Library, &work.closed(&target, calm))?;
    let keys = (0..KEYS).map(|at| format!("key{at}")).collect();
    let load = Load::start(LoadOptions::new(nodes.seeds(), TABLE, keys))?;
    wait_for_writes(&load)?;
    run.say("all is well")?;
    let begin = load.now();
    sleep(calm);
    let killed = load.now();
    run.say("a replica is killed")?;
    nodes.kill(2);
    wait_for_writes(&load)?;
    sleep(calm);
    // What it misses, besides the load's own writes.
    let missed = Work {
        keys: work.keys / 4,
        ..work
    };
    fill(Way::Library, &missed.closed(&target, calm))?;
    run.say("it comes back")?;
    let started = load.now();
    nodes.launch(2)?;
    nodes.wait_until_whole(TABLE, 3)?;
    let whole = load.now();
    wait_for_writes(&load)?;
    sleep(calm);
    let end = load.now();
    let recording = load.stop();
    note(
        data,
        round,
        &recording,
        [begin, killed, started, whole, end],
    );
    Ok(())
}

fn wait_for_writes(load: &Load) -> anyhow::Result<()> {
    let (before, begin) = (load.done(Kind::Write), std::time::Instant::now());
    while load.done(Kind::Write) < before + WRITES {
        anyhow::ensure!(begin.elapsed() < PATIENCE, "nobody takes writes any more");
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Keeps of a recording what is drawn and judged.
fn note(data: &mut Data, round: u32, recording: &Recording, marks: [u64; 5]) {
    let [begin, killed, started, whole, end] = marks;
    let seconds = |at: u64| at.saturating_sub(begin) as f64 / 1e9;
    if round == 0 {
        for sample in recording.samples(PIECE.as_nanos() as u64) {
            let at = sample.at - begin as f64 / 1e9;
            if at >= 0.0 {
                data.add("reads", at, 0, &[("per_s", sample.reads)]);
                data.add("writes", at, 0, &[("per_s", sample.writes)]);
            }
        }
        for (at, mark) in marks.into_iter().enumerate() {
            data.add("marks", at as f64, 0, &[("at_s", seconds(mark))]);
        }
    }
    let bounds = [begin, killed, started, whole, end];
    for (at, phase) in PHASES.iter().enumerate() {
        let (from, to) = (bounds[at], bounds[at + 1]);
        let count = |kind: Kind| {
            let waits = recording.waits.iter();
            let done = waits.filter(|it| it.kind == kind && (from..to).contains(&it.returned));
            done.count() as f64 / ((to - from) as f64 / 1e9)
        };
        let wait = |kind: Kind| recording.longest(kind, from, to) as f64 / 1e6;
        let measures = [
            ("seconds", (to - from) as f64 / 1e9),
            ("reads_per_s", count(Kind::Read)),
            ("writes_per_s", count(Kind::Write)),
            ("longest_read_ms", wait(Kind::Read)),
            ("longest_write_ms", wait(Kind::Write)),
        ];
        data.add(phase, at as f64, round, &measures);
    }
    let pieces = ((whole - started) / WRITES_PIECE).max(1);
    let mut counts = vec![0_u64; pieces as usize];
    for wait in &recording.waits {
        if wait.kind == Kind::Write && (started..=whole).contains(&wait.returned) {
            let at = ((wait.returned - started) / WRITES_PIECE).min(pieces - 1);
            counts[at as usize] += 1;
        }
    }
    let fewest = counts.iter().min().copied().unwrap_or_default() as f64;
    let is_linearizable = f64::from(u8::from(recording.check().is_ok()));
    let measures = [
        ("fewest_writes_a_half_second", fewest),
        ("is_linearizable", is_linearizable),
    ];
    data.add("all of it", 0.0, round, &measures);
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut figure = Figure::new(
        "Throughput over time, in pieces of 100 ms",
        Axis::linear("seconds"),
        Axis::linear("operations a second"),
    );
    for name in ["reads", "writes"] {
        figure.curve(name, Look::Trace, data.line(name, "per_s"));
    }
    let words = ["", "killed", "started again", "caught up, in sync"];
    for (at, words) in words.into_iter().enumerate().skip(1) {
        let mark = data.median("marks", at as f64, "at_s");
        if mark.is_finite() {
            figure.marks.push((mark, words.to_owned()));
        }
    }
    it.figures.push(figure);
    let worst = |measure: &str| -> f64 {
        let line = PHASES.iter().flat_map(|phase| data.line(phase, measure));
        line.map(|point| point.max).fold(f64::NAN, f64::max)
    };
    let least = |measure: &str| {
        data.line("all of it", measure)
            .first()
            .map_or(f64::NAN, |it| it.min)
    };
    it.at_least(
        "writes in each half second while the replica catches up, at least (2000: none)",
        least("fewest_writes_a_half_second"),
        1.0,
    );
    it.at_most(
        "longest wait of a write in all rounds, ms",
        worst("longest_write_ms"),
        5_000.0,
    );
    it.at_most(
        "longest wait of a read in all rounds, ms",
        worst("longest_read_ms"),
        5_000.0,
    );
    it.check(
        "every history is linearizable",
        if least("is_linearizable") >= 1.0 {
            "yes"
        } else {
            "no"
        }
        .to_owned(),
        least("is_linearizable") >= 1.0,
    );
    let rate = |phase: usize| data.median(PHASES[phase], phase as f64, "reads_per_s");
    it.at_least("reads after it all beside before", rate(3) / rate(0), 0.8);
    it.tables.push(Table::named(
        data,
        "",
        "",
        &[
            ("seconds", "seconds"),
            ("reads_per_s", "reads/s"),
            ("writes_per_s", "writes/s"),
            ("longest_read_ms", "longest read, ms"),
            ("longest_write_ms", "longest write, ms"),
            (
                "fewest_writes_a_half_second",
                "fewest writes in a half second",
            ),
        ],
        &|_| String::new(),
    ));
    it.remark(
        "The longest wait in the second phase is the detection: a node that is killed is missed when its lease runs out or its connections break, and those who wait for it go on when a view without it is effective.",
    );
    it
}

#[cfg(test)]
mod e06_failure_timeline_test {
    use super::{PHASES, judge};
    use crate::data::Data;

    fn data(fewest: f64, wait_ms: f64, is_linearizable: f64) -> Data {
        let mut data = Data::default();
        for (at, phase) in PHASES.iter().enumerate() {
            let measures = [
                ("reads_per_s", 100.0),
                ("longest_read_ms", wait_ms),
                ("longest_write_ms", wait_ms),
            ];
            data.add(phase, at as f64, 0, &measures);
        }
        let measures = [
            ("fewest_writes_a_half_second", fewest),
            ("is_linearizable", is_linearizable),
        ];
        data.add("all of it", 0.0, 0, &measures);
        data
    }

    #[test]
    fn writes_all_along_hold_and_each_weakness_alone_does_not() {
        assert!(judge(&data(10.0, 800.0, 1.0)).holds());
        assert!(!judge(&data(0.0, 800.0, 1.0)).holds());
        assert!(!judge(&data(10.0, 8_000.0, 1.0)).holds());
        assert!(!judge(&data(10.0, 800.0, 0.0)).holds());
    }
}
