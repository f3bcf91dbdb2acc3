//! E13: clients beside the servers, or on nodes of their own.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure};
use crate::judgement::Judgement;
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::process::{CLIENT_CORE, SERVER_CORE, pinned_to};

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 13,
    title: "Clients beside servers",
    question: "Do clients and servers do more on nodes of their own than together?",
    original: Original {
        paper: Paper::Domus,
        place: "sections 4.2 and 5.2, figures 5 and 7",
        setup: "Every node has a service and 1, 2 or more clients, against nodes of clients and nodes of services.",
        found: "Together is always below separate, except with few nodes, and falls further behind with more; two clients a node are best.",
    },
    scaled: "A core stands for a node: the clients are on the servers' core, or on the other. One to three nodes of one brick share the servers' core.",
    expected: Expected::Explained,
    shape: "for each core, clients beside servers do at least as much: over loopback a message costs processor time and nothing else, and on one core client and server take turns with full batches; what separate cores buy is capacity when both are full",
    minutes: 1.5,
    measure,
    judge,
};

const TABLE: &str = "e13";
const NODES: [usize; 3] = [1, 2, 3];
const SEPARATE: &str = "separate";
const TOGETHER: &str = "together";

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let work = Work {
        keys: run.quick(5_000, 50_000),
        // So many that either side has something to do whenever it looks.
        connections: 256,
        ..Work::DDS.writes().one_at_a_time()
    };
    let piece = run.piece(NODES.len() * 2);
    let mut clusters = Vec::new();
    for count in NODES {
        run.say(&format!("starts {count} nodes"))?;
        let nodes = Nodes::start(run, &format!("of{count}"), count, Shape::default())?;
        nodes.create(TABLE, 1, &["DURABILITY", "memory"])?;
        let target = nodes.target(TABLE)?;
        fill(Way::Library, &work.closed(&target, piece))?;
        clusters.push((count, nodes, target));
    }
    run.rounds(|round| {
        for (count, nodes, target) in &clusters {
            for (name, core, cores) in [(SEPARATE, CLIENT_CORE, 2.0), (TOGETHER, SERVER_CORE, 1.0)]
            {
                run.say(&format!("{name}, {count} nodes"))?;
                let options = work.closed(target, piece);
                let processes = nodes.processes();
                let seen = pinned_to(Some(core), || see(&processes, Way::Library, &options))??;
                let mut measures = seen.measures();
                measures.push(("ops_per_core_s", seen.report.count_per_s / cores));
                data.add(name, *count as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        "Writes a second, clients with one request outstanding each",
        Axis::linear("nodes with a service"),
        Axis::linear("operations a second"),
    );
    rates.measured(data, "ops_per_s");
    it.figures.push(rates);
    for count in NODES {
        let at = |name: &str| data.median(name, count as f64, "ops_per_core_s");
        it.at_least(
            &format!("together beside separate for each core, {count} nodes (2007: below 1 but with few nodes)"),
            at(TOGETHER) / at(SEPARATE),
            1.0,
        );
    }
    it.tables.push(Table::of(
        data,
        "",
        "nodes",
        &[
            ("ops_per_s", "ops/s"),
            ("ops_per_core_s", "ops/s for each core"),
            ("cpu_us", "servers' CPU µs/op"),
            ("client_us", "client's CPU µs/op"),
            ("p50_us", "p50 µs"),
            ("p99_us", "p99 µs"),
        ],
    ));
    it
}

#[cfg(test)]
mod e13_colocated_test {
    use super::{NODES, SEPARATE, TOGETHER, judge};
    use crate::data::Data;

    #[test]
    fn together_has_to_do_more_for_each_core_at_every_number_of_nodes() {
        let data = |together: f64| {
            let mut data = Data::default();
            for count in NODES {
                data.add(SEPARATE, count as f64, 0, &[("ops_per_core_s", 100.0)]);
                data.add(TOGETHER, count as f64, 0, &[("ops_per_core_s", together)]);
            }
            data
        };
        assert!(judge(&data(130.0)).holds());
        assert!(!judge(&data(60.0)).holds());
    }
}
