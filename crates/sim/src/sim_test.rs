//! Seeds that every change has to pass, and that a seed is a run.

#[path = "sabotage_test.rs"]
mod sabotage_test;

use crate::fault;
use crate::plan::PLANNED_STOP;
use crate::scenario::{ClusterOf, Scenario, USUAL};
use crate::{SCENARIOS, plan_in, plan_of, run, run_plan, tell};
use std::collections::BTreeMap;

/// Seeds that showed something that was wrong, and what, before virtual time was that of the server's own loop. They are
/// other schedules since: what holds those bugs are the tests that docs/simulator.md names.
const REGRESSIONS: &[(u64, &str)] = &[
    (
        102,
        "a node that had stored nothing became a voter, and could not be taken in again",
    ),
    (
        500_024_390,
        "a brick waited with a catalog for a batch that had nothing for the log, for ever",
    ),
    (
        500_023_492,
        "a change that one leader had proposed and the next one refused was answered as refused, and made",
    ),
    (
        700_005_332,
        "a new table was given copies on a node that had just stopped, and its first write waited for a lease",
    ),
    (
        700_008_706,
        "the last node with a partition stopped before the copy was made that another one was to have",
    ),
    (
        700_007_992,
        "a copy that a damaged log cannot give held up all others and every move",
    ),
    (
        1_200_058_097,
        "a brick looked for writes in flight of a table that was out of memory by then, and ended",
    ),
    (
        1_100_040_964,
        "a brick waited with a catalog for the log to answer for what it had refused, for ever",
    ),
    (
        7_700_026_813,
        "what a node kept until it heard of the last catalogs was taken for forgotten",
    ),
    (
        8_100_007_606,
        "an order of unknown outcome was carried out late, and the end came before it was taken back",
    ),
    (
        9_000_015_268,
        "a pause within another ended that, but not for what it had held up: nothing was wrong but the fault",
    ),
    (
        9_000_098_684,
        "a deletion was dropped by the cleaner before a copy that came behind it, and its key was back",
    ),
    (
        9_200_009_278,
        "a record that a segment had several times was moved to the next one several times, for ever",
    ),
    (
        9_400_013_244,
        "a reply in parts waited beyond its time for what others had written between them",
    ),
    (
        9_400_026_185,
        "a record that was cut counted again when the cleaner had removed its cut first",
    ),
    (
        9_500_015_351,
        "the last records of a half counted for nothing when the cleaner had removed what said that they had committed",
    ),
    (
        9_700_000_187,
        "a merge in a table that had gone offline was to be asked for again, for ever",
    ),
    (
        9_800_000_952,
        "a read on a brick of the client's node overtook an earlier one that was with another node",
    ),
    (
        9_900_010_077,
        "a merge and an eviction of the right half were decided in one pass, and the leader stopped",
    ),
];

#[test]
fn a_seed_is_a_run() {
    for seed in [1, 2, 3] {
        let (once, again) = (run(seed), run(seed));
        assert_eq!(once.digest, again.digest, "seed {seed}");
        assert_eq!(once.events, again.events, "seed {seed}");
        // Whoever listens changes nothing.
        let (told, story) = tell(seed, plan_of(seed));
        assert_eq!(once.digest, told.digest, "seed {seed}");
        assert!(!story.is_empty());
    }
}

/// Scenarios without a bug.
fn nobody_objects_to_scenarios(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        for scenario in SCENARIOS {
            if let Some(violation) = run_plan(seed, plan_in(scenario, seed)).violation {
                panic!("{}, seed {seed}: {violation}", scenario.name);
            }
        }
    }
}

/// Nor to clients that do not hold the map; and they find their way over several bricks.
#[test]
fn clients_find_their_way_while_partitions_change() {
    let scenario = &crate::scenario::LOOKED_UP;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 1..=12 {
        let report = run_plan(seed, plan_in(scenario, seed));
        if let Some(violation) = report.violation {
            panic!("seed {seed}: {violation}");
        }
        for (what, count) in report.counts {
            *counts.entry(what).or_default() += count;
        }
    }
    for what in ["lookups", "hops", "partitions remembered"] {
        let count = counts.get(what).copied().unwrap_or(0);
        println!("{what}: {count}");
        assert!(count > 0, "{what}: {counts:?}");
    }
}

/// Nor to keys that go from table to table; and they do.
#[test]
fn keys_go_from_table_to_table() {
    let scenario = &crate::scenario::BETWEEN;
    let mut moved = 0;
    for seed in 1..=12 {
        let report = run_plan(seed, plan_in(scenario, seed));
        if let Some(violation) = report.violation {
            panic!("seed {seed}: {violation}");
        }
        moved += report.counts.get("keys moved").copied().unwrap_or(0);
    }
    println!("keys moved: {moved}");
    assert!(moved > 100, "{moved} were moved");
}

#[test]
fn nobody_objects_to_a_few_scenarios() {
    nobody_objects_to_scenarios(1..=6);
}

#[test]
#[ignore = "takes minutes"]
fn nobody_objects_to_many_scenarios() {
    nobody_objects_to_scenarios(1..=2_000);
}

/// `SIM_SCENARIO=views SIM_SEED=17 cargo test -p brickyard-sim --lib -- --ignored a_scenario_is_told --nocapture`.
#[test]
#[ignore = "tells the story of one run"]
fn a_scenario_is_told() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let wanted = std::env::var("SIM_SCENARIO").unwrap_or_default();
    let scenario = SCENARIOS.iter().find(|it| it.name == wanted);
    let scenario = scenario.expect("SIM_SCENARIO names a scenario");
    if let Some(seed) = number("SIM_SEED") {
        let (outcome, story) = tell(seed, plan_in(scenario, seed));
        println!("{}\n{:?}", story.join("\n"), outcome.counts);
        return;
    }
    let begun = std::time::Instant::now();
    let (first, count) = (
        number("SIM_FIRST").unwrap_or(1),
        number("SIM_SEEDS").unwrap_or(20),
    );
    for seed in first..first + count {
        let outcome = run_plan(seed, plan_in(scenario, seed));
        if let Some(violation) = outcome.violation {
            println!("seed {seed}: {violation}");
        }
    }
    println!("{count} seeds in {:?}", begun.elapsed());
}

#[test]
fn faults_that_are_named_are_there() {
    let kinds: Vec<&str> = fault::weights().iter().map(|it| it.0).collect();
    let named = SCENARIOS.iter().flat_map(|it| it.faults).map(|it| it.0);
    for name in named.chain([PLANNED_STOP]) {
        assert!(kinds.contains(&name), "{name}");
    }
}

/// As it was when those seeds failed: no loop writes into its log itself.
static WITHOUT_INLINE: Scenario = Scenario {
    cluster: ClusterOf {
        inline_one_in: &[u64::MAX],
        ..USUAL.cluster
    },
    ..USUAL
};

#[test]
fn seeds_that_failed_do_not_in_the_schedules_of_then() {
    for (seed, _) in REGRESSIONS {
        let outcome = run_plan(*seed, plan_in(&WITHOUT_INLINE, *seed));
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}

#[test]
fn nobody_objects() {
    let fixed = REGRESSIONS.iter().map(|(seed, _)| *seed);
    for seed in fixed.chain(1..=24) {
        let outcome = run(seed);
        assert!(outcome.served > 0, "seed {seed}: nothing was served");
        if let Some(violation) = outcome.violation {
            panic!("seed {seed}: {violation}\nrun `brickyard sim --seed {seed}` for its story");
        }
    }
}
