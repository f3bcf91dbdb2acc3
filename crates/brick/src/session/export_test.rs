use super::*;
use crate::Brick;
use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::harness::{Client, Node};
use brickyard_types::{Durability, SegmentId, TableAttributes};
use std::collections::BTreeMap;

/// Key, and op and value (`None`: whoever asks has it).
type Rows = BTreeMap<String, (u64, Option<String>)>;

fn node(attributes: TableAttributes) -> (Node, Client) {
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    (node, client)
}

/// The partition of the keys with the tag `{t}`.
fn partition(brick: &Brick, name: &str) -> u32 {
    let index = brick.core.tables.index_named(name).unwrap();
    let map = &brick.core.table(index).unwrap().map;
    let leaf = map.locate(b"{t}").leaf as usize;
    map.partitions().leaves()[leaf].partition.0
}

/// Reads a piece: whether there is more, and the op that it is of.
fn piece(reply: &str, rows: &mut Rows) -> (bool, u64) {
    let mut words = reply.split(' ').map(ToOwned::to_owned);
    let mut next = || words.next().expect(reply);
    let mut number = |marks: &str| {
        let word = next();
        let digits = word.strip_prefix(|mark| marks.contains(mark));
        digits.expect(reply).parse::<i64>().unwrap()
    };
    assert_eq!(number("*"), 5, "{reply}");
    let (more, _view, op, _generation) = (number(":"), number(":"), number(":"), number(":"));
    let count = number("*");
    for _ in 0..count {
        let mut next = || words.next().expect(reply);
        assert_eq!(next(), "*4");
        let key = (next(), next()).1;
        let written: u64 = next()[1..].parse().unwrap();
        assert_eq!(next(), ":-1");
        let value = match next().as_str() {
            "$-1" => None,
            _ => Some(next()),
        };
        assert!(
            rows.insert(key, (written, value)).is_none(),
            "a key came twice"
        );
    }
    (more == 1, op.cast_unsigned())
}

fn fill(node: &mut Node, client: Client, count: usize, value: &str) {
    for at in 0..count {
        assert_eq!(node.call(client, &format!("SET {{t}}{at} {value}")), "+OK");
    }
}

#[test]
fn pieces_are_of_one_moment() {
    let (mut node, client) = node(TableAttributes {
        durability: Durability::Log,
        ..TableAttributes::default()
    });
    let (old, new) = ("old".repeat(2000), "new".repeat(2000));
    fill(&mut node, client, 200, &old);
    let of = partition(&node.bricks[0], "default");
    let backup = node.connect(0, Port::Brick);
    let mut rows = Rows::new();
    let first = node.call(backup, &format!("TABLE EXPORT default {of}"));
    let (mut has_more, op) = piece(&first, &mut rows);
    assert!(has_more, "it was meant to take several pieces");
    for at in 0..200 {
        match at % 3 {
            0 => node.call(client, &format!("DEL {{t}}{at}")),
            1 => node.call(client, &format!("SET {{t}}{at} {new}")),
            _ => node.call(client, &format!("SET {{t}}more{at} {new}")),
        };
    }
    let mut pieces = 1;
    while has_more {
        let next = node.call(backup, &format!("TABLE EXPORT default {of} NEXT"));
        let (more, of) = piece(&next, &mut rows);
        assert_eq!(of, op);
        has_more = more;
        pieces += 1;
    }
    assert!(pieces >= 3, "{pieces}");
    let expected: Vec<String> = (0..200).map(|at| format!("{{t}}{at}")).collect();
    assert!(
        expected
            .iter()
            .all(|key| rows[key].1.as_ref() == Some(&old))
    );
    assert_eq!(rows.len(), 200);
    // What was written since, and the keys of the rest.
    let mut rest = Rows::new();
    let mut call = format!("TABLE EXPORT default {of} AFTER {op}");
    while piece(&node.call(backup, &call), &mut rest).0 {
        call = format!("TABLE EXPORT default {of} NEXT");
    }
    for at in 0..200 {
        let value = rest.get(&format!("{{t}}{at}")).map(|(_, value)| value);
        match at % 3 {
            0 => assert_eq!(value, None, "it was deleted"),
            1 => assert_eq!(value, Some(&Some(new.clone()))),
            _ => assert_eq!(value, Some(&None), "it did not change"),
        }
    }
    assert!(rest.contains_key("{t}more2"));
}

#[test]
fn values_that_are_in_the_log_alone_are_read_and_their_segments_stay() {
    let attributes = TableAttributes {
        durability: Durability::Log,
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..TableAttributes::default()
    };
    let (mut node, client) = node(attributes);
    node.call(client, "SET {t}a one\nSET {t}b two");
    // Enough that is dead to make cleaning pay.
    let filler = format!("SET filler {}\nSET filler 1", "x".repeat(100_000));
    node.call(client, &filler);
    node.roll(0);
    node.settle();
    node.restart();
    node.roll(0);
    let of = partition(&node.bricks[0], "default");
    let (client, backup) = (node.connect(0, Port::Node), node.connect(0, Port::Brick));
    let export = format!("TABLE EXPORT default {of}");
    assert_eq!(node.call(backup, &export), "", "the values are being read");
    node.call(client, "SET {t}a newer\nSET {t}b newer");
    for _ in 0..30 {
        node.advance(Duration::from_millis(100));
    }
    assert!(node.logs[0].sealed.contains_key(&SegmentId(1)));
    node.answer_reads(0);
    let mut rows = Rows::new();
    assert!(!piece(&node.receive(backup), &mut rows).0);
    let value = |key: &str| rows[key].1.clone();
    assert_eq!(value("{t}a"), Some("one".to_owned()));
    assert_eq!(value("{t}b"), Some("two".to_owned()));
    for _ in 0..30 {
        node.advance(Duration::from_millis(100));
    }
    let is_there = node.logs[0].sealed.contains_key(&SegmentId(1));
    assert!(!is_there, "now it may go");
}

/// A node whose cleaner is done with the first segment, and waits for the sync of what replaced its record; with so many other keys.
/// And a client that exports.
fn cleaned(maxmemory: Option<u64>, keys: usize) -> (Node, Client, String) {
    let (mut node, client) = node(TableAttributes {
        durability: Durability::Log,
        medium: Medium::Disk,
        maxmemory,
        ..TableAttributes::default()
    });
    node.call(client, "SET {t}0 old");
    node.roll(0);
    fill(&mut node, client, keys, &"x".repeat(5000));
    node.logs[0].is_held = true;
    node.call(client, "SET {t}0 new");
    node.append(0);
    node.advance(Duration::from_millis(100));
    node.append(0);
    node.settle();
    let of = partition(&node.bricks[0], "default");
    let backup = node.connect(0, Port::Brick);
    (node, backup, format!("TABLE EXPORT default {of}"))
}

/// The log is synced, and the first segment is there for the sake of the export alone.
fn sync_and_check(node: &mut Node) {
    node.sync(0);
    node.settle();
    assert!(has_first_segment(node), "values may be there alone");
}

fn has_first_segment(node: &Node) -> bool {
    node.logs[0].sealed.contains_key(&SegmentId(1))
}

#[test]
fn segment_that_an_export_kept_goes_with_its_last_piece() {
    let (mut node, backup, export) = cleaned(None, 100);
    let first = node.call(backup, &export);
    assert!(
        first.starts_with("*5 :1"),
        "it was meant to take two pieces"
    );
    sync_and_check(&mut node);
    let next = node.call(backup, &format!("{export} NEXT"));
    assert!(next.starts_with("*5 :0"), "and no more than two");
    assert!(!has_first_segment(&node), "nobody waits for a tick");
}

#[test]
fn segment_that_an_export_kept_goes_when_its_last_value_was_read() {
    let (mut node, backup, export) = cleaned(Some(1), 20);
    assert_eq!(node.call(backup, &export), "", "the values are being read");
    sync_and_check(&mut node);
    node.answer_reads(0);
    assert!(!piece(&node.receive(backup), &mut Rows::new()).0);
    assert!(!has_first_segment(&node), "nobody waits for a tick");
}

#[test]
fn an_export_that_cannot_go_on_says_why() {
    let (mut node, client) = node(TableAttributes {
        durability: Durability::Log,
        ..TableAttributes::default()
    });
    fill(&mut node, client, 100, &"x".repeat(5000));
    let of = partition(&node.bricks[0], "default");
    let backup = node.connect(0, Port::Brick);
    let begin = format!("TABLE EXPORT default {of}");
    let next = format!("TABLE EXPORT default {of} NEXT");
    for (command, reason) in [
        ("TABLE EXPORT default 999999", "there is no partition"),
        ("TABLE EXPORT nosuch 1", "there is no table"),
        ("TABLE EXPORT default x", "takes a table's name"),
        ("TABLE EXPORT default 1 BEFORE 3", "takes a table's name"),
        (next.as_str(), "no export of partition"),
    ] {
        let reply = node.call(backup, command);
        assert!(
            reply.starts_with("-ERR") && reply.contains(reason),
            "{reply}"
        );
    }
    assert!(node.call(backup, &begin).starts_with("*5 :1"));
    node.call(client, "FLUSHALL");
    let reply = node.call(backup, &next);
    assert!(reply.contains("cleared"), "{reply}");
    // Nobody asks on.
    fill(&mut node, client, 100, &"x".repeat(5000));
    assert!(node.call(backup, &begin).starts_with("*5 :1"));
    for _ in 0..40 {
        node.advance(Duration::from_secs(1));
    }
    let reply = node.call(backup, &next);
    assert!(reply.contains("it ended"), "{reply}");
    // There is a bound on how many there are, and one that ends makes room.
    let others: Vec<Client> = (0..EXPORTS_MAX)
        .map(|_| node.connect(0, Port::Brick))
        .collect();
    for other in &others {
        assert!(node.call(*other, &begin).starts_with("*5 :1"));
    }
    assert!(node.call(backup, &begin).starts_with("-BUSY"));
    node.call(others[0], "QUIT");
    while node.bricks[0].poll_closed().is_some() {}
    // Closed in the middle: nothing stays behind.
    assert!(node.call(backup, &begin).starts_with("*5 :1"));
    node.call(backup, "QUIT");
    for other in &others[1..] {
        node.call(*other, "QUIT");
    }
    while node.bricks[0].poll_closed().is_some() {}
    assert!(node.bricks[0].exports.open.is_empty());
}

#[test]
fn only_the_primary_exports() {
    let attributes = TableAttributes {
        replicas: 2,
        durability: Durability::Log,
        ..TableAttributes::default()
    };
    let mut cluster = Cluster::new(2, attributes);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, "SET {t}key value"), "+OK");
    let of = partition(cluster.brick(0), "t");
    let replies = [0, 1].map(|host| {
        let backup = cluster.connect(host, Port::Brick);
        cluster.call(backup, &format!("TABLE EXPORT t {of}"))
    });
    let (led, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|it| it.starts_with('*'));
    assert_eq!((led.len(), refused.len()), (1, 1), "{replies:?}");
    let mut rows = Rows::new();
    assert!(!piece(led[0], &mut rows).0);
    assert_eq!(rows["{t}key"].1.as_deref(), Some("value"));
    assert!(refused[0].contains("is led by"), "{refused:?}");
    // Together the bricks lead all of them.
    let led = [0, 1].map(|host| {
        let backup = cluster.connect(host, Port::Brick);
        cluster.call(backup, "TABLE EXPORT t")
    });
    let mut all: Vec<&str> = led.iter().flat_map(|it| it.split(' ').skip(1)).collect();
    all.sort_unstable();
    all.dedup();
    let described = cluster.call(client, "TABLE DESCRIBE t");
    let partitions = described.split_once("partitions :").unwrap().1;
    let partitions = partitions.split(' ').next().unwrap();
    assert_eq!(all.len().to_string(), partitions, "{led:?}");
}
