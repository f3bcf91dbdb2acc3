use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::cluster_harness::tables::{check, fill, replicated};
use brickyard_types::record::Kind;
use brickyard_types::{Durability, SegmentId, TableAttributes};
use std::time::Duration;

#[test]
fn any_node_serves_any_key() {
    let mut cluster = Cluster::new(3, replicated(2));
    let clients = [0, 1, 2].map(|host| cluster.connect(host, Port::Node));
    fill(&mut cluster, clients[0], 0..20);
    for client in clients {
        check(&mut cluster, client, 0..20);
        assert_eq!(cluster.call(client, "DBSIZE"), ":20");
    }
}

#[test]
fn killed_node_costs_no_acknowledged_write() {
    let mut cluster = Cluster::new(3, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..20);
    cluster.kill(2);
    check(&mut cluster, client, 0..20);
    fill(&mut cluster, client, 20..30);
    check(&mut cluster, client, 0..30);
}

#[test]
fn node_that_comes_back_catches_up_and_can_take_over() {
    for durability in [Durability::Log, Durability::Fsync, Durability::Memory] {
        let mut cluster = Cluster::new(
            3,
            TableAttributes {
                durability,
                ..replicated(3)
            },
        );
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..20);
        cluster.kill(2);
        fill(&mut cluster, client, 20..40);
        for key in 0..10 {
            assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
        }
        cluster.restart(2);
        fill(&mut cluster, client, 40..50);
        assert!(cluster.is_whole(3), "{durability:?}: {}", cluster.story());
        // All that is left is the node that was away.
        cluster.kill(1);
        cluster.kill(0);
        let client = cluster.connect(2, Port::Node);
        check(&mut cluster, client, 10..50);
        assert_eq!(cluster.call(client, "DBSIZE"), ":40", "{durability:?}");
        fill(&mut cluster, client, 50..60);
    }
}

#[test]
fn cluster_that_was_killed_as_a_whole_has_everything() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..30);
    cluster.kill_at_once(0..3);
    cluster.restart(1);
    let client = cluster.connect(1, Port::Node);
    check(&mut cluster, client, 0..30);
    cluster.restart(0);
    cluster.restart(2);
    assert!(cluster.is_whole(3), "{}", cluster.story());
    fill(&mut cluster, client, 30..40);
    check(&mut cluster, client, 0..40);
}

#[test]
fn write_waits_for_every_replica_and_is_unknown_when_one_never_answers() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    cluster.is_deciding = false;
    cluster.stick(1, true);
    cluster.send(client, "SET key0 value0");
    cluster.settle();
    assert_eq!(cluster.receive(client), "");
    // Whoever reads it elsewhere waits for the outcome; here it is not there yet.
    for _ in 0..10 {
        cluster.settle();
    }
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    cluster.stick(1, false);
    cluster.settle();
    check(&mut cluster, client, 0..1);
}

#[test]
fn wait_tells_how_many_backups_have_what_was_acknowledged() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..5);
    assert_eq!(cluster.call(client, "WAIT 1 0"), ":2");
    cluster.kill(2);
    fill(&mut cluster, client, 0..5);
    assert_eq!(cluster.call(client, "WAIT 1 0"), ":1");
    assert_eq!(cluster.call(client, "WAIT 0 0"), ":1");
}

#[test]
fn backup_serves_reads_to_clients_that_ask_for_them() {
    let mut cluster = Cluster::new(2, replicated(2));
    let writer = cluster.connect(0, Port::Node);
    fill(&mut cluster, writer, 0..20);
    for host in 0..2 {
        let reader = cluster.connect(host, Port::Brick);
        assert_eq!(cluster.call(reader, "READONLY"), "+OK");
        check(&mut cluster, reader, 0..20);
        // A write goes to the primary.
        let replies: Vec<String> = (0..20)
            .map(|key| cluster.call(reader, &format!("SET key{key} value{key}")))
            .collect();
        assert!(replies.iter().any(|reply| reply.starts_with("-MOVED")));
        assert!(replies.iter().any(|reply| reply == "+OK"));
    }
}

#[test]
fn what_was_acknowledged_is_read_at_a_backup_whose_primary_is_gone() {
    let mut cluster = Cluster::new(2, replicated(2));
    let writer = cluster.connect(0, Port::Node);
    for value in 1..=3 {
        assert_eq!(cluster.call(writer, &format!("SET key {value}")), "+OK");
    }
    let is_pending = [0, 1].map(|at| cluster.is_pending(at, "key"));
    assert_eq!(is_pending, [false; 2]);
}

#[test]
fn commands_on_a_new_table_wait_for_a_node_that_has_not_heard_of_it() {
    let mut cluster = Cluster::new(2, replicated(1));
    let client = cluster.connect(0, Port::Node);
    cluster.inform(1, false);
    let place_of = cluster.make_table("new", 4);
    let mut keys = (0..100).map(|at| format!("key{at}"));
    let key = keys.find(|key| place_of(key) == 1).unwrap();
    assert_eq!(cluster.call(client, "TABLE USE new"), "+OK");
    let commands = format!("SET {key} first\nAPPEND {key} second\nGET {key}\nDBSIZE");
    cluster.send(client, &commands);
    cluster.settle();
    assert_eq!(cluster.receive(client), "");
    cluster.inform(1, true);
    cluster.settle();
    assert_eq!(cluster.receive(client), "+OK :11 $11 firstsecond :1");
}

#[test]
fn commands_of_subcommands_reach_the_node_that_has_the_key() {
    let mut cluster = Cluster::new(2, replicated(1));
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, "READONLY"), "+OK");
    for key in ["k1", "k2", "k3", "k4", "k5", "k6"] {
        assert_eq!(cluster.call(client, &format!("SET {key} word")), "+OK");
        let encoding = cluster.call(client, &format!("OBJECT ENCODING {key}"));
        assert_eq!(encoding, "$6 embstr", "{key}");
        let usage = cluster.call(client, &format!("MEMORY USAGE {key}"));
        assert!(usage.starts_with(':'), "{key}: {usage}");
    }
    let places = ["k1", "k2", "k3", "k4", "k5", "k6"].map(|key| cluster.places_of(key).0);
    assert!(places.contains(&1), "one of them is at the other node");
}

#[test]
fn transactions_and_expiry_work_through_any_node() {
    let mut cluster = Cluster::new(3, replicated(2));
    for host in 0..3 {
        let client = cluster.connect(host, Port::Node);
        for command in ["MULTI", "SET {a}1 x", "INCR {a}2"] {
            cluster.call(client, command);
        }
        assert_eq!(
            cluster.call(client, "EXEC"),
            format!("*2 +OK :{}", host + 1)
        );
        assert_eq!(
            cluster.call(client, "MGET {a}1 {a}2 b"),
            format!("*3 $1 x $1 {} $-1", host + 1)
        );
        assert_eq!(cluster.call(client, "SET e x PX 50"), "+OK");
        cluster.tick(Duration::from_millis(100));
        assert_eq!(cluster.call(client, "GET e"), "$-1");
        assert_eq!(cluster.call(client, "EXISTS e"), ":0");
    }
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn deletion_during_a_catch_up_is_not_undone_by_an_older_copy() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("{k}0");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    cluster.kill(backup);
    cluster.settle();
    for number in 0..10 {
        let command = format!("SET {{k}}{number} v");
        assert_eq!(cluster.call(client, &command), "+OK");
    }
    cluster.hold_reads(primary, true);
    cluster.restart(backup);
    assert_eq!(cluster.chunks(primary), 1, "the copy has begun");
    assert_eq!(cluster.call(client, "DEL {k}3"), ":1");
    cluster.settle();
    cluster.hold_reads(primary, false);
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
    assert_eq!(cluster.keys_at(backup, "{k}0").len(), 9);
}

/// A walk that followed the log's end would go on for as long as somebody writes.
#[test]
fn a_catch_up_comes_to_its_end_however_much_is_written_meanwhile() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("{k}0");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    cluster.kill(backup);
    cluster.settle();
    for number in 0..10 {
        cluster.call(client, &format!("SET {{k}}{number} v"));
    }
    cluster.read_by(primary, 1);
    cluster.hold_reads(primary, true);
    cluster.restart(backup);
    let mut chunks = 0;
    while cluster.chunks(primary) > 0 {
        chunks += 1;
        assert!(chunks < 100, "the walk does not end: {}", cluster.story());
        // More than is read at a time.
        for number in 0..3 {
            let key = 10 + chunks * 3 + number;
            cluster.call(client, &format!("SET {{k}}{key} v"));
        }
        cluster.hold_reads(primary, false);
        cluster.turn();
        cluster.hold_reads(primary, true);
        cluster.settle();
    }
    assert!(chunks >= 10, "{chunks} parts, and there are more records");
    cluster.hold_reads(primary, false);
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
    let keys = cluster.keys_at(primary, "{k}0").len();
    assert_eq!(keys, 10 + 3 * chunks);
    assert_eq!(cluster.keys_at(backup, "{k}0").len(), keys);
}

/// Rule `leases count from the request`.
#[test]
fn lease_is_looked_at_when_the_batch_has_been_read() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Brick);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.outlive_lease(client, "GET k");
    let told = cluster.receive(client);
    assert!(
        !told.starts_with('$'),
        "{told}: who leads may be another one"
    );
}

/// Rule `grants count for adopted maps`.
#[test]
fn a_brick_has_stopped_when_it_obeys_and_not_when_it_hears() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    // What was prepared and is not in the log yet belongs to the view of its time: a newer catalog waits for it.
    cluster.stick(primary, true);
    cluster.send(client, "SET k v");
    cluster.turn();
    cluster.regroup("k", &[backup.unwrap()]);
    cluster.turn();
    let version = cluster.catalog().version().0;
    let brick = cluster.brick(primary);
    assert!(brick.catalog_version() < version, "it has heard, and waits");
    assert!(brick.acknowledged().0 < version, "it serves by the old map");
    cluster.stick(primary, false);
    cluster.settle();
    assert!(cluster.brick(primary).acknowledged().0 >= version);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn deletions_are_forgotten_with_the_catch_up_that_they_were_kept_for() {
    let mut cluster = Cluster::new(4, replicated(2));
    let learner = 3;
    let (one, other) = (cluster.key_at(0, 1), cluster.key_at(1, 2));
    let client = cluster.connect(0, Port::Node);
    for key in [&one, &other] {
        assert_eq!(cluster.call(client, &format!("SET {key} v")), "+OK");
    }
    // Two partitions of the table catch up there; a key of the first is deleted meanwhile.
    cluster.hold_reads(0, true);
    cluster.hold_reads(1, true);
    cluster.set_learners(&one, &[learner]);
    cluster.set_learners(&other, &[learner]);
    cluster.settle();
    assert_eq!(cluster.call(client, &format!("DEL {one}")), ":1");
    let tombstones = |cluster: &mut Cluster| {
        let tables = cluster.brick(learner).core.tables.iter();
        tables.map(|it| it.table.tombstones()).sum::<usize>()
    };
    assert_eq!(tombstones(&mut cluster), 1);
    // The first ends as a backup, then the second is taken away.
    cluster.hold_reads(0, false);
    cluster.settle();
    cluster.set_learners(&other, &[]);
    cluster.hold_reads(1, false);
    cluster.settle();
    assert_eq!(tombstones(&mut cluster), 0);
}

/// A log can have a deletion often. Were all of them copied, each catch-up there and back would multiply them.
#[test]
fn deletion_is_copied_once_however_often_the_log_has_it() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (key, away) = (cluster.key_at(0, 1), 2);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, &format!("SET {key} v")), "+OK");
    cluster.kill(away);
    let before = cluster.log_len(0);
    assert_eq!(cluster.call(client, &format!("DEL {key}")), ":1");
    cluster.repeat(0, before);
    cluster.repeat(0, before);
    // It is read from the log only, not sent because it was the last one.
    assert_eq!(cluster.call(client, &format!("SET {key} w")), "+OK");
    assert_eq!(cluster.call(client, &format!("DEL {key}")), ":1");
    cluster.restart(away);
    cluster.settle();
    assert!(cluster.is_whole(3), "{}", cluster.story());
    let deletions = |at: usize| {
        let records = cluster.records(at).into_iter();
        let of_key = records.filter(|it| it.0.kind == Kind::Delete && it.1 == key.as_bytes());
        let mut ops: Vec<u64> = of_key.map(|it| it.0.op.0).collect();
        ops.sort_unstable();
        ops
    };
    let copied = deletions(away);
    let mut once = copied.clone();
    once.dedup();
    assert!(!copied.is_empty() && copied == once, "{copied:?}");
    assert_eq!(cluster.keys_at(away, &key), [""; 0]);
}

/// A learner that has a deletion in the first segment of its log, and the copy of what it deletes in the second.
fn learner_with_a_copy_behind_a_deletion() -> (Cluster, usize, String) {
    let mut cluster = Cluster::new(4, replicated(2));
    let learner = 3;
    let key = cluster.key_at(0, 1);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, &format!("SET {key} v")), "+OK");
    cluster.hold_reads(0, true);
    cluster.set_learners(&key, &[learner]);
    cluster.settle();
    // The backup does not vote yet: the learner has the deletion, and the primary copies what it deletes.
    cluster.stick(1, true);
    cluster.send(client, &format!("DEL {key}"));
    let kinds = |cluster: &Cluster| {
        let records = cluster.records(learner).into_iter();
        let of_key = records.filter(|it| it.1 == key.as_bytes());
        of_key.map(|it| it.0.kind).collect::<Vec<_>>()
    };
    cluster.turn_until(|cluster| kinds(cluster) == [Kind::Delete]);
    cluster.roll(learner);
    cluster.hold_reads(0, false);
    cluster.turn_until(|cluster| kinds(cluster) == [Kind::Delete, Kind::Put]);
    cluster.stick(1, false);
    (cluster, learner, key)
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn deletion_outlives_a_copy_that_came_behind_it() {
    let (mut cluster, learner, key) = learner_with_a_copy_behind_a_deletion();
    cluster.settle();
    let segments = cluster.segments(learner);
    assert!(
        !segments.contains(&1) && segments.contains(&2),
        "{segments:?}"
    );
    cluster.kill_at_once([learner]);
    cluster.restart(learner);
    assert_eq!(cluster.keys_at(learner, &key), [""; 0]);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn restart_knows_where_copies_stand() {
    let (mut cluster, learner, key) = learner_with_a_copy_behind_a_deletion();
    cluster.hold_reads(0, true);
    cluster.kill_at_once([learner]);
    cluster.restart(learner);
    let id = cluster.partition_of(&key);
    let held = cluster.brick(learner).core.tables.partition(id);
    assert_eq!(held.unwrap().1.gaps.copied(), SegmentId(2));
}

/// They may be on their way to the log when the next copy begins, and what it replaces has no record of what they bring.
#[test]
fn copies_of_a_catch_up_that_came_to_nothing_do_nothing() {
    let mut cluster = Cluster::new(2, replicated(1));
    let key = "key1";
    let (primary, _) = cluster.places_of(key);
    let learner = 1 - primary;
    let client = cluster.connect(primary, Port::Node);
    // Nobody knows any more what there was before: who has nothing gets a full copy.
    assert_eq!(cluster.call(client, "FLUSHALL"), "+OK");
    assert_eq!(cluster.call(client, &format!("SET {key} v")), "+OK");
    cluster.stick(learner, true);
    cluster.set_learners(key, &[learner]);
    let (table, partition, _) = cluster.group_of(key);
    cluster.turn_until(|cluster| {
        let core = &cluster.brick(learner).core;
        let table = core.tables.index_of(table).unwrap();
        let held = core.tables.partition(partition);
        held.is_some_and(|(_, held)| core.log.concerns(table as u32, held.local))
    });
    cluster.cut(primary, learner);
    cluster.send(client, "FLUSHALL");
    cluster.settle();
    assert_eq!(cluster.keys_at(primary, key), [""; 0]);
    cluster.mend();
    cluster.settle();
    cluster.stick(learner, false);
    cluster.settle();
    assert_eq!(cluster.keys_at(learner, key), [""; 0]);
}

/// What can be read of the log is a claim, and too little to give out ops by: what was overwritten is cleaned away.
#[test]
fn ops_that_a_claim_of_a_damaged_log_speaks_of_are_not_given_again() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    for _ in 0..200 {
        assert_eq!(cluster.call(client, "SET key1 old"), "+OK");
    }
    cluster.roll(0);
    for _ in 0..4 {
        cluster.settle();
    }
    assert_eq!(cluster.segments(0), [2]);
    assert_eq!(cluster.call(client, "SET key1 old"), "+OK");
    cluster.roll(0);
    // No more than the turn in which the partition says in the next segment what it has.
    cluster.turn();
    let claimed = cluster.records(0);
    let claimed = claimed.iter().filter(|it| it.0.kind == Kind::Baseline);
    let claimed = claimed.map(|it| it.0.op).max();
    cluster.damage(0, 2);
    cluster.kill(0);
    cluster.restart(0);
    let client = cluster.connect(0, Port::Node);
    let before = cluster.records(0).len();
    assert_eq!(cluster.call(client, "SET key1 new"), "+OK");
    let records = cluster.records(0);
    let written = records[before..].iter().find(|it| it.1 == b"key1");
    assert!(
        written.map(|it| it.0.op) > claimed,
        "{written:?} after {claimed:?}"
    );
}
