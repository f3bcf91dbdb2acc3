//! What is on a slow way while the rest of the cluster comes to its end.

use super::adopted::behind;
use crate::clock::{Nanos, SECOND};
use crate::network::Place;
use crate::operator::orders::Order;
use crate::plan::Plan;
use crate::plan_in;
use crate::scenario::CALM;
use crate::world::World;

/// A whole cluster one of whose nodes holds nothing and does not lead; whether the operator is connected to that one.
fn world_with_a_drained_node(is_of_operator: bool) -> (World, usize) {
    let mut found = (1..50).filter_map(|seed| drained_world(seed, is_of_operator));
    found
        .next()
        .expect("a seed in which such a node does not lead")
}

/// Which node the operator meets, and which leads, hangs on the seed.
fn drained_world(seed: u64, is_of_operator: bool) -> Option<(World, usize)> {
    let mut world = calm_world(seed);
    let of_operator = node_of_operator(&world);
    let mut nodes = 0..world.cluster.machines.len();
    let node = nodes.find(|node| {
        let is_it = of_operator == Some(*node);
        is_it == is_of_operator && !is_leading(&world, *node)
    })?;
    world.order(Order::Drain(node));
    let is_done = goes_on_until(&mut world, |world| {
        world.operator.is_done() && world.is_whole()
    });
    let is_same = node_of_operator(&world) == of_operator && !is_leading(&world, node);
    (is_done && is_same).then_some((world, node))
}

/// A cluster to which nothing happens any more, and whose operator is connected to a node.
fn calm_world(seed: u64) -> World {
    let plan = Plan {
        faults: Vec::new(),
        clients: 2,
        operations: 20,
        ..plan_in(&CALM, seed)
    };
    let mut world = World::new(seed, plan, false);
    run_until(&mut world, |world| {
        world.cluster.ground.stage.is_calm && node_of_operator(world).is_some()
    });
    world
}

fn is_leading(world: &World, node: usize) -> bool {
    let process = world.cluster.machines[node].process.as_ref();
    let member = process.and_then(|it| it.member());
    member.is_some_and(|it| it.is_leading())
}

/// It does not hear of what the catalog is after that.
fn world_with_a_node_behind() -> (World, usize) {
    let (mut world, node) = world_with_a_drained_node(false);
    world.cluster.network.cut_control(node);
    world.order(Order::PauseMoves);
    world.order(Order::ResumeMoves);
    run_until(&mut world, |world| {
        world.operator.is_done() && behind(&world.cluster).is_some()
    });
    (world, node)
}

fn node_of_operator(world: &World) -> Option<usize> {
    let network = &world.cluster.network;
    let connections = network.at(Place::Operator).into_iter();
    let mut open = connections
        .filter_map(|id| network.get(id))
        .filter(|it| it.is_open[0]);
    match open.next()?.ends[1].place {
        Place::Node(node) => Some(node),
        Place::Client(_) | Place::Operator => None,
    }
}

fn run_until(world: &mut World, is_there: impl Fn(&World) -> bool) {
    let came = goes_on_until(world, is_there);
    assert!(came, "{:?}", world.cluster.ground.notes.violation());
}

/// Whether it comes to that before the end.
fn goes_on_until(world: &mut World, is_there: impl Fn(&World) -> bool) -> bool {
    while !is_there(world) {
        if !world.step() {
            return false;
        }
    }
    true
}

fn run_for(world: &mut World, length: Nanos) {
    let until = world.now() + length;
    while world.now() < until && world.step() {}
}

#[test]
fn nobody_is_asked_what_it_has_before_it_acts_by_the_last_catalog() {
    let (mut world, node) = world_with_a_node_behind();
    // Meanwhile everything else is as it is wanted, and everybody has answered.
    run_for(&mut world, 20 * SECOND);
    assert!(
        world.cluster.checkers.done_at.is_some(),
        "not at its end yet"
    );
    assert!(!world.cluster.ground.stage.is_over);
    world.cluster.heal_control(node);
    world.run();
    assert_eq!(world.cluster.ground.notes.violation(), None);
    assert_eq!(behind(&world.cluster), None);
}

#[test]
fn a_node_that_never_hears_of_the_last_catalog_is_a_violation() {
    let (mut world, node) = world_with_a_node_behind();
    run_for(&mut world, 100 * SECOND);
    let violation = world.cluster.ground.notes.violation().unwrap_or_default();
    let what = format!("brick 0 of node {node} acts by catalog");
    assert!(violation.contains(&what), "{violation}");
}

#[test]
fn an_order_that_is_carried_out_late_is_taken_back_before_the_end() {
    // Given again at a node that hears and is heard, and before the operator says again how all is to be: whom it meets hangs
    // on the seed.
    let found = (1..50).find_map(|seed| {
        let (mut world, node) = drained_world(seed, true)?;
        world.cluster.network.cut_control(node);
        world.order(Order::TakeOffline(0));
        let in_doubt = goes_on_until(&mut world, |world| world.operator.affirms_at > world.now());
        world.order(Order::BringOnline(0));
        let done = goes_on_until(&mut world, |world| world.cluster.checkers.done_at.is_some());
        let is_early = world.operator.affirms_at > world.now();
        let is_back = !world.operator.is_out_of_service(&world.cluster, 0);
        (in_doubt && done && is_early && is_back).then_some((world, node))
    });
    let (mut world, node) = found.expect("a seed in which it is given again in time");
    world.cluster.heal_control(node);
    run_until(&mut world, |world| {
        world.operator.is_out_of_service(&world.cluster, 0)
    });
    world.run();
    assert_eq!(world.cluster.ground.notes.violation(), None);
    assert!(!world.operator.is_out_of_service(&world.cluster, 0));
}
