use crate::accepted::Port;
use crate::cluster_harness::tables::{fill, merge, replicated, split};
use crate::cluster_harness::{Client as Far, Cluster};
use crate::harness::{Client, Node, with};
use crate::tables::TableState;
use crate::users::User;
use brickyard_types::{Durability, Op, TableAttributes};
use std::collections::BTreeMap;
use std::time::Duration;

/// An answer of WATCHKEYS: the position, and the changes with spaces between their words.
fn read(answer: &str) -> (String, Vec<String>) {
    let mut words = answer.split_whitespace();
    let mut next = || words.next().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(next(), "*2", "{answer}");
    next();
    let position = next().to_owned();
    let count = next().strip_prefix('*').unwrap().parse().unwrap();
    let mut changes = Vec::new();
    for _ in 0..count {
        let len: usize = next().strip_prefix('*').unwrap().parse().unwrap();
        let mut parts = Vec::new();
        for _ in 0..len {
            let word = next();
            match word.strip_prefix(':') {
                Some(number) => parts.push(number),
                None if word == "$0" => {}
                None => parts.push(next()),
            }
        }
        changes.push(parts.join(" "));
    }
    assert_eq!(words.next(), None, "{answer}");
    (position, changes)
}

/// A node whose table keeps its changes, and a client of it.
fn node(bricks: u32, attributes: TableAttributes) -> (Node, Client) {
    let mut node = Node::new(bricks, attributes);
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "TABLE ALTER default HISTORY 1mb"), "+OK");
    (node, client)
}

fn position(node: &mut Node, client: Client, what: &str) -> String {
    let (position, changes) = read(&node.call(client, &format!("WATCHKEYS {what} FROM NOW")));
    assert!(changes.is_empty(), "{changes:?}");
    position
}

fn changes(node: &mut Node, client: Client, what: &str, position: &mut String) -> Vec<String> {
    let answer = node.call(client, &format!("WATCHKEYS {what} FROM {position}"));
    let (next, changes) = read(&answer);
    *position = next;
    changes
}

/// Tables without a log, with one, and with one that is synced.
fn durabilities() -> [TableAttributes; 3] {
    [Durability::Memory, Durability::Log, Durability::Fsync].map(with)
}

#[test]
fn what_has_committed_behind_a_position_is_told_once() {
    for attributes in durabilities() {
        let (mut node, client) = node(3, attributes);
        let writer = node.connect(1, Port::Node);
        node.call(writer, "SET before 1");
        let mut at = position(&mut node, client, "ALL");
        assert_eq!(changes(&mut node, client, "ALL", &mut at), [""; 0]);
        for command in [
            "SET a 1",
            "SET a 2 PXAT 1800000000000",
            "APPEND a 3",
            "DEL a",
            "DEL a",
            "DEL nothing",
            "SET a 4 XX",
        ] {
            node.call(writer, command);
        }
        let expected = [
            "set a 1 -1",
            "set a 2 1800000000000",
            "set a 23 1800000000000",
            "del a",
        ];
        assert_eq!(changes(&mut node, client, "ALL", &mut at), expected);
        assert_eq!(changes(&mut node, client, "ALL", &mut at), [""; 0]);
        node.call(writer, "MSET {t}x 1 {t}y 2");
        let expected = ["set {t}x 1 -1", "set {t}y 2 -1"];
        assert_eq!(changes(&mut node, client, "ALL", &mut at), expected);
    }
}

#[test]
fn a_table_that_keeps_nothing_says_how_to_let_it() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let answer = node.call(client, "WATCHKEYS ALL FROM NOW");
    assert!(
        answer.contains("TABLE ALTER default HISTORY 1mb"),
        "{answer}"
    );
    assert_eq!(node.call(client, "TABLE ALTER default HISTORY 64kb"), "+OK");
    let described = node.call(client, "TABLE DESCRIBE default");
    assert!(described.contains("$7 history :65536"), "{described}");
    let at = position(&mut node, client, "ALL");
    assert_eq!(node.call(client, "TABLE ALTER default HISTORY 0"), "+OK");
    let answer = node.call(client, &format!("WATCHKEYS ALL FROM {at}"));
    assert!(
        answer.starts_with("-ERR") && answer.contains("HISTORY"),
        "{answer}"
    );
    assert_eq!(node.call(client, "TABLE CREATE t HISTORY 1mb"), "+OK");
    let described = node.call(client, "TABLE DESCRIBE t");
    assert!(described.contains("$7 history :1048576"), "{described}");
}

#[test]
fn some_keys_are_followed_and_of_others_nothing_is_told() {
    let (mut node, client) = node(3, TableAttributes::default());
    let mut all = position(&mut node, client, "PREFIX a");
    let mut one = position(&mut node, client, "KEY ab");
    for key in ["a", "ab", "b", "ba", "abc"] {
        node.call(client, &format!("SET {key} 1"));
    }
    let mut told = changes(&mut node, client, "PREFIX a", &mut all);
    told.sort();
    assert_eq!(told, ["set a 1 -1", "set ab 1 -1", "set abc 1 -1"]);
    assert_eq!(
        changes(&mut node, client, "KEY ab", &mut one),
        ["set ab 1 -1"]
    );
    // A position of one key says nothing of others.
    let answer = node.call(client, &format!("WATCHKEYS ALL FROM {one}"));
    assert!(
        answer.starts_with("-ERR the position was answered"),
        "{answer}"
    );
}

#[test]
fn hashes_expiries_and_removals_are_told_so_that_they_can_be_made_elsewhere() {
    let (mut node, client) = node(2, TableAttributes::default());
    let mut at = position(&mut node, client, "ALL");
    node.call(client, "HSET h f v");
    let answer = node.call(client, &format!("WATCHKEYS ALL FROM {at}"));
    assert!(answer.contains("*4 $7 restore $1 h $"), "{answer}");
    changes_ignoring_bytes(&mut node, client, &mut at);
    node.call(client, "SET k 1 PX 100");
    assert_eq!(changes(&mut node, client, "ALL", &mut at).len(), 1);
    node.advance(Duration::from_millis(200));
    node.call(client, "GET k");
    assert_eq!(changes(&mut node, client, "ALL", &mut at), ["del k"]);
    node.call(client, "EXPIRE h 0");
    assert_eq!(changes(&mut node, client, "ALL", &mut at), ["del h"]);
}

#[test]
fn a_field_is_told_as_it_was_written_whenever_that_is() {
    let (mut node, client) = node(1, TableAttributes::default());
    let at = position(&mut node, client, "ALL");
    node.call(client, "HSETEX h PX 100 FIELDS 1 f v");
    let told = |answer: &str| {
        let (_, change) = answer.split_once("restore $1 h ").unwrap();
        change.trim_end().to_owned()
    };
    let follow = format!("WATCHKEYS ALL FROM {at}");
    let in_time = told(&node.call(client, &follow));
    node.advance(Duration::from_millis(200));
    // Without its only field there would be a hash of nothing, which RESTORE refuses.
    let late = told(&node.call(client, &follow));
    assert!(late.starts_with(&in_time), "{in_time}\n{late}");
}

/// Takes the position of an answer whose values are no text.
fn changes_ignoring_bytes(node: &mut Node, client: Client, at: &mut String) {
    let answer = node.call(client, &format!("WATCHKEYS ALL FROM {at}"));
    *at = answer.split_whitespace().nth(2).unwrap().to_owned();
}

#[test]
fn a_flush_is_told_with_the_slots_that_it_has_cleared() {
    for attributes in durabilities() {
        let (mut node, client) = node(2, attributes);
        node.call(client, "MSET a 1 b 2 c 3 d 4");
        let mut at = position(&mut node, client, "ALL");
        let mut one = position(&mut node, client, "KEY a");
        assert_eq!(node.call(client, "FLUSHDB"), "+OK");
        let told = changes(&mut node, client, "ALL", &mut at);
        assert!(!told.is_empty());
        for clear in told {
            let words: Vec<&str> = clear.split(' ').collect();
            assert_eq!(words[0], "clear");
            let slots: Vec<u32> = words[1..3].iter().map(|it| it.parse().unwrap()).collect();
            assert!(slots[0] < slots[1] && slots[1] < 16384, "{clear}");
            assert!(words[3].chars().all(|it| "01".contains(it)), "{clear}");
        }
        assert_eq!(changes(&mut node, client, "KEY a", &mut one), ["del a"]);
    }
}

#[test]
fn a_batch_is_told_whole_however_little_may_be_told() {
    let (mut node, client) = node(1, TableAttributes::default());
    let mut at = position(&mut node, client, "ALL");
    node.call(client, "MULTI");
    for key in 0..5 {
        node.call(client, &format!("SET {{t}}{key} 1"));
    }
    node.call(client, "EXEC");
    node.call(client, "SET {t}last 1");
    let told = changes(&mut node, client, "ALL", &mut at);
    assert_eq!(told.len(), 6);
    let mut at = position(&mut node, client, "KEY {t}0");
    node.call(client, "MSET {t}0 2 {t}1 2 {t}2 2");
    assert_eq!(
        changes(&mut node, client, "KEY {t}0", &mut at),
        ["set {t}0 2 -1"]
    );
}

#[test]
fn a_count_cuts_between_operations() {
    let (mut node, client) = node(2, TableAttributes::default());
    let mut at = position(&mut node, client, "ALL");
    let mut expected = Vec::new();
    for round in 0..20 {
        node.call(client, &format!("MSET {{t}}a {round} {{t}}b {round}"));
        expected.push(format!("set {{t}}a {round} -1"));
        expected.push(format!("set {{t}}b {round} -1"));
    }
    let mut told = Vec::new();
    loop {
        let some = changes(&mut node, client, "ALL", &mut at);
        if some.is_empty() {
            break;
        }
        told.extend(some);
    }
    assert_eq!(told, expected);
    let start = position(&mut node, client, "ALL");
    for key in 0..20 {
        node.call(client, &format!("MSET {{t}}a {key} {{t}}b {key}"));
    }
    let (mut at, mut told) = (start, Vec::new());
    for _ in 0..40 {
        let answer = node.call(client, &format!("WATCHKEYS ALL FROM {at} COUNT 3"));
        let (next, some) = read(&answer);
        assert!(some.len() <= 4 && some.len() % 2 == 0, "{some:?}");
        at = next;
        told.extend(some);
    }
    assert_eq!(told.len(), 40);
}

#[test]
fn a_transaction_over_slots_is_told_when_it_is_resolved() {
    let (mut node, client) = node(3, TableAttributes::default());
    node.call(client, "MSET a 1 b 2");
    let mut at = position(&mut node, client, "ALL");
    node.send(client, "MULTI\nGET a\nSET b 3\nSET c 4\nEXEC");
    for _ in 0..20 {
        node.advance(Duration::from_millis(10));
    }
    let answer = node.receive(client);
    assert!(answer.contains("*3 $1 1 +OK +OK"), "{answer}");
    let mut told = Vec::new();
    for _ in 0..5 {
        told.extend(changes(&mut node, client, "ALL", &mut at));
        node.advance(Duration::from_millis(100));
    }
    told.sort();
    // What it has only read has not changed.
    assert_eq!(told, ["set b 3 -1", "set c 4 -1"]);
}

#[test]
fn who_waits_is_answered_when_something_commits() {
    for attributes in durabilities() {
        let (mut node, _) = node(3, attributes);
        for from in 0..3 {
            let client = node.connect(from, Port::Node);
            let at = position(&mut node, client, "PREFIX k");
            node.send(client, &format!("WATCHKEYS PREFIX k FROM {at} BLOCK 0"));
            node.settle();
            assert_eq!(node.receive(client), "");
            let writer = node.connect(2 - from, Port::Node);
            for key in ["a", "b", "c", "d", "e"] {
                node.call(writer, &format!("SET {key} 1"));
            }
            assert_eq!(node.receive(client), "", "others' keys wake nobody");
            node.call(writer, &format!("SET k{from} 1"));
            node.settle();
            let (_, told) = read(&node.receive(client));
            assert_eq!(told, [format!("set k{from} 1 -1")]);
            assert_eq!(node.call(client, "PING"), "+PONG");
        }
    }
}

#[test]
fn who_has_waited_long_enough_gets_a_position_alone() {
    let (mut node, client) = node(3, TableAttributes::default());
    let writer = node.connect(1, Port::Node);
    node.send(client, "WATCHKEYS PREFIX k FROM NOW BLOCK 300\nPING");
    node.settle();
    node.call(writer, "SET other 1");
    assert_eq!(node.receive(client), "");
    for _ in 0..4 {
        node.advance(Duration::from_millis(100));
    }
    let answer = node.receive(client);
    let answer = answer.strip_suffix(" +PONG").unwrap();
    let (mut at, told) = read(answer);
    assert!(told.is_empty());
    node.call(writer, "SET k 1");
    assert_eq!(
        changes(&mut node, client, "PREFIX k", &mut at),
        ["set k 1 -1"]
    );
}

#[test]
fn a_client_that_goes_or_is_killed_waits_no_more() {
    let (mut node, client) = node(2, TableAttributes::default());
    let waits = [0, 1].map(|brick| node.connect(brick, Port::Node));
    for it in waits {
        node.send(it, "WATCHKEYS ALL FROM NOW BLOCK 0");
    }
    node.settle();
    let ids = node.call(client, "CLIENT LIST");
    assert!(ids.contains("cmd=watchkeys"), "{ids}");
    node.bricks[0].on_end_of_stream(waits[0].id);
    assert_eq!(node.bricks[0].poll_closed(), Some(waits[0].id));
    assert_eq!(node.call(client, "CLIENT KILL TYPE normal"), ":1");
    node.settle();
    assert_eq!(node.bricks[1].poll_closed(), Some(waits[1].id));
    assert_eq!(node.call(client, "SET k 1"), "+OK");
    node.advance(Duration::from_secs(6));
    for brick in &node.bricks {
        assert_eq!(
            (
                brick.feeds.waiting(),
                brick.core.tables.followed.waiters.len()
            ),
            (0, 0)
        );
    }
}

#[test]
fn what_is_not_kept_any_more_is_never_passed_over() {
    let (mut node, client) = node(2, TableAttributes::default());
    assert_eq!(node.call(client, "TABLE ALTER default HISTORY 1kb"), "+OK");
    let mut at = position(&mut node, client, "KEY k");
    node.call(client, "SET k 1");
    assert_eq!(changes(&mut node, client, "KEY k", &mut at), ["set k 1 -1"]);
    for value in 0..100 {
        node.call(client, &format!("SET k {value}"));
    }
    let answer = node.call(client, &format!("WATCHKEYS KEY k FROM {at}"));
    assert!(answer.starts_with("-COMPACTED"), "{answer}");
    assert!(
        answer.contains("FROM NOW") && answer.contains("SCAN"),
        "{answer}"
    );
    let info = node.call(client, "INFO stats");
    assert!(info.contains("watches_compacted:1"), "{info}");
}

#[test]
fn a_position_of_another_table_or_none_at_all_is_refused() {
    let (mut node, client) = node(2, TableAttributes::default());
    let at = position(&mut node, client, "ALL");
    node.call(client, "TABLE CREATE t HISTORY 1mb");
    node.call(client, "TABLE USE t");
    let answer = node.call(client, &format!("WATCHKEYS ALL FROM {at}"));
    assert!(
        answer.starts_with("-ERR the position is one of another table"),
        "{answer}"
    );
    for garbage in ["x", "AQ", "0-0", &at[1..]] {
        let answer = node.call(client, &format!("WATCHKEYS ALL FROM {garbage}"));
        assert!(answer.starts_with("-ERR the position is none"), "{answer}");
    }
    let answer = node.call(client, "MULTI");
    assert_eq!(answer, "+OK");
    let answer = node.call(client, "WATCHKEYS ALL FROM NOW");
    assert!(
        answer.contains("not allowed inside a transaction"),
        "{answer}"
    );
}

#[test]
fn names_are_told_to_who_may_read_all_of_them() {
    let mut node = Node::with_users(1, TableAttributes::default(), Vec::<User>::new());
    let admin = node.connect(0, Port::Node);
    node.call(admin, "TABLE ALTER default HISTORY 1mb");
    let made = node.call(admin, "ACL SETUSER ann on nopass +@all ~a*");
    assert_eq!(made, "+OK");
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "AUTH ann x"), "+OK");
    for refused in ["ALL", "PREFIX a", "KEY b"] {
        let answer = node.call(client, &format!("WATCHKEYS {refused} FROM NOW"));
        assert!(answer.starts_with("-NOPERM"), "{refused}: {answer}");
    }
    // Who loses a right while it waits is told nothing more.
    node.send(client, "WATCHKEYS KEY ab FROM NOW BLOCK 0");
    node.settle();
    assert_eq!(node.receive(client), "");
    node.call(admin, "ACL SETUSER ann resetkeys ~b*");
    node.call(admin, "SET ab 1");
    node.settle();
    assert!(node.receive(client).starts_with("-NOPERM"));
}

/// Somebody who follows a cluster's table, wherever it is connected.
struct Follower {
    client: Far,
    position: String,
    seen: BTreeMap<String, Vec<String>>,
}

impl Follower {
    fn new(cluster: &mut Cluster, host: usize) -> Self {
        let client = cluster.connect(host, Port::Node);
        let (position, _) = read(&cluster.call(client, "WATCHKEYS ALL FROM NOW"));
        Self {
            client,
            position,
            seen: BTreeMap::new(),
        }
    }

    fn follow(&mut self, cluster: &mut Cluster) {
        loop {
            let command = format!("WATCHKEYS ALL FROM {} COUNT 7", self.position);
            let answer = cluster.call(self.client, &command);
            assert!(answer.starts_with('*'), "{answer}\n{}", cluster.story());
            let (position, told) = read(&answer);
            self.position = position;
            if told.is_empty() {
                return;
            }
            for change in told {
                let words: Vec<&str> = change.split(' ').collect();
                let seen = self.seen.entry(words[1].to_owned()).or_default();
                seen.push(words[2].to_owned());
            }
        }
    }
}

fn followed(nodes: usize, attributes: TableAttributes) -> Cluster {
    let mut cluster = Cluster::new(nodes, attributes);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, "TABLE ALTER t HISTORY 1mb"), "+OK");
    cluster
}

/// Two copies of each partition, in memory alone, in a log, and in one that is synced.
fn copied() -> [TableAttributes; 3] {
    [Durability::Memory, Durability::Log, Durability::Fsync].map(|durability| TableAttributes {
        durability,
        ..replicated(2)
    })
}

struct Written {
    next: u32,
    all: BTreeMap<String, Vec<String>>,
}

impl Written {
    fn new() -> Self {
        Self {
            next: 0,
            all: BTreeMap::new(),
        }
    }

    fn write(&mut self, cluster: &mut Cluster, client: Far, count: u32) {
        for _ in 0..count {
            self.next += 1;
            let (key, value) = (format!("key{}", self.next % 13), self.next.to_string());
            let reply = cluster.call(client, &format!("SET {key} {value}"));
            assert_eq!(reply, "+OK", "{}", cluster.story());
            self.all.entry(key).or_default().push(value);
        }
    }
}

#[test]
fn a_follower_misses_nothing_over_failovers_splits_merges_and_moves() {
    for attributes in copied() {
        let mut cluster = followed(3, attributes.clone());
        let mut follower = Follower::new(&mut cluster, 2);
        let client = cluster.connect(2, Port::Node);
        let mut written = Written::new();
        for round in 0..6 {
            written.write(&mut cluster, client, 20);
            split(&mut cluster, &["key1", "key2"]);
            written.write(&mut cluster, client, 10);
            follower.follow(&mut cluster);
            assert_eq!(follower.seen, written.all, "{attributes:?} round {round}");
            written.write(&mut cluster, client, 10);
            let victim = round % 2;
            cluster.kill(victim);
            cluster.settle();
            written.write(&mut cluster, client, 10);
            follower.follow(&mut cluster);
            assert_eq!(follower.seen, written.all, "{attributes:?} round {round}");
            cluster.restart(victim);
            cluster.settle();
            written.write(&mut cluster, client, 10);
            merge(&mut cluster, &["key1"]);
            written.write(&mut cluster, client, 10);
            merge(&mut cluster, &["key2"]);
            follower.follow(&mut cluster);
            assert_eq!(follower.seen, written.all, "{attributes:?} round {round}");
        }
    }
}

#[test]
fn a_new_primary_has_what_the_former_one_has_told() {
    for attributes in copied() {
        let mut cluster = followed(3, attributes.clone());
        let key = cluster.key_at(0, 1);
        let client = cluster.connect(2, Port::Node);
        let (at, _) = read(&cluster.call(client, &format!("WATCHKEYS KEY {key} FROM NOW")));
        for value in 0..5 {
            cluster.call(client, &format!("SET {key} {value}"));
        }
        let command = format!("WATCHKEYS KEY {key} FROM {at}");
        let before = read(&cluster.call(client, &command));
        cluster.kill(0);
        cluster.settle();
        assert_eq!(cluster.places_of(&key).0, 1);
        let after = read(&cluster.call(client, &command));
        assert_eq!(before.1, after.1, "{attributes:?}");
        assert_eq!(before.1.len(), 5);
        // And goes on from where that one had come to.
        cluster.call(client, &format!("SET {key} last"));
        let command = format!("WATCHKEYS KEY {key} FROM {}", before.0);
        let (_, told) = read(&cluster.call(client, &command));
        assert_eq!(told, [format!("set {key} last -1")]);
    }
}

#[test]
fn who_waits_waits_on_over_a_failover_and_a_split() {
    for attributes in copied() {
        let mut cluster = followed(3, attributes.clone());
        let key = cluster.key_at(0, 1);
        let client = cluster.connect(2, Port::Node);
        let writer = cluster.connect(2, Port::Node);
        let command = format!("WATCHKEYS KEY {key} FROM NOW BLOCK 0");
        cluster.send(client, &command);
        cluster.settle();
        assert_eq!(cluster.receive(client), "");
        cluster.kill(0);
        cluster.settle();
        assert_eq!(cluster.receive(client), "", "{attributes:?}");
        split(&mut cluster, &[&key]);
        assert_eq!(cluster.receive(client), "", "{attributes:?}");
        cluster.call(writer, &format!("SET {key} 1"));
        cluster.settle();
        let (_, told) = read(&cluster.receive(client));
        assert_eq!(told, [format!("set {key} 1 -1")], "{attributes:?}");
    }
}

/// Rule `who waits is woken`.
#[test]
fn a_wake_up_comes_over_from_another_node() {
    let mut cluster = followed(3, replicated(2));
    let client = cluster.connect(2, Port::Node);
    let writer = cluster.connect(1, Port::Node);
    for round in 0..10 {
        cluster.send(client, "WATCHKEYS ALL FROM NOW BLOCK 0");
        cluster.settle();
        let key = format!("key{round}");
        cluster.send(writer, &format!("SET {key} 1"));
        // Without any time going by.
        let mut answer = String::new();
        cluster.turn_until(|cluster| {
            answer += &cluster.receive(client);
            !answer.is_empty()
        });
        let (_, told) = read(&answer);
        assert_eq!(told, [format!("set {key} 1 -1")]);
        cluster.settle();
        assert_eq!(cluster.receive(writer), "+OK");
    }
}

#[test]
fn a_partition_that_nobody_leads_holds_up_no_other() {
    let mut cluster = followed(3, replicated(2));
    let (lost, other) = (cluster.key_at(0, 1), cluster.key_at(1, 2));
    let mut follower = Follower::new(&mut cluster, 2);
    let writer = cluster.connect(2, Port::Node);
    assert_eq!(cluster.call(writer, &format!("SET {lost} 1")), "+OK");
    cluster.is_deciding = false;
    cluster.kill(0);
    assert_eq!(cluster.call(writer, &format!("SET {other} 2")), "+OK");
    let command = format!("WATCHKEYS ALL FROM {} BLOCK 0", follower.position);
    let (position, told) = read(&cluster.call(follower.client, &command));
    assert_eq!(told, [format!("set {other} 2 -1")]);
    follower.position = position;
    // What the other had is told by who comes to lead it.
    cluster.is_deciding = true;
    cluster.go_on_without(0);
    cluster.settle();
    follower.follow(&mut cluster);
    assert_eq!(
        follower.seen,
        BTreeMap::from([(lost, vec!["1".to_owned()])])
    );
}

/// Rule `only committed changes are told`.
#[test]
fn nothing_is_told_that_has_not_committed() {
    let mut cluster = followed(3, replicated(2));
    let key = cluster.key_at(0, 1);
    let client = cluster.connect(0, Port::Node);
    let writer = cluster.connect(0, Port::Node);
    let (at, _) = read(&cluster.call(client, &format!("WATCHKEYS KEY {key} FROM NOW")));
    // The backup does not vote.
    cluster.is_deciding = false;
    cluster.mute(1, true);
    cluster.send(writer, &format!("SET {key} 1"));
    cluster.turn();
    cluster.turn();
    assert!(cluster.is_pending(0, &key));
    let command = format!("WATCHKEYS KEY {key} FROM {at}");
    cluster.send(client, &command);
    cluster.turn();
    cluster.turn();
    let (_, told) = read(&cluster.receive(client));
    assert!(told.is_empty(), "{told:?}");
    cluster.mute(1, false);
    cluster.settle();
    assert_eq!(cluster.receive(writer), "+OK");
    let (_, told) = read(&cluster.call(client, &command));
    assert_eq!(told, [format!("set {key} 1 -1")]);
}

/// As a replica that is copied what it has missed, and hears of commits again.
#[test]
fn a_history_begins_anew_where_an_op_does_not_follow() {
    let (mut node, client) = node(1, with(Durability::Log));
    for number in 0..5 {
        node.call(client, &format!("SET k {number}"));
    }
    let tables = &mut node.bricks[0].core.tables;
    let table = tables.index_named("default").unwrap();
    let state = tables.get_mut(table).unwrap();
    let leaf = state.map.locate(b"k").leaf as usize;
    let covered = |state: &TableState| {
        let held = state.partitions[leaf].as_ref().unwrap();
        let ring = held.changes.as_ref().unwrap();
        (ring.after.0, ring.upto.0, ring.memory())
    };
    let (after, upto, _) = covered(state);
    assert_eq!(upto - after, 5);
    state.note_ops(leaf, (Op(upto + 1), Op(upto + 1)), |_| None);
    assert_eq!(covered(state).1, upto + 1, "it follows");
    state.note_ops(leaf, (Op(upto + 4), Op(upto + 5)), |_| None);
    assert_eq!(covered(state), (upto + 3, upto + 5, 0));
}

#[test]
fn a_learner_tells_what_came_after_it_began() {
    for attributes in copied() {
        let mut cluster = followed(3, attributes.clone());
        let client = cluster.connect(2, Port::Node);
        fill(&mut cluster, client, 0..20);
        let mut late = Follower::new(&mut cluster, 2);
        let mut written = Written::new();
        written.write(&mut cluster, client, 30);
        // Both members of each partition are others than those who have seen it.
        for victim in [0, 1] {
            cluster.kill(victim);
            cluster.settle();
            cluster.restart(victim);
            cluster.settle();
        }
        let mut live = Follower::new(&mut cluster, 2);
        let mut more = Written::new();
        more.next = 1000;
        more.write(&mut cluster, client, 20);
        live.follow(&mut cluster);
        assert_eq!(live.seen, more.all, "{attributes:?}");
        // Who was not there meanwhile is told so, or gets all of it.
        let command = format!("WATCHKEYS ALL FROM {} COUNT 1000", late.position);
        let answer = cluster.call(late.client, &command);
        if answer.starts_with('*') {
            late.follow(&mut cluster);
            for (key, values) in &written.all {
                assert!(late.seen[key].starts_with(values), "{attributes:?} {key}");
            }
        } else {
            assert!(answer.starts_with("-COMPACTED"), "{answer}");
        }
    }
}
