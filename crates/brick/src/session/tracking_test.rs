use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client as Far, Cluster};
use crate::harness::{Client, Node, with};
use crate::users::User;
use brickyard_types::{Durability, TableAttributes};
use std::time::Duration;

fn node(bricks: u32) -> Node {
    Node::new(bricks, TableAttributes::default())
}

fn heard(node: &mut Node, client: Client) -> String {
    node.settle();
    node.receive(client)
}

fn far_heard(cluster: &mut Cluster, client: Far) -> String {
    cluster.settle();
    cluster.receive(client)
}

/// How a client is told of a key.
fn changed(key: &str) -> String {
    format!(">2 $10 invalidate *1 ${} {key}", key.len())
}

const ALL_CHANGED: &str = ">2 $10 invalidate _";

/// A client that tracks, at that brick.
fn tracker(node: &mut Node, brick: usize, options: &str) -> Client {
    let client = node.connect(brick, Port::Node);
    node.call(client, "HELLO 3");
    let command = format!("CLIENT TRACKING ON {options}");
    assert_eq!(node.call(client, command.trim_end()), "+OK");
    client
}

#[test]
fn what_was_read_is_told_of_once_wherever_its_reader_and_its_writer_are() {
    let mut node = node(3);
    let readers = [0, 1, 2].map(|at| tracker(&mut node, at, ""));
    let writers = [0, 1, 2].map(|at| node.connect(at, Port::Node));
    for (round, writer) in writers.into_iter().enumerate() {
        for key in ["a", "b", "c", "d"] {
            for reader in readers {
                node.call(reader, &format!("GET {key}"));
            }
            assert_eq!(node.call(writer, &format!("SET {key} {round}")), "+OK");
            for reader in readers {
                assert_eq!(heard(&mut node, reader), changed(key));
            }
            assert_eq!(node.call(writer, &format!("SET {key} again")), "+OK");
            for reader in readers {
                assert_eq!(heard(&mut node, reader), "", "nobody has read it again");
            }
        }
    }
}

#[test]
fn whoever_reads_is_told_whatever_changes_the_key() {
    let mut node = node(2);
    let reader = tracker(&mut node, 0, "");
    let writer = node.connect(1, Port::Node);
    node.call(writer, "MSET s 1 t 2");
    node.call(writer, "HSET h f 1");
    for (read, write, key) in [
        ("GET s", "INCR s", "s"),
        ("EXISTS nothing", "SET nothing 1", "nothing"),
        ("HGET h f", "HSET h g 2", "h"),
        ("STRLEN s", "EXPIRE s 100", "s"),
        ("MGET t", "RENAME t u", "t"),
        ("TTL u", "DEL u", "u"),
        (
            "GETRANGE s 0 1",
            "EVAL \"return redis.call('incr',KEYS[1])\" 1 s",
            "s",
        ),
    ] {
        node.call(reader, read);
        let mut answer = node.call(writer, write);
        for _ in 0..10 {
            // A transaction over several slots that has come upon something pauses.
            node.advance(Duration::from_millis(10));
            answer += &heard(&mut node, writer);
        }
        assert!(!answer.starts_with('-'), "{write}: {answer}");
        assert_eq!(heard(&mut node, reader), changed(key), "{write}");
    }
}

#[test]
fn a_read_of_many_keys_and_one_in_a_transaction_or_a_script_is_noted_too() {
    let mut node = node(3);
    let reader = tracker(&mut node, 0, "");
    let writer = node.connect(1, Port::Node);
    node.call(reader, "MGET a b c d e");
    for key in ["a", "b", "c", "d", "e"] {
        node.call(writer, &format!("SET {key} 1"));
        assert_eq!(heard(&mut node, reader), changed(key));
    }
    node.call(reader, "MULTI");
    node.call(reader, "GET a");
    assert_eq!(node.call(reader, "EXEC"), "*1 $1 1");
    node.call(writer, "SET a 2");
    assert_eq!(heard(&mut node, reader), changed("a"));
    assert_eq!(
        node.call(reader, "EVAL_RO \"return redis.call('get',KEYS[1])\" 1 b"),
        "$1 1"
    );
    node.call(writer, "SET b 2");
    assert_eq!(heard(&mut node, reader), changed("b"));
}

#[test]
fn what_a_transaction_over_slots_has_read_is_not_to_be_kept() {
    let mut node = node(3);
    let reader = tracker(&mut node, 0, "");
    node.call(reader, "MULTI");
    node.call(reader, "GET a");
    node.call(reader, "GET b");
    let told = node.call(reader, "EXEC");
    assert!(told.contains("*2 _ _"), "{told}");
    assert!(
        told.contains(&changed("a")) && told.contains(&changed("b")),
        "{told}"
    );
}

#[test]
fn one_that_opts_in_or_out_says_so_for_the_next_command_or_transaction() {
    let mut node = node(1);
    let writer = node.connect(0, Port::Node);
    let reader = tracker(&mut node, 0, "OPTIN");
    node.call(reader, "GET a");
    assert_eq!(node.call(reader, "CLIENT CACHING YES"), "+OK");
    node.call(reader, "GET b");
    node.call(reader, "GET c");
    node.call(writer, "MSET a 1 b 1 c 1");
    assert_eq!(heard(&mut node, reader), changed("b"));
    node.call(reader, "CLIENT CACHING YES");
    node.call(reader, "MULTI");
    node.call(reader, "GET {x}1");
    node.call(reader, "GET {x}2");
    node.call(reader, "EXEC");
    node.call(reader, "GET {x}3");
    node.call(writer, "MSET {x}1 1 {x}2 1 {x}3 1");
    assert_eq!(
        heard(&mut node, reader),
        [changed("{x}1"), changed("{x}2")].join(" ")
    );
    assert!(
        node.call(reader, "CLIENT CACHING NO")
            .contains("only valid when tracking is enabled in OPTOUT mode")
    );
    let reader = tracker(&mut node, 0, "OPTOUT");
    node.call(reader, "CLIENT CACHING NO");
    node.call(reader, "GET a");
    node.call(reader, "GET b");
    node.call(writer, "MSET a 1 b 1");
    assert_eq!(heard(&mut node, reader), changed("b"));
}

#[test]
fn one_that_skips_its_own_writes_hears_of_others() {
    let mut node = node(2);
    let client = tracker(&mut node, 0, "NOLOOP");
    let writer = node.connect(1, Port::Node);
    for key in ["a", "b", "c"] {
        node.call(client, &format!("GET {key}"));
        assert_eq!(node.call(client, &format!("SET {key} 1")), "+OK");
        // As it writes and reads in one go.
        node.send(client, &format!("SET {key} 2\nGET {key}"));
        assert_eq!(heard(&mut node, client), "+OK $1 2");
        node.call(writer, &format!("SET {key} 3"));
        assert_eq!(heard(&mut node, client), changed(key));
    }
}

#[test]
fn who_listens_to_beginnings_hears_of_all_keys_that_have_them() {
    let mut node = node(3);
    let listener = tracker(&mut node, 0, "BCAST PREFIX user: PREFIX order:");
    let all = tracker(&mut node, 1, "BCAST");
    let writer = node.connect(2, Port::Node);
    for key in ["user:1", "user:2", "order:7"] {
        assert_eq!(node.call(writer, &format!("SET {key} 1")), "+OK");
        assert_eq!(heard(&mut node, listener), changed(key));
        assert_eq!(heard(&mut node, all), changed(key));
    }
    node.call(writer, "SET other 1");
    assert_eq!(heard(&mut node, listener), "");
    assert_eq!(heard(&mut node, all), changed("other"));
    assert_eq!(node.call(listener, "CLIENT TRACKING OFF"), "+OK");
    node.call(writer, "SET user:1 2");
    assert_eq!(heard(&mut node, listener), "");
    assert!(
        node.call(all, "CLIENT TRACKING ON BCAST PREFIX a")
            .contains("overlaps with an existing prefix ''"),
    );
    assert!(
        node.call(all, "CLIENT TRACKING ON")
            .contains("You can't switch BCAST mode on/off")
    );
}

#[test]
fn an_old_protocol_is_told_through_another_connection() {
    let mut node = node(3);
    let channel = "__redis__:invalidate";
    for at in [0, 1] {
        let told = node.connect(at, Port::Node);
        let number = node
            .call(told, "CLIENT ID")
            .trim_start_matches(':')
            .to_owned();
        node.call(told, &format!("SUBSCRIBE {channel}"));
        let client = node.connect(0, Port::Node);
        assert_eq!(
            node.call(client, &format!("CLIENT TRACKING ON REDIRECT {number}")),
            "+OK"
        );
        assert_eq!(node.call(client, "CLIENT GETREDIR"), format!(":{number}"));
        let writer = node.connect(2, Port::Node);
        node.call(client, "GET k");
        node.call(writer, "SET k 1");
        assert_eq!(
            heard(&mut node, told),
            format!("*3 $7 message $20 {channel} *1 $1 k")
        );
        assert_eq!(heard(&mut node, client), "");
        node.call(client, "GET k");
        node.call(writer, "FLUSHALL");
        assert_eq!(
            heard(&mut node, told),
            format!("*3 $7 message $20 {channel} $-1")
        );
    }
    let client = node.connect(0, Port::Node);
    assert!(
        node.call(client, "CLIENT TRACKING ON REDIRECT 999")
            .contains("does not exist")
    );
}

#[test]
fn who_loses_the_connection_that_is_told_for_it_hears_that() {
    let mut node = node(2);
    let told = node.connect(1, Port::Node);
    let number = node
        .call(told, "CLIENT ID")
        .trim_start_matches(':')
        .to_owned();
    let client = tracker(&mut node, 0, &format!("REDIRECT {number}"));
    let writer = node.connect(1, Port::Node);
    node.call(told, "QUIT");
    node.settle();
    assert!(node.bricks[1].poll_closed().is_some());
    node.call(client, "GET k");
    node.call(writer, "SET k 1");
    assert_eq!(
        heard(&mut node, client),
        format!(">2 $21 tracking-redir-broken :{number}")
    );
    assert!(
        node.call(client, "CLIENT TRACKINGINFO")
            .contains("broken_redirect")
    );
}

#[test]
fn all_is_told_of_where_all_goes_and_of_keys_that_go_by_themselves() {
    let mut node = node(2);
    let reader = tracker(&mut node, 0, "");
    let writer = node.connect(1, Port::Node);
    node.call(writer, "SET k 1");
    node.call(reader, "GET k");
    assert_eq!(node.call(writer, "FLUSHALL"), "+OK");
    assert_eq!(heard(&mut node, reader), ALL_CHANGED);
    node.call(writer, "SET k 1 PX 50");
    node.call(reader, "GET k");
    node.advance(Duration::from_millis(200));
    node.call(writer, "GET k");
    assert_eq!(heard(&mut node, reader), changed("k"));
}

#[test]
fn keys_are_bounded_and_who_may_have_one_that_is_forgotten_is_told() {
    let mut node = node(1);
    let reader = tracker(&mut node, 0, "");
    assert_eq!(
        node.call(reader, "CONFIG SET tracking-table-max-keys 2"),
        "+OK"
    );
    for key in ["a", "b", "c"] {
        node.call(reader, &format!("GET {key}"));
    }
    assert_eq!(heard(&mut node, reader), "");
    node.advance(Duration::from_millis(200));
    assert!(
        node.call(reader, "INFO stats")
            .contains("tracking_total_keys:2")
    );
    assert!(
        node.call(reader, "INFO clients")
            .contains("tracking_clients:1")
    );
}

#[test]
fn what_is_asked_for_is_shown_and_ends_with_the_connection() {
    let mut node = node(1);
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, "CLIENT TRACKINGINFO"),
        "*6 $5 flags *1 $3 off $8 redirect :-1 $8 prefixes *0"
    );
    assert_eq!(node.call(client, "CLIENT GETREDIR"), ":-1");
    node.call(client, "CLIENT TRACKING ON BCAST PREFIX a NOLOOP");
    assert_eq!(
        node.call(client, "CLIENT TRACKINGINFO"),
        "*6 $5 flags *3 $2 on $5 bcast $6 noloop $8 redirect :0 $8 prefixes *1 $1 a"
    );
    assert!(node.call(client, "CLIENT LIST").contains("flags=tB "));
    node.call(client, "RESET");
    assert_eq!(node.call(client, "CLIENT GETREDIR"), ":-1");
    node.call(client, "CLIENT TRACKING ON");
    node.call(client, "QUIT");
    node.settle();
    assert!(node.bricks[0].poll_closed().is_some());
    let other = node.connect(0, Port::Node);
    node.call(other, "SET k 1");
    node.advance(Duration::from_millis(200));
    assert!(
        node.call(other, "INFO clients")
            .contains("tracking_clients:0")
    );
}

#[test]
fn a_user_that_may_not_read_all_keys_listens_to_none() {
    let mut node = Node::with_users(1, TableAttributes::default(), Vec::<User>::new());
    let [admin, client] = [0, 0].map(|at| node.connect(at, Port::Node));
    assert_eq!(
        node.call(admin, "ACL SETUSER ann on nopass +@all ~user:*"),
        "+OK"
    );
    node.call(client, "AUTH ann x");
    assert!(
        node.call(client, "CLIENT TRACKING ON BCAST PREFIX user:")
            .starts_with("-NOPERM BCAST")
    );
    assert_eq!(node.call(client, "CLIENT TRACKING ON"), "+OK");
}

#[test]
fn copies_are_recalled_between_nodes_and_forgotten_when_another_brick_leads() {
    let mut cluster = Cluster::new(3, replicated(3));
    let readers = [0, 1].map(|at| cluster.connect(at, Port::Node));
    let writer = cluster.connect(1, Port::Node);
    for reader in readers {
        cluster.call(reader, "HELLO 3");
        assert_eq!(cluster.call(reader, "CLIENT TRACKING ON"), "+OK");
    }
    for key in ["a", "b", "c", "d"] {
        for reader in readers {
            assert_eq!(cluster.call(reader, &format!("GET {key}")), "_");
        }
        assert_eq!(cluster.call(writer, &format!("SET {key} 1")), "+OK");
        for reader in readers {
            // The first word to another node finds no stream: all that is known is forgotten for that.
            let told = far_heard(&mut cluster, reader);
            assert!(told.contains(&changed(key)), "{told}");
            assert_eq!(cluster.call(reader, &format!("GET {key}")), "$1 1");
        }
    }
    cluster.kill(2);
    for reader in readers {
        let told = far_heard(&mut cluster, reader);
        assert!(told.contains(ALL_CHANGED), "{told}");
    }
    for key in ["a", "b", "c", "d"] {
        for reader in readers {
            cluster.call(reader, &format!("GET {key}"));
        }
        assert_eq!(cluster.call(writer, &format!("SET {key} 2")), "+OK");
        for reader in readers {
            let told = far_heard(&mut cluster, reader);
            assert!(told.contains(&changed(key)), "{told}");
        }
    }
}

/// Rule `copies are recalled before a write`: what was prepared before the read has recalled nothing from its reader.
#[test]
fn a_reader_that_tracks_waits_for_what_is_prepared_and_keeps_that() {
    let mut node = Node::new(1, with(Durability::Log));
    let reader = tracker(&mut node, 0, "");
    let writer = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    assert_eq!(node.call(writer, "SET k new"), "");
    assert_eq!(
        node.call(reader, "GET k"),
        "",
        "the old value is nobody's to keep any more"
    );
    node.logs[0].is_held = false;
    assert_eq!(heard(&mut node, reader), "$3 new");
    assert_eq!(node.call(writer, "SET k newer"), "+OK +OK");
    assert!(heard(&mut node, reader).contains(&changed("k")));
}

/// Rule `copies are recalled before a write`: another primary knows of no copies.
#[test]
fn all_is_forgotten_when_a_partition_is_handed_over() {
    let mut cluster = Cluster::new(3, replicated(2));
    let key = cluster.key_at(1, 2);
    let reader = cluster.connect(0, Port::Node);
    cluster.call(reader, "HELLO 3");
    cluster.call(reader, "CLIENT TRACKING ON");
    cluster.call(reader, &format!("GET {key}"));
    far_heard(&mut cluster, reader);
    cluster.regroup(&key, &[2, 1]);
    assert_eq!(far_heard(&mut cluster, reader), ALL_CHANGED);
}

#[test]
fn a_node_that_does_not_answer_holds_up_a_write_for_a_moment_and_is_told_to_forget() {
    let mut cluster = Cluster::new(3, replicated(1));
    let reader = cluster.connect(0, Port::Node);
    cluster.call(reader, "HELLO 3");
    cluster.call(reader, "CLIENT TRACKING ON");
    let writer = cluster.connect(1, Port::Brick);
    let is_led = |cluster: &mut Cluster, key: &String| {
        cluster.call(writer, &format!("SET {key} 0")) == "+OK"
    };
    let mut keys = (0..).map(|at| format!("key{at}"));
    let key = keys.find(|key| is_led(&mut cluster, key)).unwrap();
    cluster.call(reader, &format!("GET {key}"));
    cluster.call(reader, "GET another");
    // What it says comes to nobody any more.
    cluster.mute(0, true);
    cluster.send(writer, &format!("SET {key} 1"));
    let turns = |cluster: &mut Cluster| (0..5).for_each(|_| cluster.turn());
    turns(&mut cluster);
    assert_eq!(cluster.receive(reader), changed(&key));
    assert_eq!(cluster.receive(writer), "");
    cluster.tick(Duration::from_millis(500));
    turns(&mut cluster);
    assert_eq!(cluster.receive(writer), "+OK");
    cluster.mute(0, false);
    cluster.tick(Duration::from_millis(100));
    turns(&mut cluster);
    assert!(cluster.receive(reader).contains(ALL_CHANGED));
    far_heard(&mut cluster, reader);
    assert_eq!(far_heard(&mut cluster, reader), "", "it has answered");
}

#[test]
fn who_listens_from_another_node_hears_and_forgets_what_it_may_have_missed() {
    let mut cluster = Cluster::new(3, replicated(3));
    let listener = cluster.connect(0, Port::Node);
    let writer = cluster.connect(1, Port::Node);
    cluster.call(listener, "HELLO 3");
    assert_eq!(
        cluster.call(listener, "CLIENT TRACKING ON BCAST PREFIX a"),
        "+OK"
    );
    for key in ["a1", "a2", "a3", "a4"] {
        assert_eq!(cluster.call(writer, &format!("SET {key} 1")), "+OK");
        let told = far_heard(&mut cluster, listener);
        assert!(told.contains(&changed(key)), "{told}");
    }
    cluster.kill(2);
    let told = far_heard(&mut cluster, listener);
    assert!(told.contains(ALL_CHANGED), "{told}");
    for key in ["a1", "a2", "a3", "a4"] {
        assert_eq!(cluster.call(writer, &format!("SET {key} 2")), "+OK");
        assert!(far_heard(&mut cluster, listener).contains(&changed(key)));
    }
}
