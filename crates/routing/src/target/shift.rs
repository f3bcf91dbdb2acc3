//! Copies move from who has more than its quota to who has less: as few as that takes.

use super::{Draft, walk_back};
use std::collections::VecDeque;

impl Draft {
    pub(super) fn shift(&mut self) {
        // What has to be copied anyway may as well be copied to somebody else.
        self.shift_along(Copies::New);
        // Primaries first: what a new brick is to order comes with its copy, and needs no hand-over.
        for kind in [Kind::Led, Kind::Any] {
            for is_partner in [true, false] {
                self.shift_directly(kind, is_partner);
            }
        }
        self.shift_along(Copies::All);
    }

    /// Moves copies along chains of bricks, as long as that makes things more even.
    fn shift_along(&mut self, copies: Copies) {
        while let Some(path) = self.way_down(copies) {
            for (leaf, from, to) in path {
                // A chain that passes one partition twice may be in its own way.
                if !self.may_join(leaf, to, Some(from)) {
                    return;
                }
                self.replace(leaf, from, to);
            }
        }
    }

    /// Moves what can go straight to a brick that lacks something; with `is_partner` only to who has partitions
    /// in common with all other members, so that few bricks have to do with each other.
    fn shift_directly(&mut self, kind: Kind, is_partner: bool) {
        let mut led = self.led();
        let wanted = self.led_quotas(&led);
        let lacking: Vec<usize> = self.bricks().filter(|it| self.excess(*it) < 0).collect();
        for leaf in self.leaves() {
            for from in self.holders[leaf].clone() {
                let is_primary = self.holders[leaf].first() == Some(&from);
                let is_kind = match kind {
                    Kind::Led => is_primary && led[from] > wanted[from],
                    Kind::Any => true,
                };
                if self.excess(from) <= 0 || !is_kind {
                    continue;
                }
                let others = self.holders[leaf].len() - 1;
                let fits = |&to: &usize| {
                    let is_known = self.known(leaf, to, Some(from)) == others;
                    let may_lead = kind == Kind::Any || led[to] < wanted[to];
                    self.excess(to) < 0
                        && may_lead
                        && (is_known || !is_partner)
                        && self.may_join(leaf, to, Some(from))
                };
                let rank = |&to: &usize| {
                    let known = self.known(leaf, to, Some(from));
                    (std::cmp::Reverse(known), self.excess(to), to)
                };
                if let Some(to) = lacking.iter().copied().filter(fits).min_by_key(rank) {
                    self.replace(leaf, from, to);
                    if is_primary {
                        led[from] -= 1;
                        led[to] += 1;
                    }
                }
            }
        }
    }

    /// The shortest chain of moves, each from the brick that the one before it filled, that ends at a brick
    /// which lacks something. `None`: nothing can be made more even.
    fn way_down(&self, copies: Copies) -> Option<Vec<(usize, usize, usize)>> {
        let mut came_by: Vec<Option<(usize, usize)>> = vec![None; self.held.len()];
        let mut is_met: Vec<bool> = self.bricks().map(|it| self.excess(it) > 0).collect();
        let mut waiting: VecDeque<usize> = self.bricks().filter(|it| is_met[*it]).collect();
        while let Some(from) = waiting.pop_front() {
            for leaf in self.leaves() {
                let is_new = !self.present[leaf].contains(&from);
                if !self.holders[leaf].contains(&from) || (copies == Copies::New && !is_new) {
                    continue;
                }
                for to in self.bricks() {
                    if is_met[to] || !self.may_join(leaf, to, Some(from)) {
                        continue;
                    }
                    is_met[to] = true;
                    came_by[to] = Some((leaf, from));
                    if self.excess(to) < 0 {
                        return Some(walk_back(to, &came_by));
                    }
                    waiting.push_back(to);
                }
            }
        }
        None
    }
}

/// Which copies may be part of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    /// Those that nobody has yet.
    New,
    All,
}

/// Which copies are moved directly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of partitions that the brick is to be primary of no more.
    Led,
    Any,
}
