//! Schedules that once broke something.

use crate::accepted::Port;
use crate::harness::{Node, log, with};
use brickyard_types::{Durability, TableAttributes};

/// Sends commands without settling, so that effects pile up as they do under load.
fn pipeline(node: &mut Node, client: crate::harness::Client, commands: &[&[u8]]) {
    let brick = &mut node.bricks[client.brick];
    let input = brick.input(client.id);
    brickyard_wire::encode_request(input, commands);
    brick.on_received(client.id);
    node.turn();
}

#[test]
fn whole_table_command_is_answered_while_others_keep_writing() {
    let mut node = log();
    let (client, writer) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.logs[0].is_held = true;
    node.send(writer, "SET k0 v");
    node.send(client, "DBSIZE");
    let mut replies = String::new();
    for number in 1..20 {
        // There is always a batch on its way behind the one that is answered.
        node.send(writer, &format!("SET k{number} v"));
        node.append_one(0);
        node.turn();
        replies.push_str(&node.receive(client));
    }
    assert_eq!(replies, ":1");
}

#[test]
fn silent_client_gets_neither_forwarded_replies_nor_errors_of_refused_writes() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    node.call(client, "CLIENT REPLY OFF");
    for number in 0..30 {
        node.call(client, &format!("SET k{number} v\nGET k{number}"));
    }
    assert_eq!(node.call(client, "MGET k1 k2 k3 k4\nDBSIZE\nWAIT 1 1"), "");
    node.advance(std::time::Duration::from_millis(10));
    assert_eq!(node.call(client, "CLIENT REPLY ON"), "+OK");
    assert_eq!(node.call(client, "DBSIZE"), ":30");

    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.call(client, "CLIENT REPLY OFF\nSET k v\nMSET {t}a 1 {t}b 2");
    node.refuse(0);
    node.logs[0].is_held = false;
    assert_eq!(node.call(client, "CLIENT REPLY ON\nGET k"), "+OK $-1");
}

#[test]
fn skipped_reply_is_skipped_wherever_it_is_made() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    for number in 0..30 {
        let replies = node.call(
            client,
            &format!("CLIENT REPLY SKIP\nSET k{number} v\nGET k{number}"),
        );
        assert_eq!(replies, "$1 v");
    }
}

#[test]
fn failed_command_of_a_transaction_leaves_nothing_and_the_others_count() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    // Values of a megabyte are the longest in tests.
    let commands = "MULTI\nSET {t}a 1\nSETRANGE {t}b 1048570 12345678\nSET {t}c 3\nEXEC";
    let replies = node.call(client, commands);
    assert!(replies.contains("*3 +OK -ERR"), "{replies}");
    assert_eq!(node.call(client, "MGET {t}a {t}b {t}c"), "*3 $1 1 $-1 $1 3");
}

#[test]
fn transaction_that_writes_too_much_is_refused_and_not_a_panic() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.send(client, "MULTI");
    for number in 0..300 {
        node.send(client, &format!("SETRANGE {{t}}{number} 1048570 123456"));
    }
    node.send(client, "EXEC");
    node.settle();
    let replies = node.receive(client);
    assert!(replies.contains("*300 :1048576"), "{}", replies.len());
    assert!(replies.contains("-ERR one command or transaction may write 64 MiB"));
}

#[test]
fn many_keys_of_one_slot_cost_no_more_each_than_a_few() {
    // Takes minutes when each key is compared with all before it.
    let mut node = log();
    let client = node.connect(0, Port::Node);
    let names: Vec<String> = (0..200_000).map(|n| format!("{{t}}{n}")).collect();
    let mut mset: Vec<&[u8]> = vec![b"MSET"];
    let mut del: Vec<&[u8]> = vec![b"DEL"];
    for name in &names {
        mset.extend([name.as_bytes(), b"v".as_slice()]);
        del.push(name.as_bytes());
    }
    pipeline(&mut node, client, &mset);
    node.settle();
    assert_eq!(node.receive(client), "+OK");
    pipeline(&mut node, client, &del);
    node.settle();
    assert_eq!(node.receive(client), ":200000");
}

#[test]
fn client_that_ends_its_stream_gets_its_replies_first() {
    let mut node = Node::new(2, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.logs[1].is_held = true;
    let commands: String = (0..20).map(|n| format!("SET k{n} v\r\n")).collect();
    let brick = &mut node.bricks[0];
    brick
        .input(client.id)
        .extend_from_slice(commands.as_bytes());
    brick
        .input(client.id)
        .extend_from_slice(b"WATCH k1\r\nSET last v\r\nSET incompl");
    brick.on_received(client.id);
    brick.on_end_of_stream(client.id);
    node.settle();
    assert_eq!(node.bricks[0].poll_closed(), None);
    for _ in 0..3 {
        node.append(0);
        node.append(1);
        node.settle();
    }
    let replies = node.receive(client);
    assert_eq!(replies.matches("+OK").count(), 22, "{replies}");
    assert_eq!(node.bricks[0].poll_closed(), Some(client.id));
}

#[test]
fn ended_stream_of_an_idle_or_waiting_client_closes_at_once() {
    let mut node = log();
    let (idle, waiting) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    let partial = node.connect(0, Port::Node);
    node.call(waiting, "WAIT 1 0");
    node.bricks[0].on_end_of_stream(idle.id);
    assert_eq!(node.bricks[0].poll_closed(), Some(idle.id));
    node.bricks[0].on_end_of_stream(waiting.id);
    assert_eq!(node.bricks[0].poll_closed(), Some(waiting.id));
    node.bricks[0].input(partial.id).extend_from_slice(b"SET k");
    node.bricks[0].on_received(partial.id);
    node.bricks[0].on_end_of_stream(partial.id);
    node.settle();
    assert_eq!(node.bricks[0].poll_closed(), Some(partial.id));
}

#[test]
fn client_that_sends_faster_than_it_is_served_is_paused_and_resumed() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    let ping = b"PING\r\n".repeat(100_000);
    let brick = &mut node.bricks[0];
    for _ in 0..20 {
        if brick.wants_input(client.id) {
            brick.input(client.id).extend_from_slice(&ping);
            brick.on_received(client.id);
        }
    }
    assert!(brick.input(client.id).len() < 2 << 20);
    assert!(!brick.wants_input(client.id));
    let mut received = 0;
    for _ in 0..100 {
        node.turn();
        received += node.receive(client).matches("+PONG").count();
    }
    assert!(received >= 200_000 && received % 100_000 == 0, "{received}");
    assert!(node.bricks[0].wants_input(client.id));
    // One request may be longer than what a client may send ahead.
    let brick = &mut node.bricks[0];
    brick
        .input(client.id)
        .extend_from_slice(b"*2\r\n$4\r\nECHO\r\n$1048000\r\n");
    for _ in 0..131 {
        assert!(node.bricks[0].wants_input(client.id));
        node.bricks[0]
            .input(client.id)
            .extend_from_slice(&[b'x'; 8000]);
        node.bricks[0].on_received(client.id);
        node.turn();
    }
    node.bricks[0].input(client.id).extend_from_slice(b"\r\n");
    node.bricks[0].on_received(client.id);
    node.settle();
    assert_eq!(node.receive(client).len(), 1_048_000 + 9);
}

#[test]
fn shutting_down_does_not_wait_for_those_who_wait_for_it() {
    let mut node = log();
    let (waiting, client) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(waiting, "WAIT 1 0");
    node.logs[0].is_held = true;
    node.call(client, "SET k v");
    node.bricks[0].begin_shutdown();
    assert!(!node.bricks[0].is_drained());
    node.append(0);
    node.receive(client);
    assert!(node.bricks[0].is_drained());
}

fn megabyte() -> Vec<u8> {
    vec![b'x'; 1_000_000]
}

#[test]
fn writes_that_wait_for_their_sync_count_as_pending() {
    let mut node = Node::new(1, with(Durability::Fsync));
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    let value = megabyte();
    let mut replies = String::new();
    for _ in 0..100 {
        pipeline(&mut node, client, &[b"SET", b"k", &value]);
        node.append(0);
        replies.push_str(&node.receive(client));
    }
    assert_eq!(replies, "");
    node.sync(0);
    node.settle();
    let replies = node.receive(client);
    assert!(
        (60..80).contains(&replies.matches("+OK").count()),
        "{replies}"
    );
    assert!(replies.contains("-BUSY"), "{replies}");
    assert_eq!(node.call(client, "SET k v"), "");
}

#[test]
fn refused_clear_leaves_the_one_before_it_in_force() {
    let mut node = Node::new(1, with(Durability::Fsync));
    let clients = [(); 3].map(|()| node.connect(0, Port::Node));
    let [writer, first, second] = clients;
    node.call(writer, "SET k 10");
    node.logs[0].is_held = true;
    node.send(writer, "SET x 1");
    node.send(first, "FLUSHDB");
    node.send(writer, "SET y 1");
    node.send(second, "FLUSHDB");
    node.append_one(0);
    node.sync(0);
    node.turn();
    node.append_one(0);
    node.sync(0);
    node.turn();
    // The first clear is in the log and not synced, the second one is refused.
    node.append_one(0);
    node.refuse(0);
    assert!(node.receive(second).starts_with("-MISCONF"));
    // Until the pause after a refusal is over; the sync still does not come.
    node.advance(std::time::Duration::from_millis(300));
    node.send(writer, "INCR k");
    node.logs[0].is_held = false;
    node.settle();
    assert_eq!(node.receive(writer), "+OK +OK :1");
    assert_eq!(node.receive(first), "+OK");
}

#[test]
fn table_altered_from_fsync_to_log_keeps_the_order_of_its_writes() {
    let mut node = Node::new(1, with(Durability::Fsync));
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.call(client, "SET k v");
    node.append(0);
    let other = node.connect(0, Port::Node);
    assert_eq!(
        node.call(other, "TABLE ALTER default DURABILITY log"),
        "+OK"
    );
    node.call(client, "DEL k");
    node.append(0);
    node.sync(0);
    node.settle();
    assert_eq!(node.receive(client), "+OK :1");
    assert_eq!(node.call(client, "GET k"), "$-1");
    // Once that is over, writes wait for the log alone.
    node.advance(std::time::Duration::from_millis(100));
    node.call(client, "SET k v");
    node.append(0);
    node.settle();
    assert_eq!(node.receive(client), "+OK");
}

#[test]
fn full_table_has_room_again_after_a_flush() {
    for durability in [Durability::Log, Durability::Memory] {
        let attributes = TableAttributes {
            maxmemory: Some(3_000_000),
            ..with(durability)
        };
        let mut node = Node::new(1, attributes);
        let client = node.connect(0, Port::Node);
        let value = "x".repeat(60_000);
        let is_full = (0..60).any(|n| {
            node.call(client, &format!("SET k{n} {value}"))
                .starts_with("-OOM")
        });
        assert!(is_full);
        assert_eq!(node.call(client, "FLUSHDB"), "+OK");
        node.settle();
        assert_eq!(node.call(client, "SET k v"), "+OK");
    }
}

#[test]
fn refused_flush_does_not_make_damaged_keys_readable() {
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v");
    for state in node.bricks[0].core.tables.iter_mut() {
        for partition in state.partitions.iter_mut().flatten() {
            partition.gaps.lose_op(partition.op);
        }
    }
    assert!(node.call(client, "GET k").starts_with("-DAMAGED"));
    node.logs[0].is_held = true;
    node.call(client, "FLUSHDB");
    node.refuse(0);
    node.logs[0].is_held = false;
    assert!(node.receive(client).starts_with("-MISCONF"));
    assert!(node.call(client, "GET k").starts_with("-DAMAGED"));
    assert_eq!(node.call(client, "FLUSHDB\nGET k"), "+OK $-1");
}

#[test]
fn replies_of_several_damages_add_up_and_a_later_record_ends_them() {
    use crate::{LogDamage, LogReplay};
    use brickyard_types::{Op, Position, SegmentId};
    let mut node = log();
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k 1\nSET k 2\nSET k 3");
    let brick = node.bricks.remove(0);
    let (id, before) = brick
        .core
        .tables
        .iter()
        .flat_map(|state| state.partitions.iter().flatten())
        .max_by_key(|partition| partition.op)
        .map(|partition| (partition.id, partition.op))
        .unwrap();
    let damage = |segment, len| LogDamage {
        position: Position {
            segment: SegmentId(segment),
            offset: 0,
        },
        len,
        partitions: vec![(id, None)],
        is_suspicion: false,
        text: "damage".to_owned(),
    };
    let mut recovery = LogReplay::of(brick);
    recovery.on_damage(damage(1, 480));
    recovery.on_damage(damage(2, 480));
    node.bricks.insert(0, recovery.end(&[], SegmentId(1)));
    let partition = node.bricks[0].core.tables.partition_mut(id).unwrap();
    assert_eq!(partition.op, Op(before.0 + 22));
    assert_eq!(partition.gaps.damaged(), partition.op);
    assert!(node.call(client, "GET k").starts_with("-DAMAGED"));
    assert_eq!(node.call(client, "SET k 4\nGET k"), "+OK $1 4");
}

#[test]
fn one_request_cannot_ask_for_more_than_its_client_may_leave_unread() {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, "CONFIG SET client-output-bytes-max 1048576"),
        "+OK"
    );
    let value = megabyte();
    pipeline(&mut node, client, &[b"SET", b"{t}k", &value]);
    node.settle();
    assert_eq!(node.receive(client), "+OK");
    for command in [
        "MGET {t}k {t}k {t}k",
        "MGET {t}k a {t}k b {t}k",
        "MULTI\nGET {t}k\nGET {t}k\nGET {t}k\nEXEC",
    ] {
        let reply = node.call(client, command);
        assert!(
            reply.contains("-ERR the reply would be longer"),
            "{}",
            reply.len()
        );
    }
    assert_eq!(node.call(client, "GET {t}k").len(), 1_000_009);
}

#[test]
fn forwarded_requests_and_their_replies_are_bounded_in_bytes() {
    let mut node = Node::new(2, with(Durability::Log));
    let clients = [node.connect(0, Port::Node), node.connect(1, Port::Node)];
    let value = megabyte();
    pipeline(&mut node, clients[0], &[b"SET", b"k", &value]);
    node.settle();
    node.receive(clients[0]);
    let mut most = 0;
    for client in clients {
        for _ in 0..60 {
            pipeline(&mut node, client, &[b"SET", b"other", &value]);
            let connection = &node.bricks[client.brick].clients[client.id];
            most = most.max(connection.gathers.holding().cost);
        }
        node.settle();
        node.receive(client);
        let gets = b"GET k\r\n".repeat(100);
        node.bricks[client.brick]
            .input(client.id)
            .extend_from_slice(&gets);
        node.bricks[client.brick].on_received(client.id);
        let mut received = 0;
        for _ in 0..200 {
            node.turn();
            let connection = &node.bricks[client.brick].clients[client.id];
            assert!(
                connection.output.len() < 12 << 20,
                "{}",
                connection.output.len()
            );
            received += node.receive(client).len();
        }
        assert_eq!(received, 100 * 1_000_009 + received % 100);
        assert_eq!(received / 1_000_000, 100);
    }
    assert!(most <= 6 << 20, "{most}");
}
