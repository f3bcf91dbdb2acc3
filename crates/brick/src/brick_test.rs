use crate::accepted::Port;
use crate::effect::Event;
use crate::harness::{Node, log, restarted_on_disk, with};
use crate::users::{Grant, Rights, User};
use brickyard_metadata::UserLimits;
use brickyard_types::{Durability, Eviction, TableAttributes, UnixMillis};
use std::time::Duration;

#[test]
fn write_is_answered_when_it_is_in_the_log_and_not_before() {
    let mut node = log();
    node.logs[0].is_held = true;
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "SET k v"), "");
    node.append(0);
    assert_eq!(node.receive(client), "+OK");
    assert_eq!(node.call(client, "GET k"), "$1 v");
}

#[test]
fn fsync_table_answers_when_the_write_is_synced() {
    let mut node = Node::new(1, with(Durability::Fsync));
    node.logs[0].is_held = true;
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v");
    node.append(0);
    node.settle();
    assert_eq!(node.receive(client), "");
    node.sync(0);
    assert_eq!(node.receive(client), "+OK");
}

#[test]
fn memory_table_answers_at_once_and_writes_no_log() {
    let mut node = Node::new(1, with(Durability::Memory));
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, "SET k v\nAPPEND k w\nGET k"),
        "+OK :2 $2 vw"
    );
    assert!(node.logs[0].bytes.is_empty());
}

/// Rule `reads follow own writes`.
#[test]
fn pipelined_read_sees_the_write_before_it() {
    let mut node = log();
    node.logs[0].is_held = true;
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k 1\nINCR k\nGET k\nDEL k\nGET k\nDBSIZE");
    assert_eq!(node.receive(client), "");
    node.append(0);
    node.settle();
    assert_eq!(node.receive(client), "+OK :2 $1 2 :1 $-1 :0");
}

#[test]
fn other_clients_read_committed_state_while_a_write_is_on_its_way() {
    let mut node = log();
    let (writer, reader) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(writer, "SET k old");
    node.logs[0].is_held = true;
    node.call(writer, "SET k new");
    assert_eq!(node.call(reader, "GET k"), "$3 old");
    node.append(0);
    assert_eq!(node.call(reader, "GET k"), "$3 new");
}

/// Rule `reads of several keys see one moment`.
#[test]
fn read_of_several_keys_sees_all_or_nothing_of_what_its_own_write_waits_for() {
    // Rule `reads of several keys see one moment`: a transaction is on its way, and behind it a write of one of its
    // keys. Whoever sees that one has to see the transaction.
    let mut node = log();
    let (other, client) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(other, "MSET {k}0 old {k}1 old");
    node.logs[0].is_held = true;
    node.call(other, "MULTI\nSET {k}0 new\nSET {k}1 new\nEXEC");
    node.call(
        client,
        "SET {k}0 own\nMGET {k}0 {k}1\nMGET {k}1 {k}0\nGET {k}1",
    );
    assert_eq!(node.receive(client), "");
    node.append(0);
    node.settle();
    assert_eq!(
        node.receive(client),
        "+OK *2 $3 own $3 new *2 $3 new $3 own $3 new"
    );
}

#[test]
fn read_of_several_keys_waits_for_nobody_elses_write() {
    let mut node = log();
    let (other, client) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(other, "MSET {k}0 old {k}1 old");
    node.logs[0].is_held = true;
    node.call(other, "SET {k}1 new");
    assert_eq!(node.call(client, "MGET {k}0 {k}1"), "*2 $3 old $3 old");
}

/// Rule `answers wait for prepared values`.
#[test]
fn answer_decided_against_a_prepared_value_waits_for_it() {
    // Rule `answers wait for prepared values`: SETNX that writes nothing must not tell of a SET that may yet be
    // refused.
    let mut node = log();
    let (writer, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.logs[0].is_held = true;
    node.call(writer, "SET k v");
    assert_eq!(node.call(other, "SETNX k w"), "");
    node.refuse(0);
    assert!(node.receive(writer).starts_with("-MISCONF"));
    assert!(node.receive(other).starts_with("-MISCONF"));
    node.logs[0].is_held = false;
    node.advance(Duration::from_millis(300));
    assert_eq!(node.call(other, "SETNX k w"), ":1");
}

#[test]
fn commands_without_keys_of_a_transaction_that_the_log_refuses_do_not_run() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    let transaction = "MULTI\nSET k v\nCLIENT SETNAME me\nEXEC";
    node.logs[0].is_held = true;
    let replies = node.call(client, transaction);
    assert_eq!(replies, "+OK +QUEUED +QUEUED");
    node.refuse(0);
    assert!(node.receive(client).starts_with("-MISCONF"));
    node.logs[0].is_held = false;
    node.advance(Duration::from_millis(300));
    assert_eq!(node.call(client, "CLIENT GETNAME"), "$-1");
    let replies = node.call(client, transaction);
    assert_eq!(replies, "+OK +QUEUED +QUEUED *2 +OK +OK");
    assert_eq!(node.call(client, "CLIENT GETNAME"), "$2 me");
}

#[test]
fn refused_batch_leaves_nothing_behind_and_later_writes_go_on() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET n 1");
    node.logs[0].is_held = true;
    node.call(client, "INCR n\nGET other\nINCR n");
    node.refuse(0);
    let replies = node.receive(client);
    assert_eq!(replies.matches("-MISCONF").count(), 2, "{replies}");
    assert_eq!(replies.matches("$-1").count(), 1, "{replies}");
    node.logs[0].is_held = false;
    node.advance(Duration::from_millis(300));
    assert_eq!(node.call(client, "GET n\nINCR n"), "$1 1 :2");
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "GET n"), "$1 2");
}

#[test]
fn failed_sync_answers_unknown_and_stops_the_brick() {
    let mut node = Node::new(1, with(Durability::Fsync));
    node.logs[0].is_held = true;
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v");
    node.append(0);
    node.bricks[0].handle(Event::Poisoned("Input/output error".to_owned()));
    node.settle();
    assert!(node.receive(client).starts_with("-UNKNOWNRESULT"));
    assert!(node.logs[0].stopped.is_some());
}

#[test]
fn restart_brings_back_what_was_acknowledged() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "MSET a 1 b 2 c 3 d 4"), "+OK");
    node.call(client, "DEL b\nAPPEND c x\nPEXPIREAT d 1700000009000");
    node.restart();
    let client = node.connect(1, Port::Node);
    assert_eq!(node.call(client, "MGET a b c d"), "*4 $1 1 $-1 $2 3x $1 4");
    assert_eq!(
        node.call(client, "PEXPIRETIME d\nDBSIZE"),
        ":1700000009000 :3"
    );
}

#[test]
fn node_port_reaches_every_brick_and_brick_port_redirects() {
    let mut node = Node::new(3, with(Durability::Log));
    let gateway = node.connect(0, Port::Node);
    for number in 0..30 {
        assert_eq!(
            node.call(gateway, &format!("SET key:{number} {number}")),
            "+OK"
        );
    }
    assert_eq!(node.call(gateway, "DBSIZE"), ":30");
    assert_eq!(node.call(gateway, "EXISTS key:1 key:2 key:3 nokey"), ":3");
    assert_eq!(node.call(gateway, "DEL key:1 key:2 key:3 nokey"), ":3");
    let brick = node.connect(0, Port::Brick);
    // Slot 12539 ("key:foo" is elsewhere): find one key of each brick.
    let replies: Vec<String> = (4..30)
        .map(|number| node.call(brick, &format!("GET key:{number}")))
        .collect();
    assert!(replies.iter().any(|reply| reply.starts_with('$')));
    assert!(replies.iter().any(|reply| reply.starts_with("-MOVED")));
    assert!(node.call(brick, "MGET a b").starts_with("-CROSSSLOT"));
}

#[test]
fn slot_in_two_places_is_served_where_cluster_clients_ask_for_it() {
    let mut node = Node::new(3, with(Durability::Log));
    let gateway = node.connect(0, Port::Node);
    // Two partitions a slot, so a third of them ends within slot 5461.
    let create = "TABLE CREATE fine REPLICAS 1 PARTITIONS 32768\nTABLE USE fine";
    assert_eq!(node.call(gateway, create), "+OK +OK");
    let bricks = [0, 1, 2].map(|brick| node.connect(brick, Port::Brick));
    for client in bricks {
        assert_eq!(node.call(client, "TABLE USE fine"), "+OK");
    }
    let names = (0..).map(|number| format!("key:{number}"));
    let in_it = names.filter(|name| brickyard_routing::slot(name.as_bytes()).0 == 5461);
    let mut served_by_second = 0;
    for name in in_it.take(16) {
        let call = format!("SET {name} 1\nWATCH {name}\nMULTI\nINCR {name}\nEXEC");
        let done = "+OK +OK +OK +QUEUED *1 :2";
        assert_eq!(node.call(bricks[0], &call), done, "{name}");
        // Whoever else is asked answers it, or knows where the slot is.
        let reply = node.call(bricks[1], &format!("GET {name}"));
        served_by_second += usize::from(reply == "$1 2");
        let is_right = reply == "$1 2" || reply.starts_with("-MOVED 5461 127.0.0.1:6380");
        assert!(is_right, "{name}: {reply}");
        let reply = node.call(bricks[2], &format!("GET {name}"));
        assert!(reply.starts_with("-MOVED 5461 127.0.0.1:6380"), "{reply}");
    }
    assert!((1..16).contains(&served_by_second), "{served_by_second}");
}

#[test]
fn replies_stay_in_request_order_over_bricks() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    let pipeline: Vec<String> = (0..50)
        .flat_map(|n| [format!("SET k{n} {n}"), format!("GET k{n}")])
        .collect();
    let expected: Vec<String> = (0..50)
        .map(|n: u32| format!("+OK ${} {n}", n.to_string().len()))
        .collect();
    assert_eq!(node.call(client, &pipeline.join("\n")), expected.join(" "));
}

#[test]
fn transaction_is_one_record_and_all_or_nothing() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "MULTI");
    assert_eq!(
        node.call(client, "SET {t}a 1\nINCR {t}a\nSET {t}b 2"),
        "+QUEUED +QUEUED +QUEUED"
    );
    let before = node.logs[0].bytes.len();
    assert_eq!(node.call(client, "EXEC"), "*3 +OK :2 +OK");
    let records = &node.logs[0].bytes[before..];
    assert_eq!(
        brickyard_types::record::decode(records).unwrap().len,
        records.len()
    );
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "MGET {t}a {t}b"), "*2 $1 2 $1 2");
}

#[test]
fn transaction_over_slots_is_one_and_a_watched_change_undoes_it() {
    let mut node = Node::new(2, with(Durability::Log));
    let (client, other) = (node.connect(0, Port::Node), node.connect(1, Port::Node));
    node.call(client, "MULTI\nSET a 1\nSET b 2\nGET a");
    assert_eq!(node.call(client, "EXEC"), "*3 +OK +OK $1 1");
    assert_eq!(node.call(other, "MGET a b"), "*2 $1 1 $1 2");
    let apart = node.connect(0, Port::Brick);
    assert!(node.call(apart, "MSETNX a 1 b 2").starts_with("-CROSSSLOT"));
    for key in ["{x}1", "{y}1", "{z}1", "{w}1"] {
        assert_eq!(node.call(client, &format!("WATCH {key}")), "+OK");
        node.call(other, &format!("SET {key} theirs"));
        assert_eq!(
            node.call(client, &format!("MULTI\nSET {key} mine\nEXEC")),
            "+OK +QUEUED *-1"
        );
        assert_eq!(node.call(client, &format!("GET {key}")), "$6 theirs");
        assert_eq!(
            node.call(client, &format!("WATCH {key}\nMULTI\nSET {key} mine\nEXEC")),
            "+OK +OK +QUEUED *1 +OK"
        );
    }
}

/// Rule `only the primary expires keys`.
#[test]
fn expired_key_is_gone_when_its_removal_has_committed() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v PX 100");
    node.advance(Duration::from_millis(50));
    assert_eq!(node.call(client, "GET k"), "$1 v");
    node.logs[0].is_held = true;
    node.now = node.now + Duration::from_millis(100);
    node.unix = UnixMillis(node.unix.0 + 100);
    assert_eq!(node.call(client, "GET k"), "");
    node.append(0);
    assert_eq!(node.receive(client), "$-1");
}

/// Rule `only the primary expires keys`.
#[test]
fn value_lives_through_its_last_millisecond() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v PX 100\nSET l v PX 100");
    node.unix = UnixMillis(node.unix.0 + 100);
    assert_eq!(node.call(client, "GET k\nPTTL k\nAPPEND k w"), "$1 v :0 :2");
    node.unix = UnixMillis(node.unix.0 + 1);
    assert_eq!(node.call(client, "GET k\nAPPEND l w"), "$-1 :1");
}

/// Rule `removals name what they remove`.
#[test]
fn expiry_does_not_eat_a_value_that_is_being_written() {
    // Rule `removals name what they remove`.
    let mut node = log();
    let (writer, reader) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(writer, "SET k old PX 100");
    node.logs[0].is_held = true;
    node.unix = UnixMillis(node.unix.0 + 200);
    node.call(writer, "SET k new");
    node.call(reader, "GET k");
    node.append(0);
    node.settle();
    node.append(0);
    assert_eq!(node.call(writer, "GET k"), "+OK $3 new");
}

#[test]
fn keys_expire_by_themselves() {
    let mut node = Node::new(2, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    for number in 0..100 {
        node.call(client, &format!("SET k{number} v PX 1000"));
    }
    for _ in 0..40 {
        node.advance(Duration::from_millis(100));
    }
    assert_eq!(node.call(client, "DBSIZE"), ":0");
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "DBSIZE"), ":0");
}

#[test]
fn flush_clears_also_what_is_on_its_way_and_nothing_after_it() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET a 1");
    assert_eq!(
        node.call(client, "SET b 2\nFLUSHDB\nGET a\nGET b\nSET c 3\nDBSIZE"),
        "+OK +OK $-1 $-1 +OK :1"
    );
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "MGET a b c"), "*3 $-1 $-1 $1 3");
}

#[test]
fn what_is_written_behind_a_flush_is_seen_while_both_are_on_their_way() {
    let mut node = log();
    node.logs[0].is_held = true;
    let clients = [(); 2].map(|()| node.connect(0, Port::Node));
    assert_eq!(node.call(clients[0], "FLUSHDB"), "");
    assert_eq!(node.call(clients[1], "SET k 1\nAPPEND k 2\nGET k"), "");
    node.logs[0].is_held = false;
    node.settle();
    assert_eq!(node.receive(clients[0]), "+OK");
    assert_eq!(node.receive(clients[1]), "+OK :2 $2 12");
}

#[test]
fn tables_are_apart_and_a_dropped_one_stays_dropped() {
    let mut node = Node::new(2, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k default");
    assert_eq!(node.call(client, "SELECT 3"), "+OK");
    assert_eq!(
        node.call(client, "GET k\nSET k three\nGET k"),
        "$-1 +OK $5 three"
    );
    assert_eq!(
        node.call(
            client,
            "TABLE CREATE shop DURABILITY fsync\nTABLE USE shop\nGET k"
        ),
        "+OK +OK $-1"
    );
    assert_eq!(
        node.call(client, "SET k shop\nTABLE USE default\nGET k"),
        "+OK +OK $7 default"
    );
    assert_eq!(
        node.call(client, "TABLE DROP shop CONFIRM shop\nTABLE LIST"),
        "+OK *2 $1 3 $7 default"
    );
    node.restart();
    let client = node.connect(1, Port::Node);
    assert_eq!(
        node.call(client, "GET k\nSELECT 3\nGET k"),
        "$7 default +OK $5 three"
    );
}

#[test]
fn read_of_a_disk_that_hangs_ends_in_time() {
    let (mut node, client) = restarted_on_disk("SET k value");
    assert_eq!(node.call(client, "GET k\nAPPEND k s"), "");
    node.advance(Duration::from_secs(4));
    assert_eq!(node.receive(client), "");
    node.advance(Duration::from_secs(2));
    let replies = node.receive(client);
    let told = "-CLUSTERDOWN the disk has not returned a value";
    assert_eq!(replies.matches(told).count(), 2, "{replies}");
    // It comes after all: nobody waits for it, and it is there for the next.
    node.answer_reads(0);
    node.settle();
    assert_eq!(node.call(client, "GET k"), "$5 value");
}

#[test]
fn disk_table_reads_values_back_and_keeps_the_order_on_a_key() {
    let (mut node, client) = restarted_on_disk("SET k value\nSET other thing");
    assert_eq!(
        node.call(client, "GET k\nSET k new\nGET k\nGET other\nSTRLEN other"),
        ""
    );
    assert_eq!(node.logs[0].reads.len(), 2);
    node.answer_reads(0);
    assert_eq!(node.receive(client), "$5 value +OK $3 new $5 thing :5");
}

#[test]
fn full_table_refuses_writes_and_takes_deletes() {
    let attributes = TableAttributes {
        maxmemory: Some(1_500_000),
        evict: Eviction::None,
        ..with(Durability::Log)
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    let value = "x".repeat(1000);
    let refused = (0..3000).find(|n| {
        node.call(client, &format!("SET k{n} {value}"))
            .starts_with("-OOM")
    });
    assert!(refused.is_some());
    assert_eq!(node.call(client, "DEL k0\nEXISTS k1"), ":1 :1");
}

#[test]
fn lru_table_makes_room_by_itself() {
    let attributes = TableAttributes {
        maxmemory: Some(3_000_000),
        evict: Eviction::Lru,
        ..with(Durability::Log)
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    let value = "x".repeat(1000);
    for n in 0..6000 {
        assert_eq!(node.call(client, &format!("SET k{n} {value}")), "+OK");
        if n % 100 == 0 {
            node.advance(Duration::from_millis(100));
        }
    }
    let count: u32 = node
        .call(client, "DBSIZE")
        .trim_start_matches(':')
        .parse()
        .unwrap();
    assert!((1000..4500).contains(&count), "{count} keys");
}

#[test]
fn all_rights_on_a_table_are_none_on_the_node() {
    let grant = Grant {
        tables: "default".to_owned(),
        rights: Rights::ALL,
    };
    let user = User {
        name: "default".to_owned(),
        password_hashes: Vec::new(),
        grants: vec![grant],
        table: None,
        acl: crate::acl::Acl::unrestricted(),
        limits: UserLimits::NONE,
    };
    let mut node = Node::with_users(1, with(Durability::Log), vec![user]);
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "SET k v"), "+OK");
    for line in ["CONFIG SET maxclients 1", "SHUTDOWN", "CLIENT LIST"] {
        let refused = node.call(client, line);
        assert!(refused.starts_with("-NOPERM"), "{line}: {refused}");
    }
    assert_eq!(
        node.call(client, "TABLE ALTER default MAXMEMORY 1gb"),
        "+OK"
    );
}

#[test]
fn stranger_must_log_in_and_a_user_may_do_what_was_granted() {
    let grant = |tables: &str, rights| Grant {
        tables: tables.to_owned(),
        rights,
    };
    let user = User {
        name: "ann".to_owned(),
        password_hashes: vec!["hash".to_owned()],
        grants: vec![grant(
            "default",
            Rights {
                read: true,
                ..Rights::default()
            },
        )],
        table: None,
        acl: crate::acl::Acl::unrestricted(),
        limits: UserLimits::NONE,
    };
    let mut node = Node::with_users(1, with(Durability::Log), vec![user]);
    let client = node.connect(0, Port::Node);
    assert!(node.call(client, "GET k").starts_with("-NOAUTH"));
    assert!(
        node.call(client, "AUTH ann wrong")
            .starts_with("-WRONGPASS")
    );
    assert!(node.call(client, "GET k").starts_with("-NOAUTH"));
    assert_eq!(node.call(client, "AUTH ann right\nGET k"), "+OK $-1");
    assert!(node.call(client, "SET k v").starts_with("-NOPERM"));
    assert!(node.call(client, "CONFIG GET *").starts_with("-NOPERM"));
}

#[test]
fn scan_returns_every_key_once_nothing_changes() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    for n in 0..300 {
        node.call(client, &format!("SET key{n} v"));
    }
    let mut cursor = "0".to_owned();
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let reply = node.call(client, &format!("SCAN {cursor} COUNT 20"));
        let words: Vec<&str> = reply
            .split(' ')
            .filter(|word| !word.starts_with(['*', '$']))
            .collect();
        cursor = words[0].to_owned();
        seen.extend(words[1..].iter().map(|word| (*word).to_owned()));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 300);
}

#[test]
fn map_watcher_is_told_at_once_and_before_replies_that_wait() {
    let mut node = Node::new(1, with(Durability::Fsync));
    let (watcher, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    let refused = node.call(watcher, "CLUSTER WATCH ON");
    assert!(
        refused.starts_with("-ERR CLUSTER WATCH pushes"),
        "{refused}"
    );
    node.call(watcher, "HELLO 3");
    assert!(
        node.call(watcher, "CLUSTER WATCH maybe")
            .starts_with("-ERR")
    );
    assert_eq!(
        node.call(watcher, "CLUSTER WATCH ON\nCLUSTER WATCH ON"),
        "+OK +OK"
    );
    node.logs[0].is_held = true;
    assert_eq!(node.call(watcher, "SET k v"), "");
    node.append(0);
    assert_eq!(node.call(other, "TABLE CREATE one"), "+OK");
    let told = node.receive(watcher);
    assert!(told.starts_with(">2 $11 cluster-map :"), "{told}");
    assert_eq!(told.matches('>').count(), 1, "{told}");
    node.logs[0].is_held = false;
    node.settle();
    assert_eq!(node.receive(watcher), "+OK");
    for silence in ["CLUSTER WATCH OFF", "RESET"] {
        node.call(watcher, "HELLO 3\nCLUSTER WATCH ON");
        node.call(watcher, silence);
        let table = format!("TABLE CREATE {}", silence.len());
        assert_eq!(node.call(other, &table), "+OK");
        assert_eq!(node.receive(watcher), "");
    }
}

/// The node stops: who waits is told before it does.
#[test]
fn clients_are_told_at_once_that_the_log_could_not_be_synced() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.send(client, "SET k v");
    node.turn();
    assert_eq!(node.receive(client), "");
    node.bricks[0].handle(Event::Poisoned("broken".to_owned()));
    let told = node.receive(client);
    assert!(told.starts_with("-UNKNOWNRESULT"), "{told}");
}

#[test]
fn administration_is_told_of_with_its_result_and_nothing_else_is() {
    let mut node = Node::new(1, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    for line in [
        "SET k v",
        "TABLE LIST",
        "CONFIG GET maxclients",
        "TABLE CREATE t",
        "TABLE CREATE t",
        "CONFIG SET maxclients 100",
        "FLUSHALL",
    ] {
        node.call(client, line);
    }
    let told: Vec<(&str, &str)> = node
        .audited
        .iter()
        .map(|it| (it.command.as_str(), it.result.as_str()))
        .collect();
    assert_eq!(told[0], ("TABLE CREATE t", "OK"));
    assert_eq!(told[1].0, "TABLE CREATE t");
    assert!(told[1].1.starts_with("ERR "), "{told:?}");
    assert_eq!(told[2], ("CONFIG SET maxclients 100", "OK"));
    assert_eq!(told[3], ("FLUSHALL", "begun"));
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(node.audited.iter().all(|it| it.user == "default"));
}

#[test]
fn what_a_user_may_not_administer_is_told_of_too() {
    let grant = Grant {
        tables: "default".to_owned(),
        rights: Rights::ALL,
    };
    let user = User {
        name: "default".to_owned(),
        password_hashes: Vec::new(),
        grants: vec![grant],
        table: None,
        acl: crate::acl::Acl::unrestricted(),
        limits: UserLimits::NONE,
    };
    let mut node = Node::with_users(1, with(Durability::Log), vec![user]);
    let client = node.connect(0, Port::Node);
    for line in [
        "CONFIG SET maxclients 1",
        "TABLE DROP other CONFIRM other",
        "CLIENT LIST",
    ] {
        assert!(node.call(client, line).starts_with('-'), "{line}");
    }
    let told: Vec<&str> = node.audited.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(
        told,
        ["CONFIG SET maxclients 1", "TABLE DROP other CONFIRM other"]
    );
    for record in &node.audited {
        assert!(record.result.starts_with("NOPERM"), "{record:?}");
    }
}
