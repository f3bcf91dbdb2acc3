use crate::accepted::Port;
use crate::harness::{Client, Node, with};
use crate::users::User;
use brickyard_metadata::UserLimits;
use brickyard_types::Durability;
use std::time::Duration;

fn node() -> Node {
    Node::new(2, with(Durability::Log))
}

/// A user made with these rules besides; who makes it.
fn with_ann(node: &mut Node, rules: &str) -> Client {
    let root = node.connect(0, Port::Node);
    let made = format!("ACL SETUSER ann on >right ~* +@all {rules}");
    assert_eq!(node.call(root, &made), "+OK");
    root
}

fn login(node: &mut Node, brick: usize, port: Port) -> Client {
    let client = node.connect(brick, port);
    assert_eq!(node.call(client, "AUTH ann right"), "+OK");
    client
}

/// How many of so many pings at once are answered.
fn answered(node: &mut Node, client: Client, count: usize) -> usize {
    let replies = node.call(client, "PING\n".repeat(count).trim_end());
    replies.matches("+PONG").count()
}

fn limited(node: &Node) -> u64 {
    let stats = node.bricks.iter().map(|brick| brick.core.stats());
    stats.map(|it| it.errors.limited.value()).sum()
}

const MANY: &str =
    "-LIMIT user 'ann' may run 100 operations a second on a node: not executed, try again in 10 ms";

#[test]
fn operations_are_counted_by_all_bricks_together_and_refused_one_by_one() {
    let mut node = node();
    let root = with_ann(&mut node, "limit:ops=100");
    node.advance(Duration::from_secs(1));
    let anns = [0, 1].map(|brick| login(&mut node, brick, Port::Brick));
    // A burst is a tenth of a second's worth, whoever of them has it.
    assert_eq!(answered(&mut node, anns[0], 6), 6);
    assert_eq!(answered(&mut node, anns[1], 6), 4);
    assert_eq!(node.call(anns[0], "SET k v"), MANY);
    assert_eq!(node.call(anns[1], "NOTHING"), MANY);
    assert_eq!(limited(&node), 4);
    // Ten more each tenth of a second, in the place where they stand.
    node.advance(Duration::from_millis(20));
    let replies = node.call(anns[0], "PING 1\nPING 2\nPING 3\nPING 4");
    assert_eq!(replies, format!("$1 1 $1 2 {MANY} {MANY}"));
    // Others go on.
    assert_eq!(answered(&mut node, root, 500), 500);
    let info = node.call(root, "INFO stats");
    assert!(info.contains("refused_limit:6 "), "{info}");
    let info = node.call(root, "INFO errorstats");
    assert!(info.contains("errorstat_LIMIT:count=6"), "{info}");
}

#[test]
fn mean_over_seconds_is_the_limit() {
    let mut node = node();
    with_ann(&mut node, "limit:ops=100");
    let anns = [0, 1].map(|brick| login(&mut node, brick, Port::Node));
    let mut sum = 0;
    for step in 0..200 {
        node.advance(Duration::from_millis(10));
        sum += answered(&mut node, anns[step % 2], 7);
    }
    assert!((200..=210).contains(&sum), "{sum} in two seconds");
}

#[test]
fn what_leaves_a_connection_in_a_known_state_is_never_refused() {
    let mut node = node();
    with_ann(&mut node, "limit:ops=1");
    node.advance(Duration::from_secs(1));
    let ann = login(&mut node, 0, Port::Node);
    // The transaction's command is the one that is counted.
    assert_eq!(node.call(ann, "MULTI\nSET k v\nEXEC"), "+OK +QUEUED *1 +OK");
    let replies = node.call(ann, "MULTI\nSET k w\nEXEC\nDISCARD\nUNWATCH");
    assert!(replies.starts_with("+OK -LIMIT user 'ann'"), "{replies}");
    assert!(
        replies.contains("-EXECABORT Transaction discarded because of previous errors. -ERR DISCARD without MULTI +OK"),
        "{replies}"
    );
    assert_eq!(node.call(ann, "MULTI\nDISCARD"), "+OK +OK");
    assert!(node.call(ann, "WATCH k").starts_with("-LIMIT"));
    // Who wants to be somebody else may; and the debt stays where it is.
    assert_eq!(node.call(ann, "AUTH ann right\nRESET"), "+OK +RESET");
    assert_eq!(node.call(ann, "GET k"), "$1 v", "of default");
    assert!(node.call(ann, "HELLO 3 AUTH ann right").starts_with("%7"));
    assert!(node.call(ann, "GET k").starts_with("-LIMIT"));
    node.advance(Duration::from_secs(1));
    assert_eq!(node.call(ann, "GET k\nQUIT"), "$1 v +OK");
}

#[test]
fn request_with_an_id_and_replies_that_nobody_wants_are_refused_too() {
    let mut node = node();
    let root = with_ann(&mut node, "limit:ops=1");
    let now = node.call(root, "REQUEST NOW");
    let now = now.trim_start_matches(':').to_owned();
    let ann = login(&mut node, 0, Port::Node);
    assert_eq!(
        node.call(ann, "CLIENT REPLY SKIP\nSET k v\nPING")
            .matches("-LIMIT")
            .count(),
        1
    );
    let refused = node.call(ann, &format!("REQUEST 7 {now} FIRST SET k v"));
    assert!(refused.starts_with("-LIMIT"), "{refused}");
    assert_eq!(node.call(root, "EXISTS k"), ":0");
    // Nor does it fill the log of administration, or that of what was denied.
    let told = node.audited.len();
    assert!(node.call(ann, "FLUSHALL").starts_with("-LIMIT"));
    assert_eq!(node.audited.len(), told);
    assert_eq!(node.call(root, "ACL LOG"), "*0");
}

#[test]
fn bytes_of_requests_and_replies_are_owed_and_refusals_are_free() {
    let mut node = node();
    let root = with_ann(&mut node, "limit:bytes=1000");
    node.call(root, &format!("SET k {}", "v".repeat(4_000)));
    node.advance(Duration::from_secs(1));
    let [ann, other] = [0, 1].map(|brick| login(&mut node, brick, Port::Node));
    // The first one passes, however long its reply; the next one when that is paid.
    assert!(node.call(ann, "GET k").starts_with("$4000"));
    let refused = node.call(other, "PING");
    assert!(
        refused.starts_with(
            "-LIMIT user 'ann' may send and get 1000 bytes a second on a node: not executed, try again in 39"
        ),
        "{refused}"
    );
    for _ in 0..100 {
        assert!(node.call(ann, "PING").starts_with("-LIMIT"));
    }
    node.advance(Duration::from_millis(3_850));
    assert!(node.call(ann, "PING").starts_with("-LIMIT"));
    node.advance(Duration::from_millis(100));
    assert_eq!(node.call(ann, "PING"), "+PONG");
    // What is sent counts as what is got.
    node.advance(Duration::from_secs(10));
    assert_eq!(
        node.call(ann, &format!("SET k {}", "w".repeat(4_000))),
        "+OK"
    );
    assert!(node.call(other, "PING").contains("try again in 39"));
}

#[test]
fn seats_are_counted_on_all_ports_and_given_back() {
    let mut node = node();
    let root = with_ann(&mut node, "limit:connections=2");
    let anns = [
        login(&mut node, 0, Port::Node),
        login(&mut node, 1, Port::Brick),
    ];
    let full = "-LIMIT user 'ann' may have 2 connections to a node, and has them: close some, or use a pool";
    let third = node.connect(1, Port::Node);
    assert_eq!(node.call(third, "AUTH ann right"), full);
    assert_eq!(node.call(third, "ACL WHOAMI"), "$7 default", "as before");
    assert_eq!(node.call(third, "HELLO 3 AUTH ann right"), full);
    assert_eq!(limited(&node), 2);
    // Who has a seat keeps it by logging in again; who becomes somebody else gives it back.
    assert_eq!(node.call(anns[0], "AUTH ann right"), "+OK");
    assert_eq!(node.call(third, "AUTH ann right"), full);
    assert_eq!(node.call(anns[0], "RESET"), "+RESET");
    assert_eq!(node.call(third, "AUTH ann right"), "+OK");
    assert_eq!(node.call(anns[0], "AUTH ann right"), full);
    // So does who goes.
    node.bricks[1].on_error(anns[1].id);
    assert_eq!(node.bricks[1].poll_closed(), Some(anns[1].id));
    assert_eq!(node.call(anns[0], "AUTH ann right"), "+OK");
    // A limit that is lowered ends no connection, and counts until enough are gone.
    assert_eq!(
        node.call(root, "ACL SETUSER ann limit:connections=1"),
        "+OK"
    );
    assert_eq!(node.call(third, "PING\nRESET"), "+PONG +RESET");
    assert!(node.call(third, "AUTH ann right").starts_with("-LIMIT"));
    assert_eq!(node.call(anns[0], "RESET"), "+RESET");
    assert_eq!(node.call(third, "AUTH ann right"), "+OK");
    // Seats of a user that is deleted are free for its next life.
    assert_eq!(node.call(root, "ACL DELUSER ann"), ":1");
    assert_eq!(node.bricks[1].poll_closed(), Some(third.id));
    with_ann(&mut node, "limit:connections=1");
    login(&mut node, 0, Port::Node);
}

#[test]
fn crowded_out_default_is_nobody_until_there_is_a_seat() {
    let mut node = node();
    let root = with_ann(&mut node, "");
    node.call(
        root,
        "AUTH ann right\nACL SETUSER default limit:connections=1",
    );
    let first = node.connect(0, Port::Node);
    let second = node.connect(1, Port::Node);
    assert_eq!(node.call(first, "PING"), "+PONG");
    for line in ["PING", "HELLO 3", "FLUSHALL"] {
        let refused = node.call(second, line);
        assert!(
            refused.starts_with("-LIMIT user 'default' may have 1 connections"),
            "{line}: {refused}"
        );
    }
    assert_eq!(
        node.call(second, "AUTH ann right\nPING\nRESET"),
        "+OK +PONG +RESET"
    );
    assert!(node.call(second, "PING").starts_with("-LIMIT"));
    assert_eq!(node.call(first, "QUIT"), "+OK");
    assert_eq!(node.bricks[0].poll_closed(), Some(first.id));
    assert_eq!(node.call(second, "PING"), "+PONG", "on the same connection");
}

#[test]
fn changed_limit_counts_at_once_and_begins_anew() {
    let mut node = node();
    let root = with_ann(&mut node, "");
    node.advance(Duration::from_secs(1));
    let ann = login(&mut node, 1, Port::Node);
    assert_eq!(answered(&mut node, ann, 500), 500);
    node.call(root, "ACL SETUSER ann limit:ops=1");
    assert_eq!(answered(&mut node, ann, 5), 1);
    // Connections that come and go do not forget it, nor does what else is changed.
    node.call(root, "ACL SETUSER ann limit:connections=9");
    node.bricks[1].on_error(ann.id);
    assert_eq!(node.bricks[1].poll_closed(), Some(ann.id));
    let ann = login(&mut node, 0, Port::Node);
    assert_eq!(answered(&mut node, ann, 5), 0);
    node.call(root, "ACL SETUSER ann limit:ops=50");
    assert_eq!(answered(&mut node, ann, 50), 5);
    node.call(root, "ACL SETUSER ann limit:ops=0");
    assert_eq!(answered(&mut node, ann, 500), 500);
    // Limits are there after a restart, since they are in the catalog.
    node.call(root, "ACL SETUSER ann limit:ops=20");
    node.restart();
    let ann = login(&mut node, 0, Port::Node);
    assert_eq!(answered(&mut node, ann, 50), 2);
}

#[test]
fn limits_are_shown_where_there_are_any_as_they_were_said() {
    let mut node = node();
    let root = with_ann(&mut node, "");
    let fields = |node: &mut Node| node.call(root, "ACL GETUSER ann");
    assert!(fields(&mut node).starts_with("*14 $5 flags"));
    node.call(
        root,
        "ACL SETUSER ann limit:OPS=5000 limit:bytes=10485760 limit:connections=100",
    );
    let rules = "limit:connections=100 limit:ops=5000 limit:bytes=10485760";
    let shown = fields(&mut node);
    assert!(shown.starts_with("*16 $5 flags"), "{shown}");
    assert!(
        shown.ends_with(&format!("$6 limits $57 {rules}")),
        "{shown}"
    );
    let listed = node.call(root, "ACL LIST");
    assert!(
        listed.contains(&format!(" &* {rules} +@all"))
            || listed.contains(&format!("resetchannels {rules} +@all")),
        "{listed}"
    );
    node.call(root, "ACL SETUSER ann resetlimits");
    assert!(fields(&mut node).starts_with("*14 $5 flags"));
    let refused = node.call(root, "ACL SETUSER ann limit:ops=10000001");
    assert!(
        refused.contains("modifier 'limit:ops=10000001': a limit of operations"),
        "{refused}"
    );
}

#[test]
fn users_of_the_file_have_limits_too() {
    let default = User {
        limits: UserLimits {
            operations: 1,
            ..UserLimits::NONE
        },
        ..User::unrestricted()
    };
    let mut node = Node::with_users(2, with(Durability::Log), vec![default]);
    let clients = [0, 1].map(|brick| node.connect(brick, Port::Node));
    assert_eq!(node.call(clients[0], "PING"), "+PONG");
    assert!(
        node.call(clients[1], "PING")
            .starts_with("-LIMIT user 'default'")
    );
}

#[test]
fn debts_of_rates_are_kept_and_nothing_else() {
    let mut node = node();
    let root = with_ann(&mut node, "limit:ops=1");
    let book = |node: &Node| {
        let shared = std::sync::Arc::clone(&node.bricks[0].core.shared);
        let book = shared.quotas.book();
        (book.seated.len(), book.rates.len())
    };
    for rate in 1..50 {
        node.call(root, &format!("ACL SETUSER ann limit:ops={rate}"));
        let ann = login(&mut node, 0, Port::Node);
        assert_eq!(node.call(ann, "PING"), "+PONG");
        node.bricks[0].on_error(ann.id);
        assert_eq!(node.bricks[0].poll_closed(), Some(ann.id));
        node.advance(Duration::from_secs(2));
    }
    let (seated, rates) = book(&node);
    assert!(seated <= 2 && rates <= 2, "{seated} {rates}");
}
