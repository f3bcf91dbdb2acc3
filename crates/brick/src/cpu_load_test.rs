use super::*;
use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client, Cluster};

/// A second passes, of which a brick was busy for so long, and as many commands of each kind came.
fn pass(cluster: &mut Cluster, client: Client, taken: &mut Duration, commands: &[(&str, usize)]) {
    for (command, count) in commands {
        cluster.send(client, &format!("{command}\n").repeat(*count));
    }
    for _ in 0..10 {
        cluster.turn();
    }
    cluster.receive(client);
    *taken += Duration::from_millis(800);
    let now = *taken;
    cluster.brick(0).note_taken(now);
    cluster.tick(Duration::from_secs(1));
}

fn told(cluster: &mut Cluster) -> BrickLoad {
    let brick = cluster.brick(0);
    brick.upkeep.cpu_load.load(&brick.core)
}

#[test]
fn brick_tells_how_busy_it_is_and_with_which_partitions() {
    let mut cluster = Cluster::new(2, replicated(1));
    let client = cluster.connect(0, Port::Node);
    let hot = (0..100)
        .map(|at| format!("k{at}"))
        .find(|key| cluster.places_of(key).0 == 0)
        .unwrap();
    let of = cluster.partition_of(&hot);
    let cold = (0..100)
        .map(|at| format!("k{at}"))
        .find(|key| cluster.places_of(key).0 == 0 && cluster.partition_of(key) != of)
        .unwrap();
    assert_eq!(cluster.call(client, &format!("SET {hot} 1")), "+OK");
    let mut taken = Duration::ZERO;
    let commands = [
        (format!("GET {hot}"), 180),
        (format!("SET {hot} 1"), 20),
        (format!("GET {cold}"), 50),
    ];
    let commands: Vec<(&str, usize)> = commands.iter().map(|(it, n)| (it.as_str(), *n)).collect();
    for _ in 0..20 {
        pass(&mut cluster, client, &mut taken, &commands);
    }
    let load = told(&mut cluster);
    assert!((780..=800).contains(&load.busy), "{load:?}");
    let [first, second] = &load.partitions[..] else {
        panic!("{load:?}");
    };
    assert_eq!(first.partition, of);
    assert!((620..=645).contains(&first.load), "{load:?}");
    assert!((90..=110).contains(&first.writes), "{load:?}");
    assert!(first.is_narrow);
    assert!((150..=165).contains(&second.load), "{load:?}");
    assert_eq!(second.writes, 0);
    // What was is forgotten by and by.
    for _ in 0..20 {
        cluster.tick(Duration::from_secs(1));
    }
    let load = told(&mut cluster);
    assert!(load.busy < 10 && load.partitions.is_empty(), "{load:?}");
}
