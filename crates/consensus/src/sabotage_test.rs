//! The judge judged: with a deliberate bug on, random schedules are run until it objects (docs/sabotage.md).
//!
//! `SABOTAGE=all` tries all bugs there are, most of which are other rooms'; `SABOTAGE=HorizonIgnored` one.

use crate::agreement_test::weather;
use brickyard_types::sabotage::{Bug, hunt};

/// What these schedules show.
const BUGS: &[Bug] = &[Bug::RaftToldUnstored];

/// A hunt that takes longer has failed.
const SEEDS_MAX: u64 = 100;

#[test]
fn every_bug_of_the_room_is_found() {
    let wanted = std::env::var("SABOTAGE").ok();
    let is_wanted = |bug: &Bug| match wanted.as_deref() {
        Some("all") => true,
        Some(name) => name == format!("{bug:?}"),
        None => BUGS.contains(bug),
    };
    let mut missed = Vec::new();
    for bug in Bug::ALL.iter().copied().filter(is_wanted) {
        let found = hunt(bug, 1..1 + SEEDS_MAX, |seed| {
            let mut network = weather(seed);
            network.heal();
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
