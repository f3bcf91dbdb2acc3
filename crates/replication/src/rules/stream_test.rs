use crate::fixture::{Cluster, FakeHost, P, Q, TABLE, changing, group, header, replica_in};
use crate::frame::{Begin, Frame, Reason, Vote, put_sequence};
use crate::{Direction, LinkId, Role, Sequence, Want};
use brickyard_types::record::{Kind, encode};
use brickyard_types::{Op, View};
use std::time::Duration;

fn put_record(view: u32, op: u64) -> Vec<u8> {
    let mut raw = Vec::new();
    encode(
        &mut raw,
        &header(Kind::Put, P, view, op, 0),
        b"k",
        &[b"forged"],
    );
    raw
}

/// Rule `votes belong to a stream`.
#[test]
fn a_reconnect_sends_what_was_lost_again_and_repeats_the_commit_position() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "a", "1").unwrap();
    cluster.wire(0, 1).is_held = true;
    cluster.run();
    // The record arrives and is voted for; its commit position is lost.
    while !cluster.wires[0].down.is_empty() {
        cluster.deliver_down(0).unwrap();
    }
    cluster.run();
    while !cluster.wires[0].up.is_empty() {
        cluster.deliver_up(0).unwrap();
    }
    cluster.flush(0);
    assert_eq!(cluster.brick(0).committed(P), 2);
    assert_eq!(cluster.brick(1).committed(P), 1);
    cluster.disconnect(0, 1);
    cluster.requests.clear();
    cluster.connect(0, 1);
    cluster.run();
    assert_eq!(
        cluster.brick(1).committed(P),
        2,
        "else its reads wait for ever"
    );
    // A record that was lost on the way is sent again.
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "b", "2").unwrap();
    cluster.flush(0);
    cluster.disconnect(0, 1);
    cluster.requests.clear();
    cluster.connect(0, 1);
    cluster.run();
    assert_eq!(cluster.brick(1).get(P, "b").as_deref(), Some("2"));
    let ops = [(Kind::ViewStart, 1), (Kind::Put, 2), (Kind::Put, 3)];
    assert_eq!(
        cluster.brick(1).host.kinds(P),
        ops,
        "nothing is appended twice"
    );
}

/// Rule `votes belong to a stream`.
#[test]
fn votes_of_another_stream_do_not_count() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.is_log_held[1] = true;
    cluster.run();
    // Nothing is voted for on the new stream; the old one, with a vote for all, arrives late.
    let old = cluster.wire(0, 1).link;
    let new = cluster.connect(0, 1);
    cluster.wires[new].is_held = true;
    let sequence = cluster.brick(0).core.links.get(old).unwrap().sender.sent;
    let vote = Frame::Vote(Vote::up_to(sequence));
    let mut bytes = Vec::new();
    vote.encode(&mut bytes);
    let brick = cluster.brick(0);
    assert_eq!(brick.on_frame(old, &bytes), Ok(()));
    cluster.flush(0);
    assert_eq!(cluster.brick(0).committed(P), 1);
}

/// Rule `votes belong to a stream`.
#[test]
fn commit_positions_of_another_stream_do_not_count() {
    // Brick 1 follows brick 0 in P, and another one in Q.
    let mut cluster = Cluster::new(3);
    cluster.adopt(P, &group(1, 0, &[1], &[]));
    cluster.adopt(Q, &group(1, 2, &[1], &[]));
    cluster.run();
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (1, 2));
    let mut bytes = Vec::new();
    put_sequence(&mut bytes, Sequence(0), &[(P, Op(2))]);
    for (from, committed) in [(2, 1), (0, 2)] {
        let link = cluster.wire(from, 1).link;
        let brick = cluster.brick(1);
        assert_eq!(brick.on_frame(link, &bytes), Ok(()));
        assert_eq!(brick.committed(P), committed, "as brick {from} says");
    }
}

/// Rule `votes belong to a stream`.
#[test]
fn a_vote_counts_only_from_the_streams_beginning_on() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.wire(0, 1).is_held = true;
    cluster.run();
    cluster.disconnect(0, 1);
    cluster.requests.clear();
    let new = cluster.connect(0, 1);
    cluster.wires[new].is_held = true;
    // No vote has come on the new stream, whatever there was on the old one.
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    cluster.wires[new].is_held = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
}

/// Rule `votes belong to a stream`.
#[test]
fn records_of_another_stream_are_dropped() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.flush(0);
    let old = cluster.wire(0, 1).link;
    let record = cluster.wires[0].down.pop_front().unwrap();
    cluster.connect(0, 1);
    let before = cluster.brick(1).last(P);
    let brick = cluster.brick(1);
    assert_eq!(brick.on_frame(old, &record), Ok(()));
    assert_eq!(cluster.brick(1).last(P), before);
    assert!(cluster.requests.is_empty());
    cluster.flush(1);
    assert!(matches!(cluster.asked(1)[0], Want::Close { link, .. } if link == old));
}

/// Rule `votes belong to a stream`.
#[test]
fn a_stream_that_was_dialed_earlier_and_arrives_later_is_closed() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.connect(0, 1);
    cluster.run();
    let peer = cluster.replicas[0];
    let brick = cluster.brick(1);
    let late = LinkId(90);
    brick.on_link(late, peer, Direction::Incoming, 0);
    cluster.requests.clear();
    cluster.flush(1);
    assert!(matches!(cluster.asked(1)[0], Want::Close { link, .. } if link == late));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
}

/// Rule `votes belong to a stream`.
#[test]
fn a_record_is_appended_only_after_the_one_before_it() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    for record in [put_record(1, 3), put_record(1, 4)] {
        assert_eq!(cluster.forge(0, 1, &Frame::Records(&record)), Ok(()));
    }
    assert_eq!(cluster.brick(1).last(P), (1, 1));
    cluster.flush(1);
    let (_, up) = cluster.under_way(0);
    let refusals: Vec<_> = up
        .iter()
        .filter_map(|frame| match frame {
            Frame::Refuse(refuse) => Some((refuse.op, refuse.reason)),
            _ => None,
        })
        .collect();
    assert_eq!(refusals, [(Op(2), Reason::Gap)], "said once");
    // It begins again, and all is well.
    cluster.run();
    cluster.pass(Duration::from_millis(200));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
}

/// Rule `members name an incarnation`.
#[test]
fn a_brick_in_another_life_is_another_member() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let log = cluster.crash(1);
    cluster.replicas[1] = replica_in(1, 2);
    cluster.bricks[1] = Some(crate::fixture::Brick::new(cluster.replicas[1]));
    let (host, rebuilds) = FakeHost::recover(&log);
    cluster.brick(1).host = host;
    for (partition, rebuild) in rebuilds {
        cluster.brick(1).restore(partition, &rebuild.finish());
    }
    // The map still names its former life; the primary, wrongly, begins on a stream to the present one.
    cluster.brick(1).adopt(P, &group(1, 0, &[1], &[]));
    assert_eq!(cluster.brick(1).core.status(P).role, Role::None);
    cluster.connect(0, 1);
    let begin = Begin {
        table: TABLE,
        partition: P,
        view: View(1),
        generation: 1,
        first: (View(1), Op(1)),
        last: Op(1),
        ..Begin::default()
    };
    assert_eq!(cluster.forge(0, 1, &Frame::Begin(begin)), Ok(()));
    cluster.flush(1);
    let (_, up) = cluster.under_way(0);
    let is_refused =
        |it: &Frame<'_>| matches!(it, Frame::Refuse(it) if it.reason == Reason::NotMember);
    assert!(up.iter().any(is_refused), "{up:?}");
    cluster.brick(0).put(P, "k", "v");
    cluster.run();
    assert_eq!(
        cluster.brick(0).committed(P),
        1,
        "nobody votes in its place"
    );
    assert_eq!(cluster.brick(1).last(P), (1, 1));
}

/// Rule `acknowledged views are remembered`.
#[test]
fn only_the_map_makes_a_member() {
    let mut cluster = Cluster::new(2);
    cluster.brick(0).adopt(P, &group(1, 0, &[1], &[]));
    cluster.run();
    assert_eq!(cluster.brick(1).core.status(P).role, Role::None);
    assert_eq!(cluster.brick(0).committed(P), 0);
    // The map arrives, and the brick asks for what it had refused.
    cluster.brick(1).adopt(P, &group(1, 0, &[1], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
}

/// Rule `acknowledged views are remembered`.
#[test]
fn a_view_that_was_acknowledged_is_not_left_for_an_older_one() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    let next = group(2, 0, &[], &[]);
    cluster.brick(1).adopt(P, &changing(&first, &next, &[1]));
    cluster.brick(0).put(P, "k", "lost");
    cluster.run();
    cluster.disconnect(0, 1);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "also on a new stream");
    assert_eq!(cluster.brick(1).last(P), (1, 1));
    // It was removed, has forgotten the partition, and hears of view 1 once more.
    let brick = cluster.brick(1);
    brick.with(|core| core.forget(P));
    brick.adopt(P, &first);
    assert_eq!(brick.core.status(P).role, Role::Stopped);
    assert!(!brick.core.status(P).serves_reads);
    cluster.disconnect(0, 1);
    cluster.brick(0).put(P, "k", "lost");
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    assert_eq!(cluster.brick(1).last(P), (0, 0));
}

#[test]
fn frames_that_break_the_protocol_are_errors_and_change_nothing() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let records = put_record(1, 2);
    let mut damaged = records.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let mut newer = Vec::new();
    encode(&mut newer, &header(Kind::Put, P, 9, 2, 0), b"k", &[b"v"]);
    let mut bare = header(Kind::Put, P, 1, 2, 0);
    bare.committed = None;
    let mut plain = Vec::new();
    encode(&mut plain, &bare, b"k", &[b"v"]);
    let mut unknown = Vec::new();
    let elsewhere = brickyard_types::PartitionId(99);
    encode(
        &mut unknown,
        &header(Kind::Put, elsewhere, 1, 1, 0),
        b"k",
        &[b"v"],
    );
    let mut control = Vec::new();
    encode(&mut control, &header(Kind::Cut, P, 1, 2, 0), b"", &[]);
    for record in [&damaged, &newer, &plain, &unknown, &control] {
        assert!(cluster.forge(0, 1, &Frame::Records(record)).is_err());
    }
    let frames = [
        Frame::CopyEnd {
            partition: P,
            view: View(1),
            at: (View(1), Op(1)),
        },
        Frame::Copy {
            partition: P,
            records: &records,
        },
        Frame::Vote(Vote::up_to(Sequence(1))),
    ];
    for frame in &frames {
        assert!(cluster.forge(0, 1, frame).is_err(), "{frame:?}");
    }
    assert_eq!(cluster.brick(1).last(P), (1, 1));
}

#[test]
fn a_silent_stream_is_closed_and_a_quiet_one_is_not() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    for _ in 0..100 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    assert_eq!(cluster.asked(0), [], "pings are answered");
    cluster.wire(0, 1).is_held = true;
    for _ in 0..55 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    assert!(matches!(cluster.asked(0)[..], [Want::Close { .. }]));
    assert!(matches!(cluster.asked(1)[..], [Want::Close { .. }]));
}

/// Rule `votes belong to a stream`.
#[test]
fn what_comes_on_the_streams_of_an_earlier_incarnation_is_dropped() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.flush(0);
    let brick = cluster.brick(1);
    brick.with(|core| core.set_me(replica_in(1, 2)));
    let before = cluster.brick(1).last(P);
    while !cluster.wires[0].down.is_empty() {
        cluster.deliver_down(0).unwrap();
    }
    assert_eq!(cluster.brick(1).last(P), before);
}

#[test]
fn messages_of_the_owner_go_both_ways_and_frames_of_a_stream_one_way() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let link = cluster.wire(0, 1).link;
    let mut send = |to: usize, frame: &Frame<'_>| {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        cluster.brick(to).on_frame(link, &bytes).is_ok()
    };
    for to in 0..2 {
        assert!(send(to, &Frame::Message(b"hello")));
    }
    assert!(send(1, &Frame::Ping) && send(0, &Frame::Pong));
    assert!(!send(0, &Frame::Ping) && !send(1, &Frame::Pong));
}

#[test]
fn a_stream_that_takes_the_number_of_another_ends_it() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let (sender, receiver) = (cluster.replicas[0], cluster.replicas[1]);
    let link = cluster.wire(0, 1).link;
    let brick = cluster.brick(0);
    brick.on_link(link, receiver, Direction::Outgoing, 7);
    let brick = cluster.brick(1);
    brick.on_link(link, sender, Direction::Incoming, 7);
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
}

#[test]
fn a_stream_that_ends_is_dialed_again_as_long_as_a_partition_wants_it() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    let peer = cluster.replicas[1];
    let dials = |cluster: &mut Cluster| {
        cluster.flush(0);
        let asked = cluster.asked(0);
        asked.iter().filter(|it| **it == Want::Dial(peer)).count()
    };
    cluster.disconnect(0, 1);
    assert_eq!(cluster.brick(0).core.link_to(peer), None);
    assert_eq!(dials(&mut cluster), 1, "at once");
    cluster.connect(0, 1);
    cluster.run();
    let next = group(2, 0, &[], &[]);
    cluster.brick(0).adopt(P, &changing(&first, &next, &[1]));
    cluster.brick(0).adopt(P, &next);
    cluster.disconnect(0, 1);
    cluster.pass(Duration::from_secs(1));
    assert_eq!(dials(&mut cluster), 0, "nobody wants it");
}

/// What follows a refusal is passed over, until the partition begins again.
#[test]
fn once_it_has_begun_again_a_partition_passes_over_nothing() {
    let copy = Frame::CopyEnd {
        partition: P,
        view: View(1),
        at: (View(1), Op(1)),
    };
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::new(2);
    cluster.brick(0).adopt(P, &first);
    cluster.run();
    let records = Frame::Copy {
        partition: P,
        records: &[],
    };
    assert_eq!(cluster.forge(0, 1, &records), Ok(()), "it was refused");
    cluster.brick(1).adopt(P, &first);
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 1);
    assert!(cluster.forge(0, 1, &records).is_err());
    assert!(cluster.forge(0, 1, &copy).is_err());
    // A learner has begun again once it was asked what it has.
    let first = group(1, 0, &[], &[1]);
    let mut cluster = Cluster::new(2);
    cluster.brick(0).adopt(P, &first);
    cluster.run();
    assert_eq!(cluster.forge(0, 1, &records), Ok(()), "it was refused");
    cluster.brick(1).adopt(P, &first);
    cluster.flush(1);
    while !cluster.wires[0].up.is_empty() {
        cluster.deliver_up(0).unwrap();
    }
    cluster.flush(0);
    cluster.deliver_down(0).unwrap();
    assert!(cluster.forge(0, 1, &records).is_err());
}
