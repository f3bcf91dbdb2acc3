//! The key hash: the one number by which an index orders and finds keys.
//!
//! In: a key and the table's seed. Out: [`KeyHash`].
//!
//! Invariant: this is the function that the routing room calls the key hash, bit for bit, so that a
//! brick hashes each key once. Which bits serve what: partitions split by the low 24 bits at most,
//! tags take bits 24..32, and buckets the bits above, from the top; so no use starves another.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

/// The 64-bit hash of a whole key with its table's seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub u64);

impl KeyHash {
    /// The first `bits` bits, as a number; 0 for no bits.
    #[inline]
    pub(crate) const fn prefix(self, bits: u32) -> u64 {
        // In two shifts, since a shift by 64 is not one.
        (self.0 >> 1) >> (63 - bits)
    }

    /// Eight bits that tell keys of one bucket apart; never 0, which marks a free slot.
    #[inline]
    pub(crate) const fn tag(self) -> u8 {
        let bits = (self.0 >> 24) as u8;
        if bits == 0 { 1 } else { bits }
    }
}

/// The hash of `key` with `seed`. A [`crate::TableData`] keeps the seed's derived form; use
/// [`crate::TableData::hash`] for more than a few keys.
#[must_use]
pub fn key_hash(key: &[u8], seed: u64) -> KeyHash {
    KeyHasher::new(seed).hash(key)
}

/// A seed in the form in which hashing is fast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyHasher {
    secrets: RapidSecrets,
}

impl KeyHasher {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            secrets: RapidSecrets::seed(seed),
        }
    }

    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash(rapidhash_v3_seeded(key, &self.secrets))
    }
}
