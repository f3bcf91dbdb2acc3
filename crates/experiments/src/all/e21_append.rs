//! E21: many clients append to one key.

use crate::commands::{Command, run_commands};
use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure};
use crate::judgement::{Judgement, bottom, top};
use crate::nodes::{Nodes, Shape, must};
use crate::peers::{REDIS, VALKEY, present};
use crate::run::Run;
use crate::table::Table;
use anyhow::Context as _;
use brickyard_bench::process::Process;
use brickyard_bench::{Link, Target};
use std::collections::HashMap;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 21,
    title: "Appending under contention",
    question: "Is anything lost when many clients append to one key, and what does contention cost?",
    original: Original {
        paper: Paper::Zht,
        place: "section 1, append: concurrent modification without locks",
        setup: "`append(key, value)` as one of four operations, so that clients change a value together without taking turns.",
        found: "No figures in the text. The published source loses what was appended when it is built with today's protobuf, and breaks at values that hold its separator.",
    },
    scaled: "1 to 32 clients, each with one request outstanding, append elements of 16 bytes that each name their client and number to one key; then every element is looked for in the value. On one brick, and on two replicas.",
    expected: Expected::Reproduced,
    shape: "no element is lost or doubled, and throughput does not fall with the clients",
    minutes: 1.5,
    measure,
    judge,
};

const TABLE: &str = "e21";
const CLIENTS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const KEY: &str = "appended";
const OURS: &str = "Brickyard, one replica";
const PAIR: &str = "Brickyard, two replicas";

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    run.say("starts")?;
    let one = Nodes::start(run, "one", 1, Shape::default())?;
    one.create(TABLE, 1, &[])?;
    let two = Nodes::start(run, "two", 2, Shape::default())?;
    two.create(TABLE, 2, &[])?;
    let mut entrants: Vec<(&str, Vec<&Process>, Target)> = vec![
        (OURS, one.processes(), one.target(TABLE)?),
        (PAIR, two.processes(), two.target(TABLE)?),
    ];
    let mut servers = Vec::new();
    for peer in present(run, &[&VALKEY, &REDIS]) {
        servers.push((peer.name(), peer.start(run.dir)?));
    }
    for (name, server) in &servers {
        entrants.push((name, vec![server], server.target.clone()));
    }
    // So few that the value stays short: each append is one record of its own, but the value is read whole.
    let elements = run.quick(256, 4_096);
    run.rounds(|round| {
        for clients in CLIENTS {
            for (name, processes, target) in &entrants {
                run.say(&format!("{name}, {clients} clients"))?;
                must(target, &["DEL", KEY])?;
                let each = elements / clients;
                let seen = run_commands(
                    processes,
                    std::slice::from_ref(target),
                    clients,
                    each,
                    &|client, number| Command::of(&["APPEND", KEY, &element(client, number)]),
                )?;
                let (lost, doubled) = audit(target, clients, each)?;
                let mut measures = seen.measures();
                measures.extend([("lost", lost), ("doubled", doubled)]);
                data.add(name, clients as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

/// Sixteen bytes that nobody else writes.
fn element(client: usize, number: usize) -> String {
    format!("{client:04}:{number:010};")
}

/// How many elements are not there, and how many more than once.
fn audit(target: &Target, clients: usize, each: usize) -> anyhow::Result<(f64, f64)> {
    let reply = Link::open(target)?.call(&["GET", KEY])?;
    let value = reply
        .bytes()
        .context("the key that was appended to is gone")?;
    Ok(count(value, clients, each))
}

fn count(value: &[u8], clients: usize, each: usize) -> (f64, f64) {
    let mut found: HashMap<&[u8], u32> = HashMap::new();
    for element in value.chunks(16) {
        *found.entry(element).or_default() += 1;
    }
    let (mut lost, mut doubled) = (0, 0);
    for client in 0..clients {
        for number in 0..each {
            match found.get(element(client, number).as_bytes()) {
                None => lost += 1,
                Some(1) => {}
                Some(_) => doubled += 1,
            }
        }
    }
    (f64::from(lost), f64::from(doubled))
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        "Appends to one key",
        Axis::log("clients, one request outstanding each"),
        Axis::linear("appends a second"),
    );
    rates.measured(data, "ops_per_s");
    it.figures.push(rates);
    for name in [OURS, PAIR] {
        let worst = |measure: &str| {
            let line = data.line(name, measure);
            line.iter().map(|point| point.max).fold(f64::NAN, f64::max)
        };
        it.at_most(
            &format!("elements lost or doubled, {name}"),
            worst("lost") + worst("doubled"),
            0.0,
        );
        let line = data.line(name, "ops_per_s");
        let last = line.last().map_or(f64::NAN, |it| it.median);
        it.at_least(
            &format!("throughput with 32 clients beside the best, {name}"),
            last / top(&line),
            0.6,
        );
        it.at_least(
            &format!("appends a second at least, {name}"),
            bottom(&line),
            1.0,
        );
    }
    it.tables.push(Table::of(
        data,
        "",
        "clients",
        &[
            ("ops_per_s", "appends/s"),
            ("cpu_us", "CPU µs/op"),
            ("p50_us", "p50 µs"),
            ("p99_us", "p99 µs"),
            ("lost", "lost"),
            ("doubled", "doubled"),
        ],
    ));
    it
}

#[cfg(test)]
mod e21_append_test {
    use super::{count, element};

    #[test]
    fn an_element_has_sixteen_bytes_whoever_writes_it() {
        assert_eq!(element(31, 4_095).len(), 16);
        assert_eq!(element(0, 0).len(), 16);
    }

    #[test]
    fn what_is_lost_or_doubled_is_found() {
        let all = [element(0, 0), element(1, 0), element(0, 1), element(1, 1)];
        assert_eq!(count(all.concat().as_bytes(), 2, 2), (0.0, 0.0));
        assert_eq!(count(all[..3].concat().as_bytes(), 2, 2), (1.0, 0.0));
        let doubled = [&all[..], &all[..1]].concat();
        assert_eq!(count(doubled.concat().as_bytes(), 2, 2), (0.0, 1.0));
    }
}
