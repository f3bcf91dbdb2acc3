//! What is known of an address of the cluster: which kind of port it is, and how it answers.
//!
//! In:  what connections and calls hear of it. Out: whether it is asked, how long a read waits for it.
//!
//! It is shared by all connections to the address and all calls at it, so everything in it is atomic.

use crate::{
    map::host_of,
    random::mix,
    setting::{Setting, Use},
};
use std::{
    hash::Hasher,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// How long calls prefer others to an address that was slow, the first time and at most.
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
    /// Reads prefer it to others.
    pub(crate) is_near: bool,
    kind: AtomicU8,
    /// It recognises writes by their ids.
    has_ids: AtomicBool,
    /// Calls that were handed to its connections and are not over.
    load: AtomicUsize,
    /// Until when it is left alone, in nanoseconds after `epoch`; 0: it may be asked.
    down_until: AtomicU64,
    /// Its silence on any connection: for everything but reads that have a connection of their own.
    slow: Slowness,
    /// Its silence where such reads are asked. A brick that owes the outcome of a write answers them.
    slow_to_read: Slowness,
    /// How long the last greeting took, in nanoseconds: about two round trips.
    greeting: AtomicU64,
    epoch: Instant,
}

/// How it has let calls of one kind wait.
#[derive(Debug, Default)]
struct Slowness {
    /// Until when others are preferred, in nanoseconds after the peer's `epoch`.
    until: AtomicU64,
    /// How often in turn it was silent.
    silences: AtomicU32,
}

impl Peer {
    /// Nothing is known of it but this; at one of the `near` hosts or addresses it is preferred to others.
    pub(crate) fn new(address: &str, kind: Kind, near: &[String]) -> Self {
        let bare = |host: &str| host.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_here = |it: &String| it == address || bare(it) == bare(host_of(address));
        Self {
            address: address.to_owned(),
            identity: identity(address),
            is_near: near.iter().any(is_here),
            kind: AtomicU8::new(kind as u8),
            has_ids: AtomicBool::new(false),
            load: AtomicUsize::new(0),
            down_until: AtomicU64::new(0),
            slow: Slowness::default(),
            slow_to_read: Slowness::default(),
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
        self.slow.end();
        self.slow_to_read.end();
    }

    /// Whether others should rather be asked.
    pub(crate) fn is_slow(&self, now: Instant) -> bool {
        self.slow.is_at(self.nanos(now))
    }

    /// Whether reads that have a connection of their own should rather be asked of others.
    pub(crate) fn is_slow_to_read(&self, now: Instant) -> bool {
        self.slow_to_read.is_at(self.nanos(now))
    }

    /// Whether it was too slow when it was heard last.
    pub(crate) fn is_silent(&self) -> bool {
        self.slow.silences.load(Ordering::Relaxed) != 0
    }

    /// Others are preferred for a while, a longer one each time until it is heard again; by reads with a connection of
    /// their own only if it is they who waited.
    pub(crate) fn set_slow(&self, purpose: Use, now: Instant) {
        let until = |pause| self.nanos(now + pause).max(1);
        self.slow.begin(until);
        if purpose != Use::Any {
            self.slow_to_read.begin(until);
        }
    }

    /// It was slow, and has not been heard since: one call alone finds out, and others go on preferring others.
    pub(crate) fn on_chosen(&self, now: Instant) {
        let until = self.nanos(now + SLOW_MIN).max(1);
        self.slow.go_on(until);
        self.slow_to_read.go_on(until);
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

impl Slowness {
    fn is_at(&self, nanos: u64) -> bool {
        nanos < self.until.load(Ordering::Relaxed)
    }

    fn begin(&self, until: impl Fn(Duration) -> u64) {
        let silences = self.silences.fetch_add(1, Ordering::Relaxed).min(5);
        let pause = (SLOW_MIN * (1 << silences)).min(SLOW_MAX);
        self.until.store(until(pause), Ordering::Relaxed);
    }

    fn go_on(&self, until: u64) {
        if self.silences.load(Ordering::Relaxed) != 0 {
            self.until.fetch_max(until, Ordering::Relaxed);
        }
    }

    fn end(&self) {
        if self.until.load(Ordering::Relaxed) != 0 {
            self.until.store(0, Ordering::Relaxed);
            self.silences.store(0, Ordering::Relaxed);
        }
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
