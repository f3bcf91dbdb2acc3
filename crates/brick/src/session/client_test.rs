use crate::accepted::Port;
use crate::harness::Node;
use brickyard_types::TableAttributes;

#[test]
fn connections_of_a_user_are_killed_and_an_unknown_one_is_named() {
    let mut node = Node::new(2, TableAttributes::default());
    let (client, other) = (node.connect(0, Port::Node), node.connect(1, Port::Node));
    assert_eq!(
        node.call(client, "CLIENT KILL USER nobody"),
        "-ERR No such user 'nobody'"
    );
    assert_eq!(node.bricks[1].poll_closed(), None);
    assert_eq!(node.call(client, "CLIENT KILL USER default"), ":1");
    assert_eq!(node.bricks[1].poll_closed(), Some(other.id));
}
