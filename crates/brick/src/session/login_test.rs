use crate::accepted::Port;
use crate::effect::{ControlReply, ControlRequest, Effect, Event};
use crate::harness::Node;
use crate::users::{Grant, Rights, User};
use brickyard_metadata::UserLimits;
use brickyard_types::TableAttributes;

/// A node with `root`, and `shop` whose home is the table `orders`; both may do everything.
fn node() -> Node {
    let user = |name: &str, table: Option<&str>| User {
        name: name.to_owned(),
        password_hashes: vec!["hash".to_owned()],
        grants: vec![Grant {
            tables: "*".to_owned(),
            rights: Rights::ALL,
        }],
        table: table.map(str::to_owned),
        acl: crate::acl::Acl::unrestricted(),
        limits: UserLimits::NONE,
    };
    let users = vec![user("root", None), user("shop", Some("orders"))];
    Node::with_users(1, TableAttributes::default(), users)
}

#[test]
fn user_whose_table_is_not_made_yet_writes_nowhere_else() {
    let mut node = node();
    let (root, shop) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    assert_eq!(node.call(root, "AUTH root right"), "+OK");
    assert_eq!(node.call(shop, "AUTH shop right"), "+OK");
    let refused = "-ERR the table of this connection was dropped, or is not made yet";
    for command in [
        "SET k v",
        "GET k",
        "DBSIZE",
        "MSET a 1 b 2",
        "RENAME {k}a {k}b",
        "RENAME a b",
        "WATCH k",
    ] {
        let reply = node.call(shop, command);
        assert!(reply.starts_with(refused), "{command}: {reply}");
    }
    // Elsewhere the table may be there, and the first attempt executed.
    let clock = node.call(shop, "REQUEST NOW");
    let now = clock.trim_start_matches(':');
    for (attempt, expected) in [("FIRST", refused), ("AGAIN", "-UNKNOWNRESULT")] {
        let reply = node.call(shop, &format!("REQUEST 7 {now} {attempt} INCR k"));
        assert!(reply.starts_with(expected), "{attempt}: {reply}");
    }
    assert_eq!(node.call(root, "DBSIZE"), ":0");
    assert!(
        node.call(shop, "SELECT 0")
            .starts_with("-ERR there is no table 'orders'")
    );
    assert_eq!(node.bricks[0].poll_closed(), Some(shop.id));
    assert_eq!(node.call(root, "TABLE LIST"), "*1 $7 default");
}

#[test]
fn select_0_brings_a_user_home() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    assert_eq!(
        node.call(root, "AUTH root right\nTABLE CREATE orders"),
        "+OK +OK"
    );
    let shop = node.connect(0, Port::Node);
    assert_eq!(node.call(shop, "AUTH shop right\nSET k home"), "+OK +OK");
    for away in ["SELECT 3", "TABLE USE default"] {
        assert_eq!(node.call(shop, away), "+OK");
        assert_eq!(node.call(shop, "GET k\nSELECT 0\nGET k"), "$-1 +OK $4 home");
    }
    assert_eq!(node.call(root, "DBSIZE"), ":0");
}

#[test]
fn a_table_may_be_named_behind_the_user() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    assert_eq!(
        node.call(
            root,
            "AUTH root right\nTABLE CREATE orders\nTABLE CREATE stock"
        ),
        "+OK +OK +OK"
    );
    for (port, login) in [
        (Port::Node, "AUTH root+stock right"),
        (Port::Brick, "HELLO 2 AUTH root+stock right"),
    ] {
        let client = node.connect(0, port);
        let entered = node.call(client, login);
        assert!(!entered.starts_with('-'), "{entered}");
        assert_eq!(node.call(client, "ACL WHOAMI"), "$4 root");
        node.call(client, "SET k stock");
        // By habit, or since it is in a pool.
        assert_eq!(node.call(client, "SELECT 0\nGET k"), "+OK $5 stock");
        assert_eq!(
            node.call(client, "RESET\nAUTH root right\nGET k"),
            "+RESET +OK $-1"
        );
    }
    // What is not to be had ends the connection: its writes would go elsewhere.
    for (login, error) in [
        ("AUTH root+none right", "-ERR there is no table 'none'"),
        ("AUTH root+stock wrong", "-WRONGPASS"),
    ] {
        let client = node.connect(0, Port::Node);
        let refused = node.call(client, login);
        assert!(refused.starts_with(error), "{refused}");
        assert_eq!(node.bricks[0].poll_closed(), Some(client.id), "{login}");
    }
}

#[test]
fn a_table_may_be_named_without_a_user() {
    let mut node = Node::new(2, TableAttributes::default());
    let root = node.connect(0, Port::Node);
    node.call(root, "TABLE CREATE orders");
    for login in [
        "AUTH +orders x",
        "AUTH default+orders x",
        "HELLO 3 AUTH +orders x",
    ] {
        let client = node.connect(1, Port::Node);
        node.call(client, login);
        node.call(client, "SET k v");
        assert_eq!(node.call(client, "DBSIZE"), ":1");
    }
    assert_eq!(node.call(root, "DBSIZE"), ":0");
}

#[test]
fn watched_keys_stay_watched_when_a_table_is_chosen() {
    let mut node = node();
    let (client, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    assert_eq!(node.call(other, "AUTH root right"), "+OK");
    assert_eq!(
        node.call(client, "AUTH root right\nSET k 1\nWATCH k\nSELECT 0"),
        "+OK +OK +OK +OK"
    );
    assert_eq!(node.call(other, "SET k 2"), "+OK");
    assert_eq!(node.call(client, "MULTI\nSET k 3\nEXEC"), "+OK +QUEUED *-1");
    // Nobody can say whether keys of another table have changed at that moment.
    assert_eq!(
        node.call(client, "WATCH k\nSELECT 3\nMULTI\nSET k 3\nEXEC"),
        "+OK +OK +OK +QUEUED *-1"
    );
    assert_eq!(
        node.call(client, "MULTI\nSET k 3\nEXEC"),
        "+OK +QUEUED *1 +OK"
    );
}

/// Logs in as `ann`, whose account changes so while her right password is being compared.
fn login_during(rules: &str) -> String {
    let mut node = Node::new(2, TableAttributes::default());
    let root = node.connect(0, Port::Node);
    assert_eq!(
        node.call(root, "ACL SETUSER ann on >right >old ~* +@all"),
        "+OK"
    );
    let ann = node.connect(1, Port::Node);
    let brick = &mut node.bricks[1];
    brick
        .input(ann.id)
        .extend_from_slice(b"AUTH ann right\r\nACL WHOAMI\r\n");
    brick.on_received(ann.id);
    brick.run();
    let mut asked = None;
    while let Some(effect) = brick.poll_effect() {
        if let Effect::Control(number, ControlRequest::Authenticate { .. }) = effect {
            asked = Some(number);
        }
    }
    let number = asked.expect("the password is compared elsewhere");
    assert_eq!(
        node.call(root, rules).get(..1),
        Some(if rules.contains("DELUSER") { ":" } else { "+" })
    );
    let reply = ControlReply::Authenticated(true);
    node.bricks[1].handle(Event::Control(number, reply));
    node.settle();
    node.receive(ann)
}

#[test]
fn password_that_is_taken_away_while_it_is_compared_lets_nobody_in() {
    let again = "-TRYAGAIN the user's passwords have changed while this one was checked; log in again $7 default";
    for rules in [
        "ACL SETUSER ann <right",
        "ACL SETUSER ann resetpass",
        "ACL SETUSER ann resetpass >other",
        // It may have been that one.
        "ACL SETUSER ann <old",
    ] {
        assert_eq!(login_during(rules), again, "{rules}");
    }
    for rules in ["ACL SETUSER ann off", "ACL DELUSER ann"] {
        assert!(login_during(rules).starts_with("-WRONGPASS"), "{rules}");
    }
    for rules in [
        "ACL SETUSER ann >new",
        "ACL SETUSER ann nopass",
        "ACL SETUSER ann -get",
    ] {
        assert_eq!(login_during(rules), "+OK $3 ann", "{rules}");
    }
}
