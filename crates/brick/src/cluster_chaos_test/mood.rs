//! What is likely at the moment: it changes all the time, and from seed to seed (swarm testing, Groce et al., 2012).
//!
//! Rare orders need a stretch in which some things hardly ever happen, and others all the time.

use super::strikes::{KNOWN, STRIKES, Strike};
use super::world::World;

/// So many steps are of one mind.
const STEPS: usize = 40;

/// See the module.
#[derive(Debug)]
pub(super) struct Mood {
    left: usize,
    weights: [usize; STRIKES.len()],
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

/// What a mood's numbers are drawn from.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) strikes: [usize; 4],
    pub(super) asks: [usize; 4],
    pub(super) reads: [usize; 4],
    pub(super) rolls: [usize; 4],
    pub(super) lags: [usize; 4],
}

impl Range {
    pub(super) const USUAL: Self = Self {
        strikes: [2, 5, 5, 12],
        asks: [1, 2, 3, 6],
        reads: [2, 4, 100, 100],
        rolls: [10, 40, 100, 1000],
        lags: [1, 1, 1, 6],
    };
}

impl Mood {
    /// As it was in the editions that knew none.
    pub(super) const fn usual() -> Self {
        Self {
            left: 0,
            weights: [1; STRIKES.len()],
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
        let range = self.scenario.map_or(&Range::USUAL, |it| &it.moods);
        let known = if self.edition == 3 {
            KNOWN[2]
        } else {
            STRIKES.len()
        };
        let mut any = |of: [usize; 4]| of[self.below(4)];
        let mut weights = [0; STRIKES.len()];
        weights[..known].fill_with(|| any([1, 4, 4, 16]));
        let mut lags = [0; 7];
        lags.fill_with(|| any(range.lags));
        let mut mood = Mood {
            strikes: any(range.strikes),
            asks: any(range.asks),
            reads: any(range.reads),
            rolls: any(range.rolls),
            weights,
            lags,
            left: STEPS / 2 + self.below(STEPS),
        };
        if let Some(scenario) = self.scenario {
            for (strike, weight) in STRIKES.iter().zip(&mut mood.weights) {
                *weight *= scenario.favour(*strike);
            }
        }
        mood
    }

    /// What goes wrong now.
    pub(super) fn draw_strike(&mut self) -> Strike {
        let drawn = match self.edition {
            1 | 2 => self.below(KNOWN[self.edition as usize - 1]),
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
        };
        STRIKES[drawn]
    }
}
