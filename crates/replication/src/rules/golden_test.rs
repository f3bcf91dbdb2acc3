//! Transcripts of the protocol: each file below `testdata/` is a scenario, and what follows from it.
//!
//! A command stands on a line of its own; `----` and what happened follow, up to an empty line. After a change that is
//! meant, all are written anew by `BRICKYARD_GOLDEN=write cargo test -p brickyard-replication golden`; the difference
//! is what the change does to the protocol, and is to be read.

use crate::fixture::{Brick, Cluster, FakeHost, P, TABLE, changing, group, replica_in, trace};
use crate::{Baseline, Half, LogMark, Run};
use brickyard_routing::{Group, Replica};
use brickyard_types::{Op, PartitionId, View};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A cluster, and what the commands of a transcript need besides it.
struct Stage {
    cluster: Cluster,
    group: Group,
    lives: Vec<u64>,
    /// Logs of bricks that are down.
    logs: Vec<Vec<(LogMark, Vec<u8>)>>,
}

/// A command's words: `name first key=1,2 ...`.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        Self(line.split_whitespace().collect())
    }

    fn word(&self, at: usize) -> &'a str {
        self.0.get(at).expect("a command has too few words")
    }

    fn number(&self, at: usize) -> usize {
        self.word(at).parse().expect("a number")
    }

    /// The numbers after `key=`; none if it is not there.
    fn list(&self, key: &str) -> Option<Vec<usize>> {
        let found = self
            .0
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
        let numbers = found.split(',').filter(|it| !it.is_empty());
        Some(numbers.map(|it| it.parse().expect("a number")).collect())
    }

    fn numbers(&self, key: &str) -> Vec<usize> {
        self.list(key).unwrap_or_default()
    }

    fn partition(&self) -> PartitionId {
        self.list("p").map_or(P, |of| PartitionId(of[0] as u32))
    }
}

impl Stage {
    fn new() -> Self {
        Self {
            cluster: Cluster::new(0),
            group: group(0, 0, &[], &[]),
            lives: Vec::new(),
            logs: Vec::new(),
        }
    }

    fn replicas(&self, numbers: &[usize]) -> Vec<Replica> {
        numbers
            .iter()
            .map(|it| self.cluster.replicas[*it])
            .collect()
    }

    fn group_of(&self, words: &Words<'_>) -> Group {
        let view = words.number(1) as u32;
        let mut group = group(view, 0, &[], &[]);
        group.primary = self.cluster.replicas[words.numbers("primary")[0]];
        group.backups = self.replicas(&words.numbers("backups"));
        group.learners = self.replicas(&words.numbers("learners"));
        group
    }

    fn adopt(&mut self, words: &Words<'_>, group: &Group) {
        let all = (0..self.cluster.bricks.len()).collect();
        for at in words.list("at").unwrap_or(all) {
            if let Some(brick) = &mut self.cluster.bricks[at] {
                brick.adopt(words.partition(), group);
            }
        }
    }

    fn obey(&mut self, line: &str) {
        let words = Words::of(line);
        let cluster = &mut self.cluster;
        match words.word(0) {
            "cluster" => {
                let count = words.number(1);
                *cluster = Cluster::new(count);
                self.lives = vec![1; count];
                self.logs = vec![Vec::new(); count];
            }
            "view" => {
                self.group = self.group_of(&words);
                let group = self.group.clone();
                self.adopt(&words, &group);
            }
            "propose" => {
                let next = self.group_of(&words);
                let group = changing(&self.group, &next, &words.numbers("fenced"));
                self.adopt(&words, &group);
            }
            "put" => {
                let brick = cluster.brick(words.number(1));
                let op = brick.put(words.partition(), words.word(2), words.word(3));
                if op.is_none() {
                    trace::note(|| "it takes no writes".to_owned());
                }
            }
            // So many copies there should be: others are the measure.
            "copies" => {
                for brick in cluster.bricks.iter_mut().flatten() {
                    brick.host.replicas = words.number(1) as u8;
                }
            }
            "hold" => cluster.is_log_held[words.number(1)] = true,
            "go-on" => cluster.is_log_held[words.number(1)] = false,
            "run" => cluster.run(),
            "append" => cluster.brick(words.number(1)).append(),
            "refuse" => {
                let brick = cluster.brick(words.number(1));
                let batch = brick.host.end_batch();
                brick.host.log.retain(|(mark, _)| *mark < batch);
                brick.on_refused(batch);
            }
            "flush" => cluster.flush(words.number(1)),
            "deliver" => self.deliver(&words),
            "disconnect" => cluster.disconnect(words.number(1), words.number(2)),
            "pass" => {
                cluster.pass(Duration::from_millis(words.number(1) as u64));
                for at in 0..cluster.bricks.len() {
                    cluster.flush(at);
                }
            }
            // Time passes while everything is delivered; pings are left out.
            "wait" => {
                for _ in 0..words.number(1) / 200 {
                    cluster.pass(Duration::from_millis(200));
                    cluster.run();
                }
                let lines = trace::take();
                let is_ping = |line: &String| line.ends_with("Ping") || line.ends_with("Pong");
                for line in lines.into_iter().filter(|line| !is_ping(line)) {
                    trace::note(|| line);
                }
            }
            "crash" => {
                let at = words.number(1);
                self.logs[at] = cluster.crash(at);
            }
            "restart" => self.restart(words.number(1)),
            "rest" => {
                let split = Some((self.group.view, 1));
                let all = cluster.bricks.iter_mut().flatten();
                all.for_each(|brick| brick.with(|core| core.set_split(words.partition(), split)));
            }
            "split" => {
                let (whole, view) = (words.partition(), self.group.view);
                let ids = words.numbers("into");
                let halves: Vec<_> = ids.iter().map(|it| PartitionId(*it as u32)).collect();
                let all = cluster.bricks.iter_mut().flatten();
                all.for_each(|brick| brick.with(|core| core.split(TABLE, whole, view, &halves)));
            }
            "merge" => self.merge(&words),
            "state" => self.state(words.partition()),
            name => panic!("there is no command {name}"),
        }
    }

    fn deliver(&mut self, words: &Words<'_>) {
        let (from, to) = (words.number(1), words.number(2));
        let wires = self.cluster.wires.iter();
        let ends: Vec<_> = wires.map(|it| (it.from, it.to)).collect();
        for (at, ends) in ends.into_iter().enumerate() {
            if ends == (from, to) {
                while !self.cluster.wires[at].down.is_empty() {
                    self.cluster.deliver_down(at).unwrap();
                }
            } else if ends == (to, from) {
                while !self.cluster.wires[at].up.is_empty() {
                    self.cluster.deliver_up(at).unwrap();
                }
            }
        }
    }

    fn restart(&mut self, at: usize) {
        self.lives[at] += 1;
        let replica = replica_in(at, self.lives[at]);
        let (host, rebuilds) = FakeHost::recover(&self.logs[at]);
        let mut brick = Brick::new(replica);
        brick.host = host;
        for (partition, rebuild) in rebuilds {
            brick.restore(partition, &rebuild.finish());
        }
        for (partition, summary) in brick.core.summaries() {
            let summary = trace::summary(&summary);
            trace::note(|| format!("brick {at}: its log has p{partition}: {summary}"));
        }
        self.cluster.replicas[at] = replica;
        self.cluster.bricks[at] = Some(brick);
    }

    fn merge(&mut self, words: &Words<'_>) {
        let (ids, view) = (words.numbers("halves"), self.group.view);
        let ends: Vec<Half> = ids
            .iter()
            .map(|id| {
                let partition = PartitionId(*id as u32);
                let brick = self.cluster.bricks.iter().flatten().next().unwrap();
                Half {
                    partition,
                    view,
                    last: brick.core.last(partition),
                }
            })
            .collect();
        let ends: [Half; 2] = ends.try_into().unwrap();
        let op = ends.iter().map(|half| half.last.1).max().unwrap().next();
        let baseline = Baseline {
            generation: 1,
            view,
            op,
            runs: vec![Run { view, first: Op(1) }],
        };
        for (at, brick) in self.cluster.bricks.iter_mut().enumerate() {
            let Some(brick) = brick else { continue };
            let holds = brick.with(|core| core.merge(TABLE, &ends, words.partition(), &baseline));
            trace::note(|| format!("brick {at}: holds both halves to their ends: {holds}"));
        }
    }

    fn state(&self, partition: PartitionId) {
        for (at, brick) in self.cluster.bricks.iter().enumerate() {
            let Some(brick) = brick else {
                trace::note(|| format!("brick {at} is down"));
                continue;
            };
            let status = brick.core.status(partition);
            let (View(view), Op(op)) = brick.core.last(partition);
            let committed = brick.committed(partition);
            let keys = brick.host.tables.get(&partition).into_iter().flatten();
            let keys: Vec<String> = keys
                .filter_map(|(key, (_, value))| {
                    let value = String::from_utf8_lossy(value.as_ref()?);
                    Some(format!(" {}={value}", String::from_utf8_lossy(key)))
                })
                .collect();
            trace::note(|| {
                format!(
                    "brick {at}: {:?} in view {}, last {view}/{op}, committed op {committed}:{}",
                    status.role,
                    status.view,
                    keys.concat()
                )
            });
        }
    }
}

/// The scenario with what follows from it.
fn play(text: &str) -> String {
    let mut stage = Stage::new();
    let mut out = String::new();
    let mut is_outcome = false;
    trace::begin();
    for line in text.lines() {
        if is_outcome {
            is_outcome = !line.is_empty();
            continue;
        }
        writeln!(out, "{line}").unwrap();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "----" {
            panic!("what happened stands without a command");
        }
        stage.obey(line);
        writeln!(out, "----").unwrap();
        for line in trace::take() {
            writeln!(out, "{line}").unwrap();
        }
        writeln!(out).unwrap();
        is_outcome = true;
    }
    out
}

fn scenarios() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let files = std::fs::read_dir(directory).expect("the transcripts");
    let mut files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn golden_transcripts_are_what_happens() {
    let is_written = std::env::var("BRICKYARD_GOLDEN").is_ok_and(|it| it == "write");
    let files = scenarios();
    assert!(files.len() >= 7, "transcripts are missing: {files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let played = play(&text);
        if is_written {
            std::fs::write(&file, &played).unwrap();
            continue;
        }
        let mut lines = text.lines().zip(played.lines()).enumerate();
        let first = lines.find(|(_, (expected, got))| expected != got);
        assert!(
            text == played,
            "{} differs, first at {first:?} (line from 0, expected and got); if that is meant: \
             BRICKYARD_GOLDEN=write cargo test -p brickyard-replication golden",
            file.display()
        );
    }
}
