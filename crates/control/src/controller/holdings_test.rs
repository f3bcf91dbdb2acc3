use super::*;
use crate::controller::testing::{TABLE, World, first, replica};
use brickyard_routing::NodeId;
use brickyard_types::BrickId;

/// Three nodes of weight 1, a table of four partitions with two copies each; of the default table node 0 has one.
fn holdings() -> Holdings {
    Holdings::of(&World::new(3, 2, 4).catalog)
}

fn member(node: u32) -> Member {
    first(node).member
}

#[test]
fn holdings_are_what_the_catalog_has() {
    let holdings = holdings();
    let of = |node| {
        (
            holdings.primaries(TABLE, member(node)),
            holdings.members(member(node)),
        )
    };
    let all = [of(0), of(1), of(2)];
    // Per mille of a weight of one.
    assert_eq!(all.iter().map(|it| it.0).sum::<u64>(), 4_000, "{all:?}");
    assert_eq!(all.iter().map(|it| it.1).sum::<u64>(), 9_000, "{all:?}");
    assert_eq!(holdings.weight(member(0)), 1);
    let nobody = Member {
        node: NodeId(9),
        brick: BrickId(0),
    };
    assert_eq!((holdings.weight(nobody), holdings.members(nobody)), (0, 0));
}

#[test]
fn what_is_decided_counts_at_once() {
    let mut holdings = holdings();
    let (a, b) = (member(0), member(2));
    let led = |holdings: &Holdings| [a, b].map(|it| holdings.primaries(TABLE, it));
    let before = led(&holdings);
    holdings.hand_over(TABLE, a, b);
    assert_eq!(led(&holdings), [before[0] - 1_000, before[1] + 1_000]);

    let before = holdings.members(b);
    let learner = first(2);
    holdings.learn(member(7), learner);
    assert_eq!(holdings.learning(learner), 1);
    assert_eq!(holdings.members(b), before + 1_000);
    assert!(holdings.are_partners(member(7), b) && !holdings.are_partners(b, member(7)));
    holdings.leave(b);
    assert_eq!(holdings.members(b), before);
    assert_eq!(holdings.learning(replica(2, 99)), 0, "another life");
}

#[test]
fn brick_has_room_up_to_its_share() {
    let mut holdings = holdings();
    // Nine copies are wanted in all, three by each brick.
    let has_room = |holdings: &Holdings, node| holdings.has_room(member(node));
    let node = (0..3).find(|node| holdings.members(member(*node)) == 3_000);
    let node = node.expect("one has its share");
    assert!(has_room(&holdings, node));
    holdings.learn(member(7), first(node));
    assert!(!has_room(&holdings, node));
    // Where nothing has a weight there is no share.
    let nobody = Holdings::default();
    assert!(nobody.has_room(member(0)));
}
