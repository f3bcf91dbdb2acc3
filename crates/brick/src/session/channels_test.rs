use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client as Far, Cluster};
use crate::harness::{Client, Node};
use crate::users::User;
use brickyard_types::TableAttributes;
use std::time::Duration;

fn node(bricks: u32) -> Node {
    Node::new(bricks, TableAttributes::default())
}

fn heard(node: &mut Node, client: Client) -> String {
    node.settle();
    node.receive(client)
}

#[test]
fn a_message_reaches_subscribers_of_all_bricks_in_either_protocol_and_is_counted() {
    let mut node = node(3);
    let [old, new, publisher] = [0, 1, 2].map(|at| node.connect(at, Port::Node));
    assert_eq!(
        node.call(old, "SUBSCRIBE news sport"),
        "*3 $9 subscribe $4 news :1 *3 $9 subscribe $5 sport :2"
    );
    node.call(new, "HELLO 3");
    assert_eq!(
        node.call(new, "PSUBSCRIBE n*"),
        ">3 $10 psubscribe $2 n* :1"
    );
    assert_eq!(node.call(publisher, "PUBLISH news hello"), ":2");
    assert_eq!(heard(&mut node, old), "*3 $7 message $4 news $5 hello");
    assert_eq!(
        heard(&mut node, new),
        ">4 $8 pmessage $2 n* $4 news $5 hello"
    );
    assert_eq!(node.call(publisher, "PUBLISH sport x"), ":1");
    assert_eq!(node.call(publisher, "PUBLISH quiet x"), ":0");
    assert_eq!(heard(&mut node, old), "*3 $7 message $5 sport $1 x");
    assert_eq!(heard(&mut node, new), "");
    // Who publishes may subscribe as well, and hears itself.
    assert_eq!(
        node.call(new, "PUBLISH nothing 1"),
        ":1 >4 $8 pmessage $2 n* $7 nothing $1 1"
    );
}

#[test]
fn sharded_channels_have_names_of_their_own() {
    let mut node = node(2);
    let [client, publisher] = [0, 1].map(|at| node.connect(at, Port::Brick));
    assert_eq!(node.call(client, "SUBSCRIBE c"), "*3 $9 subscribe $1 c :1");
    assert_eq!(
        node.call(client, "SSUBSCRIBE c"),
        "*3 $10 ssubscribe $1 c :1"
    );
    assert_eq!(node.call(publisher, "SPUBLISH c x"), ":1");
    assert_eq!(heard(&mut node, client), "*3 $8 smessage $1 c $1 x");
    assert_eq!(node.call(publisher, "PUBLISH c y"), ":1");
    assert_eq!(heard(&mut node, client), "*3 $7 message $1 c $1 y");
    assert_eq!(
        node.call(client, "SUNSUBSCRIBE"),
        "*3 $12 sunsubscribe $1 c :0"
    );
    assert_eq!(node.call(publisher, "SPUBLISH c x"), ":0");
}

#[test]
fn whoever_subscribes_no_more_hears_nothing_and_all_are_told_how_many_subscribe() {
    let mut node = node(2);
    let [client, other] = [0, 1].map(|at| node.connect(at, Port::Node));
    node.call(client, "SUBSCRIBE a b");
    node.call(client, "SUBSCRIBE a");
    node.call(client, "PSUBSCRIBE a*");
    assert_eq!(node.call(other, "PUBSUB CHANNELS"), "*2 $1 a $1 b");
    assert_eq!(node.call(other, "PUBSUB CHANNELS a*"), "*1 $1 a");
    assert_eq!(node.call(other, "PUBSUB NUMPAT"), ":1");
    assert_eq!(node.call(other, "PUBSUB NUMSUB a x"), "*4 $1 a :1 $1 x :0");
    assert_eq!(node.call(other, "PUBSUB SHARDCHANNELS"), "*0");
    assert!(node.call(other, "CLIENT LIST").contains("flags=P "));
    assert_eq!(
        node.call(client, "UNSUBSCRIBE b x"),
        "*3 $11 unsubscribe $1 b :2 *3 $11 unsubscribe $1 x :2"
    );
    assert_eq!(node.call(other, "PUBLISH b 1"), ":0");
    assert_eq!(
        node.call(client, "UNSUBSCRIBE"),
        "*3 $11 unsubscribe $1 a :1"
    );
    assert_eq!(
        node.call(client, "PUNSUBSCRIBE"),
        "*3 $12 punsubscribe $2 a* :0"
    );
    assert_eq!(
        node.call(client, "UNSUBSCRIBE"),
        "*3 $11 unsubscribe $-1 :0"
    );
    assert_eq!(
        node.call(client, "GET k"),
        "$-1",
        "it subscribes to nothing"
    );
    assert_eq!(node.call(other, "PUBSUB CHANNELS"), "*0");
}

#[test]
fn a_client_that_is_gone_subscribes_to_nothing() {
    let mut node = node(2);
    let [client, reset, other] = [0, 1, 1].map(|at| node.connect(at, Port::Node));
    node.call(client, "SUBSCRIBE a");
    node.call(reset, "PSUBSCRIBE a*");
    assert_eq!(node.call(other, "PUBLISH a 1"), ":2");
    assert_eq!(node.receive(reset), "*4 $8 pmessage $2 a* $1 a $1 1");
    assert_eq!(node.call(reset, "RESET"), "+RESET");
    node.receive(client);
    node.bricks[0].on_error(client.id);
    assert_eq!(node.bricks[0].poll_closed(), Some(client.id));
    assert_eq!(node.call(other, "PUBLISH a 1"), ":0");
    assert_eq!(node.call(other, "PUBSUB NUMPAT"), ":0");
    // Another client gets its place, and not what it subscribed to.
    let next = node.connect(0, Port::Node);
    assert_eq!(next.id, client.id);
    node.call(other, "PUBLISH a 1");
    assert_eq!(heard(&mut node, next), "");
}

#[test]
fn a_client_of_resp2_that_subscribes_does_nothing_else() {
    let mut node = node(1);
    let client = node.connect(0, Port::Node);
    node.call(client, "SUBSCRIBE a");
    assert_eq!(
        node.call(client, "CLIENT LIST"),
        "-ERR Can't execute 'client|list': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
         this context"
    );
    assert_eq!(node.call(client, "PING"), "*2 $4 pong $0");
    assert_eq!(node.call(client, "PING x"), "*2 $4 pong $1 x");
    let new = node.connect(0, Port::Node);
    node.call(new, "HELLO 3");
    node.call(new, "SUBSCRIBE a");
    assert_eq!(node.call(new, "PING"), "+PONG");
    assert_eq!(node.call(new, "SET k v"), "+OK");
}

#[test]
fn a_message_comes_behind_replies_that_wait() {
    let mut node = Node::new(1, crate::harness::with(brickyard_types::Durability::Log));
    let [client, publisher] = [0, 0].map(|at| node.connect(at, Port::Node));
    node.logs[0].is_held = true;
    node.send(client, "SET k v\nSUBSCRIBE a");
    assert_eq!(node.call(publisher, "PUBLISH a 1"), ":1");
    assert_eq!(heard(&mut node, client), "", "SET is not in the log");
    node.logs[0].is_held = false;
    assert_eq!(
        heard(&mut node, client),
        "+OK *3 $9 subscribe $1 a :1 *3 $7 message $1 a $1 1"
    );
}

#[test]
fn a_transaction_and_a_script_publish_and_one_that_does_nothing_publishes_nothing() {
    let mut node = node(2);
    let [client, publisher] = [0, 1].map(|at| node.connect(at, Port::Node));
    node.call(client, "SUBSCRIBE a");
    for command in ["MULTI", "SET k 1", "PUBLISH a in"] {
        node.call(publisher, command);
    }
    assert_eq!(heard(&mut node, client), "");
    assert_eq!(node.call(publisher, "EXEC"), "*2 +OK :1");
    assert_eq!(heard(&mut node, client), "*3 $7 message $1 a $2 in");
    for keys in ["0", "1 k"] {
        let script = format!("EVAL \"return redis.call('publish', 'a', 'sc')\" {keys}");
        assert_eq!(node.call(publisher, &script), ":1");
        assert_eq!(heard(&mut node, client), "*3 $7 message $1 a $2 sc");
    }
    node.call(publisher, "WATCH k");
    node.call(client, "UNSUBSCRIBE");
    node.call(client, "SET k 2");
    node.call(client, "SUBSCRIBE a");
    node.call(publisher, "MULTI");
    node.call(
        publisher,
        "EVAL \"return redis.call('publish', 'a', 'no')\" 1 k",
    );
    node.call(publisher, "PUBLISH a no");
    assert_eq!(node.call(publisher, "EXEC"), "*-1");
    assert_eq!(heard(&mut node, client), "");
    node.call(publisher, "MULTI");
    let refused = node.call(publisher, "SUBSCRIBE b");
    assert!(refused.starts_with("-ERR 'subscribe' changes"), "{refused}");
}

#[test]
fn whoever_does_not_read_is_closed_before_it_holds_much() {
    let mut node = node(1);
    let [lazy, other, publisher] = [0, 0, 0].map(|at| node.connect(at, Port::Node));
    node.call(lazy, "SUBSCRIBE a");
    node.call(other, "SUBSCRIBE a");
    let message = format!("PUBLISH a {}\n", "m".repeat(50_000));
    let mut published = 0;
    while node.call(publisher, &message.repeat(20)).ends_with(":2") {
        published += 20 * 50_000;
        node.receive(other);
        assert!(published < 40 << 20, "{published} bytes");
        node.bricks[0].poll_closed();
    }
    assert!(
        published > 20 << 20,
        "{published} bytes are no more than a burst"
    );
    assert_eq!(node.call(publisher, "PUBSUB NUMSUB a"), "*2 $1 a :1");
}

#[test]
fn channels_are_granted_by_pattern_and_taken_away() {
    let mut node = Node::with_users(1, TableAttributes::default(), Vec::<User>::new());
    let [admin, client] = [0, 0].map(|at| node.connect(at, Port::Node));
    assert_eq!(
        node.call(admin, "ACL SETUSER ann on nopass +@all ~* &news.* &all"),
        "+OK"
    );
    assert_eq!(node.call(client, "AUTH ann x"), "+OK");
    let refused = "-NOPERM No permissions to access a channel";
    assert_eq!(node.call(client, "PUBLISH other 1"), refused);
    assert_eq!(node.call(client, "PUBLISH news.1 1"), ":0");
    assert_eq!(node.call(client, "SPUBLISH other 1"), refused);
    assert_eq!(node.call(client, "SUBSCRIBE news.1 other"), refused);
    assert_eq!(node.call(client, "PSUBSCRIBE news.1*"), refused);
    let script = "EVAL \"return redis.call('publish', ARGV[1], '1')\" 0";
    assert_eq!(node.call(client, &format!("{script} news.2")), ":0");
    let error = node.call(client, &format!("{script} other"));
    assert!(
        error.contains("no permissions to access the channel"),
        "{error}"
    );
    assert_eq!(
        node.call(admin, "ACL DRYRUN ann PUBLISH other 1"),
        "$57 User ann has no permissions to access the 'other' channel"
    );
    assert!(node.call(admin, "ACL LOG").contains("$7 channel"));
    assert_eq!(
        node.call(client, "PSUBSCRIBE news.*"),
        "*3 $10 psubscribe $6 news.* :1"
    );
    node.call(client, "SUBSCRIBE all");
    // What it does not subscribe to may go, and what it subscribes to not.
    node.call(admin, "ACL SETUSER ann resetchannels &news.* &all &more");
    assert_eq!(node.bricks[0].poll_closed(), None);
    node.call(admin, "ACL SETUSER ann resetchannels &all");
    assert_eq!(node.bricks[0].poll_closed(), Some(client.id));
}

fn far_heard(cluster: &mut Cluster, client: Far) -> String {
    cluster.settle();
    cluster.receive(client)
}

#[test]
fn a_message_reaches_subscribers_of_all_nodes_in_order() {
    let mut cluster = Cluster::new(3, replicated(2));
    let subscribers = [0, 1, 2].map(|at| cluster.connect(at, Port::Node));
    for client in subscribers {
        cluster.call(client, "SUBSCRIBE a");
    }
    let publisher = cluster.connect(1, Port::Node);
    let numbers = 0..50;
    let commands: Vec<String> = numbers
        .clone()
        .map(|it| format!("PUBLISH a {}", it + 100))
        .collect();
    cluster.send(publisher, &commands.join("\n"));
    let wanted: Vec<String> = numbers
        .map(|it| format!("*3 $7 message $1 a $3 {}", it + 100))
        .collect();
    for client in subscribers {
        assert_eq!(far_heard(&mut cluster, client), wanted.join(" "));
    }
    // Of other nodes' subscribers nothing is known here.
    assert_eq!(
        cluster.receive(publisher),
        vec![":1"; 50].join(" "),
        "those of its node"
    );
}

#[test]
fn a_node_that_is_gone_holds_up_nobody_and_what_it_misses_is_counted() {
    let mut cluster = Cluster::new(3, replicated(2));
    let [near, far] = [0, 2].map(|at| cluster.connect(at, Port::Node));
    let publisher = cluster.connect(0, Port::Node);
    for client in [near, far] {
        cluster.call(client, "SUBSCRIBE a");
    }
    cluster.cut(0, 1);
    cluster.break_links(1);
    assert_eq!(cluster.call(publisher, "PUBLISH a 1"), ":1");
    for client in [near, far] {
        assert_eq!(far_heard(&mut cluster, client), "*3 $7 message $1 a $1 1");
    }
    cluster.tick(Duration::from_secs(2));
    cluster.settle();
    let lost = cluster.brick(0).core.stats().clients.messages_lost.value();
    assert_eq!(lost, 1);
    assert_eq!(cluster.call(publisher, "PUBLISH a 2"), ":1");
    assert_eq!(far_heard(&mut cluster, far), "*3 $7 message $1 a $1 2");
}
