//! `math.random`: the numbers of `drand48` from a seed that is the same for each script, so that a script does the same each time.

use std::sync::atomic::{AtomicU64, Ordering};

/// POSIX's linear congruential generator of 48 bits.
#[derive(Debug)]
pub(crate) struct Random {
    state: AtomicU64,
}

const MASK: u64 = (1 << 48) - 1;

impl Random {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU64::new(0x330e),
        }
    }

    pub(crate) fn seed(&self, seed: i32) {
        let state = u64::from(seed as u32) << 16 | 0x330e;
        self.state.store(state, Ordering::Relaxed);
    }

    /// From 0 (included) to 1 (not included).
    pub(crate) fn draw(&self) -> f64 {
        let before = self.state.load(Ordering::Relaxed);
        let state = before.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & MASK;
        self.state.store(state, Ordering::Relaxed);
        (state >> 17) as f64 / (1_u64 << 31) as f64
    }
}

#[cfg(test)]
mod random_test {
    use super::*;

    #[test]
    fn numbers_are_those_of_drand48() {
        // `lrand48()` after `srand48(0)`, as the C library gives them.
        let random = Random::new();
        random.seed(0);
        let drawn: Vec<u64> = (0..3)
            .map(|_| (random.draw() * (1_u64 << 31) as f64) as u64)
            .collect();
        assert_eq!(drawn, [366_850_414, 1_610_402_240, 206_956_554]);
    }
}
