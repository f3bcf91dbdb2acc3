use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::harness::Node;
use brickyard_types::{Durability, TableAttributes};

/// The words of each partition's part, from the first cursor to the last; how many calls it took.
fn all(table: &str, mut call: impl FnMut(&str) -> String) -> (Vec<Vec<String>>, usize) {
    let mut parts = Vec::new();
    let mut cursor = "0".to_owned();
    for calls in 1..1000 {
        let reply = call(&format!("TABLE DIGEST {table} {cursor}"));
        let words: Vec<&str> = reply.split(' ').collect();
        assert_eq!(words[0], "*2", "{reply}");
        cursor = words[2].to_owned();
        for part in words[4..].chunks(9) {
            // `*6 :partition $n role :view :committed :keys $16 digest`
            let of = [1, 3, 4, 5, 6, 8];
            parts.push(of.map(|at| part[at].to_owned()).to_vec());
        }
        if cursor == "0" {
            return (parts, calls);
        }
    }
    panic!("it does not end");
}

fn keys(parts: &[Vec<String>]) -> u64 {
    let keys = parts.iter().map(|it| it[4].trim_start_matches(':'));
    keys.map(|it| it.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_call_is_bounded_and_the_next_goes_on() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Brick);
    for base in (0..10_000).step_by(500) {
        let lines: Vec<String> = (base..base + 500)
            .map(|it| format!("SET key{it} {it}"))
            .collect();
        node.send(client, &lines.join("\n"));
        node.settle();
        node.receive(client);
    }
    let (parts, calls) = all("default", |command| node.call(client, command));
    assert_eq!(keys(&parts), 10_000);
    assert!(calls >= 3, "{calls} calls for 10,000 keys");
    for command in ["TABLE DIGEST nosuch", "TABLE DIGEST default x-y"] {
        let reply = node.call(client, command);
        assert!(reply.starts_with("-ERR"), "{reply}");
    }
}

#[test]
fn replicas_agree() {
    let attributes = TableAttributes {
        replicas: 2,
        durability: Durability::Log,
        ..TableAttributes::default()
    };
    let mut cluster = Cluster::new(2, attributes);
    let client = cluster.connect(0, Port::Node);
    for key in 0..60 {
        let reply = cluster.call(client, &format!("SET key{key} {key} EX {}", 1000 + key));
        assert_eq!(reply, "+OK");
        if key % 3 == 0 {
            assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
        }
    }
    let [first, second] = [0, 1].map(|host| {
        let client = cluster.connect(host, Port::Brick);
        all("t", |command| cluster.call(client, command)).0
    });
    assert_eq!((keys(&first), keys(&second)), (40, 40));
    for (one, other) in first.iter().zip(&second) {
        assert_ne!(one[1], other[1], "one is primary, the other backup");
        let of = |it: &[String]| [it[0].clone(), it[3].clone(), it[4].clone(), it[5].clone()];
        assert_eq!(of(one), of(other));
    }
}
