//! When which keys may have expired, without looking at them.
//!
//! In:  keys with a time ([`Timers::arm`]). Out: entries whose time may have come
//!      ([`Timers::take_due`]).
//!
//! Entries stand in buckets of time. The further a time lies ahead the coarser its bucket, so that
//! there are two thousand buckets at most whatever the times are; an entry of a coarse bucket comes
//! out early, is looked up, and goes into a finer one. That way an entry needs no time of its own,
//! and a key whose time is set further ahead keeps the entry it has.
//!
//! Invariant: a key with an expiry has an entry, in a bucket that starts at most [`BUCKET_MS_MIN`]
//! after it (or, where the key was found expired and is still there, at most [`RETRY_MS`] after it
//! was found).
//!
//! Entries may outlive their keys, and a key that comes and goes may have several. When there are
//! twice as many as keys with an expiry, a sweep looks each of them up and keeps one a key.

use crate::hash::KeyHash;
use crate::record::Expiry;
use brickyard_types::UnixMillis;
use std::collections::BTreeMap;

/// Finest buckets, in milliseconds: removing a key so much after its time is early enough, since
/// reads look at the exact time.
const BUCKET_MS_MIN: u64 = 128;

/// Buckets for each doubling of the distance.
const BUCKETS_PER_DOUBLING: u64 = 64;

/// How long after a key was reported expired it is reported again if it is still there.
pub(crate) const RETRY_MS: u64 = 1000;

/// So many entries are not worth a sweep.
const ENTRIES_UNSWEPT_MAX: usize = 4096;

/// Entries of one bucket lie in runs of this many, so that none is ever copied to grow.
const RUN_ENTRIES: usize = 256;

/// A key that may expire: partition and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    partition: u32,
    /// In two halves: twelve bytes an entry rather than sixteen.
    hash: [u32; 2],
}

impl Entry {
    pub(crate) const fn new(partition: u32, hash: KeyHash) -> Self {
        Self {
            partition,
            hash: [(hash.0 >> 32) as u32, hash.0 as u32],
        }
    }

    pub(crate) const fn partition(self) -> u32 {
        self.partition
    }

    pub(crate) const fn hash(self) -> KeyHash {
        KeyHash((self.hash[0] as u64) << 32 | self.hash[1] as u64)
    }
}

/// The entries of one bucket of time.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    full_runs: Vec<Vec<Entry>>,
    last_run: Vec<Entry>,
}

impl Bucket {
    fn push(&mut self, entry: Entry) {
        if self.last_run.len() == RUN_ENTRIES {
            let fresh = Vec::with_capacity(RUN_ENTRIES);
            self.full_runs
                .push(std::mem::replace(&mut self.last_run, fresh));
        }
        self.last_run.push(entry);
    }

    fn pop(&mut self) -> Option<Entry> {
        if self.last_run.is_empty() {
            self.last_run = self.full_runs.pop()?;
        }
        self.last_run.pop()
    }

    fn is_empty(&self) -> bool {
        self.last_run.is_empty() && self.full_runs.is_empty()
    }

    /// Gives the memory of a run of entries back; how many bytes that were, 0 when there is none left.
    pub(crate) fn discard_run(&mut self) -> usize {
        let run = self.full_runs.pop();
        let run = run.unwrap_or_else(|| std::mem::take(&mut self.last_run));
        run.capacity() * size_of::<Entry>()
    }

    /// Bytes of the entries, about.
    pub(crate) fn memory(&self) -> usize {
        (self.full_runs.len() + 1) * RUN_ENTRIES * size_of::<Entry>()
    }
}

/// A pass over all entries that drops those which outlived their keys; it runs a little at a time.
#[derive(Debug)]
struct Sweep {
    /// Where the bucket that is being swept starts, and what is left of it.
    start: u64,
    bucket: Bucket,
}

/// All entries of a table.
#[derive(Debug)]
pub(crate) struct Timers {
    /// By the start of each bucket; none is empty.
    buckets: BTreeMap<u64, Bucket>,
    entries: usize,
    now: UnixMillis,
    sweep: Option<Sweep>,
    /// The number of the running sweep, or of the next; records remember it.
    sweep_number: u8,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self {
            buckets: BTreeMap::new(),
            entries: 0,
            now: UnixMillis(0),
            sweep: None,
            sweep_number: 1,
        }
    }

    /// Bytes of memory, but for a few percent.
    pub(crate) fn memory(&self) -> usize {
        self.entries * size_of::<Entry>() + self.buckets.len() * (size_of::<Bucket>() + 8)
    }

    /// Sees to it that `entry` comes out at `at`, or earlier, or at most [`BUCKET_MS_MIN`] later.
    pub(crate) fn arm(&mut self, entry: Entry, at: UnixMillis) {
        let bucket = self.bucket_of(at);
        self.buckets.entry(bucket).or_default().push(entry);
        self.entries += 1;
    }

    /// Tells what time it is; a time before the last one is not believed.
    pub(crate) fn advance(&mut self, now: UnixMillis) {
        self.now = self.now.max(now);
    }

    /// Takes an entry whose bucket starts now or earlier.
    pub(crate) fn take_due(&mut self) -> Option<Entry> {
        let mut first = self.buckets.first_entry()?;
        if *first.key() > self.now.0 {
            return None;
        }
        let entry = first.get_mut().pop();
        assert!(entry.is_some(), "an empty bucket was left among the timers");
        self.entries -= 1;
        if first.get().is_empty() {
            first.remove();
        }
        entry
    }

    /// Whether a sweep is running, or is worth while with `keys` keys that have an expiry.
    #[inline]
    pub(crate) const fn wants_sweep(&self, keys: usize) -> bool {
        self.sweep.is_some() || self.entries > 2 * keys + ENTRIES_UNSWEPT_MAX
    }

    /// Takes the next entry of the sweep; `None` when the sweep has come to its end.
    pub(crate) fn take_for_sweep(&mut self) -> Option<Entry> {
        let mut from = 0;
        if let Some(sweep) = &mut self.sweep {
            if let Some(entry) = sweep.bucket.pop() {
                self.entries -= 1;
                return Some(entry);
            }
            from = sweep.start + 1;
        }
        let next = self.buckets.range(from..).next().map(|(&start, _)| start);
        let Some((start, mut bucket)) = next.and_then(|start| self.buckets.remove_entry(&start))
        else {
            self.sweep = None;
            self.sweep_number = self.sweep_number % (Expiry::SWEEPS - 1) + 1;
            return None;
        };
        let entry = bucket.pop();
        assert!(entry.is_some(), "an empty bucket was left among the timers");
        self.entries -= 1;
        self.sweep = Some(Sweep { start, bucket });
        entry
    }

    /// Decides about an entry that a sweep took and whose record has `expiry`: puts it back, unless
    /// this sweep saw another entry for that record. Returns the expiry with its new mark.
    ///
    /// An entry that goes to a bucket which the sweep is yet to reach is not marked: it will be
    /// seen again, and must then be kept.
    pub(crate) fn keep_swept(&mut self, entry: Entry, expiry: Expiry) -> Expiry {
        assert!(expiry.has_timer(), "an entry for a time that cannot come");
        if expiry.sweep() == self.sweep_number {
            return expiry;
        }
        let bucket = self.bucket_of(expiry.at());
        self.buckets.entry(bucket).or_default().push(entry);
        self.entries += 1;
        let is_ahead = self
            .sweep
            .as_ref()
            .is_some_and(|sweep| bucket > sweep.start);
        expiry.with_sweep(if is_ahead { 0 } else { self.sweep_number })
    }

    /// The latest start of a bucket in which an entry for `at` may be.
    #[cfg(test)]
    pub(crate) fn latest_for(&self, at: UnixMillis) -> u64 {
        (at.0 + BUCKET_MS_MIN).max(self.now.0 + RETRY_MS)
    }

    /// Whether there is an entry in a bucket that starts at `latest` or before.
    #[cfg(test)]
    pub(crate) fn contains(&self, partition: u32, hash: KeyHash, latest: u64) -> bool {
        let entry = Entry::new(partition, hash);
        let swept = self.sweep.iter().map(|sweep| &sweep.bucket);
        let buckets = self.buckets.range(..=latest).map(|(_, bucket)| bucket);
        buckets.chain(swept).any(|bucket| {
            bucket
                .last_run
                .iter()
                .chain(bucket.full_runs.iter().flatten())
                .any(|&e| e == entry)
        })
    }

    /// How many entries there are, those that outlived their keys included.
    #[cfg(test)]
    pub(crate) const fn entries(&self) -> usize {
        self.entries
    }

    /// Forgets everything, and returns the timers that had it.
    pub(crate) fn take(&mut self) -> Self {
        let now = self.now;
        std::mem::replace(self, Self { now, ..Self::new() })
    }

    /// The memory of all entries.
    pub(crate) fn into_buckets(self) -> impl Iterator<Item = Bucket> {
        let swept = self.sweep.map(|sweep| sweep.bucket);
        self.buckets.into_values().chain(swept)
    }

    /// Where the bucket for `at` starts, seen from now; always ahead, so that an entry which comes
    /// out early does not come out again at once.
    fn bucket_of(&self, at: UnixMillis) -> u64 {
        let distance = at.0.saturating_sub(self.now.0);
        let width = distance / BUCKETS_PER_DOUBLING;
        let width = if width < BUCKET_MS_MIN {
            BUCKET_MS_MIN
        } else {
            1 << width.ilog2()
        };
        let next = (self.now.0 / BUCKET_MS_MIN + 1) * BUCKET_MS_MIN;
        (at.0 - at.0 % width).max(next)
    }
}

#[cfg(test)]
#[path = "expiry_test.rs"]
mod expiry_test;
