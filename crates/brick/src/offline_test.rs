use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client, Cluster};
use crate::effect::{ControlRequest, Effect};
use crate::tables::Unloaded;
use brickyard_types::record::Kind;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::collections::BTreeSet;
use std::time::Duration;

/// Alone and replicated, in memory and not, synced and not.
fn all_kinds() -> Vec<TableAttributes> {
    let on_disk = TableAttributes {
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..replicated(2)
    };
    let synced = TableAttributes {
        durability: Durability::Fsync,
        ..replicated(2)
    };
    vec![replicated(1), replicated(2), replicated(3), on_disk, synced]
}

/// Keys that are written, overwritten and deleted.
fn fill(cluster: &mut Cluster, client: Client) {
    for key in 0..24 {
        assert_eq!(cluster.call(client, &format!("SET key{key} old")), "+OK");
    }
    for key in 0..16 {
        assert_eq!(cluster.call(client, &format!("SET key{key} v{key}")), "+OK");
    }
    for key in 16..24 {
        assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
    }
}

#[track_caller]
fn check(cluster: &mut Cluster, client: Client) {
    for key in 0..24 {
        let expected = match key {
            0..16 => format!("${} v{key}", key.to_string().len() + 1),
            _ => "$-1".to_owned(),
        };
        let got = cluster.call(client, &format!("GET key{key}"));
        assert_eq!(got, expected, "key{key}: {}", cluster.story());
    }
    assert_eq!(cluster.call(client, "DBSIZE"), ":16");
}

/// Of every key and its deletion, what the logs of all nodes have.
fn written(cluster: &Cluster, nodes: usize) -> Vec<usize> {
    let is_data = |kind: Kind| matches!(kind, Kind::Put | Kind::Delete);
    let of = |at| {
        let records = cluster.records(at);
        records.iter().filter(|it| is_data(it.0.kind)).count()
    };
    (0..nodes).map(of).collect()
}

fn has_memory(cluster: &mut Cluster, at: usize) -> bool {
    let brick = cluster.brick(at);
    let mut states = brick.core.tables.iter();
    let state = states.find(|state| state.name == "t").unwrap();
    state.partitions.iter().any(Option::is_some) || state.table.memory_used() > 4096
}

#[test]
fn table_goes_out_of_memory_and_comes_back_without_copies() {
    for attributes in all_kinds() {
        let copies = usize::from(attributes.replicas);
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client);
        let before = written(&cluster, 3);
        cluster.take_offline();
        for at in 0..3 {
            assert!(!has_memory(&mut cluster, at), "node {at}");
        }
        let refusal = "-OFFLINE table 't' is offline, and nothing was executed; TABLE ONLINE t brings it back";
        for command in [
            "GET key1",
            "SET key1 x",
            "DBSIZE",
            "SCAN 0",
            "FLUSHALL",
            "MGET a b c",
        ] {
            let refused = cluster.call(client, command);
            assert!(refused.contains(refusal), "{command}: {refused}");
        }
        cluster.bring_online();
        assert!(cluster.is_online(), "{}", cluster.story());
        check(&mut cluster, client);
        cluster.settle();
        assert!(cluster.is_whole(copies), "{}", cluster.story());
        assert_eq!(written(&cluster, 3), before, "nothing was copied");
        assert_eq!(cluster.call(client, "SET key1 later"), "+OK");
        assert_eq!(cluster.call(client, "GET key1"), "$5 later");
    }
}

#[test]
fn restarts_meanwhile_read_nothing_and_lose_nothing() {
    for attributes in all_kinds() {
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client);
        let before = written(&cluster, 3);
        cluster.take_offline();
        for at in [1, 2] {
            cluster.kill(at);
            cluster.restart(at);
            assert!(!has_memory(&mut cluster, at), "node {at}");
        }
        cluster.bring_online();
        assert!(cluster.is_online(), "{}", cluster.story());
        check(&mut cluster, client);
        cluster.settle();
        assert_eq!(written(&cluster, 3), before, "nothing was copied");
    }
}

/// The node has started again when its table was coming back already: it has read its log by then.
#[test]
fn restart_while_a_table_comes_back_counts_as_having_read() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.take_offline();
    cluster.kill(1);
    cluster.hold_reads(0, true);
    cluster.bring_online();
    assert!(!cluster.is_online());
    cluster.restart(1);
    cluster.hold_reads(0, false);
    cluster.settle();
    assert!(cluster.is_online(), "{}", cluster.story());
    check(&mut cluster, client);
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
}

#[test]
fn cleaner_keeps_away_from_what_is_offline_and_comes_back_to_it() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    let clean = |cluster: &mut Cluster| (0..12).for_each(|_| cluster.settle());
    cluster.take_offline();
    cluster.roll(0);
    cluster.roll(1);
    clean(&mut cluster);
    assert_eq!(cluster.segments(0), [1, 2]);
    // So it is after a restart, which reads nothing of it.
    cluster.kill(1);
    cluster.restart(1);
    clean(&mut cluster);
    assert_eq!(cluster.segments(1), [1, 2]);
    cluster.bring_online();
    check(&mut cluster, client);
    // What is dead of it can go now.
    cluster.roll(0);
    clean(&mut cluster);
    assert!(
        !cluster.segments(0).contains(&1),
        "{:?}",
        cluster.segments(0)
    );
    check(&mut cluster, client);
}

#[test]
fn pass_of_the_cleaner_that_is_under_way_is_given_up() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.hold_reads(0, true);
    cluster.roll(0);
    cluster.turn_until(|cluster| {
        cluster.tick(Duration::from_millis(100));
        cluster.chunks(0) > 0
    });
    cluster.take_offline();
    cluster.hold_reads(0, false);
    for _ in 0..12 {
        cluster.settle();
    }
    assert_eq!(cluster.segments(0), [1, 2]);
    cluster.bring_online();
    check(&mut cluster, client);
}

#[test]
fn table_comes_back_without_a_member_that_is_away() {
    let mut cluster = Cluster::new(3, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.take_offline();
    cluster.kill(2);
    cluster.bring_online();
    assert!(cluster.is_online(), "{}", cluster.story());
    check(&mut cluster, client);
    cluster.restart(2);
    check(&mut cluster, client);
}

#[test]
fn drop_of_an_offline_table_frees_its_log() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.take_offline();
    cluster.roll(0);
    assert_eq!(cluster.call(client, "TABLE DROP t CONFIRM t"), "+OK");
    for _ in 0..12 {
        cluster.settle();
    }
    assert_eq!(cluster.segments(0), [2]);
}

#[test]
fn table_that_goes_again_while_it_comes_back_is_read_anew() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.take_offline();
    for at in [0, 1] {
        cluster.hold_reads(at, true);
    }
    cluster.bring_online();
    assert_eq!((cluster.chunks(0), cluster.chunks(1)), (1, 1));
    cluster.take_offline();
    cluster.bring_online();
    for at in [0, 1] {
        cluster.hold_reads(at, false);
    }
    cluster.settle();
    assert!(cluster.is_online(), "{}", cluster.story());
    check(&mut cluster, client);
}

/// Rule `an old primary knows no outcome`: what was under way has its answer, or nobody knows.
#[test]
fn write_under_way_is_not_said_to_be_refused() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    cluster.mute(backup.unwrap(), true);
    cluster.send(client, "SET k new");
    cluster.turn();
    cluster.turn();
    cluster.take_offline();
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    cluster.mute(backup.unwrap(), false);
    cluster.bring_online();
    // It is in both logs, or in the one that leads.
    assert_eq!(cluster.call(client, "GET k"), "$3 new");
}

#[test]
fn writes_on_their_way_to_the_log_are_there_when_the_table_comes_back() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    cluster.stick(0, true);
    cluster.send(client, "SET a 1\nSET b 2\nSET c 3");
    cluster.turn();
    cluster.take_offline();
    cluster.stick(0, false);
    cluster.settle();
    cluster.bring_online();
    let client = cluster.connect(0, Port::Node);
    for (key, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
        assert_eq!(
            cluster.call(client, &format!("GET {key}")),
            format!("$1 {value}")
        );
    }
}

/// Rules `a restart cuts nothing` and `acknowledged views are remembered`: who was away when the table went, and when
/// it came back, leads nothing by what it has in memory.
#[test]
fn primary_that_has_heard_of_nothing_serves_no_more_writes() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    cluster.inform(primary, false);
    cluster.take_offline();
    cluster.send(client, "SET k unheard");
    cluster.settle();
    cluster.bring_online();
    assert!(!cluster.is_online(), "it has not said what it has");
    cluster.inform(primary, true);
    cluster.settle();
    assert!(cluster.is_online(), "{}", cluster.story());
    let reply = cluster.receive(client);
    assert!(
        reply.starts_with("-UNKNOWNRESULT") || reply == "+OK",
        "{reply}"
    );
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
    let value = cluster.call(client, "GET k");
    assert!(
        ["$3 old", "$7 unheard"].contains(&value.as_str()),
        "{value}"
    );
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn log_that_cannot_be_read_leads_nothing_and_is_filled_anew() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    cluster.take_offline();
    cluster.damage(0, 1);
    cluster.roll(0);
    cluster.bring_online();
    assert!(cluster.is_online(), "{}", cluster.story());
    assert_eq!(cluster.places_of("k").0, 1);
    check(&mut cluster, client);
    cluster.settle();
    assert!(cluster.is_whole(2), "{}", cluster.story());
}

#[test]
fn table_of_split_and_merged_partitions_comes_back() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    for key in 0..12 {
        assert_eq!(cluster.call(client, &format!("SET key{key} old")), "+OK");
    }
    cluster.split("key1");
    cluster.settle();
    assert_eq!(cluster.partitions(), (5, 0));
    fill(&mut cluster, client);
    cluster.merge("key1");
    cluster.settle();
    assert_eq!(cluster.partitions(), (4, 0));
    for _ in 0..2 {
        cluster.take_offline();
        cluster.bring_online();
        assert!(cluster.is_online(), "{}", cluster.story());
        check(&mut cluster, client);
        cluster.settle();
        assert!(cluster.is_whole(2), "{}", cluster.story());
    }
}

#[test]
fn keys_whose_time_came_meanwhile_are_gone() {
    let mut cluster = Cluster::new(2, replicated(2));
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, "SET short 1 PX 2000"), "+OK");
    assert_eq!(cluster.call(client, "SET long 1 EX 1000"), "+OK");
    cluster.take_offline();
    cluster.tick(Duration::from_secs(5));
    cluster.bring_online();
    assert_eq!(cluster.call(client, "GET short"), "$-1");
    assert_eq!(cluster.call(client, "GET long"), "$1 1");
}

/// The table was offline and is coming back: the log is read, and nothing of the table has joined anything yet.
fn read_back(cluster: &mut Cluster) {
    cluster.take_offline();
    cluster.hold_reads(0, true);
    cluster.bring_online();
    cluster.hold_reads(0, false);
    cluster.turn_until(|cluster| cluster.chunks(0) == 0);
    let state = cluster
        .brick(0)
        .core
        .tables
        .iter()
        .find(|it| it.name == "t");
    let state = state.unwrap();
    assert_eq!(state.availability.unloaded, Unloaded::Reading);
    assert!(state.partitions.iter().all(Option::is_some), "{state:?}");
}

/// Whoever told what it has may lead at once, and here deletions are yet to be looked through.
#[test]
fn nothing_is_told_of_a_table_before_it_is_in_memory() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    read_back(&mut cluster);
    cluster.tick(Duration::from_secs(1));
    let mut effects = cluster.brick(0).core.effects.iter();
    let is_told = effects.any(|effect| match effect {
        Effect::Control(_, request) => matches!(request, ControlRequest::Returned { .. }),
        _ => false,
    });
    assert!(!is_told);
    cluster.settle();
    assert!(cluster.is_online(), "{}", cluster.story());
}

#[test]
fn segment_that_is_full_while_a_table_comes_back_has_a_baseline_of_it_behind() {
    let mut cluster = Cluster::new(1, replicated(1));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client);
    read_back(&mut cluster);
    let before = cluster.records(0).len();
    cluster.roll(0);
    cluster.turn();
    let records = cluster.records(0);
    let claimed = records[before..].iter().map(|it| it.0);
    let claimed = claimed.filter(|it| it.kind == Kind::Baseline);
    let claimed: BTreeSet<_> = claimed.map(|it| it.partition).collect();
    for key in 0..24 {
        let partition = cluster.partition_of(&format!("key{key}"));
        assert!(claimed.contains(&partition), "{partition} of {claimed:?}");
    }
}
