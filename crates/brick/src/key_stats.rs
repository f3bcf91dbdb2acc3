//! Which keys of a table stand out on this brick: those that are asked for most, and those that are largest.
//!
//! In:  keys of commands, a sample of them; keys that a walk passes. Out: keys with their rates or sizes, the first ones first.
//!
//! Invariant: what is kept is bounded, and grows neither with the table nor with what clients ask for.
//!
//! Not here: who walks over the table (`key_walk`); hot partitions, of which the control plane hears (`load_meter`); what all
//! bricks have together (`gather`).

mod big;
mod hot;

pub(crate) use big::BigKeys;
pub(crate) use hot::HotKeys;

use brickyard_types::UnixMillis;

/// Longer keys are not kept.
const KEY_BYTES_MAX: usize = 1024;

/// Keys that are kept, of each kind.
const KEPT: usize = 128;

/// Of one table.
#[derive(Debug, Default)]
pub(crate) struct KeyStats {
    pub(crate) hot: HotKeys,
    pub(crate) big: BigKeys,
    /// When the first field expires of all that the walk has passed since it was last at its beginning.
    pub(crate) field_expiry: Option<UnixMillis>,
}

/// The largest figures first, and of the same figure by key.
fn rank(keys: &mut [(Vec<u8>, u64)]) {
    keys.sort_unstable_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
}

#[cfg(test)]
#[path = "key_stats_test.rs"]
mod key_stats_test;
