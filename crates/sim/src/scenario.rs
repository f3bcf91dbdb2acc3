//! Plans that make likely what those of all kinds hardly ever come to.
//!
//! In:  a seed. Out: a plan for its cluster, with other faults or clients than its own.
//!
//! What becomes of it is left to chance, and judged like everything else. Only tests run them: a seed of `brickyard sim`
//! is its own plan.

use crate::clock::MILLISECOND;
use crate::fault::KINDS;
use crate::plan::{Plan, Planned};
use crate::plan_of;
use crate::random::Random;

/// Processes and machines hardly live long enough to catch up.
pub(crate) fn power(seed: u64) -> Plan {
    const NAMES: [&str; 6] = [
        "kill",
        "power cut",
        "kill at an effect",
        "kill of all",
        "kill of the leader",
        "pause",
    ];
    let mut random = Random::of(seed, 100);
    let mut faults: Vec<Planned> = (0..random.between(10, 30))
        .map(|_| {
            let name = NAMES[random.index(NAMES.len())];
            let kind = KINDS.iter().position(|kind| kind.name == name);
            Planned {
                at: random.between(1_500, 9_000) * MILLISECOND,
                kind: kind.expect("a kind of that name"),
                dice: random.next(),
            }
        })
        .collect();
    faults.sort_by_key(|it| it.at);
    Plan {
        faults,
        ..plan_of(seed)
    }
}

/// Nothing goes wrong, and much is asked for.
pub(crate) const fn calm() -> Plan {
    Plan {
        faults: Vec::new(),
        clients: 8,
        operations: 400,
    }
}
