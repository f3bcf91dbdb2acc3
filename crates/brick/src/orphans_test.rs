use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::harness::{Client, Node, log, with};
use crate::tables::TableState;
use brickyard_command::hash::Head;
use brickyard_metadata::Level;
use brickyard_table::{Put, ScanPosition, ValueRef};
use brickyard_types::part::PartName;
use brickyard_types::{Durability, Eviction, Medium, Position, TableAttributes, ValueType};
use std::collections::BTreeSet;
use std::time::Duration;

const FIELDS: usize = 300;

/// More than enough ticks for every part of a hash of [`FIELDS`] to be passed.
const TICKS: usize = 50;

const TICK: Duration = Duration::from_millis(100);

fn pass(node: &mut Node) {
    for _ in 0..TICKS {
        node.advance(TICK);
        node.settle();
    }
}

/// Calls, and has what is in the log alone read.
fn call(node: &mut Node, client: Client, request: &str) -> String {
    let mut reply = node.call(client, request);
    while reply.is_empty() {
        assert!(
            !node.logs[0].reads.is_empty(),
            "{request} waits for nothing"
        );
        node.answer_reads(0);
        node.settle();
        reply = node.receive(client);
    }
    reply
}

fn fill(node: &mut Node, client: Client, key: &str) {
    for field in 0..FIELDS {
        let request = format!("HSET {key} field:{field} value:{field}");
        assert_eq!(call(node, client, &request), ":1");
    }
}

fn check(node: &mut Node, client: Client, key: &str) {
    assert_eq!(
        call(node, client, &format!("HLEN {key}")),
        format!(":{FIELDS}")
    );
    for field in [0, 7, FIELDS - 1] {
        let reply = call(node, client, &format!("HGET {key} field:{field}"));
        assert!(reply.ends_with(&format!(" value:{field}")), "{reply}");
    }
    let all = call(node, client, &format!("HGETALL {key}"));
    let words: BTreeSet<&str> = all.split(' ').collect();
    for field in 0..FIELDS {
        assert!(
            words.contains(&format!("value:{field}")[..]),
            "field {field}"
        );
    }
}

/// Parts that there are, and those of them that no head speaks of.
fn parts(state: &TableState) -> (usize, usize) {
    let (mut all, mut orphans) = (0, 0);
    for partition in state.partitions.iter().flatten() {
        let visit = |name: &[u8], _: brickyard_table::Found<'_>| {
            if let Some(part) = PartName::decode(name) {
                all += 1;
                orphans += usize::from(state.is_orphan(partition.local, &part));
            }
        };
        state
            .table
            .scan(partition.local, ScanPosition::START, usize::MAX, visit);
    }
    assert_eq!(all, state.table.parts(), "parts are counted");
    (all, orphans)
}

fn parts_of(node: &Node) -> (usize, usize) {
    parts(node.bricks[0].core.table(0).expect("the default table"))
}

#[test]
fn a_large_hash_is_one_key_whoever_counts_or_lists() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let (all, orphans) = parts_of(&node);
    assert!(all > 5 && orphans == 0, "{all} parts, {orphans} of nothing");
    check(&mut node, client, "h");
    assert_eq!(node.call(client, "DBSIZE"), ":1");
    assert_eq!(node.call(client, "KEYS *"), "*1 $1 h");
    assert_eq!(node.call(client, "SCAN 0 COUNT 1000"), "*2 $1 0 *1 $1 h");
    for _ in 0..10 {
        assert_eq!(node.call(client, "RANDOMKEY"), "$1 h");
    }
    let usage = node.call(client, "MEMORY USAGE h");
    let usage: usize = usage.trim_start_matches(':').parse().expect(&usage);
    assert!(usage > FIELDS * 16, "{usage} bytes");
    assert_eq!(node.call(client, "TYPE h"), "+hash");
    assert_eq!(node.call(client, "EXISTS h"), ":1");
}

#[test]
fn a_large_hash_is_whole_after_a_restart() {
    for medium in [Medium::Ram, Medium::Disk] {
        let mut node = Node::new(
            1,
            TableAttributes {
                medium,
                maxmemory: (medium == Medium::Disk).then_some(1),
                ..with(Durability::Log)
            },
        );
        let client = node.connect(0, Port::Node);
        fill(&mut node, client, "h");
        call(&mut node, client, "HDEL h field:3");
        call(&mut node, client, "HSET h field:3 value:3");
        node.roll(0);
        node.settle();
        node.restart();
        let client = node.connect(0, Port::Node);
        check(&mut node, client, "h");
        assert_eq!(call(&mut node, client, "HINCRBY h count 5"), ":5");
        assert_eq!(call(&mut node, client, "HDEL h count"), ":1");
        check(&mut node, client, "h");
        pass(&mut node);
        check(&mut node, client, "h");
    }
}

/// Rule `a head speaks of parts that are there`: what was deleted and made anew has its own parts.
#[test]
fn parts_of_a_hash_that_was_made_anew_stay() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    for round in 0..3 {
        if round == 1 {
            node.call(client, "MULTI\nDEL h\nEXEC");
        }
        node.call(client, "DEL h");
        fill(&mut node, client, "h");
        if round == 1 {
            // Before what is left of the one before is looked at.
            node.restart();
            node.settle();
        }
        let client = node.connect(0, Port::Node);
        pass(&mut node);
        check(&mut node, client, "h");
        let (all, orphans) = parts_of(&node);
        assert!(all > 5 && orphans == 0, "{orphans} of {all}");
    }
}

/// Rule `a head speaks of parts that are there`: what a key held before a transaction may come back.
#[test]
fn parts_of_a_key_with_an_intent_stay() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let state = node.bricks[0].core.table_mut(0).expect("the default table");
    let location = state.map.locate(b"h");
    let partition = state.partitions[location.leaf as usize].as_ref();
    let local = partition.expect("it is here").local;
    let hash = state.table.hash(b"h");
    let op = state.table.op_max(local).next();
    let intent = Put {
        value: ValueRef::Hot(b"what was, and what is to be"),
        expires_at: None,
        op,
        position: Position::NONE,
        value_type: ValueType::Intent,
    };
    let value = Some((ValueType::Intent, &b"intent"[..]));
    state.note_end_of_value((local, hash), b"h", value);
    state.table.put(local, hash, b"h", &intent).expect("room");
    assert!(state.room.orphans.is_empty());
    let (all, orphans) = parts(state);
    assert!(all > 5 && orphans == 0, "{orphans} of {all}");
}

/// Rule `a head speaks of parts that are there`: a head that the log has lost may be copied back.
#[test]
fn parts_of_a_head_that_may_be_lost_stay() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let before = parts_of(&node).0;
    let state = node.bricks[0].core.table_mut(0).expect("the default table");
    let leaf = state.map.locate(b"h").leaf as usize;
    let held = state.partitions[leaf].as_mut().expect("it is here");
    let (local, hash) = (held.local, state.table.hash(b"h"));
    let op = state.table.op_max(local).next();
    held.gaps.lose_op(op);
    state.table.remove(local, hash, b"h", op);
    pass(&mut node);
    assert_eq!(parts_of(&node), (before, before));
    let state = node.bricks[0].core.table_mut(0).expect("the default table");
    let held = state.partitions[leaf].as_mut().expect("it is here");
    held.gaps.mend();
    // Whatever is written wakes the walk.
    node.call(client, "SET other x");
    pass(&mut node);
    assert_eq!(parts_of(&node), (0, 0));
}

#[test]
fn parts_go_with_their_hash() {
    let ends = ["DEL h", "SET h x", "PEXPIRE h 1", "RENAME other h"];
    for durability in [Durability::Memory, Durability::Log] {
        for end in ends {
            let mut node = Node::new(1, with(durability));
            let client = node.connect(0, Port::Node);
            fill(&mut node, client, "h");
            node.call(client, "SET other x");
            assert!(parts_of(&node).0 > 5);
            node.call(client, end);
            pass(&mut node);
            assert_eq!(parts_of(&node), (0, 0), "after {end}");
        }
    }
}

/// What is not noted as it happens the walk over all records finds.
#[test]
fn parts_that_nobody_has_noted_are_found() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    fill(&mut node, client, "stays");
    let before = parts_of(&node).0;
    node.call(client, "DEL h");
    node.restart();
    node.settle();
    let client = node.connect(0, Port::Node);
    let (all, orphans) = parts_of(&node);
    assert!(all == before && orphans > 0, "{orphans} of {all}");
    pass(&mut node);
    let (all, orphans) = parts_of(&node);
    assert!(all > 0 && orphans == 0, "{orphans} of {all}");
    check(&mut node, client, "stays");
}

#[test]
fn a_key_that_looks_like_a_part_is_none() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let state = node.bricks[0].core.table(0).expect("the default table");
    let location = state.map.locate(b"h");
    let partition = state.partitions[location.leaf as usize].as_ref();
    let local = partition.expect("it is here").local;
    let hash = state.table.hash(b"h");
    let found = state.table.peek(local, hash, b"h").expect("a head");
    let ValueRef::Hot(value) = found.value else {
        panic!("a cold head");
    };
    let head = Head::read(value).expect("a head");
    let name = head.part(b"h", 0).encode();
    let call = |node: &mut Node, words: &[&[u8]]| {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        node.bricks[0].input(client.id).extend_from_slice(&bytes);
        node.bricks[0].on_received(client.id);
        node.settle();
        node.receive(client)
    };
    for words in [
        &[&b"GET"[..], &name][..],
        &[b"HGETALL", &name],
        &[b"DUMP", &name],
    ] {
        let reply = call(&mut node, words);
        assert!(matches!(&reply[..], "$-1" | "*0"), "{reply}");
    }
    for words in [
        &[&b"DEL"[..], &name][..],
        &[b"EXPIRE", &name, b"1"],
        &[b"EXISTS", &name],
    ] {
        assert_eq!(call(&mut node, words), ":0");
    }
    for words in [
        &[&b"SET"[..], &name, b"x"][..],
        &[b"HSET", &name, b"a", b"b"],
    ] {
        let reply = call(&mut node, words);
        assert!(reply.starts_with("-ERR this key begins with"), "{reply}");
    }
    check(&mut node, client, "h");
}

/// Where changes are told whole, or keys go by themselves, a hash is one record; one that has parts gets whole when it is written.
#[test]
fn some_tables_have_whole_hashes() {
    let attributes = TableAttributes {
        evict: Eviction::Lru,
        maxmemory: Some(64 << 20),
        ..with(Durability::Memory)
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    assert_eq!(parts_of(&node), (0, 0));
    check(&mut node, client, "h");
    // A node of an earlier program would not know the form.
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.bricks[0].core.shared.lowest_level.set(Level::LEASES);
    fill(&mut node, client, "h");
    assert_eq!(parts_of(&node), (0, 0));
    check(&mut node, client, "h");
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    assert!(parts_of(&node).0 > 5);
    let altered = node.call(client, "TABLE ALTER default HISTORY 1mb");
    assert_eq!(altered, "+OK");
    check(&mut node, client, "h");
    assert_eq!(node.call(client, "HSET h field:0 value:0 more x"), ":1");
    assert_eq!(node.call(client, "HDEL h more"), ":1");
    pass(&mut node);
    assert_eq!(parts_of(&node), (0, 0));
    check(&mut node, client, "h");
}

#[test]
fn transactions_see_and_change_a_large_hash_as_any_other() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let replies = node.call(
        client,
        "MULTI\nHSET h field:1 other\nHGET h field:1\nHLEN h\nHDEL h field:1\nHSET h field:1 value:1\nHGET h field:1\nEXEC",
    );
    assert!(
        replies.ends_with("*6 :0 $5 other :300 :1 :1 $7 value:1"),
        "{replies}"
    );
    check(&mut node, client, "h");
    // What fails takes its parts back with it.
    let replies = node.call(
        client,
        "MULTI\nHSET h field:1 a field:2 b field:3\nHINCRBY h field:2 1\nEXEC",
    );
    assert!(replies.contains("-ERR"), "{replies}");
    check(&mut node, client, "h");
    // Over several slots: it is read as a whole, changed as a whole, or locked and let go.
    let replies = node.call(
        client,
        "MULTI\nHSET h field:1 value:1\nSET elsewhere x\nSET more y\nEXEC",
    );
    assert!(replies.ends_with("*3 :0 +OK +OK"), "{replies}");
    check(&mut node, client, "h");
    fill(&mut node, client, "k");
    let replies = node.call(
        client,
        "MULTI\nHGET k field:1\nSET elsewhere y\nSET more z\nEXEC",
    );
    assert!(replies.ends_with("*3 $7 value:1 +OK +OK"), "{replies}");
    pass(&mut node);
    check(&mut node, client, "k");
    check(&mut node, client, "h");
    assert_eq!(parts_of(&node).1, 0);
}

#[test]
fn copies_have_the_parts_and_a_new_primary_removes_what_is_left() {
    let attributes = TableAttributes {
        replicas: 2,
        ..with(Durability::Log)
    };
    let mut cluster = Cluster::new(2, attributes);
    let key = cluster.key_at(0, 1);
    let client = cluster.connect(0, Port::Node);
    for field in 0..FIELDS {
        let request = format!("HSET {key} field:{field} value:{field}");
        assert_eq!(cluster.call(client, &request), ":1");
    }
    let at = |cluster: &mut Cluster, node: usize| {
        let core = &cluster.brick(node).core;
        let index = core.tables.index_named("t").expect("a table");
        parts(core.table(index).expect("it is here"))
    };
    cluster.tick(Duration::from_secs(1));
    let (all, orphans) = at(&mut cluster, 0);
    assert!(all > 5 && orphans == 0, "{all} parts, {orphans} of nothing");
    assert_eq!(at(&mut cluster, 1), (all, 0));
    cluster.call(client, &format!("DEL {key}"));
    cluster.kill(0);
    cluster.go_on_without(0);
    for _ in 0..TICKS {
        cluster.tick(TICK);
        cluster.settle();
    }
    assert_eq!(at(&mut cluster, 1), (0, 0));
    let client = cluster.connect(1, Port::Node);
    assert_eq!(cluster.call(client, &format!("HGETALL {key}")), "*0");
}

#[test]
fn value_types_of_parts_and_heads_are_hashes() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    let state = node.bricks[0].core.table(0).expect("the default table");
    for partition in state.partitions.iter().flatten() {
        let visit = |_: &[u8], found: brickyard_table::Found<'_>| {
            assert_eq!(found.value_type, ValueType::Hash);
        };
        state
            .table
            .scan(partition.local, ScanPosition::START, usize::MAX, visit);
    }
}
