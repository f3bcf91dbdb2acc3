#[path = "sabotage_test.rs"]
mod sabotage_test;

use crate::testing::{Faults, Network};

/// Everything at once.
fn storm() -> Faults {
    Faults {
        loss: 20,
        twice: 30,
        delay_max: 6,
        write_delay_max: 4,
        slow_tick: 9,
        part: 80,
        crash: 60,
        pause: 100,
        change: 40,
        transfer: 200,
        spoil: 0,
    }
}

pub(crate) fn weather(seed: u64) -> Network {
    let nodes = 3 + seed % 3;
    let mut network = Network::new(seed, nodes);
    network.grow(nodes);
    network.faults = storm();
    network.run(600);
    network
}

#[test]
fn nothing_committed_is_lost_and_no_term_has_two_leaders() {
    let (mut confirmed, mut restored, mut committed) = (0, 0, 0);
    for seed in 0..200 {
        let mut network = weather(seed);
        network.heal();
        confirmed += network.confirmed;
        restored += network.restored;
        committed += network.committed.len();
    }
    // The storms leave room for work.
    assert!(confirmed > 1000, "{confirmed} rounds");
    assert!(restored > 1000, "{restored} snapshots");
    assert!(committed > 10_000, "{committed} entries");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 1000..1010 {
        let (one, other) = (weather(seed), weather(seed));
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_ne!(one.trace, weather(seed + 5000).trace);
    }
}

#[test]
fn spoilt_messages_never_make_a_node_panic() {
    for seed in 0..300 {
        let mut network = Network::new(seed, 3);
        network.grow(3);
        network.faults = Faults {
            spoil: 4,
            ..storm()
        };
        network.run(300);
    }
}
