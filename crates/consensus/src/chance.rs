//! Chance from a seed: the only one in this room.
//!
//! The library draws election timeouts from the thread's random numbers. They are overwritten after
//! every input, before they are ever looked at, with what is drawn here.

/// An election timeout in `base..2 * base`, the same whenever seed, id and term are.
pub(crate) fn election_timeout(seed: u64, id: u64, term: u64, base: u32) -> usize {
    let base = u64::from(base.max(1));
    let drawn = mix(mix(mix(seed) ^ id) ^ term);
    let timeout = base + drawn % base;
    assert!(
        (base..2 * base).contains(&timeout),
        "an election timeout of {timeout} ticks, drawn from {base}"
    );
    // At most twice a u32.
    timeout as usize
}

/// SplitMix64's finisher: every bit of the input moves every bit of the output.
fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[path = "chance_test.rs"]
mod chance_test;
