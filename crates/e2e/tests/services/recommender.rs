//! The recommender: counts are what was acknowledged, or within what nobody knows of; and exact once they were counted anew.

use crate::service::{Outcome, ask, look, program};
use crate::storm::{Progress, Storm};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::run;
use brickyard_e2e::random::Random;
use brickyard_e2e::value::Value;
use std::collections::{BTreeMap, BTreeSet};

const PEOPLE: usize = 6;
const PAGES: usize = 8;

/// Pages that a reader opens.
const READINGS: usize = 5;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// What a reader opened: the pages, and whether that was acknowledged.
type Reader = Vec<(usize, bool)>;

/// How many readers a page and another one have, at least and at most.
type Bounds = BTreeMap<(usize, usize), (i64, i64)>;

fn live(number: usize, mut random: Random, progress: &Progress, ports: [u16; 2]) -> Vec<Reader> {
    let mut readers = Vec::new();
    for round in 0.. {
        if progress.is_over() {
            break;
        }
        let mut left: Vec<usize> = (0..PAGES).collect();
        let mut reader = Reader::new();
        for _ in 0..READINGS {
            let page = left.swap_remove(random.below(left.len()));
            let form = format!("reader=reader{number}.{round}&page=page{page}");
            match ask(ports[random.below(2)], "POST", "/visits", &[FORM], &form) {
                Outcome::Done(answer) => {
                    assert_eq!(answer.status, 204, "{}", answer.body);
                    progress.acknowledge();
                    reader.push((page, true));
                }
                Outcome::NotDone => {}
                Outcome::Unknown => reader.push((page, false)),
            }
        }
        readers.push(reader);
    }
    readers
}

fn bounds(readers: &[Reader]) -> Bounds {
    let mut bounds = Bounds::new();
    for reader in readers {
        for (page, is_sure) in reader {
            for (other, is_other_sure) in reader.iter().filter(|(other, _)| other != page) {
                let (least, most) = bounds.entry((*page, *other)).or_insert((0, 0));
                *least += i64::from(*is_sure && *is_other_sure);
                *most += 1;
            }
        }
    }
    bounds
}

/// What an instance says of a page: visits, and readers by other page.
fn told(port: u16, page: usize) -> (i64, BTreeMap<usize, i64>) {
    let told = look(&[port], &format!("/pages/page{page}/also?count=100"), &[]).json();
    let also = told["also"].as_array().expect("a list").iter();
    let also = also.map(|it| {
        let page = it["page"].as_str().and_then(|it| it.strip_prefix("page"));
        let page = page.expect("a page").parse().expect("its number");
        (page, it["readers"].as_i64().expect("a number"))
    });
    (told["visits"].as_i64().expect("a number"), also.collect())
}

/// How many readers each pair has, by what the table holds of the readers themselves.
fn exact(cluster: &Cluster) -> BTreeMap<(usize, usize), i64> {
    let mut client = cluster.table(0, "recommender").expect("the table");
    let Value::Array(keys) = client.call(&["KEYS", "read:*"]) else {
        panic!("KEYS gave no list");
    };
    let mut counts = BTreeMap::new();
    for key in keys {
        let lines = client.call(&["GET", &key.text()]).text().to_owned();
        let number = |line: &str| line.strip_prefix("page").and_then(|it| it.parse().ok());
        let pages: BTreeSet<usize> = lines.lines().filter_map(number).collect();
        for page in &pages {
            for other in pages.iter().filter(|it| *it != page) {
                *counts.entry((*page, *other)).or_insert(0) += 1;
            }
        }
    }
    counts
}

fn recount(cluster: &Cluster, arguments: &[&str]) -> String {
    let mut command = program("recommender", cluster);
    let finished = run(command.arg("recount").args(arguments), b"", PATIENCE);
    let finished = finished.expect("it ends");
    assert!(finished.status.success(), "{}", finished.text());
    finished.stdout
}

#[test]
fn counts_are_what_was_acknowledged_through_failures_and_exact_when_counted_anew() {
    let mut storm = Storm::new("recommender", 2, &[]);
    let ports = storm.ports();
    let readers = storm.rage(PEOPLE, |number, random, progress| {
        live(number, random, progress, ports)
    });
    let readers = readers.concat();
    let bounds = bounds(&readers);
    for page in 0..PAGES {
        let (visits, also) = told(ports[0], page);
        let of_page = readers.iter().flatten().filter(|(it, _)| *it == page);
        let most = of_page.clone().count() as i64;
        let least = of_page.filter(|(_, is_sure)| *is_sure).count() as i64;
        assert!(
            (least..=most).contains(&visits),
            "page{page}: {visits} visits of {least} to {most}"
        );
        for other in (0..PAGES).filter(|it| *it != page) {
            let (least, most) = bounds.get(&(page, other)).copied().unwrap_or((0, 0));
            let readers = also.get(&other).copied().unwrap_or(0);
            assert!(
                (least..=most).contains(&readers),
                "page{page} and page{other}: {readers} readers of {least} to {most}"
            );
        }
    }
    let said = recount(&storm.cluster, &["--walks", "5"]);
    println!("recommender: {}", said.lines().last().unwrap_or_default());
    let said = recount(&storm.cluster, &["--dry-run", "--walks", "3"]);
    assert!(said.contains(" 0 wrong ones found"), "{said}");
    let exact = exact(&storm.cluster);
    for port in ports {
        for page in 0..PAGES {
            let of_page = exact.iter().filter(|((it, _), _)| *it == page);
            let of_page = of_page.map(|((_, other), readers)| (*other, *readers));
            assert_eq!(told(port, page).1, of_page.collect(), "page{page}");
        }
    }
    let unknown = readers
        .iter()
        .flatten()
        .filter(|(_, is_sure)| !is_sure)
        .count();
    let all = readers.iter().map(Vec::len).sum::<usize>();
    println!("recommender: {all} readings, {unknown} of unknown outcome");
}

#[test]
fn recount_mends_what_is_missing_and_what_is_too_much() {
    let cluster = Cluster::start(&[0], 1, &[]);
    let service = crate::service::Service::start("recommender", &cluster, &[]);
    let port = service.port();
    for (reader, page) in [
        ("ann", 0),
        ("ann", 1),
        ("bob", 1),
        ("bob", 0),
        ("bob", 1),
        ("eve", 2),
    ] {
        let form = format!("reader={reader}&page=page{page}");
        let Outcome::Done(answer) = ask(port, "POST", "/visits", &[FORM], &form) else {
            panic!("a visit failed");
        };
        assert_eq!(answer.status, 204, "{}", answer.body);
    }
    let right = BTreeMap::from([(1, 2)]);
    assert_eq!(told(port, 0), (2, right.clone()));
    assert_eq!(told(port, 1), (3, BTreeMap::from([(0, 2)])));
    assert_eq!(told(port, 2), (1, BTreeMap::new()));
    assert!(recount(&cluster, &[]).contains("2 counts, 0 wrong ones mended"));

    let mut client = cluster.table(0, "recommender").expect("the table");
    let Value::Array(keys) = client.call(&["KEYS", "also:page0/*"]) else {
        panic!("KEYS gave no list");
    };
    let key = keys.first().expect("a key").text().to_owned();
    let spoil = [&["HDEL", &key, "page1"][..], &["HSET", &key, "page7", "5"]];
    for words in spoil {
        assert_eq!(client.call(words).as_integer(), Some(1), "{words:?}");
    }
    assert_eq!(told(port, 0).1, BTreeMap::from([(7, 5)]));
    let said = recount(&cluster, &["--dry-run"]);
    assert!(said.contains("page0 and page1: 0, should be 2"), "{said}");
    assert!(said.contains("page0 and page7: 5, should be 0"), "{said}");
    assert_eq!(told(port, 0).1, BTreeMap::from([(7, 5)]), "nothing changed");
    assert!(recount(&cluster, &[]).contains("2 wrong ones mended"));
    assert_eq!(told(port, 0).1, right);
}
