//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::scenario::{self, Scenario};
use super::{EDITION, Kind, chaos, halves, reuse};
use brickyard_sabotage::Judge;

const JUDGE: Judge<'_> = Judge {
    name: "brick",
    seeds_max: 300,
};

/// What happened is told with `CHAOS_STORY=1`.
fn schedule(kind: Kind, seed: u64) {
    let outcome = chaos(kind, seed, std::env::var_os("CHAOS_STORY").is_some());
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
}

/// The judge of a scenario.
const fn of(name: &'static str) -> Judge<'static> {
    Judge {
        name,
        seeds_max: 300,
    }
}

/// These schedules hardly ever come to what shows some of it.
const PARTING: Judge<'_> = Judge {
    name: "brick-parting",
    seeds_max: 3_000,
};

const SCENARIOS: [(&Scenario, Judge<'_>); 11] = [
    (&scenario::READS, of("brick-reads")),
    (&scenario::CLEANING, of("brick-cleaning")),
    (&scenario::POWER, of("brick-power")),
    (&scenario::SYNCS, of("brick-syncs")),
    (&scenario::LEARNING, of("brick-learning")),
    (&scenario::RETRIES, of("brick-retries")),
    (&scenario::CUTS, of("brick-cuts")),
    (&scenario::PROMOTIONS, of("brick-promotions")),
    (&scenario::PARTING, PARTING),
    (&scenario::JOINING, of("brick-joining")),
    (&scenario::OVERTAKEN, of("brick-overtaken")),
];

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    JUDGE.must_find(|seed| schedule(Kind::Edition(EDITION), seed));
    for (scenario, judge) in SCENARIOS {
        judge.must_find(|seed| schedule(Kind::Scenario(scenario), seed));
    }
    of("brick-halves").must_find(halves::schedule);
    of("brick-reuse").must_find(reuse::schedule);
}
