use crate::controller::testing::{World, ms};
use crate::message::DrainAsk;
use brickyard_metadata::{Change, NewTable};
use brickyard_routing::NodeId;
use brickyard_types::UnixMillis;

#[test]
fn new_tables_keep_off_nodes_that_are_down() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    world.nodes[1].is_up = false;
    world.run(ms(2_000));
    assert_eq!(world.controller.down(), [NodeId(1)]);
    let create = Change::CreateTable(NewTable::named("new", 1, UnixMillis(1)));
    let admitted = world.controller.admit(world.now, create).unwrap();
    let Change::CreateTable(new) = admitted else {
        panic!("another change")
    };
    assert_eq!(new.avoid, [NodeId(1)]);
}

#[test]
fn new_tables_keep_off_nodes_that_stop_or_have_just_stopped() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    let ask = DrainAsk {
        node: NodeId(1),
        incarnation: world.nodes[1].incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    world.nodes[1].is_up = false;
    world.run(ms(400));
    assert!(world.controller.down().is_empty(), "its lease goes on");
    let create = Change::CreateTable(NewTable::named("new", 1, UnixMillis(1)));
    let admitted = world.controller.admit(world.now, create).unwrap();
    let Change::CreateTable(new) = admitted else {
        panic!("another change")
    };
    assert_eq!(new.avoid, [NodeId(1)]);
}

#[test]
fn nodes_that_vote_or_run_are_not_removed() {
    let mut world = World::new(4, 1, 1);
    world.run(ms(3_000));
    let remove = |node| Change::RemoveNode {
        node: NodeId(node),
        force: true,
    };
    let refusal = world.controller.admit(world.now, remove(1)).unwrap_err();
    assert!(
        refusal.starts_with("node 1 votes on the catalog"),
        "{refusal}"
    );
    // Who asks without force hears what would be lost, and not what else is to be done first.
    let unforced = Change::RemoveNode {
        node: world.group().primary.member.node,
        force: false,
    };
    let refusal = world.controller.admit(world.now, unforced).unwrap_err();
    assert!(refusal.contains("of 't' ("), "{refusal}");
    let refusal = world.controller.admit(world.now, remove(3)).unwrap_err();
    assert!(refusal.starts_with("node 3 is running"), "{refusal}");
    world.nodes[3].is_up = false;
    world.run(ms(2_000));
    world.controller.admit(world.now, remove(3)).unwrap();
}
