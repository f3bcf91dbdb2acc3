//! From a key to its slot, its routing hash and its key hash.
//!
//! In: a key (or the `{tag}` inside it) and the table's seed. Out: [`Slot`], [`RoutingHash`], and
//! the 64-bit key hash that a partition's index and SCAN order keys by.
//!
//! Invariants:
//! - [`slot`] is Redis Cluster's own function: a client's idea of a key's slot is always ours.
//! - The two strong hashes share one function and seed (`rapidhash` v3); the seed is drawn when a
//!   table is created and never changes, since data on disk and cursors in clients' hands depend on it.
//! - A routing hash orders its partition's splits by the *low* bytes of the strong hash, and an
//!   index orders keys by the *high* bits, so that a leaf split a thousand times still fills all
//!   buckets of its index evenly.
//!
//! Source: Redis Cluster specification, "Key distribution model" and "Hash tags".

use crate::crc16::crc16;
use brickyard_types::Slot;
use brickyard_types::part::owner_of;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use serde::{Deserialize, Serialize};

/// Bits of a routing hash that are the slot.
pub(crate) const SLOT_BITS: u8 = 14;

/// Where a key lies in the table's hash space: the partition map is a trie over these bits, from
/// the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutingHash(pub u64);

impl RoutingHash {
    /// The slot: the top 14 bits.
    #[inline]
    #[must_use]
    pub const fn slot(self) -> Slot {
        Slot((self.0 >> (64 - SLOT_BITS)) as u16)
    }
}

/// How a table turns keys into routing hashes; fixed when the table is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hasher {
    /// Redis Cluster's slot, then a seeded strong hash of the same bytes. Every cluster client
    /// finds every key by itself.
    #[default]
    Slot,
    /// The key's own 64 bits, big-endian, for integer keys that are spread evenly already (a hash,
    /// a random id). Keys of another length are hashed. Cluster clients compute other slots than
    /// these and are redirected; our own client is not.
    Key64,
}

/// A table's hash functions: a [`Hasher`] and the seed, ready to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    hasher: Hasher,
    seed: u64,
    secrets: RapidSecrets,
}

impl KeyHasher {
    /// Derives the functions from a seed; any seed is as good as another, but it has to be one
    /// that clients cannot guess.
    #[must_use]
    pub const fn new(hasher: Hasher, seed: u64) -> Self {
        Self {
            hasher,
            seed,
            secrets: RapidSecrets::seed(seed),
        }
    }

    /// Which function makes routing hashes.
    #[must_use]
    pub const fn hasher(&self) -> Hasher {
        self.hasher
    }

    /// The seed that this was made from.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of the whole key, by which a partition's index and SCAN order its keys.
    #[inline]
    #[must_use]
    pub fn key_hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    /// The slot that decides where `key` goes: Redis's with [`Hasher::Slot`], the top bits of the
    /// routing hash otherwise.
    #[inline]
    #[must_use]
    pub fn slot(&self, key: &[u8]) -> Slot {
        match self.hasher {
            Hasher::Slot => slot(key),
            Hasher::Key64 => self.routing_hash(key).slot(),
        }
    }

    /// Where `key` lies in the table's hash space.
    #[must_use]
    pub fn routing_hash(&self, key: &[u8]) -> RoutingHash {
        match self.hasher {
            Hasher::Slot => {
                let tag = hash_tag(key);
                let below = self.key_hash(tag).swap_bytes() >> SLOT_BITS;
                RoutingHash((u64::from(crc16(tag)) << (64 - SLOT_BITS)) | below)
            }
            Hasher::Key64 => {
                let key = owner_of(key);
                match key.first_chunk::<8>() {
                    Some(bits) if key.len() == 8 => RoutingHash(u64::from_be_bytes(*bits)),
                    _ => RoutingHash(self.key_hash(key).swap_bytes()),
                }
            }
        }
    }
}

/// The slot of `key` as Redis Cluster counts it.
#[inline]
#[must_use]
pub fn slot(key: &[u8]) -> Slot {
    Slot(crc16(hash_tag(key)) & (Slot::COUNT - 1))
}

/// The bytes of `key` that are hashed: what stands between its first `{` and the next `}`, or the
/// whole key if there is no such pair or nothing in between. A part of a key's value goes where the key goes.
#[inline]
#[must_use]
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let key = owner_of(key);
    if may_have_tag(key) {
        tag_in(key).unwrap_or(key)
    } else {
        key
    }
}

/// Looks for a `{`, eight bytes at a time: most keys have none, and this answers for all keys of a
/// batch. A word holds the byte wanted where `word ^ pattern` has a zero byte, and a zero byte is
/// where subtracting one borrows into a bit that was not set (Warren, Hacker's Delight, 6-1).
#[inline]
fn may_have_tag(key: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    const BRACES: u64 = u64::from_le_bytes([b'{'; 8]);
    let zero_bytes = |word: u64| {
        let difference = word ^ BRACES;
        difference.wrapping_sub(ONES) & !difference & HIGH_BITS
    };
    let Some(tail) = key.last_chunk::<8>() else {
        return key.contains(&b'{');
    };
    // The last word may overlap the one before it: looking twice is cheaper than a byte loop.
    let mut found = zero_bytes(u64::from_le_bytes(*tail));
    let mut rest = key;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        found |= zero_bytes(u64::from_le_bytes(*chunk));
        rest = after;
    }
    found != 0
}

#[cold]
fn tag_in(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|&byte| byte == b'{')?;
    let inside = &key[open + 1..];
    let close = inside.iter().position(|&byte| byte == b'}')?;
    (close > 0).then(|| &inside[..close])
}

#[cfg(test)]
#[path = "hash_test.rs"]
mod hash_test;
