//! The judges judged: with a deliberate bug on, random schedules run until one objects (docs/sabotage.md).

use super::{halves, reuse};
use brickyard_sabotage::Judge;

/// The judge of a schedule.
const fn of(name: &'static str) -> Judge<'static> {
    Judge {
        name,
        seeds_max: 300,
    }
}

/// docs/sabotage.md has the outcome.
#[test]
#[ignore = "run by cargo xtask sabotage"]
fn sabotage_is_found() {
    of("brick-halves").must_find(halves::schedule);
    of("brick-reuse").must_find(reuse::schedule);
}
