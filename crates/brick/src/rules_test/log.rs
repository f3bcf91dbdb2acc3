//! What stands in the log, what is moved in it, and what a restart makes of it.

use super::{on_disk, places, replicated, reply, told_meanwhile};
use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use brickyard_types::record::Kind;
use brickyard_types::{Durability, TableAttributes};
use std::collections::BTreeMap;
use std::time::Duration;

/// Until the cleaner has had its say.
fn clean(cluster: &mut Cluster) {
    for _ in 0..12 {
        cluster.settle();
    }
}

/// Both nodes are killed, and one comes back alone.
fn restart_alone(cluster: &mut Cluster, alone: usize) {
    cluster.kill_at_once(0..2);
    cluster.restart(alone);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn member_in_memory_that_was_out_forgets_what_was_deleted_meanwhile() {
    let attributes = TableAttributes {
        durability: Durability::Memory,
        ..replicated(3)
    };
    let mut cluster = Cluster::new(3, attributes);
    let (primary, backup, out) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    for command in ["SET k v", "SET {k}gone v"] {
        assert_eq!(cluster.call(client, command), "+OK");
    }
    // No log has the deletion: the difference cannot be told.
    cluster.cut(primary, out);
    cluster.demote("k", &[primary, backup], &[out]);
    cluster.settle();
    assert_eq!(cluster.call(client, "DEL {k}gone"), ":1");
    cluster.mend();
    cluster.settle();
    cluster.settle();
    assert!(cluster.is_whole(3), "{}", cluster.story());
    for node in [primary, backup, out] {
        assert_eq!(cluster.keys_at(node, "k"), ["k"], "node {node}");
    }
}

/// The clear has committed where another of its batch waits yet.
/// Rule `tombstones reach down to the watermark`.
#[test]
fn member_that_was_out_forgets_what_was_cleared_meanwhile() {
    let mut cluster = Cluster::new(3, replicated(3));
    let mut keys = BTreeMap::<usize, BTreeMap<_, _>>::new();
    for key in (0..100).map(|at| format!("k{at}")) {
        let of_primary = keys.entry(cluster.places_of(&key).0).or_default();
        of_primary.insert(cluster.partition_of(&key), key);
    }
    let of_one = keys.into_values().find(|it| it.len() > 1).unwrap();
    let of_one: Vec<String> = of_one.into_values().collect();
    let [key, other] = [&of_one[0], &of_one[1]];
    let (primary, backup, out) = places(&cluster, key);
    let client = cluster.connect(primary, Port::Node);
    for key in [key, other] {
        assert_eq!(cluster.call(client, &format!("SET {key} v")), "+OK");
    }
    cluster.cut(primary, out);
    cluster.demote(key, &[primary, backup], &[out]);
    cluster.settle();
    cluster.send(client, "FLUSHALL");
    cluster.settle();
    assert_eq!(cluster.keys_at(primary, key), [""; 0]);
    assert_eq!(cluster.keys_at(primary, other).len(), 1, "it waits");
    assert_eq!(cluster.keys_at(out, key).len(), 1);
    cluster.mend();
    cluster.settle();
    cluster.settle();
    assert!(cluster.is_whole(3), "{}", cluster.story());
    for node in [primary, backup, out] {
        assert_eq!(cluster.keys_at(node, key), [""; 0], "node {node}");
    }
}

#[test]
fn copy_after_a_restart_reads_the_segment_at_hand() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k 1"), "+OK");
    cluster.roll(primary);
    assert_eq!(cluster.call(client, "SET k 2"), "+OK");
    clean(&mut cluster);
    assert_eq!(cluster.segments(primary), [2]);
    cluster.kill(backup);
    cluster.settle();
    assert_eq!(cluster.call(client, "SET {k}2 x"), "+OK");
    // No sealed segment is left that would tell which one is written to.
    cluster.kill_at_once([primary]);
    cluster.restart(primary);
    cluster.restart(backup);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    assert_eq!(cluster.keys_at(backup, "k"), ["k", "{k}2"]);
}

/// Rule `a restart cuts nothing`.
#[test]
fn suffix_is_claimed_however_often_its_replicas_restart() {
    for attributes in [replicated(2), on_disk(2)] {
        for is_rolled in [false, true] {
            let mut cluster = Cluster::new(2, attributes.clone());
            let (primary, backup) = cluster.places_of("k");
            let client = cluster.connect(primary, Port::Node);
            assert_eq!(cluster.call(client, "SET k old"), "+OK");
            // The last write is in one log, and nobody knows whether it has committed.
            cluster.stick(backup.unwrap(), true);
            cluster.send(client, "SET k new");
            cluster.turn();
            if is_rolled {
                // A sealed segment of values on the disk is read by its hint file.
                cluster.roll(primary);
                cluster.turn();
            }
            cluster.is_deciding = false;
            cluster.kill(backup.unwrap());
            for _ in 0..2 {
                cluster.kill(primary);
                cluster.restart(primary);
            }
            let records = cluster.records(primary);
            let puts = records.iter().filter(|it| it.0.kind == Kind::Put);
            assert_eq!(puts.count(), 2, "it stays where it stands");
            cluster.kill(primary);
            cluster.is_deciding = true;
            cluster.restart(primary);
            let client = cluster.connect(primary, Port::Node);
            assert_eq!(cluster.call(client, "GET k"), "$3 new");
        }
    }
}

/// The last write of a partition that was split meanwhile is a suffix of each part, in no part's name until that is written.
/// Its log is full at that moment, and the only one.
/// Rule `a restart cuts nothing`.
#[test]
fn suffix_of_a_part_is_not_lost_to_a_full_disk() {
    for attributes in [replicated(2), on_disk(2)] {
        let mut cluster = Cluster::new(2, attributes);
        let (primary, backup) = cluster.places_of("k");
        let backup = backup.unwrap();
        let client = cluster.connect(primary, Port::Node);
        cluster.inform(backup, false);
        assert_eq!(cluster.call(client, "SET k v"), "+OK");
        cluster.split("k");
        cluster.settle();
        assert_eq!(cluster.partitions(), (5, 0));
        cluster.is_deciding = false;
        cluster.kill(primary);
        cluster.kill(backup);
        cluster.inform(backup, true);
        cluster.is_deciding = true;
        cluster.stick(backup, true);
        cluster.restart(backup);
        for _ in 0..3 {
            cluster.refuse(backup);
            cluster.settle();
        }
        cluster.stick(backup, false);
        cluster.settle();
        for _ in 0..2 {
            let client = cluster.connect(backup, Port::Node);
            assert_eq!(cluster.call(client, "GET k"), "$1 v", "{}", cluster.story());
            restart_alone(&mut cluster, backup);
        }
    }
}

/// The last write of a partition that was split meanwhile stands in its log alone: a full disk has refused to write it as the
/// parts'. Then each part is copied in full: what the log has of the whole is no part of that, whatever is said of it later.
/// Rule `tombstones reach down to the watermark`.
#[test]
fn full_copy_of_a_part_replaces_what_the_log_has_of_its_whole() {
    for attributes in [replicated(2), on_disk(2)] {
        copy_parts(attributes);
    }
}

#[track_caller]
fn copy_parts(attributes: TableAttributes) {
    let mut cluster = Cluster::new(2, attributes);
    let (primary, backup) = cluster.places_of("k0");
    let backup = backup.unwrap();
    let whole = cluster.group_of("k0").1;
    let all: Vec<String> = (0..40).map(|at| format!("k{at}")).collect();
    let mut keys = all.clone();
    keys.retain(|key| cluster.group_of(key).1 == whole);
    let client = cluster.connect(primary, Port::Node);
    cluster.inform(backup, false);
    let pairs: Vec<String> = keys.iter().map(|key| format!("{key} v")).collect();
    assert_eq!(
        cluster.call(client, &format!("MSET {}", pairs.join(" "))),
        "+OK"
    );
    cluster.split("k0");
    cluster.settle();
    assert_eq!(cluster.partitions(), (5, 0));
    cluster.is_deciding = false;
    // A sealed segment of values on the disk is read by its hint file.
    cluster.roll(backup);
    cluster.turn();
    cluster.kill(backup);
    cluster.inform(backup, true);
    cluster.stick(backup, true);
    cluster.cut(primary, backup);
    cluster.restart(backup);
    cluster.is_deciding = true;
    let by_part = |key: &String| (cluster.group_of(key).1, key.clone());
    let parts: BTreeMap<_, _> = all.iter().map(by_part).collect();
    assert_eq!(parts.len(), 5);
    for key in parts.values() {
        cluster.demote(key, &[primary], &[backup]);
    }
    cluster.settle();
    for command in ["FLUSHDB", "SET k0 new"] {
        assert_eq!(cluster.call(client, command), "+OK");
    }
    cluster.mend();
    cluster.settle();
    cluster.refuse(backup);
    cluster.stick(backup, false);
    cluster.settle();
    assert!(
        keys.iter()
            .all(|key| cluster.places_of(key) == (primary, Some(backup)))
    );
    restart_alone(&mut cluster, backup);
    let client = cluster.connect(backup, Port::Node);
    for key in &keys {
        let value = if key == "k0" { "$3 new" } else { "$-1" };
        assert_eq!(cluster.call(client, &format!("GET {key}")), value, "{key}");
    }
}

/// A partition was split while its brick was away, and one part given to others. Its disk is full when it comes back.
/// Rule `forced recovery begins a generation`.
#[test]
fn end_of_a_part_that_is_elsewhere_is_written_when_there_is_room() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k0");
    let backup = backup.unwrap();
    let whole = cluster.group_of("k0").1;
    let mut keys: Vec<String> = (0..40).map(|at| format!("k{at}")).collect();
    keys.retain(|key| cluster.group_of(key).1 == whole);
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k0 v"), "+OK");
    cluster.inform(backup, false);
    cluster.split("k0");
    cluster.settle();
    let here = cluster.group_of("k0").1;
    keys.retain(|key| cluster.group_of(key).1 != here);
    let elsewhere = cluster.group_of(&keys[0]).1;
    cluster.kill_at_once([backup]);
    cluster.regroup(&keys[0], &[primary]);
    cluster.settle();
    cluster.is_deciding = false;
    cluster.inform(backup, true);
    cluster.stick(backup, true);
    cluster.restart(backup);
    cluster.refuse(backup);
    cluster.stick(backup, false);
    cluster.settle();
    let records = cluster.records(backup);
    let kinds = |partition| {
        let its = records.iter().filter(move |it| it.0.partition == partition);
        its.map(|it| it.0.kind).collect::<Vec<_>>()
    };
    assert!(kinds(here).contains(&Kind::Baseline), "{:?}", kinds(here));
    assert_eq!(kinds(elsewhere), [Kind::Drop]);
}

/// The end of a partition that was split meanwhile, which a full disk refuses at first, when a part of it is here again.
/// Rule `forced recovery begins a generation`.
#[test]
fn late_end_of_a_whole_does_not_take_a_part_that_came_back() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k0");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k0 v"), "+OK");
    cluster.kill_at_once([backup]);
    cluster.regroup("k0", &[primary]);
    cluster.settle();
    cluster.split("k0");
    cluster.settle();
    assert_eq!(cluster.partitions(), (5, 0));
    cluster.is_deciding = false;
    cluster.stick(backup, true);
    cluster.restart(backup);
    cluster.refuse(backup);
    cluster.stick(backup, false);
    // The copy is here before the end of the whole is written again.
    cluster.set_learners("k0", &[backup]);
    (0..30).for_each(|_| cluster.turn());
    cluster.is_deciding = true;
    cluster.settle();
    cluster.settle();
    let part = cluster.group_of("k0").2;
    assert_eq!(part.in_sync().count(), 2, "{}", cluster.story());
    restart_alone(&mut cluster, backup);
    let client = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(client, "GET k0"), "$1 v");
}

/// The parts of a partition claim what it had, which full disks refuse at first.
/// Rule `log summaries begin at a baseline`.
#[test]
fn parts_are_claimed_when_there_is_room_again() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.is_deciding = false;
    cluster.split("k");
    cluster.settle();
    for node in 0..2 {
        cluster.stick(node, true);
    }
    cluster.decide();
    for _ in 0..3 {
        cluster.turn();
        for node in 0..2 {
            cluster.refuse(node);
        }
    }
    for node in 0..2 {
        cluster.stick(node, false);
    }
    cluster.is_deciding = true;
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
    for alone in 0..2 {
        restart_alone(&mut cluster, alone);
        let client = cluster.connect(alone, Port::Node);
        assert_eq!(cluster.call(client, "GET k"), "$1 v", "{}", cluster.story());
        cluster.restart(1 - alone);
        assert!(cluster.is_whole(2), "{}", cluster.story());
    }
}

/// Rule `a restart cuts nothing`.
#[test]
fn partition_of_which_no_log_has_anything_begins() {
    let attributes = [
        replicated(1),
        replicated(2),
        on_disk(2),
        TableAttributes {
            durability: Durability::Fsync,
            ..replicated(2)
        },
    ];
    for attributes in attributes {
        let mut cluster = Cluster::unborn(2, attributes);
        for at in [0, 1] {
            assert_eq!(cluster.records(at).len(), 0);
        }
        cluster.kill_at_once(0..2);
        cluster.restart(0);
        cluster.restart(1);
        let client = cluster.connect(0, Port::Node);
        for key in 0..8 {
            let reply = cluster.call(client, &format!("SET k{key} v"));
            assert_eq!(reply, "+OK", "{}", cluster.story());
        }
    }
}

/// Rule `a restart cuts nothing`.
#[test]
fn only_replica_of_a_partition_leads_again() {
    let mut cluster = Cluster::new(2, replicated(1));
    let client = cluster.connect(0, Port::Node);
    for key in 0..8 {
        assert_eq!(cluster.call(client, &format!("SET k{key} v")), "+OK");
    }
    for at in [0, 1] {
        cluster.kill(at);
        cluster.restart(at);
    }
    let client = cluster.connect(0, Port::Node);
    for key in 0..8 {
        let reply = cluster.call(client, &format!("GET k{key}"));
        assert_eq!(reply, "$1 v", "{}", cluster.story());
    }
}

/// Rule `a learner begins with what is pending`.
#[test]
fn copy_of_a_value_that_is_in_the_log_alone_is_none_of_a_record_that_was_cut() {
    for attributes in [replicated(2), on_disk(2)] {
        let mut cluster = Cluster::new(3, attributes);
        let (first, second, third) = places(&cluster, "k");
        let client = cluster.connect(first, Port::Node);
        assert_eq!(cluster.call(client, "SET k old"), "+OK");
        // Writes that nobody else hears of; the number of the last is used again for the same key, since the
        // first records of the next two views take those before.
        cluster.mute(first, true);
        cluster.send(client, "SET k lost\nSET k lost\nSET k gone");
        cluster.turn();
        cluster.demote("k", &[second], &[first]);
        cluster.settle();
        cluster.break_links(first);
        cluster.settle();
        let client = cluster.connect(second, Port::Node);
        assert_eq!(cluster.call(client, "SET k kept"), "+OK");
        cluster.settle();
        assert_eq!(
            cluster.places_of("k"),
            (second, Some(first)),
            "{}",
            cluster.story()
        );
        let ops = |value: &[u8]| {
            let mut records = cluster.records(first).into_iter();
            records.find(|it| it.2 == value).map(|it| it.0.op)
        };
        assert_eq!(ops(b"gone"), ops(b"kept"));
        // Whoever has both copies to one who has nothing.
        cluster.regroup("k", &[first, second]);
        cluster.settle();
        cluster.kill(second);
        cluster.settle();
        cluster.set_learners("k", &[third]);
        cluster.settle();
        assert_eq!(
            cluster.places_of("k"),
            (first, Some(third)),
            "{}",
            cluster.story()
        );
        cluster.kill(first);
        cluster.settle();
        let client = cluster.connect(third, Port::Node);
        assert_eq!(cluster.call(client, "GET k"), "$4 kept");
    }
}

/// Rule `forced recovery begins a generation`.
#[test]
fn what_was_moved_away_does_not_come_back() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, away) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    for command in ["SET k old", "SET {k}gone old"] {
        assert_eq!(cluster.call(client, command), "+OK");
    }
    cluster.regroup("k", &[primary, backup]);
    cluster.settle();
    let records = cluster.records(away);
    assert!(records.iter().any(|it| it.0.kind == Kind::Drop));
    assert_eq!(cluster.call(client, "DEL {k}gone"), ":1");
    // It is to have the partition again, and is killed before it has learned anything.
    cluster.is_deciding = false;
    cluster.kill(away);
    cluster.hold_reads(primary, true);
    cluster.restart(away);
    cluster.set_learners("k", &[away]);
    cluster.kill(away);
    cluster.restart(away);
    assert_eq!(cluster.keys_at(away, "k"), Vec::<String>::new());
    // With a beginning that it has not got it would be given too little.
    cluster.is_deciding = true;
    cluster.hold_reads(primary, false);
    cluster.set_learners("k", &[away]);
    cluster.settle();
    assert_eq!(cluster.keys_at(away, "k"), ["k"], "{}", cluster.story());
}

/// Rule `forced recovery begins a generation`.
#[test]
fn what_was_given_to_others_while_it_was_down_does_not_come_back() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, _, away) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    // Its log is read by a catalog that does not name it any more.
    cluster.kill(away);
    cluster.settle();
    cluster.is_deciding = false;
    cluster.restart(away);
    let removals = |cluster: &Cluster| {
        let records = cluster.records(away);
        records.iter().filter(|it| it.0.kind == Kind::Drop).count()
    };
    let ended = removals(&cluster);
    assert!(ended > 0);
    // It is to have the partition again, and is killed before it has learned anything.
    cluster.hold_reads(primary, true);
    cluster.set_learners("k", &[away]);
    cluster.kill(away);
    cluster.restart(away);
    assert_eq!(cluster.keys_at(away, "k"), Vec::<String>::new());
    assert_eq!(removals(&cluster), ended, "what is ended is ended once");
}

/// Rule `pending records are live`.
#[test]
fn segment_with_a_write_that_waits_for_votes_stays() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    // Of a key that is not there before: nothing else in the segment is worth keeping.
    cluster.stick(backup, true);
    cluster.send(client, "SET k new");
    cluster.turn();
    cluster.roll(primary);
    for _ in 0..8 {
        cluster.tick(Duration::from_millis(100));
        cluster.turn();
    }
    assert_eq!(cluster.segments(primary), [1, 2]);
    cluster.stick(backup, false);
    clean(&mut cluster);
    assert_eq!(cluster.receive(client), "+OK");
    assert_eq!(cluster.segments(primary), [2], "nothing waits any more");
    restart_alone(&mut cluster, primary);
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "GET k"), "$3 new");
}

/// Rule `pending records are live`.
#[test]
fn moved_record_is_no_cut() {
    for attributes in [replicated(2), on_disk(2)] {
        let mut cluster = Cluster::new(2, attributes);
        let (primary, _) = cluster.places_of("k");
        let client = cluster.connect(primary, Port::Node);
        assert_eq!(cluster.call(client, "SET k 1"), "+OK");
        // Of what was written together each key moves by itself.
        assert_eq!(cluster.call(client, "MSET {k}a 1 {k}b 1 {k}c 1"), "+OK");
        cluster.roll(primary);
        for command in ["SET {k}b 2", "SET {k}d 2"] {
            assert_eq!(cluster.call(client, command), "+OK");
        }
        assert_eq!(cluster.call(client, "DEL {k}c"), ":1");
        clean(&mut cluster);
        assert_eq!(cluster.segments(primary), [2]);
        restart_alone(&mut cluster, primary);
        assert_eq!(cluster.places_of("k").0, primary, "{}", cluster.story());
        let client = cluster.connect(primary, Port::Node);
        let all = cluster.call(client, "MGET k {k}a {k}b {k}c {k}d");
        assert_eq!(all, "*5 $1 1 $1 1 $1 2 $-1 $1 2");
        // What it knows to be committed is claimed: the other one gets the rest by difference.
        cluster.restart(1 - primary);
        assert!(cluster.is_whole(2), "{}", cluster.story());
    }
}

/// Rule `pending records are live`.
#[test]
fn nothing_is_cleaned_while_it_is_copied() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
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
    cluster.roll(primary);
    clean(&mut cluster);
    assert_eq!(cluster.chunks(primary), 1, "the cleaner waits");
    cluster.hold_reads(primary, false);
    clean(&mut cluster);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    assert_eq!(cluster.segments(primary), [2], "and goes on");
    assert_eq!(cluster.keys_at(backup, "k").len(), 10);
}

/// Rule `reads check what they got`.
#[test]
fn value_that_is_not_where_it_was_is_looked_for_anew() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, _) = cluster.places_of("k");
    let writer = cluster.connect(primary, Port::Node);
    let reader = cluster.connect(primary, Port::Brick);
    assert_eq!(cluster.call(writer, "SET k old"), "+OK");
    cluster.hold_reads(primary, true);
    cluster.send(reader, "STRLEN k\nGET k");
    cluster.turn_until(|it| it.reads(primary) > 0);
    // The key is gone before its value is there.
    cluster.send(writer, "FLUSHALL");
    assert_eq!(reply(&mut cluster, writer), "+OK");
    cluster.fail_reads(primary);
    assert_eq!(told_meanwhile(&mut cluster, reader), ":3 $-1");
}

/// Rule `reads check what they got`.
#[test]
fn value_that_cannot_be_read_where_it_is_is_an_error() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.hold_reads(primary, true);
    cluster.send(client, "GET k");
    cluster.turn_until(|it| it.reads(primary) > 0);
    cluster.fail_reads(primary);
    cluster.turn();
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-DAMAGED"), "{reply}");
}

#[test]
fn primary_whose_log_is_damaged_copies_what_it_has_in_memory() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    for command in ["SET k 1", "SET {k}gone 1", "DEL {k}gone"] {
        cluster.call(client, command);
    }
    cluster.damage(primary, 1);
    cluster.roll(primary);
    cluster.kill(backup);
    cluster.settle();
    cluster.restart(backup);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    assert_eq!(cluster.keys_at(backup, "k"), ["k"], "{}", cluster.story());
}

/// What it lacked came by difference, from nothing on: the log has all of it behind the damage.
/// Rule `log summaries begin at a baseline`.
#[test]
fn damage_is_over_when_all_that_it_took_has_come_again() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k 1"), "+OK");
    cluster.roll(backup);
    cluster.damage(backup, 1);
    cluster.kill(backup);
    cluster.settle();
    cluster.restart(backup);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    cluster.regroup("k", &[backup]);
    cluster.settle();
    cluster.kill(primary);
    for _ in 0..2 {
        restart_alone(&mut cluster, backup);
        let client = cluster.connect(backup, Port::Node);
        assert_eq!(cluster.call(client, "GET k"), "$1 1", "{}", cluster.story());
    }
}

/// What it lacked came from the other replica: nobody has to look after it any more, and its segment goes.
#[test]
fn damage_heals_when_other_replicas_are_whole() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k 1"), "+OK");
    cluster.roll(backup);
    cluster.damage(backup, 1);
    cluster.kill(backup);
    cluster.settle();
    cluster.restart(backup);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    for second in 0.. {
        cluster.tick(Duration::from_secs(1));
        cluster.settle();
        let has_healed = cluster.brick(backup).core.segments.health.has_healed();
        if has_healed && !cluster.segments(backup).contains(&1) {
            break;
        }
        assert!(second < 60, "{}", cluster.story());
    }
    assert_eq!(cluster.brick(backup).core.stats().log.healed().len(), 1);
    assert_eq!(cluster.keys_at(backup, "k"), ["k"]);
}

/// Nobody else has what was lost: the file stays as it is, and may be mended.
#[test]
fn damage_of_the_only_copy_does_not_heal() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, "SET k 1"), "+OK");
    cluster.roll(0);
    cluster.damage(0, 1);
    cluster.kill(0);
    cluster.restart(0);
    for _ in 0..5 {
        cluster.tick(Duration::from_secs(1));
        cluster.settle();
    }
    assert!(!cluster.brick(0).core.segments.health.has_healed());
    assert!(cluster.segments(0).contains(&1));
    let client = cluster.connect(0, Port::Node);
    let reply = cluster.call(client, "GET k");
    assert!(reply.starts_with("-DAMAGED"), "{reply}");
}

#[test]
fn primary_that_cannot_read_what_it_has_to_copy_hands_over() {
    let mut cluster = Cluster::new(3, on_disk(3));
    let (primary, _, away) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k 1"), "+OK");
    cluster.damage(primary, 1);
    cluster.roll(primary);
    // From here on the value is in the log alone.
    assert_eq!(cluster.call(client, "SET {k}other 2"), "+OK");
    cluster.settle();
    cluster.kill(away);
    cluster.settle();
    cluster.restart(away);
    assert_ne!(cluster.places_of("k").0, primary, "{}", cluster.story());
    let client = cluster.connect(away, Port::Node);
    assert_eq!(cluster.call(client, "GET k"), "$1 1");
}
