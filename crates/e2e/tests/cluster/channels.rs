//! Channels over a cluster: who listens at any node hears what is published at any other, while nodes fail.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;

const NODES: usize = 3;
const MESSAGES: usize = 500;

fn listener(cluster: &Cluster, at: usize, command: &[&str]) -> Client {
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
    let mut listeners: Vec<Client> = (0..NODES)
        .flat_map(|at| {
            let commands: [&[&str]; 3] = [
                &["SUBSCRIBE", "news"],
                &["PSUBSCRIBE", "n?ws"],
                &["SUBSCRIBE", "news"],
            ];
            commands.map(|command| listener(&cluster, at, command))
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
        for (at, listener) in listeners.iter_mut().enumerate() {
            for number in 0..MESSAGES {
                let of = format!("message {number} of publisher {from} at listener {at}");
                let got = heard(listener, &of);
                if got != number.to_string() {
                    let rest: Vec<String> = (0..20).map(|_| heard(listener, &of)).collect();
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
            let of = format!("message {number} without node 1 at listener {at}");
            assert_eq!(heard(&mut listeners[at], &of), number.to_string(), "{of}");
        }
    }

    // It comes back, and whoever listens there hears what is published from then on.
    cluster.launch(1);
    let port = cluster.port(1);
    wait_for("the node that is back", || Client::try_connect(port).ok());
    let mut back = listener(&cluster, 1, &["SUBSCRIBE", "back"]);
    let mut own = cluster.client(1);
    wait_for("a message at the node that is back", || {
        publisher.call(&["PUBLISH", "back", "again"]);
        // What comes before it is from the other nodes; this one is sure to come.
        own.call(&["PUBLISH", "back", "own"]);
        (heard(&mut back, "at the node that is back") == "again").then_some(())
    });
}
