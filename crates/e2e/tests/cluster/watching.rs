//! Somebody follows a table while nodes are killed, and its partitions split, merged and moved: every committed change is told exactly once, in
//! the order of its key.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{try_wait_for, wait_for};
use brickyard_e2e::moves::number;
use brickyard_e2e::random::Random;
use brickyard_e2e::skip::number_from_environment;
use brickyard_e2e::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What happens to the cluster, unless `BRICKYARD_E2E_EVENTS` says another number.
const EVENTS: u64 = 50;

const WRITERS: usize = 3;

/// Keys of each writer.
const KEYS: u64 = 20;

/// What all threads share.
#[derive(Default)]
struct Shared {
    ports: Vec<u16>,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    told: AtomicU64,
}

/// A value that was written, and whether that was acknowledged.
type Sent = BTreeMap<String, Vec<(String, bool)>>;

fn connect(shared: &Shared, random: &mut Random) -> Option<Client> {
    let port = shared.ports[random.below(shared.ports.len())];
    let mut client = Client::try_connect(port).ok()?;
    let used = client.try_call(&["TABLE", "USE", "t"]).ok()?;
    (used.text() == "OK").then_some(client)
}

/// Writes values that nobody else writes, each key's one after the other.
fn write(shared: &Shared, number: usize) -> Sent {
    let mut random = Random::new(number as u64);
    let mut sent = Sent::new();
    let mut client = None;
    let mut next = 0_u64;
    while !shared.stop.load(Ordering::Relaxed) {
        let Some(open) = client.as_mut() else {
            client = connect(shared, &mut random);
            continue;
        };
        next += 1;
        let key = format!("w{number}-{}", random.below(KEYS as usize));
        let value = format!("{number}:{next}");
        let reply = open.try_call(&["SET", &key, &value]);
        let is_acknowledged = reply.as_ref().is_ok_and(|it| it.text() == "OK");
        sent.entry(key).or_default().push((value, is_acknowledged));
        if is_acknowledged {
            shared.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        if reply.is_err() {
            client = None;
        }
    }
    sent
}

/// A position and the changes behind the one before.
fn read(answer: &Value) -> Option<(String, Vec<Vec<String>>)> {
    let [position, changes] = answer.items()? else {
        return None;
    };
    let words = |change: &Value| {
        let words = change.items().unwrap_or_default().iter();
        words.map(Value::text).collect()
    };
    let changes = changes.items()?.iter().map(words).collect();
    Some((position.text(), changes))
}

/// What somebody was told who has followed all the time.
struct Followed {
    told: BTreeMap<String, Vec<String>>,
    rounds: usize,
    connections: usize,
    /// Answers that were errors: an unavailable cluster may say so.
    errors: Vec<String>,
}

/// Follows from a position on, through whichever node answers, until all has stopped and there is nothing more.
fn follow(shared: &Shared, mut position: String) -> Followed {
    let mut random = Random::new(99);
    let mut followed = Followed {
        told: BTreeMap::new(),
        rounds: 0,
        connections: 0,
        errors: Vec::new(),
    };
    let mut client = None;
    loop {
        let Some(open) = client.as_mut() else {
            client = connect(shared, &mut random);
            followed.connections += usize::from(client.is_some());
            continue;
        };
        let has_stopped = shared.stop.load(Ordering::Relaxed);
        let answer = open.try_call(&[
            "WATCHKEYS",
            "ALL",
            "FROM",
            &position,
            "COUNT",
            "100",
            "BLOCK",
            "500",
        ]);
        let Ok(answer) = answer else {
            client = None;
            continue;
        };
        let Some((next, changes)) = read(&answer) else {
            let text = answer.text();
            // The cluster may say that it cannot now, and nothing else.
            let is_lasting = ["COMPACTED", "-COMPACTED", "ERR", "-ERR"];
            let is_lasting = is_lasting.iter().any(|it| text.starts_with(it));
            assert!(!is_lasting, "{text}");
            followed.errors.push(text);
            continue;
        };
        followed.rounds += 1;
        position = next;
        if changes.is_empty() && has_stopped {
            return followed;
        }
        for change in changes {
            let [event, key, value, _] = &change[..] else {
                panic!("{change:?}");
            };
            assert_eq!(event, "set", "{change:?}");
            let told = followed.told.entry(key.clone()).or_default();
            told.push(value.clone());
            shared.told.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits until writers and the follower have got on.
fn wait_for_changes(cluster: &Cluster, shared: &Shared) {
    let counters = [
        ("acknowledged", &shared.acknowledged),
        ("told", &shared.told),
    ];
    for (what, counter) in counters {
        let before = counter.load(Ordering::Relaxed);
        let got_on = try_wait_for(Duration::from_secs(60), || {
            (counter.load(Ordering::Relaxed) > before + 20).then_some(())
        });
        assert!(
            got_on.is_some(),
            "nothing more is {what} than {before}: {} {}\n{}",
            shared.acknowledged.load(Ordering::Relaxed),
            shared.told.load(Ordering::Relaxed),
            cluster.logs()
        );
    }
}

/// Splits or merges any partition that can be; whether there was one.
fn divide(cluster: &Cluster, verb: &str, random: &mut Random) -> bool {
    let mut client = cluster.client(random.below(3));
    let all = partitions(cluster);
    let first = random.below(all.len());
    let (before, from) = all.split_at(first);
    let mut all = from.iter().chain(before);
    all.any(|partition| client.call(&["TABLE", verb, "t", partition]).is_ok())
}

/// The partitions of the table, as the bricks say that lead some.
fn partitions(cluster: &Cluster) -> Vec<String> {
    wait_for("somebody who leads partitions", || {
        let bricks = (0..3).flat_map(|at| (0..2).map(move |brick| (at, brick)));
        let exported = bricks.filter_map(|(at, brick)| {
            let mut client = Client::try_connect(cluster.brick_port(at) + brick).ok()?;
            let listed = client.try_call(&["TABLE", "EXPORT", "t"]).ok()?;
            let numbers = listed.items()?.iter().filter_map(Value::as_integer);
            Some(numbers.map(|it| it.to_string()).collect::<Vec<_>>())
        });
        let all: Vec<String> = exported.flatten().collect();
        (!all.is_empty()).then_some(all)
    })
}

/// Something happens to the cluster; what.
fn happen(cluster: &mut Cluster, shared: &Shared, random: &mut Random) -> &'static str {
    match random.below(10) {
        0..4 => {
            let at = random.below(3);
            cluster.kill(at);
            wait_for_changes(cluster, shared);
            cluster.launch(at);
            cluster.wait_until_whole("t", 2);
            "kill"
        }
        4..6 if divide(cluster, "SPLIT", random) => "split",
        6..8 if divide(cluster, "MERGE", random) => "merge",
        4..8 => "refused",
        _ => {
            let away = random.below(3);
            let others = (0..3).filter(|at| *at != away);
            let numbers: Vec<String> = others.map(|at| number(cluster, at)).collect();
            let mut client = cluster.client(0);
            client.call(&["TABLE", "ALTER", "t", "NODES", &numbers.join(",")]);
            wait_for("the table to leave a node", || {
                let mut client = cluster.table(0, "t").ok()?;
                let slots = client.try_call(&["CLUSTER", "SLOTS"]).ok()?;
                let port = cluster.port(away);
                let is_there =
                    (port..=port + 2).any(|it| slots.to_string().contains(&format!(":{it}")));
                (!is_there).then_some(())
            });
            wait_for_changes(cluster, shared);
            client.call(&["TABLE", "ALTER", "t", "NODES", "all"]);
            "move"
        }
    }
}

#[test]
fn every_committed_change_is_told_once_and_in_order_through_failovers_splits_merges_and_moves() {
    let events = number_from_environment("BRICKYARD_E2E_EVENTS", EVENTS);
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "8", "HISTORY", "8mb"]);
    cluster.wait_until_whole("t", 2);
    let shared = Arc::new(Shared {
        ports: (0..3).map(|at| cluster.port(at)).collect(),
        ..Shared::default()
    });
    let mut client = cluster.table(0, "t").unwrap();
    let (position, _) = read(&client.call(&["WATCHKEYS", "ALL", "FROM", "NOW"])).unwrap();
    let writers: Vec<JoinHandle<Sent>> = (0..WRITERS)
        .map(|at| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || write(&shared, at))
        })
        .collect();
    let follower = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || follow(&shared, position))
    };
    let mut random = Random::new(number_from_environment("BRICKYARD_E2E_SEED", 1));
    let mut happened: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..events {
        let what = happen(&mut cluster, &shared, &mut random);
        *happened.entry(what).or_default() += 1;
        wait_for_changes(&cluster, &shared);
    }
    shared.stop.store(true, Ordering::Relaxed);
    let mut sent = Sent::new();
    for writer in writers {
        sent.extend(writer.join().unwrap());
    }
    let followed = follower.join().unwrap();
    check(&sent, &followed.told);
    let told: usize = followed.told.values().map(Vec::len).sum();
    println!(
        "{happened:?}: {told} changes told in {} rounds through {} connections, {} acknowledged, errors {:?}",
        followed.rounds,
        followed.connections,
        shared.acknowledged.load(Ordering::Relaxed),
        followed.errors
    );
    let mut client = cluster.table(0, "t").unwrap();
    for (key, told) in &followed.told {
        let holds = client.call(&["GET", key]).text();
        assert_eq!(Some(&holds), told.last(), "{key} holds what was told last");
    }
}

fn check(sent: &Sent, told: &BTreeMap<String, Vec<String>>) {
    for (key, told) in told {
        let sent = &sent[key];
        let places: Vec<usize> = told
            .iter()
            .map(|value| {
                let place = sent.iter().position(|(it, _)| it == value);
                place.unwrap_or_else(|| panic!("{key}: {value} was told and never written"))
            })
            .collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(
            sorted.len(),
            places.len(),
            "{key}: something was told twice: {told:?}"
        );
        // Of those whose writer was answered the order is known.
        let known: Vec<usize> = places.into_iter().filter(|at| sent[*at].1).collect();
        assert!(
            known.is_sorted(),
            "{key}: {told:?} is another order than it was written in"
        );
    }
    for (key, sent) in sent {
        for (value, is_acknowledged) in sent {
            let is_told = told.get(key).is_some_and(|told| told.contains(value));
            assert!(
                is_told || !is_acknowledged,
                "{key}: {value} was acknowledged and not told"
            );
        }
    }
}
