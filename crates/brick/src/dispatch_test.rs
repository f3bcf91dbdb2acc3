use crate::accepted::Port;
use crate::effect::{Effect, Event};
use crate::harness::Node;
use brickyard_types::TableAttributes;

/// What a brick holds of requests of other bricks.
const BYTES_MAX: usize = 64 << 20;

/// As much as one client may have with other bricks.
const CLIENT_BYTES: usize = 4 << 20;

#[test]
fn brick_that_falls_behind_refuses_what_it_cannot_hold_and_executes_the_rest() {
    let mut node = Node::new(2, TableAttributes::default());
    let probe = node.connect(0, Port::Node);
    // A key of the other brick.
    let key = (0..100)
        .map(|number| format!("k{number}"))
        .find(|key| {
            node.call(probe, &format!("SET {key} x"));
            node.bricks[1].core.tables.get(0).unwrap().keys() > 0
        })
        .unwrap();
    let value = "v".repeat(1 << 20);
    let clients: Vec<_> = (0..2 * BYTES_MAX / CLIENT_BYTES)
        .map(|_| node.connect(0, Port::Node))
        .collect();
    let asked = CLIENT_BYTES / value.len();
    let mut messages = Vec::new();
    for client in &clients {
        let line = format!(
            "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n",
            key.len(),
            value.len()
        );
        let brick = &mut node.bricks[0];
        brick
            .input(client.id)
            .extend_from_slice(line.repeat(asked).as_bytes());
        brick.on_received(client.id);
    }
    // The first brick asks for everything before the second executes anything.
    let brick = &mut node.bricks[0];
    while brick.has_work() {
        brick.begin_turn(node.now, node.unix);
        brick.run();
        while let Some(effect) = brick.poll_effect() {
            match effect {
                Effect::Forward(_, forwards) => messages.push(forwards),
                other => panic!("{other:?}"),
            }
        }
    }
    for forwards in messages {
        node.bricks[1].handle(Event::Forward(brickyard_types::BrickId(0), forwards));
        assert!(node.bricks[1].core.requests.bytes().0 <= BYTES_MAX);
    }
    node.settle();
    node.settle();
    let replies: Vec<String> = clients.iter().map(|client| node.receive(*client)).collect();
    let done = replies
        .iter()
        .map(|reply| reply.matches("+OK").count())
        .sum::<usize>();
    let refused = replies
        .iter()
        .map(|reply| reply.matches("-BUSY").count())
        .sum::<usize>();
    assert_eq!(
        done + refused,
        clients.len() * asked,
        "each is answered once"
    );
    assert!(done >= BYTES_MAX / value.len() / 2, "{done} executed");
    assert!(refused >= BYTES_MAX / value.len() / 2, "{refused} refused");
    assert_eq!(
        node.bricks[1].core.stats().errors.busy.value(),
        refused as u64
    );
    assert!(node.bricks[1].core.requests.is_idle());
    assert_eq!(
        node.call(probe, &format!("SET {key} y\nGET {key}")),
        "+OK $1 y"
    );
}
