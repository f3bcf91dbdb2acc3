//! An address of the cluster and the connections to it.
//!
//! In:  calls. Out: each on one of the connections, or back with the reason why not.
//!
//! Invariant: calls on one slot take one connection, so those that are made one after the other arrive so
//! (unless one of them has to be sent again). Where reads go to any replica that holds for the writes alone: reads have
//! connections of their own, lest they wait behind a write that waits for a replica which is down.

use crate::{
    call::Call,
    lane::{Lane, Setting},
    random::mix,
    retry::Failure,
};
use std::{
    hash::Hasher,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

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

/// An address with its connections, which are opened when they are needed.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) peer: Arc<Peer>,
    /// All for writes and, where these are apart, as many for reads behind them.
    lanes: Vec<Lane>,
    kinds: usize,
}

impl Endpoint {
    pub(crate) fn new(address: &str, kind: Kind, setting: &Arc<Setting>) -> Arc<Self> {
        let peer = Arc::new(Peer::new(address, kind));
        let kinds = setting.kinds_of_lane();
        let lanes = (0..setting.lanes.max(1) * kinds)
            .map(|_| Lane::new(Arc::clone(&peer), Arc::clone(setting)))
            .collect();
        Arc::new(Self { peer, lanes, kinds })
    }

    /// Hands a call to one of the connections; `spread` decides which.
    ///
    /// # Errors
    /// The call and why it could not be taken.
    pub(crate) fn push(
        &self,
        mut call: Box<Call>,
        spread: usize,
        now: Instant,
    ) -> Result<(), (Box<Call>, Failure)> {
        let of_a_kind = self.lanes.len() / self.kinds;
        let first = if call.is_read() {
            self.lanes.len() - of_a_kind
        } else {
            0
        };
        let place = first + spread % of_a_kind;
        let Some(lane) = self.lanes.get(place) else {
            return Err((call, Failure::NotSent("no connection".to_owned())));
        };
        call.on_handed_to(&self.peer, now);
        lane.push(call, now)
    }
}
