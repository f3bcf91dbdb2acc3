use super::Choice;
use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client, Cluster};
use crate::harness;
use brickyard_replication::Direction;
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::{BrickId, Incarnation, Medium, TableAttributes};
use std::time::Duration;

/// Longer than a stream that owes an answer may be silent, here where an answer may take the 100 ms of a tick.
const SILENCE: Duration = Duration::from_millis(500);

/// A client of the node that has no replica of `k`, which holds `old`; and the key's primary and backup.
fn stranger(attributes: TableAttributes) -> (Cluster, Client, usize, usize) {
    let mut cluster = Cluster::new(3, attributes);
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(3 - primary - backup, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    assert_eq!(cluster.call(client, "GET k"), "$3 old");
    // The view stays as it is, whoever fails.
    cluster.is_deciding = false;
    (cluster, client, primary, backup)
}

/// What the client has been told after some turns in which no time passes.
fn told(cluster: &mut Cluster, client: Client) -> String {
    for _ in 0..20 {
        cluster.turn();
    }
    cluster.receive(client)
}

#[test]
fn read_does_not_wait_for_the_view_after_a_dead_primary() {
    let (mut cluster, client, primary, _) = stranger(replicated(2));
    cluster.kill(primary);
    cluster.send(client, "GET k");
    assert_eq!(told(&mut cluster, client), "$3 old");
    // A write does.
    cluster.send(client, "SET k new");
    cluster.tick(SILENCE);
    assert_eq!(told(&mut cluster, client), "");
}

#[test]
fn read_that_was_with_the_primary_when_it_died_is_asked_of_a_backup() {
    let (mut cluster, client, primary, _) = stranger(replicated(2));
    cluster.mute(primary, true);
    cluster.send(client, "GET k");
    assert_eq!(told(&mut cluster, client), "");
    cluster.kill(primary);
    assert_eq!(told(&mut cluster, client), "$3 old");
}

#[test]
fn read_leaves_a_primary_that_is_silent() {
    let (mut cluster, client, primary, _) = stranger(replicated(2));
    cluster.mute(primary, true);
    cluster.send(client, "GET k\nMGET {k}1 k");
    assert_eq!(told(&mut cluster, client), "");
    cluster.tick(SILENCE);
    assert_eq!(told(&mut cluster, client), "$3 old *2 $-1 $3 old");
    // The next one does not even try.
    cluster.send(client, "GET k");
    assert_eq!(told(&mut cluster, client), "$3 old");
    // What the primary says at last was answered already; it is asked again from now on.
    cluster.mute(primary, false);
    assert_eq!(cluster.call(client, "SET k new"), "+OK");
    assert_eq!(cluster.call(client, "GET k"), "$3 new");
}

#[test]
fn read_waits_for_a_write_that_no_backup_may_answer_for() {
    let (mut cluster, client, primary, backup) = stranger(replicated(2));
    let writer = cluster.connect(primary, Port::Node);
    // The backup has it, and does not hear that it has committed.
    cluster.send(writer, "SET k new");
    cluster.turn_until(|it| it.is_pending(backup, "k"));
    cluster.kill(primary);
    cluster.send(client, "GET k");
    cluster.tick(SILENCE);
    assert_eq!(told(&mut cluster, client), "");
    cluster.is_deciding = true;
    cluster.regroup("k", &[backup]);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$3 new");
}

/// Rule `reads follow own writes`.
#[test]
fn read_stays_behind_a_write_of_its_connection() {
    let (mut cluster, client, primary, _) = stranger(replicated(2));
    cluster.mute(primary, true);
    cluster.send(client, "GET k");
    assert_eq!(told(&mut cluster, client), "");
    cluster.tick(SILENCE);
    assert_eq!(told(&mut cluster, client), "$3 old");
    // The primary is known to be silent: a read alone would not go there.
    cluster.send(client, "SET k new\nGET k");
    for _ in 0..4 {
        cluster.tick(SILENCE);
        assert_eq!(told(&mut cluster, client), "");
    }
    cluster.mute(primary, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), "+OK $3 new");
}

/// The other way round: a read must not see what its connection writes after it.
#[test]
fn write_stays_behind_a_read_of_its_connection_that_is_with_a_backup() {
    // Values are read back from the log, so that a read can take its time.
    let (mut cluster, client, primary, backup) = stranger(TableAttributes {
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..replicated(2)
    });
    cluster.hold_reads(backup, true);
    cluster.mute(primary, true);
    cluster.send(client, "GET k");
    assert_eq!(told(&mut cluster, client), "");
    cluster.tick(SILENCE);
    cluster.turn_until(|it| it.reads(backup) > 0);
    cluster.mute(primary, false);
    cluster.send(client, "SET k new");
    assert_eq!(told(&mut cluster, client), "");
    cluster.hold_reads(backup, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$3 old +OK");
}

#[test]
fn read_that_no_replica_answers_is_refused_in_time() {
    let (mut cluster, client, primary, backup) = stranger(replicated(2));
    cluster.mute(primary, true);
    cluster.mute(backup, true);
    cluster.send(client, "GET k");
    let mut reply = String::new();
    for _ in 0..200 {
        cluster.tick(Duration::from_millis(100));
        reply += &told(&mut cluster, client);
        if !reply.is_empty() {
            break;
        }
    }
    assert!(reply.starts_with("-CLUSTERDOWN"), "{reply}");
}

fn member(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

/// Rule `reads follow own writes`: a brick of this node answers before one of another node that was asked earlier. The simulator
/// found it (seed 9800000952).
#[test]
fn read_does_not_overtake_an_earlier_one_on_a_brick_of_its_own_node() {
    let choice = |follows_remote, attempts| Choice {
        node: NodeId(1),
        follows_remote,
        attempts,
    };
    let (near, far) = (member(1, 0), member(0, 0));
    let is_linked = |it: Member| it == far;
    assert_eq!(choice(false, 0).among(&[near, far], is_linked), Some(near));
    assert_eq!(choice(false, 1).among(&[near, far], is_linked), Some(far));
    for attempts in 0..4 {
        let behind = choice(true, attempts);
        assert_eq!(behind.among(&[near, far], |_| false), Some(far));
        assert_eq!(behind.among(&[near], is_linked), None);
    }
}

#[test]
fn brick_that_is_reached_again_is_no_silent_one() {
    let (mut cluster, client, primary, backup) = stranger(replicated(2));
    let asker = 3 - primary - backup;
    let replica = cluster.replica(primary);
    let is_silent = |cluster: &mut Cluster| {
        let detector = &cluster.brick(asker).remotes.failure_detector;
        detector.is_silent(replica)
    };
    cluster.cut(asker, primary);
    assert!(is_silent(&mut cluster));
    cluster.mend();
    cluster.turn_until(|cluster| !is_silent(cluster));
    assert_eq!(cluster.call(client, "GET k"), "$3 old");
}

/// Answers come on the stream that was dialed here.
#[test]
fn stream_that_a_brick_has_dialed_says_nothing_of_the_one_to_it() {
    let mut node = harness::log();
    let brick = &mut node.bricks[0];
    let peer = Replica {
        member: member(2, 0),
        incarnation: Incarnation(1),
    };
    brick.remotes.failure_detector.lose(peer);
    for (direction, is_silent) in [(Direction::Incoming, true), (Direction::Outgoing, false)] {
        let link = brick.peer_number();
        brick.peer_opened(link, peer, direction, 1);
        assert_eq!(brick.remotes.failure_detector.is_silent(peer), is_silent);
    }
}
