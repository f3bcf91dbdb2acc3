//! What waits, or was prepared, when the view changes.

use super::{ask, on_disk, places, replicated, told_meanwhile};
use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use std::time::Duration;

/// Lets what was proposed take effect without any time passing.
fn decide_at_once(cluster: &mut Cluster) {
    for _ in 0..20 {
        cluster.turn();
        cluster.decide();
    }
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn backup_serves_nothing_in_a_view_that_has_not_begun_here() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, next) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    let reader = cluster.connect(backup, Port::Brick);
    assert_eq!(cluster.call(reader, "READONLY"), "+OK");
    assert_eq!(cluster.call(reader, "GET k"), "$3 old");
    // The map says who leads, and nothing has come from there yet.
    cluster.mute(next, true);
    cluster.regroup("k", &[next, primary, backup]);
    cluster.settle();
    assert_eq!(cluster.places_of("k").0, next, "{}", cluster.story());
    let reply = cluster.call(reader, "GET k");
    assert!(reply.starts_with("-MOVED"), "{reply}");
    cluster.mute(next, false);
    cluster.settle();
    assert_eq!(cluster.call(reader, "GET k"), "$3 old");
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn backup_serves_nothing_before_it_has_what_the_view_began_with() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, next) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    let reader = cluster.connect(backup, Port::Brick);
    assert_eq!(cluster.call(reader, "READONLY"), "+OK");
    // The next primary has it, this backup only hears of it as the view begins.
    cluster.cut(primary, backup);
    cluster.send(client, "SET k new");
    cluster.turn_until(|it| it.is_pending(next, "k"));
    assert!(!cluster.is_pending(backup, "k"));
    cluster.mute(next, true);
    cluster.is_deciding = false;
    cluster.kill(primary);
    cluster.is_deciding = true;
    cluster.regroup("k", &[next, backup]);
    cluster.settle();
    let reply = cluster.call(reader, "GET k");
    assert!(reply.starts_with("-MOVED"), "{reply}");
    cluster.mute(next, false);
    cluster.settle();
    assert_eq!(cluster.call(reader, "GET k"), "$3 new");
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn read_that_waited_for_a_value_is_admitted_anew() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let writer = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(writer, "SET k old"), "+OK");
    let reader = cluster.connect(primary, Port::Node);
    cluster.hold_reads(primary, true);
    cluster.send(reader, "GET k");
    cluster.turn_until(|it| it.reads(primary) > 0);
    // While the value is read the partition goes to another, and the key gets another value.
    cluster.regroup("k", &[backup]);
    cluster.settle();
    assert_eq!(cluster.call(writer, "SET k new"), "+OK");
    cluster.hold_reads(primary, false);
    cluster.settle();
    assert_eq!(cluster.receive(reader), "$3 new");
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn read_that_waited_for_a_value_is_not_answered_without_a_lease() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.hold_reads(primary, true);
    cluster.send(client, "GET k");
    cluster.turn_until(|it| it.reads(primary) > 0);
    cluster.lease(primary, false);
    cluster.hold_reads(primary, false);
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.lease(primary, true);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$1 v");
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn read_that_waits_for_an_outcome_is_answered_by_whoever_leads_then() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, next) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    let reader = cluster.connect(backup, Port::Node);
    cluster.stick(next, true);
    cluster.send(client, "SET k new");
    cluster.turn_until(|it| it.is_pending(backup, "k"));
    cluster.send(reader, "GET k");
    assert_eq!(told_meanwhile(&mut cluster, reader), "");
    // It is taken out of the view together with the primary: nobody else has the write.
    cluster.mute(primary, true);
    cluster.regroup("k", &[next]);
    cluster.stick(next, false);
    cluster.settle();
    cluster.mute(primary, false);
    cluster.settle();
    let reply = cluster.receive(reader);
    let writer = cluster.connect(next, Port::Node);
    let value = cluster.call(writer, "GET k");
    assert_eq!(reply, value, "{}", cluster.story());
}

/// A read is served here and waits for its value, the write behind it is for the primary: they are answered in order,
/// whatever happens meanwhile.
#[track_caller]
fn write_stays_behind(write: &str, reply: &str, meanwhile: impl FnOnce(&mut Cluster, usize)) {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    cluster.hold_reads(backup, true);
    cluster.send(client, &format!("GET k\n{write}"));
    cluster.turn_until(|it| it.reads(backup) > 0);
    meanwhile(&mut cluster, primary);
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.hold_reads(backup, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), format!("$3 old {reply}"));
}

/// Rule `reads follow own writes`.
#[test]
fn write_does_not_overtake_a_read_that_waits_for_its_value() {
    write_stays_behind("SET k new", "+OK", |_, _| ());
}

/// Rule `reads follow own writes`.
#[test]
fn nor_does_one_of_several_keys_or_a_transaction() {
    write_stays_behind("MSET k new {k}2 new other new", "+OK", |_, _| ());
    write_stays_behind("MULTI\nSET k new\nEXEC", "+OK +QUEUED *1 +OK", |_, _| ());
}

/// A read is served here and waits for its value, the one behind it would follow another to the primary: the first one
/// would see what is written after the second one was answered.
/// Rule `reads follow own writes`.
#[test]
fn read_does_not_overtake_a_read_that_waits_for_its_value() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let writer = cluster.connect(primary, Port::Node);
    let client = cluster.connect(backup, Port::Node);
    for again in ["GET k", "MGET k {k}2 other"] {
        assert_eq!(ask(&mut cluster, writer, "SET k old"), "+OK");
        assert_eq!(ask(&mut cluster, writer, "SET {k}brief v PX 50"), "+OK");
        cluster.hold_reads(backup, true);
        // That a key has expired is for the primary to say, whose log waits.
        cluster.stick(primary, true);
        cluster.tick(Duration::from_millis(200));
        cluster.send(client, &format!("GET k\nGET {{k}}brief\n{again}"));
        cluster.turn_until(|it| it.reads(backup) > 0);
        assert_eq!(told_meanwhile(&mut cluster, client), "");
        cluster.stick(primary, false);
        assert_eq!(ask(&mut cluster, writer, "SET k new"), "+OK");
        cluster.hold_reads(backup, false);
        cluster.settle();
        let replies = cluster.receive(client);
        assert!(replies.starts_with("$3 new $-1"), "{again}: {replies}");
        assert_eq!(replies.matches("$3 new").count(), 2, "{again}: {replies}");
    }
}

/// Rule `reads follow own writes`.
#[test]
fn write_does_not_overtake_a_read_of_a_partition_that_leaves() {
    write_stays_behind("SET k new", "+OK", |cluster, primary| {
        cluster.regroup("k", &[primary]);
        decide_at_once(cluster);
    });
}

/// Rule `reads follow own writes`.
#[test]
fn command_that_comes_back_goes_before_what_its_connection_sent_after_it() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup, gateway) = places(&cluster, "k");
    let client = cluster.connect(gateway, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    // The one that leads next has no lease at first: it keeps the read, and the write waits behind that here.
    cluster.is_deciding = false;
    cluster.kill(primary);
    cluster.lease(backup, false);
    cluster.send(client, "GET k\nSET k new");
    cluster.is_deciding = true;
    cluster.regroup("k", &[backup]);
    // No time passes: after long without a lease it would refuse what waits for one.
    decide_at_once(&mut cluster);
    assert_eq!(cluster.receive(client), "");
    // The read is lost on its way.
    cluster.break_links(backup);
    for _ in 0..4 {
        cluster.turn();
    }
    cluster.lease(backup, true);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$3 old +OK", "{}", cluster.story());
}

/// Rule `reads follow own writes`.
#[test]
fn read_does_not_overtake_a_write_that_has_to_wait_again() {
    let mut cluster = Cluster::new(2, on_disk(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.hold_reads(primary, true);
    cluster.send(client, "APPEND k x\nGET k");
    cluster.turn_until(|it| it.reads(primary) > 0);
    // The value is there, and no write is accepted any more, while reads are.
    cluster.is_deciding = false;
    cluster.regroup("k", &[backup, primary]);
    cluster.hold_reads(primary, false);
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.is_deciding = true;
    cluster.settle();
    assert_eq!(cluster.receive(client), ":2 $2 vx");
}

/// Rule `an old primary knows no outcome`.
#[test]
fn prepared_write_of_an_old_primary_is_answered_with_unknown() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    // On a brick's own port a client would send it again on -MOVED.
    let direct = cluster.connect(primary, Port::Brick);
    cluster.stick(backup, true);
    for client in [client, direct] {
        cluster.send(client, "INCR k");
        cluster.turn();
    }
    cluster.regroup("k", &[backup]);
    cluster.settle();
    for client in [client, direct] {
        let reply = cluster.receive(client);
        assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    }
}

/// Rules `an old primary knows no outcome` and `a hand-over fences nobody`.
#[test]
fn write_under_way_at_a_hand_over_is_answered_when_it_commits() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let node = cluster.connect(primary, Port::Node);
    let direct = cluster.connect(primary, Port::Brick);
    cluster.stick(backup, true);
    for client in [node, direct] {
        cluster.send(client, "INCR k");
        cluster.turn();
    }
    cluster.regroup("k", &[backup, primary]);
    cluster.turn();
    assert_eq!(cluster.receive(node), "");
    cluster.stick(backup, false);
    cluster.settle();
    assert_eq!(cluster.places_of("k").0, backup);
    assert_eq!(cluster.receive(node), ":1");
    assert_eq!(cluster.receive(direct), ":2");
}

/// Rule `an old primary knows no outcome`.
#[test]
fn write_that_was_passed_on_is_sent_again_and_executed_once() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup, gateway) = places(&cluster, "k");
    let client = cluster.connect(gateway, Port::Node);
    assert_eq!(cluster.call(client, "INCR k"), ":1");
    // The backup has it, and the primary dies before it can say so.
    cluster.stick(primary, true);
    cluster.send(client, "INCR k");
    cluster.turn();
    cluster.turn();
    cluster.mute(primary, true);
    cluster.stick(primary, false);
    cluster.turn();
    cluster.turn();
    cluster.kill(primary);
    cluster.settle();
    // Whatever the backup had of it: the gateway's id tells (rule `requests are executed once`).
    assert_eq!(cluster.receive(client), ":2");
    assert_eq!(cluster.call(client, "GET k"), "$1 2");
    assert_eq!(cluster.places_of("k").0, backup);
}

/// Rule `requests are executed once`.
#[test]
fn write_that_was_passed_on_and_executed_is_executed_once() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup, gateway) = places(&cluster, "k");
    let client = cluster.connect(gateway, Port::Node);
    cluster.stick(backup, true);
    cluster.send(client, "INCR k");
    for _ in 0..4 {
        cluster.turn();
    }
    cluster.stick(backup, false);
    // It is in both logs when the primary goes.
    cluster.mute(primary, true);
    cluster.turn();
    cluster.kill(primary);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    assert_eq!(cluster.call(client, "GET k"), "$1 1");
}

#[test]
fn backup_without_a_lease_keeps_a_read_whose_primary_is_dead() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    let reader = cluster.connect(backup, Port::Brick);
    assert_eq!(cluster.call(reader, "READONLY"), "+OK");
    let other = cluster.connect(backup, Port::Node);
    // The control plane's leader died with the primary, and there is no other yet.
    cluster.is_deciding = false;
    cluster.kill(primary);
    cluster.lease(backup, false);
    for client in [reader, other] {
        cluster.send(client, "GET k");
        assert_eq!(told_meanwhile(&mut cluster, client), "");
    }
    // It answers when it may again, whoever leads the partition then.
    cluster.lease(backup, true);
    for client in [reader, other] {
        assert_eq!(told_meanwhile(&mut cluster, client), "$1 v");
    }
}

#[test]
fn what_may_be_asked_twice_does_not_wait_for_a_primary_that_was_left() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup, other) = places(&cluster, "k");
    let writer = cluster.connect(other, Port::Node);
    assert_eq!(cluster.call(writer, "SET k 5"), "+OK");
    // It is asked, and nothing that it says arrives; the streams to it stand.
    cluster.mute(primary, true);
    let clients = [(); 3].map(|()| cluster.connect(other, Port::Node));
    // The second write gets an id from the brick that passes it on.
    let commands = ["REQUEST 7 1700000000000001 FIRST INCR k", "INCR k", "GET k"];
    for (client, command) in clients.into_iter().zip(commands) {
        cluster.send(client, command);
        assert_eq!(told_meanwhile(&mut cluster, client), "");
    }
    cluster.regroup("k", &[backup]);
    // No time passes: it is the catalog that tells.
    decide_at_once(&mut cluster);
    let [named, plain, read] = clients.map(|client| cluster.receive(client));
    let mut written = [named, plain];
    written.sort();
    assert_eq!(written, [":6", ":7"], "{}", cluster.story());
    assert!(["$1 5", "$1 6", "$1 7"].contains(&&*read), "{read}");
    // What the former primary prepared is nobody's.
    cluster.mute(primary, false);
    cluster.settle();
    assert_eq!(cluster.call(writer, "GET k"), "$1 7");
}
