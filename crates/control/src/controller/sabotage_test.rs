//! The judge judged: with a deliberate bug on, random schedules are run until it objects (docs/sabotage.md).
//!
//! `SABOTAGE=all` tries all bugs there are, most of which are other rooms'.

use super::schedule_test::run;
use brickyard_types::sabotage::{Bug, hunt};

/// What these schedules show.
const BUGS: &[Bug] = &[];

/// A hunt that takes longer has failed.
const SEEDS_MAX: u64 = 60;

#[test]
fn every_bug_of_the_room_is_found() {
    let is_all = std::env::var("SABOTAGE").is_ok_and(|it| it == "all");
    let bugs = if is_all { Bug::ALL } else { BUGS };
    let mut missed = Vec::new();
    for &bug in bugs {
        let found = hunt(bug, 1..1 + SEEDS_MAX, |seed| {
            run(seed, 1_500);
        });
        if let Some(seeds) = found.seeds {
            let words: Vec<&str> = found.objection.split_whitespace().take(20).collect();
            println!("{bug:?}: {seeds} seeds: {}", words.join(" "));
        } else {
            println!("{bug:?}: not found, reached {} times", found.reached);
            missed.push(bug);
        }
    }
    assert_eq!(missed, []);
}
