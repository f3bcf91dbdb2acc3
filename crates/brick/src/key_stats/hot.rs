//! Keys that are asked for most: a sample of all commands, counted.
//!
//! In:  keys of commands. Out: rates of the keys that stand out.
//!
//! Counters are few. A key that has none takes the smallest one over, with its count, and remembers how much of that may be
//! others' (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data streams", ICDT 2005,
//! "space saving"). So a key with more than one in [`KEPT`] of the samples always has a counter, and what is certainly its
//! own is told, never more.

use super::{KEPT, KEY_BYTES_MAX, rank};
use std::time::Duration;

/// Every so many commands one is counted: a prime, so that no pipeline is in step with it.
const SAMPLED_EVERY: u32 = 61;

/// After so long half of a count is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// Fewer samples of a key say nothing.
const SAMPLES_MIN: f64 = 4.0;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct HotKeys {
    /// Commands since the last sample.
    passed: u32,
    counters: Vec<Counter>,
    /// The seconds that counts are of, as much forgotten as they are.
    seconds: f64,
}

#[derive(Debug)]
struct Counter {
    hash: u64,
    key: Box<[u8]>,
    /// Samples.
    count: f64,
    /// As many of them as may have been of other keys.
    others: f64,
}

impl HotKeys {
    /// A command ran on the key.
    #[inline]
    pub(crate) fn note(&mut self, hash: u64, key: &[u8]) {
        self.passed += 1;
        if self.passed >= SAMPLED_EVERY {
            self.passed = 0;
            self.sample(hash, key);
        }
    }

    #[cold]
    fn sample(&mut self, hash: u64, key: &[u8]) {
        if key.len() > KEY_BYTES_MAX {
            return;
        }
        let is_it = |it: &&mut Counter| it.hash == hash && *it.key == *key;
        if let Some(counter) = self.counters.iter_mut().find(is_it) {
            counter.count += 1.0;
            return;
        }
        if self.counters.len() < KEPT {
            self.counters.push(Counter {
                hash,
                key: key.into(),
                count: 1.0,
                others: 0.0,
            });
            return;
        }
        let counts = self.counters.iter_mut();
        if let Some(least) = counts.min_by(|one, other| one.count.total_cmp(&other.count)) {
            *least = Counter {
                hash,
                key: key.into(),
                count: least.count + 1.0,
                others: least.count,
            };
        }
        assert!(
            self.counters.len() <= KEPT,
            "{} counters",
            self.counters.len()
        );
    }

    /// `elapsed` later.
    pub(crate) fn decay(&mut self, elapsed: Duration) {
        if self.counters.is_empty() {
            return;
        }
        let half_lives = elapsed.as_secs_f64() / HALF_LIFE.as_secs_f64();
        let kept = 0.5_f64.powf(half_lives);
        self.seconds = (self.seconds + elapsed.as_secs_f64()) * kept;
        for counter in &mut self.counters {
            counter.count *= kept;
            counter.others *= kept;
        }
        // What nobody asks for any more takes no memory.
        self.counters.retain(|it| it.count >= 0.01);
        if self.counters.is_empty() {
            *self = Self::default();
        }
    }

    /// Keys, and how many commands a second each has certainly had lately; those of which that can be said.
    pub(crate) fn rates(&self) -> Vec<(Vec<u8>, u64)> {
        let seconds = self.seconds.max(1.0);
        let certain = self.counters.iter().filter_map(|it| {
            let samples = it.count - it.others;
            let rate = samples * f64::from(SAMPLED_EVERY) / seconds;
            (samples >= SAMPLES_MIN).then(|| (it.key.to_vec(), rate as u64))
        });
        let mut rates: Vec<(Vec<u8>, u64)> = certain.collect();
        rank(&mut rates);
        rates
    }
}
