use super::hot::HotKeys;
use crate::accepted::Port;
use crate::harness::Node;
use brickyard_types::TableAttributes;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn note(hot: &mut HotKeys, key: &str, times: usize) {
    let hash = key
        .bytes()
        .fold(7_u64, |hash, byte| hash * 31 + u64::from(byte));
    for _ in 0..times {
        hot.note(hash, key.as_bytes());
    }
}

/// A key with a quarter of the commands among ten thousand others, and one that is as common as any of these.
#[test]
fn hot_key_is_found_among_many_and_never_overstated() {
    let mut hot = HotKeys::default();
    let (rounds, seconds) = (10_000, 4);
    for second in 0..seconds {
        for round in 0..rounds {
            note(&mut hot, "hot", 1);
            for other in 0..3 {
                note(
                    &mut hot,
                    &format!("{}", (round * 3 + other) * 7 % 10_007),
                    1,
                );
            }
        }
        assert!(second < seconds);
        hot.decay(SECOND);
    }
    let rates = hot.rates();
    assert_eq!(rates[0].0, b"hot");
    let rate = rates[0].1;
    assert!(
        (9_000..=11_000).contains(&rate),
        "{rate} of {rounds} a second"
    );
    assert!(
        rates[1..].iter().all(|(_, rate)| *rate < 2_000),
        "{rates:?}"
    );
}

#[test]
fn what_is_asked_for_no_more_is_forgotten() {
    let mut hot = HotKeys::default();
    note(&mut hot, "hot", 100_000);
    hot.decay(SECOND);
    let before = hot.rates()[0].1;
    for _ in 0..10 {
        hot.decay(SECOND);
    }
    let after = hot.rates()[0].1;
    assert!(after * 3 < before, "{after} of {before}");
    for _ in 0..200 {
        hot.decay(SECOND);
    }
    assert!(hot.rates().is_empty());
}

#[test]
fn largest_keys_are_found_as_they_are_now() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    for key in 0..3_000 {
        let value = "v".repeat(1 + key % 50);
        assert_eq!(node.call(client, &format!("SET key{key} {value}")), "+OK");
    }
    for (key, size) in [("big", 5_000), ("bigger", 6_000), ("gone", 7_000)] {
        let value = "v".repeat(size);
        assert_eq!(node.call(client, &format!("SET {key} {value}")), "+OK");
    }
    for _ in 0..20 {
        node.advance(SECOND);
    }
    let biggest = node.call(client, "TABLE BIGKEYS default COUNT 2");
    assert_eq!(biggest, "*2 *2 $4 gone :7004 *2 $6 bigger :6006");
    // Before the walk comes to them again.
    assert_eq!(node.call(client, "DEL gone\nAPPEND big vv"), ":1 :5002");
    let biggest = node.call(client, "TABLE BIGKEYS default COUNT 3");
    let expected = "*3 *2 $6 bigger :6006 *2 $3 big :5005 ";
    assert!(biggest.starts_with(expected), "{biggest}");
    // And after it.
    let value = "v".repeat(9_000);
    assert_eq!(node.call(client, &format!("SET late {value}")), "+OK");
    for _ in 0..20 {
        node.advance(SECOND);
    }
    let biggest = node.call(client, "TABLE BIGKEYS default COUNT 1");
    assert_eq!(biggest, "*1 *2 $4 late :9004");
}

#[test]
fn fields_whose_time_is_over_go_though_nobody_asks_for_them() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let value = "v".repeat(1_000);
    let keys: Vec<String> = (0..200).map(|n| format!("h{n}")).collect();
    for key in &keys {
        node.call(client, &format!("HSET {key} a {value} b 2"));
        node.call(client, &format!("HPEXPIRE {key} 60000 FIELDS 1 a"));
    }
    // Which looks at no field.
    let usage = |node: &mut Node| -> u64 {
        let replies = keys
            .iter()
            .map(|key| node.call(client, &format!("MEMORY USAGE {key}")));
        let replies: Vec<String> = replies.collect();
        replies
            .iter()
            .map(|it| it[1..].parse::<u64>().unwrap())
            .sum()
    };
    let before = usage(&mut node);
    // The walk comes round, and rests until then.
    for _ in 0..30 {
        node.advance(SECOND);
    }
    assert_eq!(usage(&mut node), before);
    for _ in 0..50 {
        node.advance(SECOND);
    }
    assert!(usage(&mut node) < before - 200 * 900);
    assert_eq!(node.call(client, "HGETALL h7"), "*2 $1 b $1 2");
}

#[test]
fn hot_keys_of_all_bricks_are_one_list() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "TABLE HOTKEYS default"), "*0");
    // Of keys on both bricks one is asked for twice as often.
    for _ in 0..400 {
        for key in ["a", "b", "c", "d", "d"] {
            node.call(client, &format!("GET {key}"));
        }
    }
    node.advance(SECOND);
    let hot = node.call(client, "TABLE HOTKEYS default COUNT 4");
    assert!(hot.starts_with("*4 *2 $1 d :"), "{hot}");
    let hot = node.call(client, "TABLE HOTKEYS default COUNT 1");
    assert!(hot.starts_with("*1 *2 $1 d :"), "{hot}");
    for wrong in ["COUNT 0", "COUNT 101", "COUNT x", "COUNT", "LIMIT 3"] {
        let refused = node.call(client, &format!("TABLE HOTKEYS default {wrong}"));
        assert!(refused.starts_with("-ERR TABLE HOTKEYS and"), "{refused}");
    }
    let refused = node.call(client, "TABLE BIGKEYS nosuch");
    assert!(refused.starts_with("-ERR there is no table"), "{refused}");
}
