//! Values that a client keeps under leases, and serves without asking anybody.
//!
//! In:  reads and their replies, each with the lease that it came with; what is recalled; the time. Out: values whose leases have not run out.
//!
//! ```text
//!  look(k) ─ nothing ─► LEASE GET k is sent ─► its reply: fill(k, asked, value, lease)
//!  look(k) ─ value, until the lease ends, or recall(k)
//! ```
//! Invariants:
//! - A value is served while its lease lasts, counted by this clock from before it was asked for, less a tenth: clocks of different rates agree that the
//!   primary's count ends later.
//! - What was asked for before the key was recalled is not kept, however late its reply is looked at. So a client may say that it keeps nothing as soon as
//!   [`Cache::recall`] has returned.
//! - Keys and values take [`Cache::bytes_max`] bytes at most, what stands beside them included; recalls are remembered for a second, and 65,536 of them at most.
//!
//! A lease needs no connection: it ends in time, here and at the primary. So nothing is forgotten when connections break or maps change.
//! What one client writes is read by it afterwards like what any other writes: the write is answered when all leases are given back, its own among them. Before that
//! it asks for what it is writing.
//!
//! Not here: connections (`channel`), what is asked of whom (`table/cached`). The simulator's clients use this very file.

use brickyard_types::Instant;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Longest lease that is believed. What was asked for so long ago is not kept, whatever was recalled meanwhile.
const LEASE_MAX: Duration = Duration::from_secs(1);

/// Recalls that are remembered, each of a key; of more than that it is remembered that there were some.
const RECALLS_MAX: usize = 65_536;

/// Bytes that an entry takes beside its key and value, about.
const ENTRY_BYTES: usize = 160;

type Key = Arc<[u8]>;

/// When something was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    at: Instant,
    recalls: u64,
}

/// What a cache has done so far, and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Reads that were answered from it.
    pub hits: u64,
    /// Reads that were asked of the cluster.
    pub misses: u64,
    /// Leases that were recalled.
    pub recalls: u64,
    /// Values that are kept now, those among them that nobody may serve any more.
    pub entries: usize,
    /// Bytes that they take.
    pub bytes: usize,
}

#[derive(Debug)]
struct Entry {
    /// `None`: there is no such key.
    value: Option<Vec<u8>>,
    until: Instant,
    /// Its place in the order of eviction has this number.
    number: u64,
    /// It was served since it was looked at last.
    is_used: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Cache {
    bytes_max: usize,
    entries: HashMap<Key, Entry>,
    /// Who goes first, unless it was used: keys with numbers; those of entries that are gone are passed over.
    order: VecDeque<(Key, u64)>,
    last_number: u64,
    /// How often a key was not to be served any more.
    last_recall: u64,
    /// The last recall of each key, as long as something may be on its way that was asked for before.
    recalled: HashMap<Key, u64>,
    recalls: VecDeque<(Instant, Key, u64)>,
    /// Recalls up to this one were too many to remember their keys: what was asked for before it is not kept.
    forgotten: u64,
    counts: CacheCounts,
}

impl Cache {
    /// One that keeps so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            entries: HashMap::new(),
            order: VecDeque::new(),
            last_number: 0,
            last_recall: 0,
            recalled: HashMap::new(),
            recalls: VecDeque::new(),
            forgotten: 0,
            counts: CacheCounts::default(),
        }
    }

    /// What it has done, and holds.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        CacheCounts {
            entries: self.entries.len(),
            ..self.counts
        }
    }

    /// What the key holds, `None` if there is no such key.
    ///
    /// # Errors
    /// It has to be asked for, from now on.
    pub fn look(&mut self, key: &[u8], now: Instant) -> Result<Option<Vec<u8>>, Asked> {
        match self.entries.get_mut(key) {
            Some(entry) if now < entry.until => {
                entry.is_used = true;
                self.counts.hits += 1;
                Ok(entry.value.clone())
            }
            _ => {
                self.counts.misses += 1;
                Err(Asked {
                    at: now,
                    recalls: self.last_recall,
                })
            }
        }
    }

    /// What was asked for came, with a lease of that length.
    pub fn fill(
        &mut self,
        key: &[u8],
        asked: Asked,
        value: Option<&[u8]>,
        lease: Duration,
        now: Instant,
    ) {
        let until = asked.at + lease.min(LEASE_MAX) * 9 / 10;
        let was_recalled = self
            .recalled
            .get(key)
            .is_some_and(|last| *last > asked.recalls);
        if was_recalled || asked.recalls < self.forgotten || until <= now {
            return;
        }
        let bytes = key.len() + value.map_or(0, <[u8]>::len) + ENTRY_BYTES;
        if bytes > self.bytes_max {
            return;
        }
        self.remove(key);
        while self.counts.bytes + bytes > self.bytes_max {
            self.evict(now);
        }
        let key = Key::from(key);
        self.last_number += 1;
        let number = self.last_number;
        self.order.push_back((Arc::clone(&key), number));
        let entry = Entry {
            value: value.map(<[u8]>::to_vec),
            until,
            number,
            is_used: false,
        };
        self.counts.bytes += bytes;
        let before = self.entries.insert(key, entry);
        assert!(before.is_none(), "an entry takes another's place");
        self.tidy();
    }

    /// The lease of a key is recalled: it is not to be served any more, nor what was asked for before.
    pub fn recall(&mut self, key: &[u8], now: Instant) {
        self.counts.recalls += 1;
        self.forget(key, now);
    }

    /// The same of a key that the client itself is about to write: what it reads behind that it asks for, behind the write.
    pub fn forget(&mut self, key: &[u8], now: Instant) {
        self.remove(key);
        self.last_recall += 1;
        let number = self.last_recall;
        let key = Key::from(key);
        self.recalled.insert(Arc::clone(&key), number);
        self.recalls.push_back((now, key, number));
        while let Some((_, key, number)) =
            self.recalls.pop_front_if(|(at, ..)| now - *at > LEASE_MAX)
        {
            if self.recalled.get(&key) == Some(&number) {
                self.recalled.remove(&key);
            }
        }
        if self.recalls.len() > RECALLS_MAX {
            self.forgotten = number;
            self.recalls.clear();
            self.recalled.clear();
        }
        assert!(
            self.recalls.len() <= RECALLS_MAX,
            "{} recalls are remembered",
            self.recalls.len()
        );
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some((key, entry)) = self.entries.remove_entry(key) {
            self.counts.bytes -= key.len() + entry.value.map_or(0, |it| it.len()) + ENTRY_BYTES;
        }
    }

    /// One goes: whoever came first and was not used since, or has run out.
    fn evict(&mut self, now: Instant) {
        let Some((key, number)) = self.order.pop_front() else {
            unreachable!("{} bytes of nothing", self.counts.bytes);
        };
        let entry = self.entries.get_mut(&key);
        let Some(entry) = entry.filter(|entry| entry.number == number) else {
            return;
        };
        if std::mem::take(&mut entry.is_used) && now < entry.until {
            self.order.push_back((key, number));
        } else {
            self.remove(&key);
        }
    }

    /// Places of entries that are gone go, once they are as many as the others.
    fn tidy(&mut self) {
        if self.order.len() > 2 * self.entries.len() + 16 {
            let entries = &self.entries;
            let is_there = |(key, number): &(Key, u64)| {
                entries.get(key).is_some_and(|it| it.number == *number)
            };
            self.order.retain(is_there);
        }
    }
}

#[cfg(test)]
#[path = "cache_test.rs"]
mod cache_test;
