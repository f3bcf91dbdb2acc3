use crate::accepted::Port;
use crate::effect::{Effect, Event};
use crate::harness::Node;
use brickyard_types::TableAttributes;
use std::sync::atomic::Ordering::Relaxed;

/// Runs all bricks until nothing moves, and returns the checkpoints that were asked for.
fn checkpoints(node: &mut Node) -> Vec<(usize, u64)> {
    let mut asked = Vec::new();
    for _ in 0..20 {
        for at in 0..node.bricks.len() {
            node.bricks[at].begin_turn(node.now, node.unix);
            node.bricks[at].run();
            while let Some(effect) = node.bricks[at].poll_effect() {
                match effect {
                    Effect::Checkpoint(number) => asked.push((at, number)),
                    Effect::Forward(to, messages) => {
                        let from = brickyard_types::BrickId(at as u32);
                        node.bricks[to.0 as usize].handle(Event::Forward(from, messages));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    asked
}

fn last_save(node: &Node) -> u64 {
    node.bricks[0]
        .core
        .shared
        .counters
        .last_save_ms
        .load(Relaxed)
}

#[test]
fn save_is_answered_when_every_brick_has_its_checkpoint() {
    for (command, answer) in [("SAVE", "+OK"), ("BGSAVE", "+Background saving started")] {
        for port in [Port::Node, Port::Brick] {
            let mut node = Node::new(3, TableAttributes::default());
            let client = node.connect(1, port);
            let input = format!("{command}\r\nPING\r\n");
            node.bricks[1]
                .input(client.id)
                .extend_from_slice(input.as_bytes());
            node.bricks[1].on_received(client.id);
            let mut asked = checkpoints(&mut node);
            asked.sort_unstable();
            assert_eq!(asked.iter().map(|it| it.0).collect::<Vec<_>>(), [0, 1, 2]);
            for (at, number) in asked {
                assert_eq!(node.receive(client), "", "before brick {at}'s");
                assert_eq!(last_save(&node), 0);
                node.bricks[at].handle(Event::Checkpointed(number, Ok(())));
                checkpoints(&mut node);
            }
            assert_eq!(node.receive(client), format!("{answer} +PONG"));
            assert_eq!(last_save(&node), node.unix.0);
        }
    }
}

#[test]
fn checkpoint_that_fails_on_one_brick_is_none() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    node.bricks[0]
        .input(client.id)
        .extend_from_slice(b"SAVE\r\n");
    node.bricks[0].on_received(client.id);
    for (at, number) in checkpoints(&mut node) {
        let outcome = if at == 0 {
            Ok(())
        } else {
            Err("no".to_owned())
        };
        node.bricks[at].handle(Event::Checkpointed(number, outcome));
        checkpoints(&mut node);
    }
    assert_eq!(node.receive(client), "-ERR no");
    assert_eq!(last_save(&node), 0);
    assert_eq!(node.call(client, "LASTSAVE"), ":0");
}

#[test]
fn save_covers_what_its_connection_wrote_before() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.send(client, "SET k v\nSAVE");
    node.settle();
    assert_eq!(node.receive(client), "", "the write is not appended yet");
    node.append(0);
    node.settle();
    assert_eq!(node.receive(client), "+OK +OK");
}
