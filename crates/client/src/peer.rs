//! What is known of an address of the cluster: which kind of port it is, and how it answers.
//!
//! In:  what connections and calls hear of it. Out: whether it is asked, how long a read waits for it.
//!
//! It is shared by all connections to the address and all calls at it, so everything in it is atomic.

use crate::{random::mix, setting::Setting};
use std::{
    hash::Hasher,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// How long reads prefer others to an address that was slow, the first time and at most.
const SLOW_MIN: Duration = Duration::from_millis(50);
const SLOW_MAX: Duration = Duration::from_secs(1);

/// What kind of port an address is; only a connection tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Node,
    Unknown,
    Brick,
}

/// What is known of an address.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: String,
    /// The same on every client, for rendezvous hashing.
    pub(crate) identity: u64,
    kind: AtomicU8,
    /// It recognises writes by their ids.
    has_ids: AtomicBool,
    /// Calls that were handed to its connections and are not over.
    load: AtomicUsize,
    /// Until when it is left alone, in nanoseconds after `epoch`; 0: it may be asked.
    down_until: AtomicU64,
    /// Until when reads prefer others, in the same way.
    slow_until: AtomicU64,
    /// How often in turn it was too slow for reads.
    silences: AtomicU32,
    /// How long the last greeting took, in nanoseconds: about two round trips.
    greeting: AtomicU64,
    epoch: Instant,
}

impl Peer {
    pub(crate) fn new(address: &str, kind: Kind) -> Self {
        Self {
            address: address.to_owned(),
            identity: identity(address),
            kind: AtomicU8::new(kind as u8),
            has_ids: AtomicBool::new(false),
            load: AtomicUsize::new(0),
            down_until: AtomicU64::new(0),
            slow_until: AtomicU64::new(0),
            silences: AtomicU32::new(0),
            greeting: AtomicU64::new(0),
            epoch: Instant::now(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.kind.load(Ordering::Relaxed) {
            kind if kind == Kind::Node as u8 => Kind::Node,
            kind if kind == Kind::Brick as u8 => Kind::Brick,
            _ => Kind::Unknown,
        }
    }

    pub(crate) fn set_kind(&self, kind: Kind) {
        self.kind.store(kind as u8, Ordering::Relaxed);
    }

    pub(crate) fn has_ids(&self) -> bool {
        self.has_ids.load(Ordering::Relaxed)
    }

    pub(crate) fn set_ids(&self, has_ids: bool) {
        self.has_ids.store(has_ids, Ordering::Relaxed);
    }

    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    pub(crate) fn add_load(&self) {
        self.load.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_load(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_up(&self, now: Instant) -> bool {
        let until = self.down_until.load(Ordering::Relaxed);
        until == 0 || self.nanos(now) >= until
    }

    /// It does not answer: nobody asks it for a while.
    pub(crate) fn set_down(&self, now: Instant, pause: Duration) {
        let until = self.nanos(now + pause).max(1);
        self.down_until.store(until, Ordering::Relaxed);
    }

    /// It answers.
    pub(crate) fn set_up(&self) {
        if self.down_until.load(Ordering::Relaxed) != 0 {
            self.down_until.store(0, Ordering::Relaxed);
        }
        if self.slow_until.load(Ordering::Relaxed) != 0 {
            self.slow_until.store(0, Ordering::Relaxed);
            self.silences.store(0, Ordering::Relaxed);
        }
    }

    /// Whether reads should rather be asked of others.
    pub(crate) fn is_slow(&self, now: Instant) -> bool {
        self.nanos(now) < self.slow_until.load(Ordering::Relaxed)
    }

    /// Whether it was too slow when it was heard last.
    pub(crate) fn is_silent(&self) -> bool {
        self.silences.load(Ordering::Relaxed) != 0
    }

    /// Reads prefer others for a while, a longer one each time until it is heard again.
    pub(crate) fn set_slow(&self, now: Instant) {
        let silences = self.silences.fetch_add(1, Ordering::Relaxed).min(5);
        let pause = (SLOW_MIN * (1 << silences)).min(SLOW_MAX);
        self.slow_until
            .store(self.nanos(now + pause).max(1), Ordering::Relaxed);
    }

    /// It was slow, and has not been heard since: one read alone finds out, and others go on preferring others.
    pub(crate) fn on_chosen(&self, now: Instant) {
        if self.silences.load(Ordering::Relaxed) != 0 {
            let until = self.nanos(now + SLOW_MIN).max(1);
            self.slow_until.fetch_max(until, Ordering::Relaxed);
        }
    }

    /// A greeting took so long.
    pub(crate) fn note_greeting(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.greeting.store(took, Ordering::Relaxed);
    }

    /// How long a read waits for it, if others could answer.
    pub(crate) fn hedge_after(&self, setting: &Setting) -> Duration {
        let greeting = Duration::from_nanos(self.greeting.load(Ordering::Relaxed));
        let least = setting.hedge_after.min(setting.silence_limit);
        (greeting * 2).clamp(least, setting.silence_limit)
    }

    fn nanos(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}

/// FNV-1a: every client has to come to the same number, also one of another version.
fn identity(address: &str) -> u64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        }
        fn finish(&self) -> u64 {
            mix(self.0)
        }
    }
    let mut fnv = Fnv(0xCBF2_9CE4_8422_2325);
    fnv.write(address.as_bytes());
    fnv.finish()
}
