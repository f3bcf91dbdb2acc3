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

/// Partitions of less than a slot, keys of several of them in one transaction, and what a cluster client meets at a brick's port.
#[test]
fn tables_of_every_hash_function_do_the_same_at_every_port() {
    for (hash, shown) in [
        ("slot", "$4 hash $4 slot"),
        ("keyed", "$4 hash $5 keyed"),
        ("key64", "$4 hash $5 key64"),
        ("ordered", "$4 hash $7 ordered"),
        (
            "ordered FROM k00 TO k99",
            "$4 hash $7 ordered $4 from $3 k00 $2 to $3 k99",
        ),
    ] {
        let mut node = Node::new(2, TableAttributes::default());
        let client = node.connect(0, Port::Node);
        let made = node.call(client, &format!("TABLE CREATE 7 HASH {hash}"));
        assert_eq!(made, "+OK", "{hash}");
        let described = node.call(client, "TABLE DESCRIBE 7");
        assert!(described.contains(shown), "{shown} in {described}");
        node.restart();
        let bricks = [0, 1].map(|brick| node.connect(brick, Port::Brick));
        for brick in bricks {
            assert_eq!(node.call(brick, "TABLE USE 7"), "+OK");
        }
        let mut moved = 0;
        for key in 0..100 {
            let set = format!("SET k{key:02} {key}");
            let reply = node.call(bricks[0], &set);
            if reply.starts_with("-MOVED ") {
                moved += 1;
                assert_eq!(node.call(bricks[1], &set), "+OK", "{hash}");
            }
        }
        let by_slots = hash == "slot";
        assert_eq!(moved > 0, by_slots, "{hash}: {moved} were redirected");
        // Each brick counts its own, as cluster clients add them up.
        let counts = bricks.map(|brick| node.call(brick, "DBSIZE"));
        let counts = counts.map(|it| it.trim_start_matches(':').parse::<u32>().unwrap());
        assert_eq!(counts[0] + counts[1], 100, "{hash}");
        if !by_slots {
            assert_eq!(node.call(bricks[1], "MSET k00 a k99 b"), "+OK", "{hash}");
            let both = node.call(bricks[0], "MGET k00 k99");
            assert_eq!(both, "*2 $1 a $1 b", "{hash}");
            let moved = node.call(bricks[0], "RENAME k00 k98");
            assert_eq!(moved, "+OK", "{hash}");
            assert_eq!(node.call(bricks[1], "GET k98"), "$1 a", "{hash}");
        }
        for brick in bricks {
            assert_eq!(node.call(brick, "FLUSHDB"), "+OK");
        }
        assert_eq!(node.call(bricks[0], "DBSIZE"), ":0");
    }
}

#[test]
fn bounds_that_tell_no_keys_apart_are_refused() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let refused = node.call(client, "TABLE CREATE t HASH ordered FROM k TO k00");
    assert!(
        refused.starts_with("-ERR FROM 'k' and TO 'k00' are too much alike"),
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
