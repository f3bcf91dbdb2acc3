use super::*;
use crate::accepted::ConnectionId;
use brickyard_routing::Member;
use brickyard_routing::NodeId;
use brickyard_types::{BrickId, Slot, TableId};

fn order(connection: u32) -> SessionOrder {
    SessionOrder {
        member: Member {
            node: NodeId(1),
            brick: BrickId(0),
        },
        connection: ConnectionId(connection),
        table: TableId(1),
        slot: Slot(7),
    }
}

#[test]
fn an_order_is_there_for_as_long_as_something_of_it_is_anywhere() {
    let mut orders = Orders::default();
    orders.enter(Some(order(1)), Place::View);
    orders.enter(Some(order(1)), Place::View);
    orders.enter(Some(order(1)), Place::LocalRead);
    orders.enter(Some(order(2)), Place::Remote);
    orders.enter(None, Place::Values);
    assert!(orders.is_at(order(1), Place::View) && !orders.is_at(order(2), Place::View));
    assert!(orders.is_away(order(1)) && orders.is_away(order(2)));
    orders.leave(Some(order(1)), Place::LocalRead);
    orders.leave(Some(order(1)), Place::View);
    assert!(orders.is_at(order(1), Place::View) && !orders.is_away(order(1)));
    orders.leave(Some(order(1)), Place::View);
    orders.leave(Some(order(2)), Place::Remote);
    orders.leave(None, Place::Values);
    assert!(orders.is_empty());
}

#[test]
#[should_panic(expected = "nothing of")]
fn what_is_nowhere_does_not_leave() {
    let mut orders = Orders::default();
    orders.enter(Some(order(1)), Place::View);
    orders.leave(Some(order(1)), Place::Remote);
}
