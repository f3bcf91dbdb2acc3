//! What is going to be done to a cluster: the part of a run that can be made shorter.

use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::fault::{KINDS, PLANNED_STOP};
use crate::random::Random;
use crate::shape::Shape;
use std::fmt;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Nanos,
    /// Which of [`KINDS`].
    pub(crate) kind: usize,
    /// For the kind to make of it what it will.
    pub(crate) dice: u64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) faults: Vec<Planned>,
    pub(crate) clients: u32,
    /// Operations of each client.
    pub(crate) operations: u32,
}

impl Plan {
    pub(crate) fn draw(seed: u64, shape: &Shape) -> Self {
        let mut random = Random::of(seed, 2);
        let length = random.between(2_000, 12_000) * MILLISECOND;
        let count = random.between(0, 14) as usize;
        let weights: u64 = KINDS.iter().map(|kind| kind.weight).sum();
        let mut faults: Vec<Planned> = (0..count)
            .map(|_| {
                let mut drawn = random.below(weights);
                let kind = KINDS.iter().position(|kind| {
                    let is_it = drawn < kind.weight;
                    drawn = drawn.saturating_sub(kind.weight);
                    is_it
                });
                Planned {
                    at: random.below(length),
                    kind: kind.unwrap_or(0),
                    dice: random.next(),
                }
            })
            .collect();
        faults.sort_by_key(|it| it.at);
        if random.one_in(20) {
            faults = one_stop_after_the_other(&mut random);
        }
        Self {
            faults,
            clients: 2 + random.below(4 + shape.nodes as u64) as u32,
            operations: random.between(20, 120) as u32,
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
            writeln!(f, "  {at:>6} ms  {}", KINDS[it.kind].name)?;
        }
        Ok(())
    }
}
