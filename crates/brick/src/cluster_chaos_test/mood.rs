//! What is likely at the moment: it changes all the time, and from seed to seed (swarm testing, Groce et al., 2012).
//!
//! Rare orders need a stretch in which some things hardly ever happen, and others all the time.

use super::world::World;

/// Kinds of faults.
pub(super) const STRIKES: usize = 26;

/// So many steps are of one mind.
const STEPS: usize = 40;

/// See the module.
#[derive(Debug)]
pub(super) struct Mood {
    left: usize,
    weights: [usize; STRIKES],
    /// Something goes wrong once in so many steps.
    pub(super) strikes: usize,
    /// A client that is free asks once in so many steps.
    pub(super) asks: usize,
    /// Once in so many times it only reads.
    pub(super) reads: usize,
    /// A node's log rolls once in so many steps.
    pub(super) rolls: usize,
    /// Bytes between two nodes get on once in so many steps.
    lags: [usize; 7],
}

impl Mood {
    /// As it was in the editions that knew none.
    pub(super) const fn usual() -> Self {
        Self {
            left: 0,
            weights: [1; STRIKES],
            strikes: 5,
            asks: 3,
            reads: usize::MAX,
            rolls: usize::MAX,
            lags: [1; 7],
        }
    }

    /// How rarely bytes get on from one node to another.
    pub(super) fn lag(&self, from: usize, to: usize) -> usize {
        self.lags[(from * 3 + to) % self.lags.len()]
    }
}

impl World {
    /// Another step: it may be of another mind than the last.
    pub(super) fn feel(&mut self) {
        if self.edition < 3 {
            return;
        }
        if self.mood.left == 0 {
            self.mood = self.draw_mood();
        }
        self.mood.left -= 1;
    }

    fn draw_mood(&mut self) -> Mood {
        let mut any = |of: [usize; 4]| of[self.below(4)];
        let mut weights = [0; STRIKES];
        weights.fill_with(|| any([1, 4, 4, 16]));
        let mut lags = [0; 7];
        lags.fill_with(|| any([1, 1, 1, 6]));
        Mood {
            strikes: any([2, 5, 5, 12]),
            asks: any([1, 2, 3, 6]),
            reads: any([2, 4, 100, 100]),
            rolls: any([10, 40, 100, 1000]),
            weights,
            lags,
            left: STEPS / 2 + self.below(STEPS),
        }
    }

    /// What goes wrong now.
    pub(super) fn draw_strike(&mut self) -> usize {
        match self.edition {
            1 => self.below(20),
            2 => self.below(24),
            _ => {
                let weights = self.mood.weights;
                let mut drawn = self.below(weights.iter().sum());
                let found = weights.iter().position(|weight| {
                    let is_it = drawn < *weight;
                    drawn = drawn.saturating_sub(*weight);
                    is_it
                });
                found.unwrap_or(0)
            }
        }
    }
}
