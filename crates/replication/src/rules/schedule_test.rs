#[path = "sabotage_test.rs"]
mod sabotage_test;

use super::world::World;

/// So often a cluster that is whole loses a stream in the middle of a write.
const LAST_WORDS: usize = 4;

pub(super) fn run(seed: u64, steps: usize) -> World {
    let mut world = World::new(seed);
    for at in 0..3 {
        world.adopt(at);
    }
    for _ in 0..steps {
        world.step();
    }
    world.heal();
    world.compare();
    // What is lost of the last words of a quiet cluster is made good without another one.
    for _ in 0..LAST_WORDS {
        world.part();
        world.heal();
        world.compare();
    }
    world
}

#[test]
fn nothing_acknowledged_is_lost_in_random_schedules() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect(name))
    };
    let first = number("BRICKYARD_REPLICATION_SEED", 1);
    let count = number("BRICKYARD_REPLICATION_SEEDS", 150);
    let mut totals = [0; 5];
    for seed in first..first + count {
        let outcome = std::panic::catch_unwind(|| run(seed, 2500));
        let Ok(world) = outcome else {
            panic!("seed {seed}: run it again with BRICKYARD_REPLICATION_SEED={seed}");
        };
        let committed = world.outcome.len() as u64;
        let counts = [
            world.written,
            committed,
            world.reads,
            world.crashes,
            world.views,
        ];
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
    }
    println!("written, committed, reads, crashes, views: {totals:?}");
    assert!(
        totals.iter().all(|total| *total > count),
        "nothing was tried: {totals:?}"
    );
}
