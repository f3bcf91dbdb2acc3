//! From a key to its slot, its routing hash and its key hash.
//!
//! In: a key (or the `{tag}` inside it) and the table's seed. Out: [`Slot`], [`RoutingHash`], and
//! the 64-bit key hash that a partition's index and SCAN order keys by.
//!
//! Invariants:
//! - [`slot`] is Redis Cluster's own function: a client's idea of a key's slot is always ours.
//! - The two strong hashes share one function and seed (`rapidhash` v3); the seed is drawn when a
//!   table is created and never changes, since data on disk and cursors in clients' hands depend on it.
//! - Keys of one `{tag}` have one routing hash, unless that is made of the keys' order.
//! - What a part of a value is called has the routing hash of its key.
//! - A routing hash orders its partition's splits by the *low* bytes of the strong hash, and an
//!   index orders keys by the *high* bits, so that a leaf split a thousand times still fills all
//!   buckets of its index evenly.
//!
//! Source: Redis Cluster specification, "Key distribution model" and "Hash tags"; Aumasson and Bernstein, "SipHash: a fast short-input
//! PRF" (INDOCRYPT 2012); Crosby and Wallach, "Denial of Service via Algorithmic Complexity Attacks" (USENIX Security 2003).

use crate::crc16::crc16;
use crate::order::{Order, first_bytes};
use brickyard_types::limits::PARTITION_DEPTH_MAX;
use brickyard_types::part::owner_of;
use brickyard_types::{HashFunction, KeyBounds, Slot};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::sync::Arc;

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
    /// a random id). Keys of another length are hashed as [`Self::Keyed`] does.
    Key64,
    /// A keyed hash of the key, or of its tag: who does not know the seed cannot aim at a partition.
    Keyed,
    /// The order of the keys, between bounds if there are any: each partition is a run of keys. Tags count for nothing.
    Ordered(Option<KeyBounds>),
}

impl Hasher {
    /// The name of the function.
    #[must_use]
    pub const fn function(self) -> HashFunction {
        match self {
            Self::Slot => HashFunction::Slot,
            Self::Key64 => HashFunction::Key64,
            Self::Keyed => HashFunction::Keyed,
            Self::Ordered(_) => HashFunction::Ordered,
        }
    }

    /// Whether clients that know slots know where a key is. Where they do not, any brick takes any command, and passes it on:
    /// a redirect would tell them of one key what they take for a rule about its slot.
    #[must_use]
    pub const fn follows_slots(self) -> bool {
        matches!(self, Self::Slot)
    }

    /// The deepest partition that a split may make. Clients that know slots find a slot at one brick, so one is not
    /// parted. Where they know nothing the trie may be as deep as its keys are uneven.
    #[must_use]
    pub const fn split_depth_max(self) -> u8 {
        match self {
            Self::Slot => SLOT_BITS,
            Self::Key64 | Self::Keyed | Self::Ordered(_) => PARTITION_DEPTH_MAX,
        }
    }

    /// Whether it tells keys apart; all but bounds that are too much alike do.
    #[must_use]
    pub fn is_useful(self) -> bool {
        match self {
            Self::Ordered(Some(bounds)) => Order::new(&bounds).is_useful(),
            _ => true,
        }
    }
}

/// A table's hash functions: a [`Hasher`] and the seed, ready to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    hasher: Hasher,
    seed: u64,
    secrets: RapidSecrets,
    /// Of keys in order, between bounds.
    order: Option<Arc<Order>>,
}

impl KeyHasher {
    /// Derives the functions from a seed; any seed is as good as another, but it has to be one
    /// that clients cannot guess.
    #[must_use]
    pub fn new(hasher: Hasher, seed: u64) -> Self {
        let order = match &hasher {
            Hasher::Ordered(Some(bounds)) => Some(Arc::new(Order::new(bounds))),
            _ => None,
        };
        Self {
            hasher,
            seed,
            secrets: RapidSecrets::seed(seed),
            order,
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
            Hasher::Key64 | Hasher::Keyed | Hasher::Ordered(_) => self.routing_hash(key).slot(),
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
            Hasher::Key64 => match owner_of(key).try_into() {
                Ok(bits) => RoutingHash(u64::from_be_bytes(bits)),
                Err(_) => self.keyed_hash(hash_tag(key)),
            },
            Hasher::Keyed => self.keyed_hash(hash_tag(key)),
            Hasher::Ordered(_) => {
                let key = owner_of(key);
                let order = self.order.as_deref();
                RoutingHash(order.map_or_else(|| first_bytes(key), |order| order.place(key)))
            }
        }
    }

    /// Another function than that of the key hash, which is fast and no secret to who looks at the cursors of SCAN.
    fn keyed_hash(&self, bytes: &[u8]) -> RoutingHash {
        RoutingHash(SipHasher13::new_with_keys(self.seed, !self.seed).hash(bytes))
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
