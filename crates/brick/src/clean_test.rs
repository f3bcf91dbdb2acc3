use super::*;
use crate::accepted::Port;
use crate::brick::Brick;
use crate::harness::{Client, HEADER_BYTES, Node};
use crate::log_chunk::verified;
use brickyard_types::record::{self, Header, Kind, flag};
use brickyard_types::{Durability, Medium, TableAttributes};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

fn node(durability: Durability) -> (Node, Client) {
    let attributes = TableAttributes {
        durability,
        ..TableAttributes::default()
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    (node, client)
}

fn segments(node: &Node) -> Vec<u32> {
    node.logs[0].sealed.keys().map(|id| id.0).collect()
}

fn clean(node: &mut Node, ticks: usize) {
    for _ in 0..ticks {
        node.advance(TICK);
    }
}

#[test]
fn live_records_are_moved_and_survive_a_restart() {
    let (mut node, client) = node(Durability::Log);
    node.call(
        client,
        "SET keep 1\nMSET {t}a 1 {t}b 2\nSET gone x\nSET fat 0123456789",
    );
    node.call(
        client,
        "SET fat 1\nDEL gone\nDEL {t}b\nSET fat 2\nSET fat 3",
    );
    node.roll(0);
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    for _ in 0..2 {
        let client = node.connect(0, Port::Node);
        assert_eq!(
            node.call(
                client,
                "MGET keep {t}a\nGET {t}b\nGET gone\nGET fat\nDBSIZE"
            ),
            "*2 $1 1 $1 1 $-1 $-1 $1 3 :3"
        );
        node.restart();
    }
}

/// A sealed segment with so many values of 48 KiB, and an open one with as many others.
fn full_segments(values: usize) -> Node {
    let (mut node, client) = node(Durability::Log);
    let value = "v".repeat(48 << 10);
    for at in 0..values {
        node.call(client, &format!("SET old{at} {value}"));
    }
    node.roll(0);
    for at in 0..values {
        node.call(client, &format!("SET new{at} {value}"));
    }
    node
}

#[test]
fn what_is_moved_stands_apart_from_what_clients_write() {
    let mut node = full_segments(350);
    let written = node.logs[0].bytes.len();
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    let moved = node.logs[0].bytes.len();
    assert_eq!(node.logs[0].closed, [written, moved]);
    assert!(moved - written > 16 << 20, "all of it, and nothing else");
}

#[test]
fn no_segment_is_closed_for_a_few_records_nor_on_a_full_disk() {
    let mut node = full_segments(330);
    clean(&mut node, 3);
    assert_eq!(
        (segments(&node), &node.logs[0].closed[..]),
        (vec![], &[][..])
    );

    let mut node = full_segments(350);
    let brick = &mut node.bricks[0].core;
    brick
        .segments
        .health
        .on_refused(brick.now, "full".to_owned());
    clean(&mut node, 3);
    assert_eq!(
        (segments(&node), &node.logs[0].closed[..]),
        (vec![], &[][..])
    );
}

#[test]
fn record_that_a_segment_has_twice_is_moved_once() {
    // As after a second copy of a partition. Moved both, they would be both moved again, for ever.
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k once");
    node.logs[0].bytes.extend_from_within(..);
    let sealed = node.logs[0].bytes.len();
    node.roll(0);
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    let active = String::from_utf8_lossy(&node.logs[0].bytes[sealed..]);
    assert_eq!(active.matches("once").count(), 1);
    // The key may be moved again.
    node.roll(0);
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "GET k"), "$4 once");
}

#[test]
fn record_that_is_moved_has_its_expiry() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k v PX 60000");
    node.roll(0);
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "PTTL k"), ":59700");
}

/// The deletions in the active segment: of which key, where they were first written, and whether they count as moved.
fn deletions(node: &Node, from: usize) -> Vec<(String, Option<SegmentId>, bool)> {
    let (mut at, bytes) = (from, &node.logs[0].bytes);
    let mut found = Vec::new();
    while at < bytes.len() {
        let record = record::decode(&bytes[at..]).unwrap();
        let Header {
            kind,
            flags,
            origin,
            ..
        } = record.header;
        if kind == Kind::Delete {
            let key = String::from_utf8_lossy(record.key).into_owned();
            found.push((key, origin, flags & flag::MOVED != 0));
        }
        at += record.len;
    }
    found
}

/// Rules `pending records are live` and `tombstones reach down to the watermark`.
#[test]
fn deletion_is_moved_as_one_from_where_it_was_first() {
    let (mut node, client) = node(Durability::Log);
    // The first segment stays, so that deletions are needed.
    node.call(client, "MSET {t}a 1 {t}b 1");
    let last = node.logs[0].bytes.len() - 1;
    node.logs[0].bytes[last] ^= 1;
    node.roll(0);
    clean(&mut node, 3);
    // One of which the key has a record: it was replaced, or cut, and moved it would count as committed.
    node.call(client, "DEL {t}a\nDEL {t}b\nSET {t}b 2");
    for _ in 0..2 {
        node.roll(0);
        let sealed = node.logs[0].bytes.len();
        clean(&mut node, 10);
        assert_eq!(segments(&node), [1]);
        let wanted = ("{t}a".to_owned(), Some(SegmentId(2)), true);
        assert_eq!(deletions(&node, sealed), [wanted]);
    }
}

#[test]
fn deletion_that_a_segment_has_often_is_moved_once() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k 1");
    let last = node.logs[0].bytes.len() - 1;
    node.logs[0].bytes[last] ^= 1;
    node.roll(0);
    clean(&mut node, 3);
    let first = node.logs[0].bytes.len();
    node.call(client, "DEL k");
    node.logs[0].bytes.extend_from_within(first..);
    node.roll(0);
    let sealed = node.logs[0].bytes.len();
    clean(&mut node, 10);
    assert_eq!(segments(&node), [1], "which has the key still");
    assert_eq!(deletions(&node, sealed).len(), 1);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn watermark_outlives_its_segment() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k v\nDEL k");
    for _ in 0..2 {
        node.roll(0);
        clean(&mut node, 3);
        assert_eq!(segments(&node), [0; 0]);
    }
    node.restart();
    assert_eq!(node.bricks[0].horizons().len(), 1);
}

#[test]
fn deleted_key_does_not_come_back_with_a_copy_made_while_it_was_deleted() {
    // Rule `tombstones reach down to the watermark`: the copy would stand in the log behind the tombstone.
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k v");
    node.call(
        client,
        "SET fat 0123456789012345678901234567890123456789\nSET fat 1",
    );
    node.roll(0);
    node.logs[0].is_held = true;
    node.call(client, "DEL k\nSET fat 2");
    // The cleaner looks at the segment before the deletion has committed.
    node.advance(TICK);
    node.append_one(0);
    node.roll(0);
    node.logs[0].is_held = false;
    node.settle();
    clean(&mut node, 200);
    assert!(!segments(&node).contains(&1) && !segments(&node).contains(&2));
    assert_eq!(node.call(client, "GET k"), ":1 +OK $-1");
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "GET k"), "$-1");
}

#[test]
fn segment_goes_only_when_what_replaced_its_records_is_synced() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k old");
    node.roll(0);
    node.logs[0].is_held = true;
    node.call(client, "SET k new");
    node.append(0);
    node.advance(TICK);
    node.append(0);
    node.settle();
    assert_eq!(segments(&node), [1], "a power cut would take both values");
    node.sync(0);
    node.settle();
    assert_eq!(segments(&node), [0; 0]);
}

#[test]
fn watermark_falls_back_when_its_record_was_refused() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k v\nDEL k");
    node.roll(0);
    node.logs[0].is_held = true;
    node.advance(TICK);
    node.refuse(0);
    node.logs[0].is_held = false;
    assert_eq!(node.bricks[0].horizons(), []);
    clean(&mut node, 100);
    assert_eq!(segments(&node), [0; 0]);
    assert_eq!(node.bricks[0].horizons().len(), 1);
    node.restart();
    assert_eq!(node.bricks[0].horizons().len(), 1);
}

#[test]
fn unreadable_record_keeps_its_segment() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k 1\nSET k 2\nDEL k");
    let at = node.logs[0].bytes.len() - 1;
    node.logs[0].bytes[at] ^= 1;
    node.roll(0);
    clean(&mut node, 100);
    assert_eq!(segments(&node), [1]);
}

#[test]
fn values_that_are_in_the_log_alone_are_moved() {
    let attributes = TableAttributes {
        durability: Durability::Log,
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..TableAttributes::default()
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    node.call(client, "SET fat 0123456789\nSET cold value\nSET fat 1");
    node.restart();
    node.roll(0);
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "GET cold"), "");
    node.answer_reads(0);
    assert_eq!(node.receive(client), "$5 value");
}

#[test]
fn segments_with_nothing_live_go_all_at_once() {
    let (mut node, client) = node(Durability::Log);
    for at in 0..20 {
        node.call(client, &format!("SET {{t}}k{at} v"));
        node.roll(0);
    }
    node.call(client, "SET last v\nFLUSHALL");
    assert_eq!(segments(&node).len(), 20);
    // The second has what the log says of partitions in which nothing has happened since: that is moved first.
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "DBSIZE"), ":0");
}

#[test]
fn segments_wait_for_the_sync_of_what_replaced_their_records() {
    let (mut node, client) = node(Durability::Log);
    for at in 0..5 {
        node.call(client, &format!("SET {{t}}k{at} {}", "v".repeat(10_000)));
        node.roll(0);
    }
    node.logs[0].is_held = true;
    node.call(client, "FLUSHALL");
    node.append(0);
    // What was cleared is counted out.
    node.settle();
    node.advance(TICK);
    node.append(0);
    node.settle();
    assert_eq!(
        segments(&node).len(),
        5,
        "a power cut would bring the keys back"
    );
    node.sync(0);
    node.logs[0].is_held = false;
    clean(&mut node, 3);
    assert_eq!(segments(&node), [0; 0]);
}

#[test]
fn segments_whose_batch_was_refused_stay_and_go_later() {
    let (mut node, client) = node(Durability::Log);
    for at in 0..3 {
        // What stands for the tombstone goes into the log before the segment may go.
        node.call(client, &format!("SET k{at} v\nDEL k{at}"));
        node.roll(0);
    }
    node.logs[0].is_held = true;
    node.advance(TICK);
    node.refuse(0);
    node.logs[0].is_held = false;
    node.settle();
    assert_eq!(segments(&node), [1, 2, 3]);
    assert_eq!(node.bricks[0].horizons(), []);
    clean(&mut node, 200);
    assert!(!segments(&node).iter().any(|id| *id <= 3));
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "DBSIZE"), ":0");
}

#[test]
fn segment_whose_batch_was_written_goes_whatever_the_log_refuses_later() {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k v");
    node.roll(0);
    node.logs[0].is_held = true;
    node.call(client, "FLUSHALL");
    node.append(0);
    node.settle();
    node.advance(TICK);
    node.append(0);
    node.settle();
    assert_eq!(node.bricks[0].cleaner.leaving.len(), 1);
    node.call(client, "SET k v");
    node.refuse(0);
    assert_eq!(segments(&node), [1], "it waits for the sync");
    node.sync(0);
    node.settle();
    assert_eq!(
        segments(&node),
        [0; 0],
        "nobody has to look through it again"
    );
}

#[test]
fn segment_stays_if_the_log_refuses_what_the_one_before_it_waits_for() {
    let (mut node, _) = node(Durability::Log);
    let brick = &mut node.bricks[0];
    let building = brick.core.log.building_id();
    let permit = Permit {
        begin: false,
        remove: true,
    };
    // Of the first something was appended again, of the second nothing was worth that.
    for (segment, last_batch) in [(1, building), (2, BatchId(0))] {
        let segment = SegmentId(segment);
        brick.core.segments.seal(segment, 1);
        brick.cleaner.pass = Pass {
            is_dead: true,
            last_batch,
            ..Pass::default()
        };
        let mut core = brick.core.parts();
        let (replication, outside) = (&mut core.replication, &mut core.outside);
        brick
            .cleaner
            .end_pass(replication, outside, permit, segment);
    }
    assert_eq!(brick.cleaner.leaving.len(), 2);
    let core = &mut brick.core;
    core.log.on_refused(building);
    brick
        .cleaner
        .on_refused(&core.log, &mut core.tables, &mut core.segments);
    assert!(brick.cleaner.leaving.is_empty(), "both stay");
}

/// How many bytes a second the cleaner reads of a segment of which it moved nothing, by how long it rests after a part of it.
fn rate(is_dead: bool) -> u64 {
    let (mut node, client) = node(Durability::Log);
    node.call(client, "SET k old");
    let bytes = node.logs[0].bytes.clone();
    node.roll(0);
    node.call(client, "SET k new");
    let brick = &mut node.bricks[0];
    let segment = SegmentId(1);
    brick.cleaner.reader = LogReader::over([segment]);
    let at = brick.cleaner.reader.ask().unwrap();
    brick.cleaner.state = State::Reading;
    let now = brick.core.now;
    // Nothing is saved up.
    brick.cleaner.pace.begin(now);
    brick.cleaner.pass.is_dead = is_dead;
    let permit = Permit {
        begin: true,
        remove: true,
    };
    let chunk = LogChunk {
        segment,
        from: at.1,
        records: &verified(HEADER_BYTES, &bytes).0,
        next: Some(HEADER_BYTES + bytes.len() as u32),
        is_damaged: false,
        is_known: true,
    };
    let mut core = brick.core.parts();
    let (replication, outside) = (&mut core.replication, &mut core.outside);
    brick.cleaner.on_chunk(replication, outside, permit, &chunk);
    assert!(brick.cleaner.moves.is_empty(), "something was moved");
    let rest = brick.cleaner.rests_until().expect("it rests") - now;
    assert!(
        brick.next_deadline() <= Some(now + rest),
        "the loop sleeps on"
    );
    bytes.len() as u64 * 1_000_000_000 / rest.as_nanos() as u64
}

#[test]
fn what_is_dead_altogether_is_read_faster() {
    let (moving, dead) = (rate(false), rate(true));
    assert!(moving.abs_diff(MOVING_RATE) < MOVING_RATE / 10, "{moving}");
    assert!(dead.abs_diff(DEAD_RATE) < DEAD_RATE / 10, "{dead}");
}

/// Whether a turn then asks for a part of a segment.
fn asks(brick: &mut Brick, now: Instant) -> bool {
    brick.begin_turn(now, brick.core.unix);
    let effects: Vec<Effect> = std::iter::from_fn(|| brick.poll_effect()).collect();
    effects
        .iter()
        .any(|it| matches!(it, Effect::ReadSegment { .. }))
}

#[test]
fn turn_goes_on_with_cleaning_once_the_rest_is_over() {
    let (mut node, _) = node(Durability::Log);
    let brick = &mut node.bricks[0];
    brick.cleaner.reader = LogReader::over([SegmentId(1)]);
    brick.cleaner.state = State::Resting;
    let now = brick.core.now;
    brick.cleaner.pace.on_read(now, 2 << 20, MOVING_RATE);
    let until = brick.cleaner.rests_until().expect("it rests");
    assert!(until > now);
    assert!(!asks(brick, now), "before its time");
    assert!(asks(brick, until));
    assert_eq!(brick.cleaner.rests_until(), None);
}
