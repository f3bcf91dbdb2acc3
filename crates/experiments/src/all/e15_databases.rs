//! E15: insertions into databases, one a round trip.

use crate::commands::{Command, run_commands};
use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::Judgement;
use crate::nodes::{Nodes, Shape};
use crate::peers::{ETCD, MARIADB, MariadbClient, Peer, present};
use crate::run::Run;
use crate::table::Table;
use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use brickyard_bench::Target;
use brickyard_bench::process::Process;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 15,
    title: "Beside databases",
    question: "What does an insertion of two integers cost beside a database, one a round trip?",
    original: Original {
        paper: Paper::Domus,
        place: "section 5.3.1",
        setup: "One MySQL server, one table of two integer columns, clients that insert one row a request, against one service with tables on disk.",
        found: "Comparable to one service of pDomus.",
    },
    scaled: "One client with one request outstanding; MariaDB for MySQL, and etcd beside it. Strengths are compared with their like: synced before it is acknowledged, and in the operating system's hands. etcd and MariaDB sync each commit by default. Each is spoken to in its own way: MariaDB by its own client program, etcd by its JSON over HTTP.",
    expected: Expected::Reproduced,
    shape: "no more of the server's processor for an insertion than a database takes, at the same strength",
    minutes: 1.8,
    measure,
    judge,
};

const STRENGTHS: [(&str, &str); 2] = [("Brickyard, fsync", "fsync"), ("Brickyard, log", "log")];
const MARIADB_SYNCED: &str = "MariaDB, synced";
const MARIADB_LOG: &str = "MariaDB, synced every second";
const ETCD_SYNCED: &str = "etcd, synced";

/// Somebody who takes insertions.
enum Entrant {
    Ours(Nodes, Target),
    Mariadb {
        server: Process,
        client: MariadbClient,
    },
    Etcd(Process),
}

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let mut entrants = Vec::new();
    for (name, durability) in STRENGTHS {
        run.say(&format!("starts {name}"))?;
        let nodes = Nodes::start(run, durability, 1, Shape::default())?;
        nodes.create("t", 1, &["DURABILITY", durability])?;
        let target = nodes.target("t")?;
        entrants.push((name, Entrant::Ours(nodes, target)));
    }
    for peer in present(run, &[&MARIADB, &ETCD]) {
        run.say(&format!("starts {}", peer.name()))?;
        if peer.name() == ETCD.name() {
            entrants.push((ETCD_SYNCED, Entrant::Etcd(peer.start(run.dir)?)));
        } else {
            entrants.push((MARIADB_SYNCED, mariadb(run, peer, "synced", 1)?));
            entrants.push((MARIADB_LOG, mariadb(run, peer, "log", 2)?));
        }
    }
    let count = run.quick(100, 2_000);
    run.rounds(|round| {
        for (name, entrant) in &entrants {
            run.say(name)?;
            let first = round as usize * count;
            let (seconds, cpu_s) = entrant.insert(first, count, run.dir)?;
            let measures = [
                ("ops_per_s", count as f64 / seconds),
                ("cpu_us", cpu_s * 1e6 / count as f64),
            ];
            data.add(name, 0.0, round, &measures);
        }
        Ok(())
    })?;
    Ok(data)
}

/// A server with an empty table, which syncs each commit or leaves that to a thread.
fn mariadb(run: &Run<'_>, peer: &dyn Peer, name: &str, flush: u8) -> anyhow::Result<Entrant> {
    let dir = run.dir.join(format!("mariadb-{name}"));
    fs::create_dir_all(&dir)?;
    let server = peer.start(&dir)?;
    let client = MariadbClient::new(&server)?;
    let file = dir.join("make.sql");
    fs::write(
        &file,
        format!(
            "SET GLOBAL innodb_flush_log_at_trx_commit={flush};\nCREATE DATABASE d;\nCREATE TABLE d.t (k INT PRIMARY KEY, v INT);\n"
        ),
    )?;
    client.run(&file)?;
    Ok(Entrant::Mariadb { server, client })
}

impl Entrant {
    /// Inserts so many rows from a number on, one a round trip; says in how long, and at how much processor time of the server.
    fn insert(&self, first: usize, count: usize, dir: &Path) -> anyhow::Result<(f64, f64)> {
        let process = match self {
            Self::Ours(nodes, target) => {
                let seen = run_commands(
                    &nodes.processes(),
                    std::slice::from_ref(target),
                    1,
                    count,
                    &|_, number| {
                        Command::of(&["SET", &(first + number).to_string(), &number.to_string()])
                    },
                )?;
                return Ok((seen.seconds, seen.cpu_s));
            }
            Self::Mariadb { server, .. } => server,
            Self::Etcd(process) => process,
        };
        let mut statements = String::new();
        for row in first..first + count {
            // Writing to a string does not fail.
            let _ = writeln!(statements, "INSERT INTO d.t VALUES ({row},{row});");
        }
        let file = dir.join("insert.sql");
        fs::write(&file, statements)?;
        let (before, begin) = (process.cpu()?, Instant::now());
        match self {
            Self::Mariadb { client, .. } => client.run(&file)?,
            Self::Etcd(process) => {
                let mut etcd = Etcd::connect(&process.target.address)?;
                for row in first..first + count {
                    etcd.put(&row.to_string(), &row.to_string())?;
                }
            }
            Self::Ours(..) => {}
        }
        let seconds = begin.elapsed().as_secs_f64();
        let (user, system) = process.cpu()?.since(&before);
        Ok((seconds, user + system))
    }
}

/// A connection to etcd's gateway, which takes JSON over HTTP.
struct Etcd {
    stream: TcpStream,
    address: String,
}

impl Etcd {
    fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).context("cannot connect to etcd")?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            address: address.to_owned(),
        })
    }

    fn put(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        let body = format!(
            "{{\"key\":\"{}\",\"value\":\"{}\"}}",
            BASE64_STANDARD.encode(key),
            BASE64_STANDARD.encode(value)
        );
        let request = format!(
            "POST /v3/kv/put HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            let mut block = [0; 4096];
            let count = self.stream.read(&mut block)?;
            if count == 0 {
                bail!("etcd closed the connection");
            }
            answer.extend_from_slice(&block[..count]);
        }
        if !answer.starts_with(b"HTTP/1.1 200") {
            bail!("etcd: {}", String::from_utf8_lossy(&answer));
        }
        Ok(())
    }
}

/// Whether an answer is there to its end, by its length or by its last chunk.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    match length.and_then(|it| it.trim().parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => body.ends_with("0\r\n\r\n"),
    }
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let names = [
        STRENGTHS[0].0,
        MARIADB_SYNCED,
        ETCD_SYNCED,
        STRENGTHS[1].0,
        MARIADB_LOG,
    ];
    let words: Vec<String> = names.map(|name| name.replace(", ", " ")).to_vec();
    let mut costs = Figure::new(
        "The server's processor time for an insertion",
        Axis::words("", &words),
        Axis::linear("CPU µs"),
    );
    let points = names.iter().enumerate().filter_map(|(at, name)| {
        let point = data.point(name, 0.0, "cpu_us")?;
        Some(crate::data::Point {
            x: at as f64,
            ..point
        })
    });
    costs.curve("one a round trip", Look::Bar, points.collect());
    it.figures.push(costs);
    let cost = |name: &str| data.median(name, 0.0, "cpu_us");
    let pairs = [
        (STRENGTHS[0].0, MARIADB_SYNCED),
        (STRENGTHS[0].0, ETCD_SYNCED),
        (STRENGTHS[1].0, MARIADB_LOG),
    ];
    for (ours, theirs) in pairs {
        if cost(theirs).is_finite() {
            it.at_most(
                &format!("{ours} beside {theirs}, processor time"),
                cost(ours) / cost(theirs),
                1.0,
            );
        }
    }
    it.tables.push(Table::of(
        data,
        "",
        "",
        &[
            ("ops_per_s", "insertions/s"),
            ("cpu_us", "server's CPU µs/op"),
        ],
    ));
    it.remark(
        "Insertions a second with one request outstanding have the client's own time in them, which differs between client programs; the server's processor time does not.",
    );
    it
}

#[cfg(test)]
mod e15_databases_test {
    use super::is_whole;

    #[test]
    fn an_answer_ends_by_its_length_or_its_last_chunk() {
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n"));
        assert!(is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"));
        assert!(is_whole(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        ));
        assert!(!is_whole(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
        ));
    }
}
