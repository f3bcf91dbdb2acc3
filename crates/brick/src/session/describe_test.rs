use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::{Durability, TableAttributes};
use std::time::Duration;

/// The number behind a field of `TABLE DESCRIBE t`.
fn described(cluster: &mut Cluster, client: Client, field: &str) -> u64 {
    cluster.send(client, "TABLE DESCRIBE t");
    cluster.settle();
    cluster.tick(Duration::from_secs(1));
    cluster.settle();
    let described = cluster.receive(client);
    let behind = described.split_once(&format!(" {field} :"));
    let (_, behind) = behind.unwrap_or_else(|| panic!("no {field} in {described}"));
    let number = behind.split(' ').next().unwrap();
    number.parse().unwrap()
}

/// On a node that has no copy of some keys, too. Who is away is counted.
#[test]
fn keys_and_memory_of_all_bricks_are_added_up() {
    let attributes = TableAttributes {
        replicas: 2,
        durability: Durability::Log,
        ..TableAttributes::default()
    };
    let mut cluster = Cluster::new(3, attributes);
    let clients = [0, 1, 2].map(|host| cluster.connect(host, Port::Node));
    for key in 0..40 {
        assert_eq!(
            cluster.call(clients[0], &format!("SET key{key} value")),
            "+OK"
        );
    }
    let seen = |cluster: &mut Cluster, client| {
        ["unanswered", "keys", "memory"].map(|field| described(cluster, client, field))
    };
    let all = clients.map(|client| seen(&mut cluster, client));
    assert_eq!(all[0][..2], [0, 40]);
    assert!(all.iter().all(|it| *it == all[0]), "{all:?}");
    // One node cannot be reached, and nobody knows better yet.
    cluster.is_deciding = false;
    cluster.cut(0, 2);
    let left = seen(&mut cluster, clients[0]);
    assert_eq!(left[0], 1);
    assert!(
        left[1] < 40 && left[2] < all[0][2],
        "{left:?} of {:?}",
        all[0]
    );
}
