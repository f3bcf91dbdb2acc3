use super::*;
use crate::cluster_harness::{Client, Cluster};
use crate::harness::Node;
use brickyard_routing::Prefix;
use brickyard_types::{Durability, TableAttributes};

/// What was told: the kind, the leaf, and how often a member is named.
struct Told {
    kind: String,
    partition: i64,
    leaf: Prefix,
    members: usize,
    port: u16,
}

fn told(reply: &str) -> Told {
    let words: Vec<&str> = reply.split(' ').collect();
    // `*6 $4 leaf :version :partition $16 first :depth *members *3 $n host :port :node ...`
    assert_eq!((words[0], words.len() % 5), ("*6", 4), "{reply}");
    let number = |at: usize| words[at][1..].parse::<i64>().unwrap();
    let first = u64::from_str_radix(words[6], 16).unwrap();
    let leaf = Prefix::of(RoutingHash(first), number(7) as u8);
    assert_eq!(leaf.first().0, first, "{reply}");
    Told {
        kind: words[2].to_owned(),
        partition: number(4),
        leaf,
        members: number(8) as usize,
        port: number(12) as u16,
    }
}

fn attributes(replicas: u8) -> TableAttributes {
    TableAttributes {
        replicas,
        durability: Durability::Log,
        ..TableAttributes::default()
    }
}

fn counts(cluster: &mut Cluster, client: Client) -> [u64; 3] {
    let info = cluster.call(client, "INFO stats");
    ["lookups_answered:", "lookups_forwarded:", "lookup_hops:"].map(|name| {
        let at = info.find(name).expect(name) + name.len();
        let digits: String = info[at..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap()
    })
}

#[test]
fn the_way_from_any_brick_leads_to_the_one_that_holds_it() {
    let mut cluster = Cluster::new(4, attributes(1));
    let clients: Vec<Client> = (0..4).map(|at| cluster.connect(at, Port::Brick)).collect();
    for client in &clients {
        assert_eq!(cluster.call(*client, "TABLE USE t"), "+OK");
    }
    let port_of = |at: usize| {
        let address = cluster.catalog().address(cluster.replica(at).member);
        address.expect("an address").port
    };
    let ports: Vec<u16> = (0..4).map(port_of).collect();
    for graph in Graph::ALL {
        for is_aggregated in [false, true] {
            for number in 0..40_u64 {
                let target = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let (mut at, mut by, mut hops) = (number as usize % 4, None, 0);
                let mut way = u64::MAX;
                loop {
                    let one = by.filter(|_| !is_aggregated);
                    let one = one.map_or(String::new(), |it: i64| format!(" BY {it}"));
                    let line = format!("CLUSTER LOOKUP {target:x} GRAPH {graph} HOPS {hops}{one}");
                    let reply = told(&cluster.call(clients[at], &line));
                    assert_eq!(reply.members, 1);
                    let distance = graph.distance(reply.leaf, RoutingHash(target));
                    if reply.kind == "leaf" {
                        assert_eq!(distance, 0, "{line}");
                        // Who is named holds it, and says so.
                        let holder =
                            clients[ports.iter().position(|it| *it == reply.port).unwrap()];
                        let line = format!("CLUSTER LOOKUP {target:x} BY {}", reply.partition);
                        let again = told(&cluster.call(holder, &line));
                        assert_eq!((again.kind.as_str(), again.port), ("leaf", reply.port));
                        break;
                    }
                    assert!(distance < way, "{line}: from {way} to {distance}");
                    way = distance;
                    at = ports
                        .iter()
                        .position(|port| *port == reply.port)
                        .expect("a brick");
                    (by, hops) = (Some(reply.partition), hops + 1);
                    assert!(hops < 16, "{line}");
                }
            }
        }
    }
    let counts = clients.iter().map(|client| counts(&mut cluster, *client));
    let counts: Vec<[u64; 3]> = counts.collect();
    let sum = |at: usize| counts.iter().map(|it| it[at]).sum::<u64>();
    assert!(sum(0) >= 160 && sum(1) > 0 && sum(2) > 0, "{counts:?}");
}

#[test]
fn hops_that_a_client_claims_are_bounded() {
    let mut cluster = Cluster::new(1, attributes(1));
    let client = cluster.connect(0, Port::Brick);
    cluster.call(client, "TABLE USE t");
    let reply = cluster.call(client, &format!("CLUSTER LOOKUP 0 HOPS {}", i64::MAX));
    assert_eq!(told(&reply).kind, "leaf");
    assert_eq!(counts(&mut cluster, client), [1, 0, HOPS_MAX.into()]);
}

#[test]
fn a_nodes_port_answers_for_its_bricks_and_a_bricks_port_for_one() {
    let mut node = Node::new(2, TableAttributes::default());
    let [by_node, by_brick] = [Port::Node, Port::Brick].map(|port| node.connect(0, port));
    let kinds: Vec<String> = {
        let hashes = (0..32_u64).map(|at| at << 59);
        let replies = hashes.map(|hash| node.call(by_node, &format!("CLUSTER LOOKUP {hash:x}")));
        replies.map(|reply| told(&reply).kind).collect()
    };
    assert!(kinds.iter().all(|kind| kind == "leaf"), "{kinds:?}");
    // With one table alone it knows no more than its edges.
    let mut by_one = |hash: u64| {
        node.call(
            by_brick,
            &format!("CLUSTER LOOKUP {hash:x} GRAPH debruijn BY 1"),
        )
    };
    let of_one: Vec<String> = (0..32_u64).map(|at| told(&by_one(at << 59)).kind).collect();
    assert!(
        of_one.iter().any(|it| it == "leaf") && of_one.iter().any(|it| it == "next"),
        "{of_one:?}"
    );
}

#[test]
fn copies_know_the_way_as_primaries_do() {
    let mut cluster = Cluster::new(2, attributes(2));
    for at in [0, 1] {
        let client = cluster.connect(at, Port::Brick);
        cluster.call(client, "TABLE USE t");
        for hash in (0..16_u64).map(|at| at << 60) {
            let told = told(&cluster.call(client, &format!("CLUSTER LOOKUP {hash:x}")));
            assert_eq!((told.kind.as_str(), told.members), ("leaf", 2));
        }
    }
}

#[test]
fn where_a_lookup_may_begin_is_told_with_how_much_is_led_there() {
    let mut cluster = Cluster::new(3, attributes(2));
    let client = cluster.connect(2, Port::Node);
    cluster.call(client, "TABLE USE t");
    let reply = cluster.call(client, "CLUSTER LOOKUP");
    let words: Vec<&str> = reply.split(' ').collect();
    // `*2 :version *bricks *4 $n host :port :node :led ...`
    let led: i64 = words[3..]
        .chunks(6)
        .map(|it| it[5][1..].parse::<i64>().unwrap())
        .sum();
    let partitions = cluster.catalog().table("t").unwrap().map.groups().len();
    assert_eq!(led, partitions as i64, "{reply}");
}

#[test]
fn what_is_no_lookup_is_refused() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Brick);
    for (line, wanted) in [
        (
            "CLUSTER LOOKUP x",
            "-ERR a routing hash is 1 to 16 hexadecimal digits",
        ),
        (
            "CLUSTER LOOKUP 1 GRAPH ring",
            "-ERR 'ring' is no routing graph; use chord or debruijn",
        ),
        ("CLUSTER LOOKUP 1 BY", "-ERR syntax error"),
    ] {
        let reply = node.call(client, line);
        assert!(reply.starts_with(wanted), "{line}: {reply}");
    }
    // A partition that is not here, or nowhere, is no mistake of who asks: maps change.
    let told = told(&node.call(client, "CLUSTER LOOKUP 1 BY 4000000000"));
    assert_eq!(told.kind, "leaf");
}
