//! `MONITOR` and `CLIENT PAUSE` on whole bricks.

use super::*;
use crate::accepted::Port;
use crate::harness::{Client, Node, log, with};
use brickyard_types::Durability;
use std::time::Duration;

/// The lines that a client has got, without time and address.
fn lines(node: &mut Node, client: Client) -> Vec<String> {
    node.settle();
    let brick = &mut node.bricks[client.brick];
    let bytes = brick.output(client.id).to_vec();
    brick.on_sent(client.id, bytes.len());
    let text = String::from_utf8(bytes).unwrap();
    let line = |line: &str| {
        let (head, shown) = line.split_once("] ").unwrap_or(("", line));
        assert!(
            head.is_empty() || head.starts_with('+') && head.contains("000 [0 "),
            "{line}"
        );
        shown.to_owned()
    };
    text.split_terminator("\r\n").map(line).collect()
}

#[test]
fn what_clients_of_all_bricks_ask_for_is_shown_without_secrets() {
    let mut node = Node::new(2, with(Durability::Log));
    let watcher = node.connect(0, Port::Node);
    assert_eq!(node.call(watcher, "MONITOR"), "+OK");
    let (here, there) = (node.connect(0, Port::Node), node.connect(1, Port::Node));
    node.call(here, "SET k \"a\\x00\\xff\\\"\\\\\\n\\r\\t\"");
    node.call(there, "strlen k\nMULTI\nincr n\nexec");
    node.call(
        there,
        "AUTH ann wrong\nHELLO 3 AUTH default secret\nHELLO 2",
    );
    node.call(
        here,
        "CONFIG GET maxmemory\nnosuch x\nGET\nEVAL \"return 1\" 0",
    );
    let shown = lines(&mut node, watcher);
    let expected = [
        r#""SET" "k" "a\x00\xff\"\\\n\r\t""#,
        r#""strlen" "k""#,
        r#""MULTI""#,
        r#""incr" "n""#,
        r#""exec""#,
        r#""AUTH" "(redacted)" "(redacted)""#,
        r#""HELLO" "3" "AUTH" "(redacted)" "(redacted)""#,
        r#""HELLO" "2""#,
        r#""EVAL" "return 1" "0""#,
    ];
    assert_eq!(shown, expected);
    // It may go on asking, and ends by RESET.
    assert!(node.call(watcher, "PING").starts_with("+PONG"));
    node.call(watcher, "RESET");
    lines(&mut node, watcher);
    node.call(here, "GET k");
    assert!(lines(&mut node, watcher).is_empty());
    assert!(!node.bricks[0].core.shared.oversight.monitors.are_there());
}

#[test]
fn watcher_that_is_gone_or_does_not_read_is_told_no_more() {
    let mut node = Node::new(2, with(Durability::Log));
    let (slow, gone) = (node.connect(1, Port::Node), node.connect(0, Port::Node));
    node.call(slow, "MONITOR");
    node.call(gone, "MONITOR");
    let client = node.connect(0, Port::Node);
    let settings = &node.bricks[0].core.shared.settings;
    settings.output_bytes_max.store(4 << 20, Relaxed);
    node.bricks[0].on_error(gone.id);
    assert_eq!(node.bricks[0].poll_closed(), Some(gone.id));
    assert_eq!(
        node.bricks[0]
            .core
            .shared
            .oversight
            .monitors
            .bricks()
            .collect::<Vec<_>>(),
        [BrickId(1)]
    );
    let long = "x".repeat(50_000);
    let mut sent = 0;
    while node.bricks[0].core.shared.oversight.monitors.are_there() {
        node.call(client, &format!("ECHO {long}"));
        node.bricks[1].poll_closed();
        sent += 1;
        assert!(sent < 2_000, "{sent} lines are held");
    }
    // Of a long argument the beginning is shown.
    assert!(sent * 5_000 > 4 << 20, "closed after {sent} lines");
}

#[test]
fn commands_wait_for_the_end_of_a_pause_and_nothing_is_lost() {
    let mut node = Node::new(2, with(Durability::Log));
    let clients = [node.connect(0, Port::Node), node.connect(1, Port::Node)];
    let operator = node.connect(0, Port::Node);
    for (mode, reads_wait) in [("", true), ("ALL", true), ("WRITE", false)] {
        assert_eq!(
            node.call(operator, &format!("CLIENT PAUSE 60000 {mode}")),
            "+OK"
        );
        for client in clients {
            node.send(client, "GET k\nINCR n\nGET n");
        }
        node.settle();
        for client in clients {
            let got = if reads_wait { "" } else { "$-1" };
            assert_eq!(node.receive(client), got, "{mode}");
        }
        assert_eq!(node.call(operator, "CLIENT UNPAUSE"), "+OK");
        node.settle();
        let replies = clients.map(|client| node.receive(client));
        for reply in replies {
            assert!(
                reply.contains(':') && reply.contains("$1 "),
                "{mode}: {reply}"
            );
        }
        assert_eq!(node.call(operator, "GET n"), "$1 2");
        node.call(operator, "DEL n");
    }
    // It ends by itself.
    node.call(operator, "CLIENT PAUSE 50 WRITE");
    node.send(clients[1], "SET k v");
    node.settle();
    assert_eq!(node.receive(clients[1]), "");
    node.advance(Duration::from_millis(60));
    node.settle();
    assert_eq!(node.receive(clients[1]), "+OK");
}

#[test]
fn who_is_held_may_go_and_a_transaction_that_only_reads_is_not_held() {
    let mut node = log();
    let (client, operator) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(operator, "CLIENT PAUSE 60000 WRITE");
    assert_eq!(
        node.call(client, "MULTI\nGET k\nEXEC"),
        "+OK +QUEUED *1 $-1"
    );
    node.send(client, "SET k v");
    node.settle();
    node.bricks[0].on_error(client.id);
    assert_eq!(node.bricks[0].poll_closed(), Some(client.id));
    assert_eq!(node.call(operator, "CLIENT UNPAUSE"), "+OK");
    assert_eq!(node.call(operator, "GET k"), "$-1");
    for (request, error) in [
        (
            "CLIENT PAUSE x",
            "-ERR timeout is not an integer or out of range",
        ),
        ("CLIENT PAUSE -1", "-ERR timeout is negative"),
        (
            "CLIENT PAUSE 1 foo",
            "-ERR CLIENT PAUSE mode must be WRITE or ALL",
        ),
        (
            "CLIENT PAUSE 1 WRITE x",
            "-ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
        ),
    ] {
        assert_eq!(node.call(operator, request), error);
    }
}
