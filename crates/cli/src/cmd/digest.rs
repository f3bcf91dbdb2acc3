//! `brickyard table digest`: whether the replicas of each partition of a table hold the same.
//!
//! In:  a node, a table's name. Out: a verdict, and the partitions that it is not well with; or all of them.
//!
//! Every brick is asked at its own port for what it holds, in parts. Replicas are compared that have committed the same
//! operations; those that are behind, or were written to meanwhile, are looked at again.

use crate::exit::NOT_WHOLE;
use anyhow::{Context, bail};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Partitions that are told one by one, unless all are wanted.
const LISTED: usize = 8;

/// Between two looks at replicas that are behind.
const PAUSE: Duration = Duration::from_millis(200);

/// What a brick has of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    brick: String,
    role: String,
    view: i64,
    committed: i64,
    pub(crate) keys: i64,
    pub(crate) sum: u64,
    /// It was the same partition from its first part to its last.
    is_steady: bool,
}

/// What all bricks have, by partition.
pub(crate) type Copies = BTreeMap<i64, Vec<Copy>>;

/// What the replicas of a partition are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Equal,
    /// Too few are in sync, or they have not committed the same operations.
    Behind,
    Differ,
}

/// Asks until replicas can be compared, or patience is at its end; prints what is there then.
pub(super) fn run(
    target: &Target,
    table: &str,
    patience: Duration,
    lists_all: bool,
) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + patience;
    let mut equal = Copies::new();
    loop {
        let (partitions, replicas) = shape(target, table)?;
        let (mut copies, away) = collect(target, table)?;
        // Under load there is always one that is being written to: what was equal once has shown it.
        copies.append(&mut equal);
        let mut verdicts: Vec<Verdict> = copies.values().map(|it| check(it, replicas)).collect();
        // Those that nobody has said anything of.
        verdicts.resize(partitions.max(verdicts.len()), Verdict::Behind);
        if verdicts.contains(&Verdict::Behind) && Instant::now() < until {
            let verdicts = verdicts.iter();
            let seen = copies.into_iter().zip(verdicts);
            let seen = seen.filter(|(_, verdict)| **verdict == Verdict::Equal);
            equal = seen.map(|(seen, _)| seen).collect();
            sleep(PAUSE);
            continue;
        }
        let text = render(&copies, &verdicts, &away, lists_all);
        io::stdout().write_all(text.as_bytes())?;
        let is_well = verdicts.iter().all(|it| *it == Verdict::Equal);
        return Ok(if is_well {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NOT_WHOLE)
        });
    }
}

fn ask(target: &Target, link: &mut Link, request: &[&str]) -> anyhow::Result<Value> {
    let reply = link.call(request)?;
    if let Value::Error(text) = &reply {
        bail!(
            "{} refused {}: {}",
            target.address,
            request.join(" "),
            String::from_utf8_lossy(text)
        );
    }
    Ok(reply)
}

/// How many partitions the table has, and how many replicas each.
fn shape(target: &Target, table: &str) -> anyhow::Result<(usize, usize)> {
    let mut link = Link::open(target)?;
    let reply = ask(target, &mut link, &["TABLE", "DESCRIBE", table])?;
    let strange = || format!("{}: TABLE DESCRIBE makes no sense", target.address);
    let number = |name: &str| match &reply {
        Value::Array(words) => words.chunks(2).find_map(|pair| match pair {
            [it, Value::Integer(number)] if text(it) == name => Some(*number),
            _ => None,
        }),
        Value::Map(pairs) => pairs.iter().find_map(|(it, value)| match value {
            Value::Integer(number) if text(it) == name => Some(*number),
            _ => None,
        }),
        _ => None,
    };
    let partitions = number("partitions").with_context(strange)?;
    let replicas = number("replicas").with_context(strange)?;
    Ok((usize::try_from(partitions)?, usize::try_from(replicas)?))
}

/// A brick that is being asked.
struct Brick {
    target: Target,
    link: Link,
    /// Where it goes on; `None`: all of it was seen.
    cursor: Option<String>,
}

impl Brick {
    /// How far among the table's partitions it is.
    fn place(&self) -> Option<u64> {
        let cursor = self.cursor.as_ref()?;
        let (place, _) = cursor.split_once('-').unwrap_or((cursor, ""));
        Some(place.parse().unwrap_or(0))
    }
}

/// The addresses of bricks in a reply to `CLUSTER NODES`, each once: a node that came back with an empty directory stands
/// beside the one that it was before, at the same address, and only one of them answers there. Ports of nodes, which stand there
/// as replicas, are none.
pub(crate) fn brick_addresses(nodes: &str) -> BTreeSet<&str> {
    nodes.lines().filter_map(brick_address).collect()
}

fn brick_address(line: &str) -> Option<&str> {
    // `id host:port@port flags ...`
    let mut words = line.split(' ').skip(1);
    let (address, _) = words.next()?.split_once('@')?;
    let is_brick = words.next()?.split(',').any(|flag| flag == "master");
    is_brick.then_some(address)
}

/// The copies of each partition, and the bricks that did not answer.
///
/// All bricks are asked side by side, whoever is the least far first: the replicas of one partition are looked at within
/// some milliseconds, and a table that is written to has partitions that nobody wrote to meanwhile.
pub(crate) fn collect(target: &Target, table: &str) -> anyhow::Result<(Copies, Vec<String>)> {
    let mut link = Link::open(target)?;
    let nodes = text(&ask(target, &mut link, &["CLUSTER", "NODES"])?);
    let mut bricks = Vec::new();
    let mut away = Vec::new();
    for address in brick_addresses(&nodes) {
        let target = Target {
            address: address.to_owned(),
            ..target.clone()
        };
        match Link::open(&target) {
            Ok(link) => bricks.push(Brick {
                target,
                link,
                cursor: Some("0".to_owned()),
            }),
            Err(_) => away.push(address.to_owned()),
        }
    }
    let mut copies = Copies::new();
    while let Some((_, brick)) = bricks
        .iter_mut()
        .filter_map(|it| Some((it.place()?, it)))
        .min_by_key(|(place, _)| *place)
        && let Some(cursor) = brick.cursor.take()
    {
        let request = ["TABLE", "DIGEST", table, &cursor];
        let reply = ask(&brick.target, &mut brick.link, &request)?;
        let address = &brick.target.address;
        let next = add(&mut copies, address, &reply)
            .with_context(|| format!("{address}: TABLE DIGEST makes no sense"))?;
        brick.cursor = (next != "0").then_some(next);
    }
    Ok((copies, away))
}

/// Adds a reply to what came before; where to go on.
fn add(copies: &mut Copies, brick: &str, reply: &Value) -> Option<String> {
    let Value::Array(reply) = reply else {
        return None;
    };
    let [cursor, Value::Array(parts)] = &reply[..] else {
        return None;
    };
    for part in parts {
        let Value::Array(part) = part else {
            return None;
        };
        let [
            Value::Integer(partition),
            role,
            Value::Integer(view),
            Value::Integer(committed),
            Value::Integer(keys),
            sum,
        ] = &part[..]
        else {
            return None;
        };
        let new = Copy {
            brick: brick.to_owned(),
            role: text(role),
            view: *view,
            committed: *committed,
            keys: *keys,
            sum: u64::from_str_radix(&text(sum), 16).ok()?,
            is_steady: true,
        };
        let known = copies.entry(*partition).or_default();
        match known.iter_mut().find(|it| it.brick == brick) {
            Some(copy) => {
                copy.is_steady &=
                    (&copy.role, copy.view, copy.committed) == (&new.role, new.view, new.committed);
                copy.keys += new.keys;
                copy.sum = copy.sum.wrapping_add(new.sum);
            }
            None => known.push(new),
        }
    }
    Some(text(cursor))
}

/// Whether replicas that have committed the same hold the same.
fn check(copies: &[Copy], replicas: usize) -> Verdict {
    let in_sync = || {
        copies
            .iter()
            .filter(|it| it.is_steady && matches!(it.role.as_str(), "primary" | "backup"))
    };
    let differ = in_sync().any(|one| {
        in_sync().any(|other| {
            one.committed == other.committed && (one.keys, one.sum) != (other.keys, other.sum)
        })
    });
    let first = in_sync().next().map(|it| it.committed);
    if differ {
        Verdict::Differ
    } else if in_sync().count() == replicas && in_sync().all(|it| Some(it.committed) == first) {
        Verdict::Equal
    } else {
        Verdict::Behind
    }
}

fn render(copies: &Copies, verdicts: &[Verdict], away: &[String], lists_all: bool) -> String {
    let mut out = String::new();
    let told = copies
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| lists_all || **verdict != Verdict::Equal);
    let count = told.clone().count();
    let most = if lists_all { count } else { LISTED };
    for ((partition, copies), verdict) in told.take(most) {
        let word = match verdict {
            Verdict::Equal => "equal",
            Verdict::Behind => "BEHIND",
            Verdict::Differ => "DIFFER",
        };
        // Writing to a string does not fail.
        let _ = writeln!(out, "partition {partition}: {word}");
        for copy in copies {
            let _ = writeln!(
                out,
                "  {} {} op {} keys {} digest {:016x}{}",
                copy.brick,
                copy.role,
                copy.committed,
                copy.keys,
                copy.sum,
                if copy.is_steady {
                    ""
                } else {
                    " (written to meanwhile)"
                }
            );
        }
    }
    if count > most {
        let _ = writeln!(
            out,
            "and {} more partitions; --all shows them",
            count - most
        );
    }
    for brick in away {
        let _ = writeln!(out, "brick {brick} did not answer");
    }
    let count = |wanted| verdicts.iter().filter(|it| **it == wanted).count();
    let all = || copies.values().flatten();
    let primaries = all().filter(|it| it.role == "primary");
    let keys: i64 = primaries.map(|it| it.keys).sum();
    let _ = writeln!(
        out,
        "{} partitions, {} replicas, {keys} keys: {} equal, {} behind, {} differ",
        verdicts.len(),
        all().count(),
        count(Verdict::Equal),
        count(Verdict::Behind),
        count(Verdict::Differ),
    );
    out
}

fn text(value: &Value) -> String {
    String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned()
}

#[cfg(test)]
#[path = "digest_test.rs"]
mod digest_test;
