//! Channels over a cluster: who subscribes at any node hears what is published at any other, while nodes fail.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;

const NODES: usize = 3;
const MESSAGES: usize = 500;

fn subscriber(cluster: &Cluster, at: usize, command: &[&str]) -> Client {
    let mut client = cluster.client(at);
    let confirmed = client.call(command).to_string();
    assert!(confirmed.contains("subscribe"), "{confirmed}");
    client
}

fn heard(client: &mut Client, of: &str) -> String {
    let message = client.receive();
    let message = message.unwrap_or_else(|error| panic!("{of}: {error}"));
    let message = message.to_string();
    let text = message.rsplit(", ").next().unwrap_or_default();
    text.trim_matches(['"', ']']).to_owned()
}

#[test]
fn channels_are_heard_at_every_node_in_order_while_nodes_fail() {
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    let mut subscribers: Vec<Client> = (0..NODES)
        .flat_map(|at| {
            let commands: [&[&str]; 3] = [
                &["SUBSCRIBE", "news"],
                &["PSUBSCRIBE", "n?ws"],
                &["SUBSCRIBE", "news"],
            ];
            commands.map(|command| subscriber(&cluster, at, command))
        })
        .collect();
    let mut publishers: Vec<Client> = (0..NODES).map(|at| cluster.client(at)).collect();
    for (from, publisher) in publishers.iter_mut().enumerate() {
        for number in 0..MESSAGES {
            publisher
                .send(&["PUBLISH", "news", &number.to_string()])
                .unwrap();
        }
        for _ in 0..MESSAGES {
            assert_eq!(publisher.receive().unwrap().to_string(), ":3");
        }
        // The next publisher begins when all have heard this one: its messages have an order of their own.
        for (at, subscriber) in subscribers.iter_mut().enumerate() {
            for number in 0..MESSAGES {
                let of = format!("message {number} of publisher {from} at subscriber {at}");
                let got = heard(subscriber, &of);
                if got != number.to_string() {
                    let rest: Vec<String> = (0..20).map(|_| heard(subscriber, &of)).collect();
                    panic!("{of}: {got} {rest:?}");
                }
            }
        }
    }

    // A node is gone: the others hear one another, and nobody waits for it.
    cluster.kill(1);
    let publisher = &mut publishers[0];
    for number in 0..MESSAGES {
        let reply = publisher.call(&["PUBLISH", "news", &number.to_string()]);
        assert_eq!(reply.to_string(), ":3");
    }
    for at in [0, 1, 2, 6, 7, 8] {
        for number in 0..MESSAGES {
            let of = format!("message {number} without node 1 at subscriber {at}");
            assert_eq!(heard(&mut subscribers[at], &of), number.to_string(), "{of}");
        }
    }

    // It comes back, and whoever subscribes there hears what is published from then on.
    cluster.launch(1);
    let port = cluster.port(1);
    wait_for("the node that is back", || Client::try_connect(port).ok());
    let mut back = subscriber(&cluster, 1, &["SUBSCRIBE", "back"]);
    let mut own = cluster.client(1);
    wait_for("a message at the node that is back", || {
        publisher.call(&["PUBLISH", "back", "again"]);
        // What comes before it is from the other nodes; this one is sure to come.
        own.call(&["PUBLISH", "back", "own"]);
        (heard(&mut back, "at the node that is back") == "again").then_some(())
    });
}

#[test]
fn events_of_keys_are_heard_at_any_node_once_each() {
    const KEYS: usize = 60;
    let arguments = ["--notify-keyspace-events", "E$"];
    let cluster = Cluster::start(&[0, 1, 2], 1, &arguments);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let command = ["PSUBSCRIBE", "__keyevent@t__:*"];
    let mut listeners: Vec<Client> = (0..NODES)
        .map(|at| subscriber(&cluster, at, &command))
        .collect();
    let mut client = cluster.table(1, "t").expect("the table");
    let mut names: Vec<String> = (0..KEYS).map(|number| format!("key{number}")).collect();
    for name in &names {
        client.must(&["SET", name, "v"]);
    }
    names.sort_unstable();
    for (at, listener) in listeners.iter_mut().enumerate() {
        // Of keys in different partitions nothing is promised of the order.
        let mut told: Vec<String> = (0..KEYS)
            .map(|number| heard(listener, &format!("event {number} at node {at}")))
            .collect();
        told.sort_unstable();
        assert_eq!(told, names, "at node {at}");
    }
}
