use super::*;
use crate::LookupStrategy;

fn start(number: usize, led: u32) -> Start {
    Start {
        brick: format!("10.0.0.{number}:6380"),
        node: format!("10.0.0.{number}:6379"),
        led,
    }
}

fn finder(strategy: LookupStrategy, map_bytes_max: usize) -> Finder {
    let lookups = Lookups {
        strategy,
        map_bytes_max,
        ..Lookups::default()
    };
    Finder::new(lookups).expect("lookups")
}

#[test]
fn the_whole_map_alone_needs_no_finder() {
    assert!(Finder::new(Lookups::default()).is_none());
}

#[test]
fn lookups_begin_at_bricks_by_what_they_lead() {
    let finder = finder(LookupStrategy::Random, 1 << 20);
    assert_eq!(finder.start(7), None);
    let starts = vec![start(1, 1), start(2, 0), start(3, 3)];
    finder.install(starts, None, &Random::new());
    let begun: Vec<String> = (0..8).filter_map(|it| finder.start(it)).collect();
    let count = |number| {
        begun
            .iter()
            .filter(|it| **it == start(number, 0).brick)
            .count()
    };
    assert_eq!([count(1), count(2), count(3)], [2, 0, 6], "{begun:?}");
}

#[test]
fn of_very_many_bricks_some_are_known_within_a_quarter_of_the_bytes() {
    let finder = finder(LookupStrategy::CachedRandom, 16 << 10);
    let starts: Vec<Start> = (0..2_000).map(|it| start(it, 4)).collect();
    finder.install(starts, None, &Random::new());
    let counts = finder.counts();
    assert!(
        (1 << 10..=4 << 10).contains(&counts.map_bytes),
        "{counts:?}"
    );
    assert!(!finder.nodes(&Random::new()).is_empty());
    // Without any nothing can begin.
    let finder = self::finder(LookupStrategy::Random, 0);
    finder.install(vec![start(1, 4), start(2, 4)], None, &Random::new());
    assert!(finder.start(3).is_some());
}

#[test]
fn a_map_is_held_where_it_has_room_and_given_up_where_it_proves_wrong() {
    let finder = finder(LookupStrategy::DirectCachedRandom, 10_000);
    let starts = || vec![start(1, 4)];
    assert!(!finder.install(starts(), Some(10_000), &Random::new()));
    assert!(!finder.has_map());
    assert!(finder.install(starts(), Some(9_000), &Random::new()));
    assert!(finder.has_map() && finder.counts().map_bytes > 9_000);
    for call in 0..WATCHED_CALLS * 3 {
        finder.note_direct();
        // One in sixteen is mended as it goes.
        if call % 16 == 0 {
            finder.note_miss(Slot(0));
        }
    }
    assert!(finder.has_map());
    for _ in 0..=MISSES_MAX * 2 {
        finder.note_direct();
        finder.note_miss(Slot(0));
    }
    assert!(!finder.has_map());
    assert!(
        finder.install(starts(), Some(9_000), &Random::new()),
        "the next one"
    );
    assert!(finder.has_map());
}
