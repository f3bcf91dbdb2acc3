use crate::accepted::Port;
use crate::harness::{Client, Node};
use crate::users::{Grant, Rights, User};
use brickyard_metadata::Level;
use brickyard_types::TableAttributes;

/// Two bricks, so that keys of one name are with different ones.
fn node() -> (Node, Client) {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    (node, client)
}

/// Commands in a table, one a line.
fn in_table(node: &mut Node, client: Client, table: u16, commands: &str) -> String {
    let told = node.call(client, &format!("SELECT {table}\n{commands}\nSELECT 0"));
    let told = told.strip_prefix("+OK ").unwrap();
    told.strip_suffix(" +OK").unwrap().to_owned()
}

#[test]
fn keys_go_to_another_table_with_all_that_they_have() {
    let (mut node, client) = node();
    for number in 0..20 {
        let key = format!("k{number}");
        node.call(client, &format!("SET {key} {number} PX 50000"));
        // Nobody has chosen the table before.
        assert_eq!(node.call(client, &format!("MOVE {key} 7")), ":1", "{key}");
        assert_eq!(node.call(client, &format!("EXISTS {key}")), ":0");
        let there = in_table(&mut node, client, 7, &format!("GET {key}\nPTTL {key}"));
        let (value, lives) = there.split_once(" :").unwrap();
        assert_eq!(value, format!("${} {number}", number.to_string().len()));
        let lives: u64 = lives.parse().unwrap();
        assert!((1..=50_000).contains(&lives), "{lives}");
    }
    assert_eq!(node.call(client, "HSET h f v g w\nMOVE h 7"), ":2 :1");
    let there = in_table(&mut node, client, 7, "HGET h g\nTYPE h");
    assert_eq!(there, "$1 w +hash");
}

#[test]
fn what_is_there_stays_and_what_is_not_there_goes_nowhere() {
    let (mut node, client) = node();
    node.call(client, "SET k old");
    in_table(&mut node, client, 1, "SET k other");
    let told = node.call(client, "MOVE k 1\nMOVE missing 1\nCOPY k k DB 1\nGET k");
    assert_eq!(told, ":0 :0 :0 $3 old");
    assert_eq!(
        in_table(&mut node, client, 1, "GET k\nDBSIZE"),
        "$5 other :1"
    );
    assert_eq!(
        node.call(client, "COPY k k DB 1 REPLACE\nGET k"),
        ":1 $3 old"
    );
    assert_eq!(in_table(&mut node, client, 1, "GET k"), "$3 old");
    assert_eq!(node.call(client, "COPY k copy REPLACE DB 1"), ":1");
    assert_eq!(in_table(&mut node, client, 1, "GET copy"), "$3 old");
    // A key whose time is over is not there.
    in_table(&mut node, client, 1, "SET brief x PX 5");
    node.call(client, "SET brief lasting");
    node.advance(std::time::Duration::from_millis(100));
    assert_eq!(node.call(client, "MOVE brief 1"), ":1");
    assert_eq!(in_table(&mut node, client, 1, "GET brief"), "$7 lasting");
}

#[test]
fn the_connections_own_table_is_no_other() {
    let (mut node, client) = node();
    let same = "-ERR source and destination objects are the same";
    node.call(client, "SET k v");
    assert_eq!(node.call(client, "MOVE k 0"), same);
    assert_eq!(node.call(client, "COPY k k DB 0"), same);
    assert_eq!(node.call(client, "COPY k c DB 0\nGET c"), ":1 $1 v");
    let wrong = "-ERR DB index is out of range";
    assert_eq!(node.call(client, "MOVE k 16"), wrong);
    assert_eq!(node.call(client, "COPY k c DB -1"), wrong);
    let none = "-ERR value is not an integer or out of range";
    assert_eq!(node.call(client, "MOVE k table"), none);
    assert_eq!(node.call(client, "COPY k c DB"), "-ERR syntax error");
    // To who has named a table that is 0.
    node.call(client, "TABLE CREATE orders");
    let home = node.connect(1, Port::Node);
    node.call(home, "AUTH +orders x\nSET k home");
    assert_eq!(node.call(home, "MOVE k 0"), same);
    assert_eq!(node.call(home, "COPY k c DB 0\nGET c"), ":1 $4 home");
    let told = node.call(home, "MULTI\nCOPY k d DB 0\nEXEC\nGET d");
    assert_eq!(told, "+OK +QUEUED *1 :1 $4 home");
    assert_eq!(node.call(home, "SELECT 3\nSET m x\nMOVE m 0"), "+OK +OK :1");
    assert_eq!(node.call(home, "SELECT 0\nGET m"), "+OK $1 x");
    assert_eq!(node.call(home, "TABLE USE default\nMOVE k 0"), "+OK :0");
    assert_eq!(node.call(home, "MOVE c 0\nEXISTS c"), ":0 :1");
}

#[test]
fn transactions_scripts_and_ids_are_of_one_table() {
    let (mut node, client) = node();
    node.call(client, "SELECT 1\nSELECT 0\nSET k v");
    for command in ["MOVE k 1", "COPY k k DB 1"] {
        let told = node.call(client, &format!("MULTI\nSET k new\n{command}\nEXEC"));
        assert!(told.contains("is about two tables and a transaction about one"));
        assert!(told.contains("-EXECABORT"), "{told}");
        let words: Vec<String> = command.split(' ').map(|it| format!("'{it}'")).collect();
        let script = format!("EVAL \"return redis.call({})\" 1 k", words.join(","));
        let told = node.call(client, &script);
        assert!(told.contains("come alone, at a node's port"), "{told}");
    }
    // What is wrong with the arguments the command says when it is executed, as in Redis.
    let told = node.call(client, "MULTI\nMOVE k 16\nMOVE k 0\nEXEC");
    let error = "-ERR DB index is out of range";
    let same = "-ERR source and destination objects are the same";
    assert_eq!(told, format!("+OK +QUEUED +QUEUED *2 {error} {same}"));
    let now = node.call(client, "REQUEST NOW");
    let now = now.trim_start_matches(':').to_owned();
    let told = node.call(client, &format!("REQUEST 7 {now} FIRST MOVE k 1"));
    assert!(told.contains("send it without an id"), "{told}");
    let told = node.call(client, &format!("REQUEST 7 {now} FIRST COPY k k DB 1"));
    assert!(told.contains("not with an id"), "{told}");
    assert_eq!(node.call(client, "GET k"), "$1 v");
    assert_eq!(in_table(&mut node, client, 1, "DBSIZE"), ":0");
}

#[test]
fn a_bricks_port_answers_as_a_node_of_a_redis_cluster() {
    let (mut node, client) = node();
    node.call(client, "SELECT 1\nSELECT 0\nSET k v");
    let brick = node.connect(0, Port::Brick);
    let told = node.call(brick, "MOVE k 1\nMOVE k 0\nCOPY {k}a {k}b DB 1");
    let moved = "-ERR MOVE is not allowed in cluster mode";
    let copied = "-ERR Copying to another database is not allowed in cluster mode";
    assert_eq!(told, format!("{moved} {moved} {copied}"));
}

#[test]
fn nothing_is_done_while_a_node_knows_no_such_transactions() {
    let (mut node, client) = node();
    node.call(client, "SELECT 1\nSELECT 0\nSET k v");
    let lowest = |node: &Node, level| node.bricks[0].core.shared.lowest_level.set(level);
    lowest(&node, Level::TABLE_HASHES);
    for command in ["MOVE k 1", "COPY k k DB 1"] {
        let told = node.call(client, command);
        assert!(told.contains("runs an earlier version"), "{told}");
    }
    assert_eq!(in_table(&mut node, client, 1, "DBSIZE"), ":0");
    lowest(&node, Level::TWO_TABLES);
    assert_eq!(node.call(client, "MOVE k 1"), ":1");
}

#[test]
fn the_user_has_to_have_the_right_to_write_in_both_tables() {
    let grant = |tables: &str, write| Grant {
        tables: tables.to_owned(),
        rights: Rights {
            read: true,
            write,
            admin: false,
        },
    };
    let user = |name: &str, grants| User {
        name: name.to_owned(),
        password_hashes: Vec::new(),
        grants,
        ..User::unrestricted()
    };
    let all = Grant {
        tables: "*".to_owned(),
        rights: Rights::ALL,
    };
    let some = vec![grant("default", true), grant("1", false), grant("2", true)];
    let users = vec![user("root", vec![all]), user("ann", some)];
    let mut node = Node::with_users(2, TableAttributes::default(), users);
    let (root, ann) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    let told = node.call(root, "AUTH root x\nSELECT 1\nSELECT 3\nSELECT 0\nSET k v");
    assert_eq!(told, "+OK +OK +OK +OK +OK");
    assert_eq!(node.call(ann, "AUTH ann x"), "+OK");
    let told = node.call(ann, "MOVE k 1");
    let lacking = "-NOPERM User ann has no permissions to run the 'move' command on table '1'";
    assert_eq!(told, lacking);
    let told = node.call(ann, "COPY k k DB 3");
    assert_eq!(told, "-NOPERM this user has no rights on table '3'");
    // Nor does it make a table where it may not write.
    let told = node.call(ann, "MOVE k 4");
    assert_eq!(told, "-NOPERM this user has no rights on table '4'");
    assert!(!node.call(root, "TABLE LIST").contains("$1 4"));
    let log = node.call(root, "ACL LOG");
    assert!(log.contains("$1 1 ") && log.contains("$3 ann"), "{log}");
    assert_eq!(node.call(ann, "MOVE k 2"), ":1");
    // Where it may only read it takes nothing away.
    assert_eq!(
        node.call(root, "SELECT 1\nSET k v\nSELECT 0"),
        "+OK +OK +OK"
    );
    let told = node.call(ann, "SELECT 1\nMOVE k 0");
    assert!(told.starts_with("+OK -NOPERM"), "{told}");
}

#[test]
fn watched_keys_and_events_of_both_tables_tell_of_it() {
    let (mut node, client) = node();
    let (watcher, listener) = (node.connect(1, Port::Node), node.connect(1, Port::Node));
    node.call(client, "CONFIG SET notify-keyspace-events KEg");
    node.call(client, "SET k v");
    node.call(watcher, "SELECT 1\nWATCH k");
    node.call(listener, "PSUBSCRIBE __key*__:*");
    assert_eq!(node.call(client, "MOVE k 1"), ":1");
    assert_eq!(
        node.call(watcher, "MULTI\nSET k mine\nEXEC"),
        "+OK +QUEUED *-1"
    );
    let told = node.receive(listener);
    let told: Vec<&str> = told.split("*4 ").skip(1).collect();
    let expected = [
        ("__keyspace@0__:k", "move_from"),
        ("__keyevent@0__:move_from", "k"),
        ("__keyspace@1__:k", "move_to"),
        ("__keyevent@1__:move_to", "k"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (message, (channel, text)) in told.iter().zip(expected) {
        assert!(
            message.contains(channel) && message.contains(text),
            "{message}"
        );
    }
}

#[test]
fn table_that_is_full_takes_no_key_and_loses_none() {
    let (mut node, client) = node();
    node.call(client, "TABLE CREATE 1 MAXMEMORY 200000");
    let long = "SETRANGE k 49999 x";
    node.call(client, long);
    // It has no room after some of these.
    let filled = |at| format!("SETRANGE filler{at} 19999 x");
    let told: Vec<String> = (0..40)
        .map(|at| in_table(&mut node, client, 1, &filled(at)))
        .collect();
    assert!(told.iter().any(|it| it.starts_with("-OOM")), "{told:?}");
    let told = node.call(client, "MOVE k 1\nSTRLEN k");
    assert!(
        told.starts_with("-OOM") && told.ends_with(" :50000"),
        "{told}"
    );
    assert_eq!(in_table(&mut node, client, 1, "EXISTS k"), ":0");
    // Out of it keys may go.
    let gone = in_table(&mut node, client, 1, "MOVE filler0 0\nEXISTS filler0");
    assert_eq!(gone, ":1 :0");
    assert_eq!(node.call(client, "STRLEN filler0"), ":20000");
}
