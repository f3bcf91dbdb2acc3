use crate::accepted::Port;
use crate::harness::Node;
use brickyard_metadata::{Change, NewTable};
use brickyard_types::{TableAttributes, UnixMillis};

#[test]
fn layout_is_made_shown_altered_and_there_after_a_restart() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let shown = |node: &mut Node, client, table: &str, wanted: [&str; 3]| {
        let described = node.call(client, &format!("TABLE DESCRIBE {table}"));
        for wanted in wanted {
            assert!(described.contains(wanted), "{wanted} in {described}");
        }
    };
    let usual = [
        "$9 placement $4 even",
        "$5 nodes $3 all",
        "$15 partition_bytes $7 default",
    ];
    shown(&mut node, client, "default", usual);
    let made = node.call(
        client,
        "TABLE CREATE t PLACEMENT ring:20 NODES 0 PARTITION_BYTES 8mb",
    );
    assert_eq!(made, "+OK");
    let own = [
        "$9 placement $7 ring:20",
        "$5 nodes $1 0",
        "$15 partition_bytes $7 8388608",
    ];
    shown(&mut node, client, "t", own);
    node.restart();
    let client = node.connect(1, Port::Node);
    shown(&mut node, client, "t", own);
    assert_eq!(
        node.call(
            client,
            "TABLE ALTER t PLACEMENT even NODES all PARTITION_BYTES default EVICT none"
        ),
        "+OK"
    );
    shown(&mut node, client, "t", usual);
    let refused = node.call(client, "TABLE ALTER t NODES 0,3");
    assert!(
        refused.starts_with("-ERR node 3 is not in the cluster"),
        "{refused}"
    );
    let refused = node.call(client, "TABLE CREATE u REPLICAS 2 NODES 0");
    assert!(
        refused.starts_with("-ERR NODES: 1 of them may hold"),
        "{refused}"
    );
}

#[test]
fn keys_of_a_table_on_a_ring_are_where_it_says() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "TABLE CREATE t PLACEMENT ring"), "+OK");
    assert_eq!(node.call(client, "TABLE USE t"), "+OK");
    for key in 0..20 {
        assert_eq!(node.call(client, &format!("SET key{key} {key}")), "+OK");
    }
    assert_eq!(node.call(client, "GET key7"), "$1 7");
    assert_eq!(node.call(client, "DBSIZE"), ":20");
    // The plan has nothing to do: it begins where it should be.
    assert_eq!(node.call(client, "REBALANCE PLAN"), "*0");
}

#[test]
fn table_that_another_node_has_just_made_is_used() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    node.elsewhere = Some(Change::CreateTable(NewTable::named("t", 7, UnixMillis(1))));
    assert_eq!(
        node.call(client, "TABLE USE t\nSET k of-t\nTABLE USE default\nGET k"),
        "+OK +OK +OK $-1"
    );
    let refused = node.call(client, "TABLE USE nosuch\nGET k");
    assert!(
        refused.starts_with("-ERR there is no table 'nosuch'"),
        "{refused}"
    );
    assert_eq!(node.bricks[0].poll_closed(), Some(client.id));
}
