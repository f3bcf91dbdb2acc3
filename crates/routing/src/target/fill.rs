//! Copies that are too many, and those that are missing.

use super::Draft;

impl Draft {
    /// Drops members where there are more than asked for.
    pub(super) fn drop_surplus(&mut self) {
        let mut led = self.led();
        let wanted = self.led_quotas(&led);
        for leaf in self.leaves() {
            while self.holders[leaf].len() > self.replicas {
                let Some(brick) = self.least_wanted(leaf, &led, &wanted) else {
                    break;
                };
                let primary = self.holders[leaf].first().copied();
                self.remove(leaf, brick);
                if primary == Some(brick) {
                    led[brick] -= 1;
                }
            }
        }
    }

    /// Drops members where there are more in a zone than have to be.
    pub(super) fn uncrowd(&mut self) {
        for leaf in self.leaves() {
            let crowded = self.holders[leaf].iter().rposition(|&brick| {
                self.crowd(leaf, brick, None) > self.wards.zone_limit && self.has_elsewhere(leaf)
            });
            if let Some(at) = crowded {
                self.remove(leaf, self.holders[leaf][at]);
            }
        }
    }

    /// Which of too many members goes: one that holds too much. A primary only if it is one of too many
    /// partitions, and then first; of others the one that came last, which may be learning still.
    fn least_wanted(&self, leaf: usize, led: &[u64], wanted: &[u64]) -> Option<usize> {
        let rank = |at: usize, brick: usize| {
            let is_crowded = self.crowd(leaf, brick, None) > self.wards.zone_limit;
            let leads_too_much = led[brick] > wanted[brick];
            let role = match at {
                0 if leads_too_much => 2,
                0 => 0,
                _ => 1,
            };
            let excess = self.excess(brick);
            (is_crowded, excess > 0, role, excess, at)
        };
        let holders = self.holders[leaf].iter().copied().enumerate();
        let least = holders.max_by_key(|&(at, brick)| rank(at, brick));
        least.map(|(_, brick)| brick)
    }

    /// Whether a member could be in a zone that is not crowded.
    fn has_elsewhere(&self, leaf: usize) -> bool {
        self.bricks().any(|brick| self.may_join(leaf, brick, None))
    }

    /// Adds the members that are missing.
    pub(super) fn fill(&mut self) {
        for leaf in self.leaves() {
            while self.holders[leaf].len() < self.replicas {
                let Some(brick) = self.most_fitting(leaf) else {
                    break;
                };
                self.add(leaf, brick);
            }
        }
    }

    /// Who has room and holds other partitions with the same members; else who has most room.
    fn most_fitting(&self, leaf: usize) -> Option<usize> {
        let rank = |&brick: &usize| {
            let lacks = -self.excess(brick);
            (
                self.may_join(leaf, brick, None),
                lacks > 0,
                self.present[leaf].contains(&brick),
                self.known(leaf, brick, None),
                // In thousandths of what it should hold: those who are to hold more fill up as fast.
                lacks * 1_000 / (self.quotas[brick].max(1) as i64),
                std::cmp::Reverse(brick),
            )
        };
        let apart = self.bricks().filter(|it| self.is_apart(leaf, *it, None));
        apart.max_by_key(rank)
    }
}
