//! The checkers checked: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use crate::scenario::{self, Scenario};
use crate::{plan_in, run_plan};
use brickyard_sabotage::Checker;
use std::panic::catch_unwind;

/// A hunt gives up after so many schedules.
const SEEDS_MAX: u64 = 100;

const CHECKERS: &[(&str, &Scenario)] = &[
    ("sim", &scenario::USUAL),
    ("sim-power", &scenario::POWER),
    ("sim-calm", &scenario::CALM),
    ("sim-views", &scenario::VIEWS),
    ("sim-reads", &scenario::READS),
    ("sim-cleaning", &scenario::CLEANING),
    ("sim-syncs", &scenario::SYNCS),
    ("sim-learning", &scenario::LEARNING),
    ("sim-retries", &scenario::RETRIES),
    ("sim-cuts", &scenario::CUTS),
    ("sim-parting", &scenario::PARTING),
    ("sim-overtaken", &scenario::OVERTAKEN),
    ("sim-offline", &scenario::OFFLINE),
    ("sim-alone", &scenario::ALONE),
    ("sim-leads", &scenario::LEADS),
    ("sim-apart", &scenario::APART),
    ("sim-between", &scenario::BETWEEN),
    ("sim-leases", &scenario::LEASED),
    ("sim-followed", &scenario::FOLLOWED),
];

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    let misses = |(name, scenario): &(&str, &'static Scenario)| {
        let check = Checker {
            name,
            seeds_max: SEEDS_MAX,
        };
        let hunt = || {
            check.must_find(|seed| {
                if let Some(violation) = run_plan(seed, plan_in(scenario, seed)).violation {
                    panic!("{violation}");
                }
            });
        };
        // One that misses something does not keep the others from hunting.
        catch_unwind(hunt).is_err()
    };
    let missing: Vec<&str> = CHECKERS
        .iter()
        .filter(|it| misses(it))
        .map(|it| it.0)
        .collect();
    assert!(missing.is_empty(), "{missing:?} miss something, see above");
}
