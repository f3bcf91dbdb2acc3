//! Several bricks: the node port serves any key, a brick's port its own and the way to the others.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::differential::generate::slot_of;
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::value::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

const BRICKS: u16 = 3;

/// The port that `-MOVED slot host:port` names.
fn moved_to(reply: &Value) -> Option<(u16, u16)> {
    let text = reply.is_error_with("MOVED ").then(|| reply.text())?;
    let text = text.trim_start_matches('-');
    let mut words = text.split(' ').skip(1);
    let slot = words.next()?.parse().ok()?;
    let port = words.next()?.rsplit_once(':')?.1.parse().ok()?;
    Some((slot, port))
}

#[test]
fn every_key_has_one_brick_and_the_others_name_it() {
    let server = Setup::brickyard(BRICKS).start();
    let mut node = server.connect();
    let mut bricks: Vec<Client> = (0..BRICKS)
        .map(|brick| server.connect_brick(brick))
        .collect();
    let mut served = [0; BRICKS as usize];
    for number in 0..300 {
        let key = format!("k{number}");
        node.must(&["SET", &key, &key]);
        let replies: Vec<Value> = bricks
            .iter_mut()
            .map(|client| client.call(&["GET", &key]))
            .collect();
        let owners: Vec<usize> = (0..replies.len())
            .filter(|&brick| !replies[brick].is_error())
            .collect();
        assert_eq!(owners.len(), 1, "{key}: {replies:?}");
        assert_eq!(replies[owners[0]].text(), key);
        served[owners[0]] += 1;
        for reply in replies.iter().filter(|reply| reply.is_error()) {
            let owner = u16::try_from(owners[0]).expect("few bricks");
            let expected = Some((slot_of(key.as_bytes()), server.brick_port(owner)));
            assert_eq!(moved_to(reply), expected, "{reply}");
        }
    }
    assert!(
        served.iter().all(|&count| count > 50),
        "keys per brick: {served:?}"
    );
}

/// What the bricks have passed to one another so far.
fn forwards(client: &mut Client) -> u64 {
    let info = client.line("INFO stats").text();
    let forwards = info
        .lines()
        .find_map(|line| line.strip_prefix("forwards:"))
        .unwrap_or_else(|| panic!("no forwards in {info}"));
    forwards.trim().parse().expect("a number")
}

#[test]
fn who_asks_the_right_brick_costs_no_other_one_a_message() {
    let server = Setup::brickyard(BRICKS).start();
    let mut node = server.connect();
    let before = forwards(&mut node);
    let mut own = 0;
    for brick in 0..BRICKS {
        let mut client = server.connect_brick(brick);
        for number in 0..300 {
            let key = format!("k{number}");
            if !client.call(&["SET", &key, "v"]).is_error() {
                let other = format!("{{{key}}}n");
                assert_eq!(client.call(&["INCR", &other]).as_integer(), Some(1));
                let values = client.call(&["MGET", &key, &other]);
                assert_eq!(values.items().map(<[Value]>::len), Some(2), "{values}");
                own += 1;
            }
        }
    }
    assert_eq!(own, 300, "each key has a brick");
    assert_eq!(
        forwards(&mut node),
        before,
        "local keys went to another brick"
    );
    // Whoever does not know the bricks lets them pass on what is not theirs.
    for number in 0..300 {
        assert_eq!(node.call(&["GET", &format!("k{number}")]).text(), "v");
    }
    assert!(forwards(&mut node) > before + 100, "the count counts");
}

#[test]
fn topology_is_the_same_in_every_form_and_on_every_port() {
    let server = Setup::brickyard(BRICKS).start();
    let ports: Vec<u16> = (0..BRICKS).map(|brick| server.brick_port(brick)).collect();
    let mut seen = BTreeSet::new();
    for port in std::iter::once(server.port()).chain(ports.iter().copied()) {
        let mut client = Client::connect(port);
        let slots = client.line("CLUSTER SLOTS");
        let mut owned = vec![0_u16; 16_384];
        let mut ids = BTreeSet::new();
        for range in slots.items().expect("a list") {
            let [begin, end, node, ..] = range.items().expect("a range") else {
                panic!("{range}")
            };
            let bounds = (
                begin.as_integer().expect("a slot"),
                end.as_integer().expect("a slot"),
            );
            let [host, port, id, ..] = node.items().expect("a node") else {
                panic!("{node}")
            };
            assert_eq!(host.text(), "127.0.0.1");
            assert_eq!(id.text().len(), 40, "{id}");
            ids.insert(id.text());
            let port = u16::try_from(port.as_integer().expect("a port")).expect("a port");
            for slot in bounds.0..=bounds.1 {
                let slot = &mut owned[usize::try_from(slot).expect("a slot")];
                assert_eq!(*slot, 0, "two owners in {slots}");
                *slot = port;
            }
        }
        assert!(
            owned.iter().all(|port| ports.contains(port)),
            "a slot has no brick"
        );
        assert_eq!(ids.len(), usize::from(BRICKS));
        seen.insert(owned);
        let nodes = client.line("CLUSTER NODES").text();
        for (id, port) in ids.iter().zip(&ports) {
            assert!(nodes.contains(id.as_str()), "{nodes}");
            assert!(nodes.contains(&format!("127.0.0.1:{port}@")), "{nodes}");
        }
        let myself = nodes.lines().filter(|line| line.contains("myself")).count();
        assert!(myself <= 1, "{nodes}");
        let info = client.line("CLUSTER INFO").text();
        for field in [
            "cluster_state:ok",
            "cluster_slots_assigned:16384",
            "cluster_slots_ok:16384",
        ] {
            assert!(info.contains(field), "{info}");
        }
        let shards = client.line("CLUSTER SHARDS");
        assert_eq!(
            shards.items().map(<[Value]>::len),
            Some(usize::from(BRICKS)),
            "{shards}"
        );
    }
    assert_eq!(seen.len(), 1, "ports disagree about the slots");
    let ids: BTreeSet<String> = ports
        .iter()
        .map(|&port| Client::connect(port).line("CLUSTER MYID").text())
        .collect();
    assert_eq!(ids.len(), usize::from(BRICKS), "bricks share an id");
}

#[test]
fn brick_ports_count_their_own_keys_and_the_node_port_all() {
    let server = Setup::brickyard(BRICKS).start();
    let mut node = server.connect();
    let mut expected = BTreeSet::new();
    for number in 0..1_000 {
        let key = format!("k{number}");
        node.must(&["SET", &key, "v"]);
        expected.insert(key);
    }
    let mut counted = 0;
    let mut scanned = BTreeSet::new();
    for brick in 0..BRICKS {
        let mut client = server.connect_brick(brick);
        counted += client.line("DBSIZE").as_integer().expect("a number");
        let keys = scan(&mut client, "7");
        for key in &keys {
            assert!(
                !client.call(&["GET", key]).is_error(),
                "brick {brick} scanned a key of another"
            );
        }
        scanned.extend(keys);
    }
    assert_eq!(counted, 1_000);
    assert_eq!(scanned, expected);
    assert_eq!(node.line("DBSIZE"), Value::Integer(1_000));
    assert_eq!(scan(&mut node, "13"), expected);
    let all: BTreeSet<String> = node
        .line("KEYS *")
        .items()
        .expect("a list")
        .iter()
        .map(Value::text)
        .collect();
    assert_eq!(all, expected);
}

fn scan(client: &mut Client, count: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = client.call(&["SCAN", &cursor, "COUNT", count]);
        let [next, keys] = reply.items().expect("cursor and keys") else {
            panic!("{reply}")
        };
        found.extend(keys.items().expect("a list").iter().map(Value::text));
        cursor = next.text();
        if cursor == "0" {
            return found;
        }
    }
}

/// `SCAN`'s promise: a key that is there throughout is returned, whatever else comes and goes.
#[test]
fn scan_returns_every_key_that_is_there_throughout() {
    let server = Setup::brickyard(BRICKS).start();
    let mut client = server.connect();
    let kept: BTreeSet<String> = (0..2_000).map(|number| format!("kept{number}")).collect();
    for key in &kept {
        client.must(&["SET", key, "v"]);
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            let mut random = Random::new(3);
            while !stop.load(Ordering::Relaxed) {
                let key = format!("passing{}", random.below(5_000));
                let request = if random.once_in(2) {
                    vec!["SET", &key, "v"]
                } else {
                    vec!["DEL", &key]
                };
                client.call(&request);
            }
        });
        for _ in 0..5 {
            let found = scan(&mut client, "10");
            let missed: Vec<&String> = kept.difference(&found).collect();
            if !missed.is_empty() {
                stop.store(true, Ordering::Relaxed);
            }
            assert!(missed.is_empty(), "not returned: {missed:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Replies come in the order of the requests, although the requests go to different bricks.
#[test]
fn pipelines_across_bricks_keep_their_order() {
    let server = Setup::brickyard(BRICKS).start();
    let mut random = Random::new(11);
    for _ in 0..20 {
        let mut client = server.connect();
        let mut request = Vec::new();
        let mut expected: Vec<String> = Vec::new();
        for number in 0..2_000 {
            let key = format!("k{}", random.below(200));
            let value = format!("{number}");
            match random.below(4) {
                0 => {
                    encode(&mut request, &["PING", &value]);
                    expected.push(value);
                }
                1 => {
                    encode(&mut request, &["MSET", &key, &value, "other", &value]);
                    expected.push("OK".to_owned());
                    encode(&mut request, &["MGET", "other", &key]);
                    expected.push(format!("[\"{value}\", \"{value}\"]"));
                }
                _ => {
                    encode(&mut request, &["SET", &key, &value]);
                    expected.push("OK".to_owned());
                    encode(&mut request, &["GET", &key]);
                    expected.push(value);
                }
            }
        }
        client.send_raw(&request).expect("the pipeline is taken");
        for (number, expected) in expected.iter().enumerate() {
            let reply = client.receive().expect("a reply");
            let reply = if reply.items().is_some() {
                reply.to_string()
            } else {
                reply.text()
            };
            assert_eq!(reply, *expected, "reply {number}");
        }
    }
}

/// Increments from many connections through every door, none lost and none twice.
#[test]
fn concurrent_increments_add_up() {
    const THREADS: i64 = 6;
    const EACH: i64 = 500;
    let server = Setup::brickyard(BRICKS).start();
    let keys: Vec<String> = (0..5).map(|number| format!("counter{number}")).collect();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut client = server.connect();
                for round in 0..EACH {
                    let key = &keys[usize::try_from(round).expect("small") % keys.len()];
                    assert!(client.call(&["INCR", key]).as_integer().is_some());
                }
            });
        }
    });
    let mut client = server.connect();
    for key in &keys {
        let expected = THREADS * EACH / i64::try_from(keys.len()).expect("few");
        assert_eq!(client.call(&["GET", key]).text(), expected.to_string());
    }
}

/// Optimistic transactions under contention: each `EXEC` that went through counted once.
#[test]
fn watched_transactions_exclude_each_other() {
    let server = Setup::brickyard(BRICKS).start();
    let sum: i64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    let mut done = 0;
                    for _ in 0..200 {
                        client.must(&["WATCH", "{t}sum"]);
                        let now = client.call(&["GET", "{t}sum"]);
                        let now: i64 = if now.is_null() {
                            0
                        } else {
                            now.text().parse().expect("a number")
                        };
                        client.must(&["MULTI"]);
                        client.call(&["SET", "{t}sum", &(now + 1).to_string()]);
                        client.call(&["INCR", "{t}count"]);
                        let reply = client.call(&["EXEC"]);
                        assert!(!reply.is_error(), "{reply}");
                        done += i64::from(!reply.is_null());
                    }
                    done
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread failed"))
            .sum()
    });
    let mut client = server.connect();
    assert!(sum > 0);
    assert_eq!(client.call(&["GET", "{t}sum"]).text(), sum.to_string());
    assert_eq!(client.call(&["GET", "{t}count"]).text(), sum.to_string());
}

#[test]
fn atomic_commands_are_so_over_any_slots_and_need_one_at_a_bricks_port() {
    let server = Setup::brickyard(BRICKS).start();
    let crossing = [
        ("MSETNX a 1 z 2", ":0"),
        ("MSETNX x 1 y 2", ":1"),
        ("RENAME a d", "+OK"),
        ("RENAMENX b d", ":0"),
        ("COPY d e", ":1"),
        ("BITOP AND f b c", ":1"),
    ];
    let mut node = server.connect();
    let mut brick = server.connect_brick(0);
    node.must(&["MSET", "a", "1", "b", "2", "c", "3"]);
    for (request, expected) in crossing {
        let refused = brick.line(request);
        assert!(refused.is_error_with("CROSSSLOT"), "{request}: {refused}");
        assert_eq!(node.line(request).to_string(), expected, "{request}");
    }
    assert_eq!(
        node.line("MGET a b c d e f x y z").to_string(),
        r#"[$-1, "2", "3", "1", "1", "2", "1", "2", $-1]"#
    );
    for request in [
        "MSETNX {x}a 1 {x}b 2",
        "RENAME {x}a {x}c",
        "COPY {x}b {x}d",
        "BITOP OR {x}e {x}b {x}c",
    ] {
        let reply = node.line(request);
        assert!(!reply.is_error(), "{request}: {reply}");
    }
    node.must(&["MULTI"]);
    node.line("SET a 2");
    node.line("INCR b");
    node.line("INCRBY c x");
    assert_eq!(
        node.line("EXEC").items().expect("a list").len(),
        3,
        "each command has its reply"
    );
    assert_eq!(node.line("MGET a b c").to_string(), r#"["2", "3", "3"]"#);
}

/// What is merely many works across bricks.
#[test]
fn commands_over_many_keys_work_across_bricks() {
    let server: Server = Setup::brickyard(BRICKS).start();
    let mut client = server.connect();
    let keys: Vec<String> = (0..200).map(|number| format!("k{number}")).collect();
    let with = |name: &str| -> Vec<String> {
        std::iter::once(name.to_owned())
            .chain(keys.iter().cloned())
            .collect()
    };
    let mut mset = vec!["MSET".to_owned()];
    for key in &keys {
        mset.extend([key.clone(), format!("value of {key}")]);
    }
    client.must(&mset);
    let reply = client.call(&with("MGET"));
    for (key, item) in keys.iter().zip(reply.items().expect("a list")) {
        assert_eq!(item.text(), format!("value of {key}"));
    }
    for name in ["EXISTS", "TOUCH"] {
        assert_eq!(client.call(&with(name)), Value::Integer(200));
    }
    assert_eq!(client.line("EXISTS k1 k1 k2 nosuch"), Value::Integer(3));
    assert_eq!(client.call(&with("DEL")), Value::Integer(200));
    assert_eq!(client.call(&with("UNLINK")), Value::Integer(0));
}
