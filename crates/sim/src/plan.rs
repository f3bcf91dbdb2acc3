//! What is going to be done to a cluster: the part of a run that can be made shorter.

use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::random::Random;
use crate::scenario::Scenario;
use std::fmt;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Nanos,
    /// The name of its kind.
    pub(crate) kind: &'static str,
    /// For the kind to make of it what it will.
    pub(crate) dice: u64,
}

/// The kind that nobody has to notice.
pub(crate) const PLANNED_STOP: &str = "planned stop";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the cluster and its clients are drawn from.
    pub(crate) scenario: &'static Scenario,
    pub(crate) faults: Vec<Planned>,
    pub(crate) clients: u32,
    /// Operations of each client.
    pub(crate) operations: u32,
}

impl Plan {
    /// A plan of these kinds of faults, each with the weight that it has where a scenario has no other.
    pub(crate) fn draw(
        seed: u64,
        scenario: &'static Scenario,
        kinds: &[(&'static str, u64)],
    ) -> Self {
        let mut random = Random::of(seed, 2);
        let [shortest, longest] = scenario.length_ms;
        let length = random.between(shortest, longest) * MILLISECOND;
        let [least, most] = scenario.count;
        let weights = weights(scenario, kinds, &mut random);
        let mut faults: Vec<Planned> = (0..random.between(least, most))
            .map(|_| Planned {
                at: random.below(length),
                kind: random.weighed(&weights),
                dice: random.next(),
            })
            .collect();
        faults.sort_by_key(|it| it.at);
        if scenario.faults.is_empty() && most > 1 && random.one_in(20) {
            faults = one_stop_after_the_other(&mut random);
        }
        Self {
            scenario,
            faults,
            clients: random.between(scenario.clients[0], scenario.clients[1]) as u32,
            operations: random.between(scenario.operations[0], scenario.operations[1]) as u32,
        }
    }

    /// Whether nothing happens but that one node after the other is told to stop.
    pub(crate) fn is_orderly(&self) -> bool {
        self.faults.iter().all(|it| it.kind == PLANNED_STOP)
    }

    /// Without the faults of a range.
    pub(crate) fn without(&self, range: std::ops::Range<usize>) -> Self {
        let mut less = self.clone();
        less.faults.drain(range);
        less
    }
}

/// How likely each kind is. Rare orders need runs in which some things hardly ever happen and others all the time (swarm
/// testing, Groce et al., ISSTA 2012).
fn weights(
    scenario: &Scenario,
    kinds: &[(&'static str, u64)],
    random: &mut Random,
) -> Vec<(&'static str, u64)> {
    if scenario.faults.is_empty() {
        return kinds.to_vec();
    }
    let named = scenario.faults.iter();
    named
        .map(|(name, weight)| (*name, weight * random.one_of(&[1, 4, 4, 16])))
        .collect()
}

/// As in a rolling restart: each has come back before the next one goes.
fn one_stop_after_the_other(random: &mut Random) -> Vec<Planned> {
    let count = random.between(1, 4);
    let stops = (0..count).map(|number| Planned {
        at: number * 12 * SECOND,
        kind: PLANNED_STOP,
        dice: random.next(),
    });
    stops.collect()
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clients of {} operations each, {} faults:",
            self.clients,
            self.operations,
            self.faults.len()
        )?;
        for it in &self.faults {
            let at = it.at / MILLISECOND;
            writeln!(f, "  {at:>6} ms  {}", it.kind)?;
        }
        Ok(())
    }
}
