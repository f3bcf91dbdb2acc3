//! Chance from a seed: the only one in a run.

/// SplitMix64 (Steele, Lea & Flood, 2014): two lines, and every seed is a good one.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another sequence, for a purpose of its own: what one purpose draws moves no other.
    pub(crate) const fn of(seed: u64, purpose: u64) -> Self {
        let mut mixed = Self(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        mixed.next();
        Self(mixed.next())
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to less than `n`; 0 if there is none.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// A number of `begin..end`.
    pub(crate) fn between(&mut self, begin: u64, end: u64) -> u64 {
        begin + self.below(end.saturating_sub(begin))
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }

    /// One of these, each as likely as its weight.
    pub(crate) fn weighed<T: Copy>(&mut self, of: &[(T, u64)]) -> T {
        let mut drawn = self.below(of.iter().map(|it| it.1).sum());
        let found = of.iter().find(|(_, weight)| {
            let is_it = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_it
        });
        found.unwrap_or(&of[0]).0
    }

    /// Mostly about `typical`, now and then several times as long.
    pub(crate) fn delay(&mut self, typical: u64) -> u64 {
        let tail = match self.below(64) {
            0 => 20,
            1..8 => 4,
            _ => 1,
        };
        typical / 2 + self.below(typical.max(1) * tail)
    }
}
