//! Chance, for pauses that must not be the same for every client.
//!
//! In:  nothing. Out: numbers that differ between processes and calls. Not for secrets.
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// A generator that threads share.
#[derive(Debug)]
pub(crate) struct Random(AtomicU64);

impl Random {
    /// Seeded by the operating system, through the standard library's hasher.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(RandomState::new().build_hasher().finish()))
    }

    pub(crate) fn next(&self) -> u64 {
        let state = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        mix(state)
    }
}

/// Spreads a number over all 64 bits.
pub(crate) const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
