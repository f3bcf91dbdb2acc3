//! A small seeded generator of random numbers, so that two runs of one seed send the same keys.
//!
//! In:  a seed. Out: integers, fractions and waiting times.
//! Not here: anything secret; this generator is predictable on purpose.
//! Source: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! 2014).

/// A stream of random numbers that its seed determines.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Starts the stream of `seed`.
    #[must_use]
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    #[inline]
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An integer in `0..bound`; 0 if `bound` is 0.
    #[inline]
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 64x64 product is `bits * bound / 2^64`: no division, and a bias under
        // bound / 2^64, far below what a benchmark could see.
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// A fraction in `[0, 1)`.
    #[inline]
    pub(crate) fn fraction(&mut self) -> f64 {
        // 53 bits are all that an f64 of this size can tell apart.
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A waiting time of a Poisson process whose events are `mean` apart on average.
    #[inline]
    pub(crate) fn waiting_time(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }
}

#[cfg(test)]
#[path = "random_test.rs"]
mod random_test;
