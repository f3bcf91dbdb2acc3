//! Numbers of operations that were cut and are used again, for the same keys: what becomes of both records in a log that is
//! cleaned, read at a restart, and copied (PROTOCOL rules 14, 28).
//!
//! Schedules of everything hardly ever come to that: the number, the key, and nothing written since have to agree.

use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::collections::BTreeMap;

/// All of one partition.
const KEYS: u64 = 3;

/// Two bricks lead in turn, each time with writes that the other one never heard of; what was acknowledged is there.
pub(super) fn schedule(seed: u64) {
    let mut random = Random::new(seed);
    let mut below = |n: u64| random.next() % n;
    let is_disk = below(2) == 0;
    let attributes = TableAttributes {
        medium: if is_disk { Medium::Disk } else { Medium::Ram },
        maxmemory: is_disk.then_some(64),
        durability: Durability::Log,
        replicas: 2,
        ..TableAttributes::default()
    };
    let mut cluster = Cluster::new(3, attributes);
    let (mut first, second) = cluster.places_of("{k}0");
    let mut second = second.unwrap();
    let third = 3 - first - second;
    let mut values = BTreeMap::new();
    for round in 0..=below(3) {
        cluster.mute(first, true);
        let client = cluster.connect(first, Port::Node);
        for at in 0..2 + below(5) {
            let key = below(KEYS);
            cluster.send(client, &format!("SET {{k}}{key} lost-{round}-{at}"));
        }
        cluster.turn();
        cluster.demote("{k}0", &[second], &[first]);
        cluster.settle();
        cluster.break_links(first);
        cluster.settle();
        std::mem::swap(&mut first, &mut second);
        let client = cluster.connect(first, Port::Node);
        for at in 0..1 + below(5) {
            let (key, value) = (below(KEYS), format!("kept-{round}-{at}"));
            let reply = cluster.call(client, &format!("SET {{k}}{key} {value}"));
            assert_eq!(reply, "+OK", "seed {seed}: {}", cluster.story());
            values.insert(key, value);
        }
        cluster.settle();
        if below(3) == 0 {
            cluster.roll(second);
            (0..12).for_each(|_| cluster.settle());
        }
    }
    // Who has the records of both kinds restarts, or is read by one who has nothing.
    if below(2) == 0 {
        cluster.kill(second);
        cluster.settle();
        cluster.restart(second);
        cluster.settle();
        cluster.set_learners("{k}0", &[second]);
        cluster.settle();
    }
    cluster.regroup("{k}0", &[second, first]);
    cluster.settle();
    check(&mut cluster, second, &values, seed);
    cluster.kill(first);
    cluster.settle();
    cluster.set_learners("{k}0", &[third]);
    cluster.settle();
    cluster.kill(second);
    cluster.settle();
    check(&mut cluster, third, &values, seed);
}

fn check(cluster: &mut Cluster, at: usize, values: &BTreeMap<u64, String>, seed: u64) {
    let client = cluster.connect(at, Port::Node);
    for (key, value) in values {
        let reply = cluster.call(client, &format!("GET {{k}}{key}"));
        let expected = format!("${} {value}", value.len());
        assert_eq!(
            reply,
            expected,
            "seed {seed}, node {at}: {}",
            cluster.story()
        );
    }
}
