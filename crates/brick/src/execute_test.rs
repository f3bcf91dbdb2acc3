use crate::accepted::Port;
use crate::harness::Node;
use brickyard_types::TableAttributes;

#[test]
fn lines_of_a_browser_end_the_connection_before_the_body_is_executed() {
    for header in ["POST / HTTP/1.1", "post x", "GET / HTTP/1.1\nHost: a"] {
        let mut node = Node::new(1, TableAttributes::default());
        let browser = node.connect(0, Port::Node);
        node.call(browser, &format!("{header}\nSET k stolen"));
        assert_eq!(node.bricks[0].poll_closed(), Some(browser.id), "{header}");
        let client = node.connect(0, Port::Node);
        assert_eq!(node.call(client, "GET k"), "$-1", "{header}");
    }
    // Other words that mean nothing are answered, and the connection goes on.
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert!(node.call(client, "PUT / HTTP/1.1\nPING").ends_with("+PONG"));
}
