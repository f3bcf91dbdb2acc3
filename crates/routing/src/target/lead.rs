//! Primaries among those who hold the copies.

use super::{Draft, walk_back};
use std::collections::VecDeque;

impl Draft {
    /// Evens out primaries: along chains of bricks, each of which holds something of the one before it.
    ///
    /// No brick leads more than its share rounded up, then none less than its share rounded down. Which bricks
    /// get the odd partition is left to what they hold: bricks that share partitions only with each other could
    /// not keep a choice made beforehand.
    pub(super) fn lead(&mut self) {
        let bounds = self.wards.bounds(self.holders.len(), 1);
        let most: Vec<u64> = bounds.iter().map(|it| *it.end()).collect();
        let least: Vec<u64> = bounds.iter().map(|it| *it.start()).collect();
        self.lead_towards(&most);
        // This leaves the first as it is: a brick above its most reaches none that the second adds to.
        self.lead_towards(&least);
    }

    /// Takes from bricks that lead more than `bound` and gives to those that lead less.
    fn lead_towards(&mut self, bound: &[u64]) {
        let mut led = self.led();
        while let Some(path) = self.way_to_lead(&led, bound) {
            for (leaf, from, to) in path {
                let holders = &mut self.holders[leaf];
                if let Some(at) = holders.iter().position(|it| *it == to) {
                    holders.swap(0, at);
                }
                led[from] -= 1;
                led[to] += 1;
            }
        }
    }

    /// How many partitions each brick is primary of.
    pub(super) fn led(&self) -> Vec<u64> {
        let mut led = vec![0; self.held.len()];
        for holders in &self.holders {
            if let Some(&primary) = holders.first() {
                led[primary] += 1;
            }
        }
        led
    }

    /// How many it should be primary of.
    pub(super) fn led_quotas(&self, led: &[u64]) -> Vec<u64> {
        self.wards.quotas(self.holders.len(), 1, led)
    }

    fn way_to_lead(&self, led: &[u64], wanted: &[u64]) -> Option<Vec<(usize, usize, usize)>> {
        let mut came_by: Vec<Option<(usize, usize)>> = vec![None; led.len()];
        let mut is_met: Vec<bool> = self.bricks().map(|it| led[it] > wanted[it]).collect();
        let mut waiting: VecDeque<usize> = self.bricks().filter(|it| is_met[*it]).collect();
        while let Some(from) = waiting.pop_front() {
            for leaf in self.leaves() {
                let holders = &self.holders[leaf];
                if holders.first() != Some(&from) {
                    continue;
                }
                for &to in &holders[1..] {
                    if is_met[to] {
                        continue;
                    }
                    is_met[to] = true;
                    came_by[to] = Some((leaf, from));
                    if led[to] < wanted[to] {
                        return Some(walk_back(to, &came_by));
                    }
                    waiting.push_back(to);
                }
            }
        }
        None
    }
}
