//! How much room is reserved, and what is asked again when.

use super::*;
use crate::accepted::{ConnectionId, Port};
use crate::harness::{self, Client, Node};

use crate::request::{Origin, Token, Work};
use crate::settings::OUTPUT_SOFT;
use brickyard_command::lookup;
use brickyard_routing::NodeId;
use brickyard_types::{BrickId, Durability, TableId};
use brickyard_wire::Protocol;

/// Room that is reserved at first, for a reply and for one of many parts of one.
const USUAL: usize = OUTPUT_SOFT / ROOMS;
const PART_USUAL: usize = OUTPUT_SOFT / PART_ROOMS;

/// Longer than any room that is reserved at first.
const LONG: usize = 50_000;

/// A node of two bricks, a client of the first, and keys of the second, each with a value of so many bytes.
fn node_with_values(keys: usize, bytes: usize) -> (Node, Client, Vec<String>) {
    let mut node = Node::new(2, harness::with(Durability::Memory));
    let client = node.connect(0, Port::Node);
    let other = node.connect(1, Port::Brick);
    let mut names = Vec::new();
    for number in 0.. {
        let key = format!("key{number}");
        let value = format!("{key:v<bytes$}");
        if names.len() == keys {
            break;
        }
        if node.call(other, &format!("SET {key} {value}")) == "+OK" {
            names.push(key);
        }
    }
    (node, client, names)
}

/// Bytes that the brick has ready for a client, or holds.
fn held(node: &Node, client: Client) -> usize {
    let connection = node.bricks[client.brick].clients.get(client.id).unwrap();
    connection.replies_len()
}

/// Reads replies until none come; each by its first and last words, and the most that was held at a time.
fn read_all(node: &mut Node, client: Client) -> (String, usize) {
    let (mut all, mut most) = (String::new(), 0);
    loop {
        node.settle();
        most = most.max(held(node, client));
        let replies = node.receive(client);
        if replies.is_empty() {
            return (all, most);
        }
        all.push_str(&replies);
        all.push(' ');
    }
}

/// The keys that the values in these replies begin with.
fn keys_in(replies: &str) -> Vec<&str> {
    let values = replies.split(' ').filter(|it| it.starts_with("key"));
    values.map(|value| value.trim_end_matches('v')).collect()
}

#[test]
fn lengths_fade_and_never_below_what_is_usual() {
    let mut lengths = ReplyLengths::new(OUTPUT_SOFT);
    assert_eq!(
        (lengths.room(false), lengths.room(true)),
        (USUAL, PART_USUAL)
    );
    lengths.note(LONG);
    assert!(lengths.room(false) > LONG);
    lengths.note(10);
    assert!(lengths.room(false) > LONG, "one short reply says little");
    for _ in 0..100 * FADES_BY {
        lengths.note(10);
    }
    assert_eq!(lengths.room(false), USUAL);
}

#[test]
fn client_that_reads_nothing_holds_one_long_reply_of_another_brick() {
    let (mut node, client, keys) = node_with_values(20, LONG);
    let gets: String = keys.iter().map(|key| format!("GET {key}\n")).collect();
    for _ in 0..30 {
        node.send(client, &gets);
    }
    node.settle();
    let most = OUTPUT_SOFT + LONG + 1000;
    assert!(held(&node, client) <= most, "{} bytes", held(&node, client));
    let (replies, held) = read_all(&mut node, client);
    assert!(held <= most, "{held} bytes");
    let told = keys_in(&replies);
    assert_eq!(told.len(), 30 * keys.len());
    let asked = keys.iter().cycle().map(String::as_str);
    assert!(told.iter().copied().eq(asked.take(told.len())), "in order");
}

#[test]
fn what_comes_behind_a_reply_without_room_is_not_executed_before_it() {
    let (mut node, client, keys) = node_with_values(2, LONG);
    let (one, two) = (&keys[0], &keys[1]);
    // The write comes behind the read; both bounce, with the other key's.
    let commands = format!(
        "GET {one}\nSET {one} new\nGET {one}\nGET {two}\nDEL {two}\nEXISTS {two}\nSTRLEN {one}"
    );
    node.send(client, &commands);
    let (replies, _) = read_all(&mut node, client);
    let lengths: Vec<&str> = replies
        .split(' ')
        .filter(|it| !it.starts_with("key"))
        .collect();
    let long = format!("${LONG}");
    assert_eq!(
        lengths,
        [&long, "+OK", "$3", "new", &long, ":1", ":0", ":3", ""]
    );
}

#[test]
fn write_that_tells_a_long_value_is_executed_once_there_is_room() {
    let (mut node, client, keys) = node_with_values(3, LONG);
    let (one, two, three) = (&keys[0], &keys[1], &keys[2]);
    let commands = format!(
        "GETDEL {one}\nGETEX {two} EX 100\nSET {three} x GET\nEXISTS {one} {two} {three}\nTTL {two}\nGET {three}"
    );
    node.send(client, &commands);
    let (replies, _) = read_all(&mut node, client);
    assert_eq!(keys_in(&replies), [one, two, three]);
    assert!(
        replies.trim_end().ends_with(":2 :100 $1 x"),
        "{}",
        replies.len()
    );
}

#[test]
fn parts_of_one_reply_are_asked_again_together() {
    let (mut node, client, keys) = node_with_values(30, LONG);
    node.send(client, &format!("MGET {}\nGET {}", keys.join(" "), keys[0]));
    let (replies, _) = read_all(&mut node, client);
    let told = keys_in(&replies);
    let asked = keys.iter().chain(&keys[..1]).map(String::as_str);
    assert!(told.iter().copied().eq(asked), "{told:?}");
}

#[test]
fn transaction_with_a_long_reply_changes_nothing_before_there_is_room() {
    let (mut node, client, keys) = node_with_values(1, LONG);
    let key = &keys[0];
    let exec = format!("MULTI\nGET {key}\nAPPEND {key} x\nEXEC\n");
    node.send(client, &exec.repeat(15));
    let (replies, most) = read_all(&mut node, client);
    assert!(most <= OUTPUT_SOFT + LONG + 1000, "{most} bytes");
    for times in 1..=15 {
        assert!(replies.contains(&format!(":{} ", LONG + times)), "{times}");
    }
    assert!(!replies.contains(&format!(":{} ", LONG + 16)));
}

#[test]
fn client_that_goes_leaves_nobody_stalled() {
    let (mut node, client, keys) = node_with_values(2, LONG);
    let gets: String = keys.iter().map(|key| format!("GET {key}\n")).collect();
    // One turn: what comes back is on its way.
    node.send(client, &gets.repeat(20));
    let me = node.bricks[0].core.member();
    let number = node.bricks[0].clients.get(client.id).unwrap().client;
    assert!(node.bricks[1].core.requests.stalls.has(me, number));
    node.bricks[0].on_error(client.id);
    while node.bricks[0].poll_closed().is_some() {}
    node.settle();
    assert!(!node.bricks[1].core.requests.stalls.has(me, number));
    // Its place is another's now.
    let next = node.connect(0, Port::Node);
    assert_eq!(next.id, client.id);
    assert_eq!(
        node.call(next, &format!("STRLEN {}", keys[0])),
        format!(":{LONG}")
    );
}

#[test]
fn short_replies_come_back_never() {
    let (mut node, client, keys) = node_with_values(10, 100);
    let gets: String = keys.iter().map(|key| format!("GET {key}\n")).collect();
    node.send(client, &gets.repeat(50));
    let (replies, _) = read_all(&mut node, client);
    assert_eq!(keys_in(&replies).len(), 500);
    assert_eq!(node.bricks[0].core.stats().clients.held_back.value(), 0);
}

#[test]
fn request_that_came_back_waits_for_bricks_no_longer_than_others() {
    let member = Member {
        node: NodeId(4),
        brick: BrickId(0),
    };
    let token = Token {
        connection: ConnectionId(7),
        client: 99,
        placeholder: PlaceholderId(5),
        part: 0,
    };
    let origin = Origin { member, token };
    // Another of its client's requests is with a brick until `busy`.
    let asked_again = |busy, at| {
        let get = lookup(b"get").unwrap();
        let work = Work::Command(get, ["get", "key"].iter().collect());
        let request = Request::new(origin, TableId(4), Protocol::Resp2, work, Instant(50));
        let mut returned = Returned::default();
        // Others have waited for the client before.
        returned.note_brick(Instant(20));
        assert!(returned.take(0, 1, Instant(30)).is_empty());
        returned.note_brick(Instant(40));
        returned.put(CameBack::new(member, request, 0));
        returned.note_brick(Instant(busy));
        let taken = returned.take(1 << 20, 1, Instant(at));
        taken[0].request.deadline
    };
    assert_eq!(asked_again(40, 40), Instant(50), "its client had room");
    let none = asked_again(40, 1_040);
    assert_eq!(none, Instant(1_050), "its client had none");
    let behind = asked_again(1_040, 1_040);
    assert_eq!(behind, Instant(50), "it waited for another's brick");
    let both = asked_again(540, 1_040);
    assert_eq!(both, Instant(550), "for the brick, then for the client");
}

/// Parts of one reply: one comes back for want of room, one waits at its brick for three seconds, and then the first waits there.
#[test]
fn part_that_came_back_has_no_time_on_top_for_what_another_waits_at_a_brick() {
    let mut node = Node::new(3, harness::with(Durability::Log));
    let client = node.connect(0, Port::Node);
    let others = [1, 2].map(|brick| node.connect(brick, Port::Brick));
    let mut key_of = |other, len: usize| {
        let mut names = (0..).map(|number: usize| format!("{number:k<len$}"));
        let found = names.find(|name| node.call(other, &format!("SET {name} v")) == "+OK");
        found.unwrap()
    };
    // The first name alone is longer than the room of a reply.
    let (first, second) = (key_of(others[0], USUAL), key_of(others[1], 10));
    node.logs[2].is_held = true;
    node.send(others[1], &format!("SET {second} new"));
    assert_eq!(node.call(client, "KEYS *"), "");
    assert_eq!(node.bricks[0].core.stats().clients.held_back.value(), 1);
    node.advance(Duration::from_secs(3));
    node.logs[1].is_held = true;
    node.send(others[0], &format!("SET {first} new"));
    node.append(2);
    node.settle();
    assert_eq!(node.receive(others[1]), "+OK");
    node.advance(Duration::from_millis(1_900));
    assert_eq!(node.receive(client), "");
    node.advance(Duration::from_millis(200));
    let told = node.receive(client);
    assert!(told.starts_with("-CLUSTERDOWN what was written"), "{told}");
}
