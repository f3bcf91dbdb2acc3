use super::*;
use crate::cluster_harness::{Client, Cluster};
use crate::effect::Port;
use crate::parting::parting_test::replicated;

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
    let load = cluster.brick(0).core.load();
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
    let load = cluster.brick(0).core.load();
    assert!(load.busy < 10 && load.partitions.is_empty(), "{load:?}");
}

#[test]
fn majority_is_seen_where_there_is_one_and_nowhere_else() {
    let is_narrow = |slots: &[u16]| {
        let mut heat = Heat::default();
        for at in 0..2_000 {
            heat.note(slots[at % slots.len()]);
        }
        heat.vote.has_majority()
    };
    assert!(is_narrow(&[5]));
    assert!(is_narrow(&[5, 5, 5, 9]));
    assert!(!is_narrow(&[5, 6, 7, 8]));
    assert!(!is_narrow(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
}

#[test]
fn new_partition_is_not_taken_for_hot_since_it_has_many_operations_already() {
    let mut heat = Heat::default();
    heat.look(Op(1_000_000), Duration::from_secs(1));
    assert_eq!(heat.writes, 0);
    heat.look(Op(1_000_100), Duration::from_secs(1));
    assert_eq!(heat.writes, 100 * PARTS / 4);
    heat.look(Op(1_000_000), Duration::from_secs(1));
    assert_eq!(heat.writes, 100 * PARTS / 4 * 3 / 4, "a cut is no write");
}
