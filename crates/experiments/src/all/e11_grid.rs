//! E11: clients and servers in all numbers, on nodes of their own.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::{Judgement, log_slope, undisturbed};
use crate::load::{Way, Work, fill, see};
use crate::nodes::{Nodes, Shape};
use crate::run::Run;
use crate::table::Table;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 11,
    title: "The grid of clients and servers",
    question: "Does throughput grow with the clients until the servers' processors are full, and is nothing else the limit?",
    original: Original {
        paper: Paper::Domus,
        place: "section 4.1, figures 1 to 3",
        setup: "1 to 14 nodes of clients with 1 to 6 clients each, 1 to 6 nodes with a service each, 15 Pentium 4 nodes on 1 Gb/s; first insertions (put1) at full speed, table in memory.",
        found: "Linear in the client nodes until the servers' processors are full, then flat; the network stays under 30 %. More servers want more clients a node (2 for 1 server, 6 for 5). Absolute figures are only in the pictures.",
    },
    scaled: "Clients are connections of one thread on one core, each with one request outstanding; 1, 2 and 3 nodes share the other core. So the servers' core is full at the same throughput whatever their number: the line up to it, and what is full where it ends, is what can be seen. Values of 8 bytes, as of two integers.",
    expected: Expected::Reproduced,
    shape: "throughput rises with the clients, then is flat where a processor is full; the network is far from it",
    minutes: 2.5,
    measure,
    judge,
};

const TABLE: &str = "e11";
const SERVERS: [usize; 3] = [1, 2, 3];
const CLIENTS: [usize; 8] = [1, 4, 16, 32, 64, 128, 256, 512];
/// Bits a second of the network that the original had.
const NETWORK: f64 = 1e9;

fn series(servers: usize) -> String {
    match servers {
        1 => "1 server".to_owned(),
        _ => format!("{servers} servers"),
    }
}

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let mut clusters = Vec::new();
    let work = Work {
        value_bytes: 8,
        keys: run.quick(10_000, 200_000),
        ..Work::DDS.writes().one_at_a_time()
    };
    let piece = run.piece(SERVERS.len() * CLIENTS.len());
    for servers in SERVERS {
        run.say(&format!("starts {}", series(servers)))?;
        let nodes = Nodes::start(run, &format!("of{servers}"), servers, Shape::default())?;
        nodes.create(TABLE, 1, &["DURABILITY", "memory"])?;
        let target = nodes.target(TABLE)?;
        fill(Way::Library, &work.closed(&target, piece))?;
        clusters.push((servers, nodes, target));
    }
    run.rounds(|round| {
        for clients in CLIENTS {
            for (servers, nodes, target) in &clusters {
                run.say(&format!("{}, {clients} clients", series(*servers)))?;
                let work = Work {
                    connections: clients,
                    ..work
                };
                let seen = see(
                    &nodes.processes(),
                    Way::Library,
                    &work.closed(target, piece),
                )?;
                let report = &seen.report;
                let bits = (report.bytes_sent + report.bytes_received) as f64 * 8.0;
                let mut measures = seen.measures();
                measures.extend([
                    (
                        "server_busy_percent",
                        seen.cpu_s.iter().sum::<f64>() / seen.wall_s * 100.0,
                    ),
                    (
                        "client_busy_percent",
                        report.client_cpu_us * report.count_per_s / 1e4,
                    ),
                    ("network_percent", bits / seen.wall_s / NETWORK * 100.0),
                ]);
                data.add(&series(*servers), clients as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let x = || Axis::log("clients, one request outstanding each");
    let mut rates = Figure::new("Writes a second", x(), Axis::linear("operations a second"));
    let mut busy = Figure::new("What is full", x(), Axis::linear("% of a core"));
    for servers in SERVERS {
        let name = series(servers);
        rates.curve(&name, Look::Measured, data.line(&name, "ops_per_s"));
        busy.curve(
            &format!("{name}, servers"),
            Look::Measured,
            data.line(&name, "server_busy_percent"),
        );
        busy.curve(
            &format!("{name}, clients"),
            Look::Modelled,
            data.line(&name, "client_busy_percent"),
        );
    }
    it.figures = vec![rates, busy];
    let line = undisturbed(&data.line(&series(1), "ops_per_s"));
    it.at_least(
        "slope over the first clients, between logarithmic axes, best rounds",
        log_slope(&line[..line.len().min(3)]),
        0.3,
    );
    it.at_most(
        "slope over the last clients, best rounds",
        log_slope(&line[line.len().saturating_sub(3)..]),
        0.25,
    );
    let fullest = |servers: usize| {
        let measures = ["server_busy_percent", "client_busy_percent"];
        let name = series(servers);
        let last = |measure| {
            data.line(&name, measure)
                .last()
                .map_or(f64::NAN, |it| it.max)
        };
        measures.map(last).into_iter().fold(f64::NAN, f64::max)
    };
    it.at_least(
        "percent of its core that the fuller side takes with the most clients, best round",
        fullest(1),
        75.0,
    );
    let network = SERVERS
        .iter()
        .flat_map(|servers| data.line(&series(*servers), "network_percent"));
    it.at_most(
        "percent of a network of 1 Gb/s, at worst (2007: under 30)",
        network.map(|it| it.median).fold(f64::NAN, f64::max),
        60.0,
    );
    it.tables.push(Table::of(
        data,
        "",
        "clients",
        &[
            ("ops_per_s", "ops/s"),
            ("cpu_us", "CPU µs/op"),
            ("server_busy_percent", "servers, % of a core"),
            ("client_busy_percent", "clients, % of a core"),
            ("network_percent", "payload, % of 1 Gb/s"),
            ("p50_us", "p50 µs"),
        ],
    ));
    it.remark(
        "What a core can do is read from the best rounds, since the host of a virtual machine takes its time now and then; all rounds are drawn.",
    );
    it.remark(
        "With one thread of clients the client's core can be the first to be full, where the original added nodes of clients: the figure shows which side it is.",
    );
    it
}

#[cfg(test)]
mod e11_grid_test {
    use super::{CLIENTS, judge, series};
    use crate::data::Data;

    #[test]
    fn a_line_that_ends_where_a_core_is_full_holds_and_one_that_never_ends_does_not() {
        let data = |limit: f64| {
            let mut data = Data::default();
            for clients in CLIENTS {
                let rate = (clients as f64).min(limit);
                let measures = [
                    ("ops_per_s", rate * 1_000.0),
                    ("server_busy_percent", rate / limit * 100.0),
                    ("network_percent", 5.0),
                ];
                data.add(&series(1), clients as f64, 0, &measures);
            }
            data
        };
        assert!(judge(&data(16.0)).holds());
        assert!(!judge(&data(1e9)).holds());
    }
}
