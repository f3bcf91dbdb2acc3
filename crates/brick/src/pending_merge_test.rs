use crate::accepted::Port;
use crate::cluster_harness::tables::{
    catches_up_with, check, delete, failure_ends, fill, kinds, merge, replicated, restart_all,
    split, writes_wait,
};
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::{Durability, TableAttributes};
use std::time::Duration;

#[test]
fn every_key_is_there_after_a_merge_and_after_the_next_split() {
    for attributes in kinds() {
        let mut cluster = Cluster::new(3, attributes);
        let clients = [0, 1, 2].map(|host| cluster.connect(host, Port::Node));
        fill(&mut cluster, clients[0], 0..60);
        split(&mut cluster, &["key1", "key2", "key1"]);
        for key in 0..5 {
            cluster.call(clients[0], &format!("DEL key{key}"));
        }
        fill(&mut cluster, clients[1], 50..70);
        merge(&mut cluster, &["key1", "key1"]);
        for client in clients {
            check(&mut cluster, client, 5..70);
            assert_eq!(cluster.call(client, "DBSIZE"), ":65");
        }
        fill(&mut cluster, clients[1], 0..80);
        split(&mut cluster, &["key1"]);
        check(&mut cluster, clients[2], 0..80);
        fill(&mut cluster, clients[2], 0..90);
        merge(&mut cluster, &["key1", "key2"]);
        check(&mut cluster, clients[0], 0..90);
        assert_eq!(cluster.call(clients[0], "DBSIZE"), ":90");
    }
}

#[test]
fn whole_is_led_on_by_who_is_left() {
    for attributes in kinds().into_iter().filter(|it| it.replicas > 1) {
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2"]);
        fill(&mut cluster, client, 20..50);
        merge(&mut cluster, &["key1", "key2"]);
        cluster.kill(2);
        check(&mut cluster, client, 0..50);
        fill(&mut cluster, client, 40..60);
        check(&mut cluster, client, 0..60);
    }
}

#[test]
fn cluster_that_was_killed_as_a_whole_finds_wholes_in_logs_of_halves() {
    for attributes in kinds() {
        if attributes.durability == Durability::Memory {
            continue;
        }
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2", "key1"]);
        fill(&mut cluster, client, 20..60);
        delete(&mut cluster, client, 30..35);
        merge(&mut cluster, &["key1", "key1"]);
        delete(&mut cluster, client, 35..40);
        for _ in 0..2 {
            let client = restart_all(&mut cluster);
            check(&mut cluster, client, 0..30);
            check(&mut cluster, client, 40..60);
            assert_eq!(cluster.call(client, "DBSIZE"), ":50", "{attributes:?}");
        }
        let client = cluster.connect(2, Port::Node);
        merge(&mut cluster, &["key2"]);
        split(&mut cluster, &["key1"]);
        fill(&mut cluster, client, 0..60);
        let client = restart_all(&mut cluster);
        check(&mut cluster, client, 0..60);
    }
}

/// Of a half's records before the last ones the cleaner says what the whole claims, and nothing of the half: what is left of it
/// has committed all the same (rule `splits and merges are bound to views`).
#[test]
fn last_writes_of_halves_outlive_the_cleaning_of_those_before_them() {
    let is_meant = |it: &TableAttributes| it.replicas > 1 && it.durability != Durability::Memory;
    for attributes in kinds().into_iter().filter(is_meant) {
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..20);
        split(&mut cluster, &["key1"]);
        fill(&mut cluster, client, 0..20);
        // The first segment has their records, the second what they claim; neither is cleaned before the merge.
        for _ in 0..2 {
            for at in 0..3 {
                cluster.hold_reads(at, true);
                cluster.roll(at);
            }
            cluster.settle();
        }
        for key in 0..20 {
            assert_eq!(cluster.call(client, &format!("SET key{key} last")), "+OK");
        }
        merge(&mut cluster, &["key1"]);
        for at in 0..3 {
            assert_eq!(cluster.segments(at), [1, 2, 3]);
            cluster.hold_reads(at, false);
        }
        cluster.turn_until(|cluster| {
            cluster.tick(Duration::from_millis(100));
            (0..3).all(|at| cluster.segments(at).iter().all(|segment| *segment > 2))
        });
        let client = restart_all(&mut cluster);
        for key in 0..20 {
            let value = cluster.call(client, &format!("GET key{key}"));
            assert_eq!(value, "$4 last", "key{key}, {attributes:?}");
        }
    }
}

/// What one half was cleared of is no concern of the other one's keys: neither at once nor after a restart.
#[test]
fn clear_of_one_half_removes_nothing_of_the_other() {
    for attributes in kinds() {
        let is_logged = attributes.durability != Durability::Memory;
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2", "key1"]);
        fill(&mut cluster, client, 0..20);
        assert_eq!(cluster.call(client, "FLUSHALL"), "+OK");
        // Each half has another op now: what is low in one is high in the other.
        for _ in 0..30 {
            fill(&mut cluster, client, 1..2);
        }
        fill(&mut cluster, client, 10..30);
        merge(&mut cluster, &["key1", "key1"]);
        fill(&mut cluster, client, 25..35);
        let count = cluster.call(client, "DBSIZE");
        assert_eq!(count, ":26", "{attributes:?}");
        if is_logged {
            for _ in 0..2 {
                let client = restart_all(&mut cluster);
                check(&mut cluster, client, 10..35);
                assert_eq!(cluster.call(client, "DBSIZE"), count, "{attributes:?}");
            }
        }
    }
}

#[test]
fn node_that_was_away_while_partitions_were_merged_catches_up_with_the_whole() {
    for attributes in kinds().into_iter().filter(|it| it.replicas == 3) {
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2"]);
        catches_up_with(&mut cluster, client, merge, &["key1"]);
    }
}

/// Rule `requests are executed once`: a request that was executed by a half is known to the whole, wherever it is
/// asked again.
#[test]
fn request_that_was_executed_by_a_half_is_known_to_the_whole() {
    for attributes in kinds() {
        let is_logged = attributes.durability != Durability::Memory;
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        let clock = cluster.call(client, "REQUEST NOW");
        let base: u64 = clock.trim_start_matches(':').parse().unwrap();
        let ask = |cluster: &mut Cluster, client: Client, key: u64, attempt: &str| {
            let request = format!("REQUEST 7 {} {attempt} INCR n{key}", base + key);
            assert_eq!(cluster.call(client, &request), ":1", "n{key}");
        };
        (0..10).for_each(|key| ask(&mut cluster, client, key, "FIRST"));
        split(&mut cluster, &["n1", "n2", "n1"]);
        (10..20).for_each(|key| ask(&mut cluster, client, key, "FIRST"));
        merge(&mut cluster, &["n1", "n1"]);
        (0..20).for_each(|key| ask(&mut cluster, client, key, "AGAIN"));
        if is_logged {
            let client = restart_all(&mut cluster);
            (0..20).for_each(|key| ask(&mut cluster, client, key, "AGAIN"));
        }
    }
}

#[test]
fn writes_wait_for_a_merge_and_none_is_lost() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..10);
    split(&mut cluster, &["key1"]);
    writes_wait(&mut cluster, client, Cluster::merge);
}

#[test]
fn siblings_that_different_bricks_lead_are_led_by_one_before_they_rest() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..20);
    split(&mut cluster, &["key1"]);
    let (primary, backup) = cluster.places_of("key1");
    let third = 3 - primary - backup.unwrap();
    cluster.regroup("key1", &[backup.unwrap(), third, primary]);
    cluster.settle();
    merge(&mut cluster, &["key1"]);
    check(&mut cluster, client, 0..20);
    fill(&mut cluster, client, 0..30);
    let client = restart_all(&mut cluster);
    check(&mut cluster, client, 0..30);
}

#[test]
fn failure_while_siblings_come_to_rest_ends_the_merge() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..20);
    split(&mut cluster, &["key1"]);
    failure_ends(&mut cluster, Cluster::merge, merge);
}

/// A brick that stopped when the siblings were at rest, and was told of nothing that came after, has both in its log to
/// their ends: it goes on from there without a full copy of what it has.
#[test]
fn brick_that_never_put_the_halves_together_summaries_the_whole_by_their_ends() {
    for attributes in kinds() {
        if attributes.durability == Durability::Memory || attributes.replicas < 3 {
            continue;
        }
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1"]);
        fill(&mut cluster, client, 30..50);
        cluster.is_deciding = false;
        cluster.merge("key1");
        cluster.settle();
        cluster.kill_at_once(0..3);
        // The maps changed, and nobody was there to hear of it.
        cluster.finish_merges();
        cluster.is_deciding = true;
        for node in 0..3 {
            cluster.restart(node);
        }
        assert_eq!(cluster.partitions().1, 0);
        let client = cluster.connect(1, Port::Node);
        check(&mut cluster, client, 0..50);
        assert_eq!(cluster.call(client, "DBSIZE"), ":50");
        fill(&mut cluster, client, 0..60);
        let client = restart_all(&mut cluster);
        check(&mut cluster, client, 0..60);
    }
}

/// The whole has nothing but the claim that it holds what its halves had.
#[test]
fn ops_of_halves_that_are_unreadable_are_not_given_again() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    split(&mut cluster, &["key1"]);
    for _ in 0..200 {
        fill(&mut cluster, client, 1..2);
    }
    // More ops than there are records: the cleaner has removed what was overwritten.
    cluster.roll(0);
    for _ in 0..4 {
        cluster.settle();
    }
    assert_eq!(cluster.segments(0), [2]);
    merge(&mut cluster, &["key1"]);
    cluster.roll(0);
    cluster.turn();
    let whole = cluster.partition_of("key1");
    let upto = cluster.brick(0).core.tables.merged_upto(whole);
    cluster.damage(0, 2);
    cluster.kill(0);
    cluster.restart(0);
    let client = cluster.connect(0, Port::Node);
    let before = cluster.records(0).len();
    assert_eq!(cluster.call(client, "SET key1 new"), "+OK");
    let records = cluster.records(0);
    let written = records[before..].iter().find(|it| it.1 == b"key1");
    assert!(written.map(|it| it.0.op) > upto, "{written:?}");
}
