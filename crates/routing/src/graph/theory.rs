//! How far leaves of a de Bruijn graph are from each other, on average.
//!
//! In:  a depth. Out: the mean distance between two words of so many bits.
//!
//! The distance from word `x` to word `t` is their length less the longest end of `x` that is a beginning of `t`. For a
//! given `t` that longest end is the state, after `x`, of the automaton that searches a text for `t`; so the mean over all `x` comes
//! of the chances of its states, and the mean over all `t` of 2^b automata. The figures here were computed so;
//! `theory_test` goes over all pairs of words instead. What is taken off the length tends to 1.641 bits.

/// Mean distances for words of 0 to 14 bits.
const MEANS: [f64; 15] = [
    0.0,
    0.5,
    1.125,
    1.843_75,
    2.656_25,
    3.535_156_25,
    4.461_425_781_25,
    5.417_480_468_75,
    6.391_906_738_281_25,
    7.377_258_300_781_25,
    8.369_001_388_549_805,
    9.364_398_956_298_828,
    10.361_858_725_547_79,
    11.360_468_000_173_569,
    12.359_712_243_080_14,
];

/// What is taken off the length of longer words.
const MATCHED_MEAN: f64 = 1.641;

/// The mean distance between two words of `depth` bits.
pub(super) fn unmatched_mean(depth: u8) -> f64 {
    let known = MEANS.get(usize::from(depth)).copied();
    known.unwrap_or_else(|| f64::from(depth) - MATCHED_MEAN)
}

#[cfg(test)]
mod theory_test {
    use super::*;
    use crate::graph::bruijn::distance;
    use crate::{Prefix, RoutingHash};

    #[test]
    fn means_are_those_of_all_pairs_of_words() {
        for depth in 0..=9_u8 {
            let words = 1_u64 << depth;
            let hash =
                |word: u64| RoutingHash(word.checked_shl(u32::from(64 - depth)).unwrap_or(0));
            let pairs = (0..words).flat_map(|from| (0..words).map(move |to| (from, to)));
            let sum: u64 = pairs
                .map(|(from, to)| u64::from(distance(Prefix::of(hash(from), depth), hash(to))))
                .sum();
            let mean = sum as f64 / (words * words) as f64;
            let told = unmatched_mean(depth);
            assert!(
                (mean - told).abs() < 1e-9,
                "{depth} bits: {mean}, not {told}"
            );
        }
        for depth in 14..=24 {
            let matched = f64::from(depth) - unmatched_mean(depth);
            assert!((1.640..1.642).contains(&matched), "{depth} bits: {matched}");
        }
    }
}
