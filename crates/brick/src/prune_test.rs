use crate::accepted::Port;
use crate::harness::{Client, Node, log, with};
use brickyard_command::hash::Head;
use brickyard_metadata::Level;
use brickyard_table::ValueRef;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::time::Duration;

const FIELDS: usize = 300;

const TICK: Duration = Duration::from_millis(100);

fn pass(node: &mut Node, ticks: usize) {
    for _ in 0..ticks {
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

/// Each second field gets an expiry.
fn expire_half(node: &mut Node, client: Client, key: &str, milliseconds: u64) {
    for field in (0..FIELDS).step_by(2) {
        let request = format!("HPEXPIRE {key} {milliseconds} FIELDS 1 field:{field}");
        assert_eq!(call(node, client, &request), "*1 :1");
    }
}

fn head_of(node: &Node, key: &str) -> Option<Head> {
    let state = node.bricks[0].core.table(0).expect("the default table");
    let leaf = state.map.locate(key.as_bytes()).leaf as usize;
    let local = state.partitions[leaf].as_ref().expect("it is here").local;
    let hash = state.table.hash(key.as_bytes());
    match state.table.peek(local, hash, key.as_bytes())?.value {
        ValueRef::Hot(value) => Head::read(value),
        ValueRef::Cold { .. } => None,
    }
}

#[test]
fn fields_go_though_nobody_reads_them() {
    for durability in [Durability::Memory, Durability::Log] {
        let mut node = Node::new(1, with(durability));
        let client = node.connect(0, Port::Node);
        fill(&mut node, client, "h");
        expire_half(&mut node, client, "h", 60_000);
        let before = head_of(&node, "h").expect("it is in parts");
        assert_eq!(before.fields as usize, FIELDS);
        pass(&mut node, 700);
        let after = head_of(&node, "h").expect("it is in parts");
        assert_eq!(after.fields as usize, FIELDS / 2);
        assert!(
            after.parts < before.parts && after.times.is_none(),
            "{after:?}"
        );
        assert_eq!(node.call(client, "HLEN h"), format!(":{}", FIELDS / 2));
        assert_eq!(node.call(client, "HGET h field:4"), "$-1");
        assert_eq!(node.call(client, "HGET h field:5"), "$7 value:5");
    }
}

#[test]
fn fields_expire_wherever_the_hash_is() {
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
        expire_half(&mut node, client, "h", 60_000);
        node.roll(0);
        node.settle();
        node.restart();
        let client = node.connect(0, Port::Node);
        let told = call(&mut node, client, "HTTL h FIELDS 3 field:0 field:1 none");
        assert_eq!(told, "*3 :60 :-1 :-2");
        assert_eq!(call(&mut node, client, "HLEN h"), format!(":{FIELDS}"));
        // The walk does not come by between.
        node.pass(Duration::from_secs(61));
        let told = call(&mut node, client, "HMGET h field:0 field:1 field:2");
        assert_eq!(told, "*3 $-1 $7 value:1 $-1");
        assert_eq!(
            call(&mut node, client, "HLEN h"),
            format!(":{}", FIELDS / 2)
        );
        let all = call(&mut node, client, "HGETALL h");
        assert!(all.starts_with(&format!("*{FIELDS} ")), "{all}");
        assert!(
            !all.contains("value:4 ") && all.contains("value:5"),
            "{all}"
        );
        assert_eq!(call(&mut node, client, "HINCRBY h count 5"), ":5");
        node.restart();
        let client = node.connect(0, Port::Node);
        assert_eq!(
            call(&mut node, client, "HLEN h"),
            format!(":{}", FIELDS / 2 + 1)
        );
    }
}

/// What a reader was told to be gone is gone: with the answer goes a record.
#[test]
fn what_was_read_as_gone_is_removed() {
    for read in [
        "HGET h field:0",
        "HLEN h",
        "HGETALL h",
        "HSCAN h 0 COUNT 1000",
    ] {
        let mut node = log();
        let client = node.connect(0, Port::Node);
        fill(&mut node, client, "h");
        node.call(client, "HPEXPIRE h 50 FIELDS 1 field:0");
        // The walk does not come by between.
        node.pass(Duration::from_millis(60));
        node.call(client, read);
        let head = head_of(&node, "h").expect("it is in parts");
        assert_eq!(head.fields as usize, FIELDS - 1, "{read}");
        // What expires next is known when all have been looked at.
        assert_eq!(head.times, None, "{read}");
    }
}

#[test]
fn the_key_goes_with_its_last_field() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    for field in 0..FIELDS {
        let time = 1_000 + field;
        let request = format!("HPEXPIRE h {time} FIELDS 1 field:{field}");
        assert_eq!(node.call(client, &request), "*1 :1");
    }
    assert_eq!(node.call(client, "TTL h"), ":-1");
    assert!(head_of(&node, "h").is_some(), "it is in parts");
    // The last one goes first, so that another one is the last.
    node.call(client, &format!("HDEL h field:{}", FIELDS - 1));
    node.advance(Duration::from_millis(1_000 + FIELDS as u64 - 2));
    assert_eq!(node.call(client, "EXISTS h"), ":1");
    assert_eq!(node.call(client, "HLEN h"), ":1");
    node.advance(Duration::from_millis(1));
    assert_eq!(node.call(client, "EXISTS h"), ":0");
    assert_eq!(node.call(client, "HLEN h"), ":0");
    pass(&mut node, 50);
    let state = node.bricks[0].core.table(0).expect("the default table");
    assert_eq!(state.table.parts(), 0);
}

/// A step is about so many parts; others follow.
#[test]
fn a_very_large_hash_is_pruned_some_parts_at_a_time() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    for from in (0..9_000).step_by(100) {
        let fields = from..from + 100;
        let pairs = fields.clone().map(|it| format!(" field:{it} {it:0100}"));
        let pairs: String = pairs.collect();
        node.call(client, &format!("HSET h{pairs}"));
        let names: String = fields.map(|it| format!(" field:{it}")).collect();
        node.call(client, &format!("HPEXPIRE h 60000 FIELDS 100{names}"));
    }
    node.call(client, "HSET h stays here");
    let parts = head_of(&node, "h").expect("it is in parts").parts;
    assert!(parts > 1_000, "{parts} parts");
    let mut seen = Vec::new();
    for _ in 0..900 {
        node.advance(TICK);
        node.settle();
        let fields = head_of(&node, "h").map(|it| it.fields);
        if seen.last() != Some(&fields) {
            seen.push(fields);
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
    // Nobody has read it meanwhile.
    assert_eq!(head_of(&node, "h"), None, "it is one value again");
    assert_eq!(node.call(client, "HGETALL h"), "*2 $5 stays $4 here");
}

#[test]
fn beside_an_earlier_program_such_a_hash_is_one_record() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    fill(&mut node, client, "h");
    node.bricks[0]
        .core
        .shared
        .lowest_level
        .set(Level::HASH_PARTS);
    assert!(head_of(&node, "h").is_some(), "it is in parts");
    assert_eq!(
        node.call(client, "HPEXPIRE h 60000 FIELDS 1 field:3"),
        "*1 :1"
    );
    assert_eq!(head_of(&node, "h"), None, "it is one value");
    assert_eq!(node.call(client, "HPERSIST h FIELDS 1 field:3"), "*1 :1");
    assert!(head_of(&node, "h").is_some(), "it is in parts");
    assert_eq!(node.call(client, "HLEN h"), format!(":{FIELDS}"));
}
