//! What a client knows of a table's map that does not hold it: partitions that it asked for, and where a lookup may begin.
//!
//! In:  what bricks told. Out: who holds a slot, if that is remembered; else where to ask.
//!
//! Invariants:
//! - What is known takes [`Lookups::map_bytes_max`] bytes at most.
//! - Calls on a slot that wait for the same lookup are held by its task: if that is dropped (a runtime that stops), each is told.
//!
//! Not here: asking (`seek`), what is done with a call whose brick is known (`router`).

use crate::{
    call::{Call, Calls},
    endpoint::Endpoint,
    leaf::{Leaf, Start},
    lookups::{LookupCounts, Lookups},
    random::Random,
};
use brickyard_routing::{Prefix, RoutingHash, graph::LeafCache};
use brickyard_types::Slot;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Who holds a partition, the primary first.
pub(crate) type Members = Arc<[Arc<Endpoint>]>;

/// Calls that wait for a lookup; nothing once it is over.
pub(crate) type Waiting = Mutex<Calls>;

/// Addresses whose connections stay open although no partition that is remembered is there: the last ones on the way.
const RECENT_MAX: usize = 64;

/// Node ports that are known besides the seeds, for what concerns the whole table.
pub(crate) const NODES_MAX: usize = 16;

/// Where maps are held with others: of so many calls that went by the map ...
const WATCHED_CALLS: u64 = 1_024;

/// ... so many may have been sent elsewhere before it is given up until the next one.
const MISSES_MAX: u64 = WATCHED_CALLS / 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Finder {
    pub(crate) lookups: Lookups,
    known: Mutex<Known>,
    pub(crate) counts: Counts,
    /// The whole map is there, and gone by.
    has_map: AtomicBool,
}

#[derive(Debug)]
struct Known {
    cache: LeafCache<Members>,
    starts: Vec<Start>,
    starts_bytes: usize,
    /// Bytes of the whole map, where that is held.
    map_bytes: usize,
    endpoints: BTreeMap<String, Weak<Endpoint>>,
    recent: VecDeque<Arc<Endpoint>>,
    /// Lookups under way, by slot.
    waiting: BTreeMap<u16, Weak<Waiting>>,
    /// Since the map came: calls that went by it, and those of them that were sent elsewhere.
    by_map: [u64; 2],
}

/// What is counted, each a [`LookupCounts`]'s field.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) direct: AtomicU64,
    pub(crate) cached: AtomicU64,
    pub(crate) near: AtomicU64,
    pub(crate) random: AtomicU64,
    pub(crate) hops: AtomicU64,
    pub(crate) questions: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// A hash in the part of the space that a slot is. Of a slot that was split, its first partition has it, as the map says too.
pub(crate) const fn hash_of(slot: Slot) -> RoutingHash {
    RoutingHash((slot.0 as u64) << 50)
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Finder {
    /// One that knows nothing; `None` where the whole map is all that is wanted.
    pub(crate) fn new(lookups: Lookups) -> Option<Self> {
        let bytes_max = match lookups.strategy.remembers() {
            true => lookups.map_bytes_max,
            false => 0,
        };
        let known = Known {
            cache: LeafCache::new(bytes_max),
            starts: Vec::new(),
            starts_bytes: 0,
            map_bytes: 0,
            endpoints: BTreeMap::new(),
            recent: VecDeque::new(),
            waiting: BTreeMap::new(),
            by_map: [0; 2],
        };
        (lookups.strategy != crate::LookupStrategy::Direct).then(|| Self {
            lookups,
            known: Mutex::new(known),
            counts: Counts::default(),
            has_map: AtomicBool::new(false),
        })
    }

    /// Whether calls go by the whole map.
    pub(crate) fn has_map(&self) -> bool {
        self.has_map.load(Ordering::Relaxed)
    }

    /// Who holds a slot, if that is remembered.
    pub(crate) fn at_hand(&self, slot: Slot) -> Option<Members> {
        if !self.lookups.strategy.remembers() {
            return None;
        }
        let mut known = self.known();
        let (_, members) = known.cache.find(hash_of(slot))?;
        let members = Arc::clone(members);
        drop(known);
        count(&self.counts.cached);
        Some(members)
    }

    /// The partition that is remembered from which the way is shortest.
    pub(crate) fn near(&self, target: RoutingHash) -> Option<(Prefix, Members)> {
        if !self.lookups.is_aggregated {
            return None;
        }
        let known = self.known();
        let (leaf, members) = known.cache.nearest(self.lookups.graph, target)?;
        Some((leaf, Arc::clone(members)))
    }

    /// A brick at which a lookup may begin, each as likely as it leads partitions.
    pub(crate) fn start(&self, random: u64) -> Option<String> {
        let known = self.known();
        let drawn = drawn(&known.starts, random)?;
        Some(drawn.brick.clone())
    }

    /// A brick told of a partition that was looked for.
    pub(crate) fn learn(&self, leaf: &Leaf, members: &Members) {
        if self.lookups.strategy.remembers() {
            let addresses = leaf.members.iter();
            let bytes: usize = addresses.map(|it| size_of::<usize>() + it.len()).sum();
            let mut known = self.known();
            let members = Arc::clone(members);
            known
                .cache
                .learn(leaf.prefix, members, 2 * size_of::<usize>() + bytes);
        }
    }

    /// What is known of a slot is in doubt: it is not remembered any more.
    pub(crate) fn doubt(&self, slot: Slot) {
        self.known().cache.drop_at(hash_of(slot));
    }

    /// A call went by the whole map.
    pub(crate) fn note_direct(&self) {
        count(&self.counts.direct);
        self.note_by_map(0);
    }

    /// What was known of a slot was wrong.
    pub(crate) fn note_miss(&self, slot: Slot) {
        count(&self.counts.misses);
        self.doubt(slot);
        if self.has_map() {
            self.note_by_map(1);
        }
    }

    /// The map is given up once too many of the calls that went by it were sent elsewhere.
    fn note_by_map(&self, what: usize) {
        let mut known = self.known();
        known.by_map[what] += 1;
        if known.by_map[1] > MISSES_MAX {
            self.has_map.store(false, Ordering::Relaxed);
        }
        if known.by_map[0] >= WATCHED_CALLS {
            known.by_map = [0; 2];
        }
    }

    /// Where lookups may begin, and how large the map is that is held besides; whether that may be held. `random` draws
    /// those that are kept, where not all are.
    pub(crate) fn install(
        &self,
        starts: Vec<Start>,
        map_bytes: Option<usize>,
        random: &Random,
    ) -> bool {
        let bytes_max = self.lookups.map_bytes_max;
        let mut known = self.known();
        let partitions: u64 = starts.iter().map(|it| u64::from(it.led)).sum();
        let starts = sample(starts, bytes_max / 4, random);
        known.starts_bytes = starts.iter().map(Start::bytes).sum();
        known.starts = starts;
        let left = bytes_max.saturating_sub(known.starts_bytes);
        let held = map_bytes.filter(|bytes| *bytes <= left);
        known.map_bytes = held.unwrap_or(0);
        known.by_map = [0; 2];
        self.has_map.store(held.is_some(), Ordering::Relaxed);
        if self.lookups.strategy.remembers() {
            let left = left - known.map_bytes;
            let leaves_max = match self.lookups.cached_share_max {
                // Where partitions were split since, there are more than is known here.
                share if share >= 1.0 => usize::MAX,
                share => (partitions as f64 * share.max(0.0)).ceil() as usize,
            };
            known.cache.set_max(left, leaves_max);
        }
        held.is_some()
    }

    /// Some of the node ports that are known.
    pub(crate) fn nodes(&self, random: &Random) -> Vec<String> {
        let known = self.known();
        let mut nodes: Vec<String> = Vec::new();
        for _ in 0..known.starts.len().min(NODES_MAX) {
            let drawn = drawn(&known.starts, random.next());
            nodes.extend(drawn.map(|it| it.node.clone()));
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The endpoint at an address; its connections stay open for a while.
    pub(crate) fn endpoint(
        &self,
        address: &str,
        make: impl FnOnce() -> Arc<Endpoint>,
    ) -> Arc<Endpoint> {
        let mut known = self.known();
        let there = known.endpoints.get(address).and_then(Weak::upgrade);
        let endpoint = there.unwrap_or_else(|| {
            let endpoint = make();
            known.endpoints.retain(|_, it| it.strong_count() > 0);
            let weak = Arc::downgrade(&endpoint);
            known.endpoints.insert(address.to_owned(), weak);
            endpoint
        });
        let is_recent = |it: &Arc<Endpoint>| Arc::ptr_eq(it, &endpoint);
        if !known.recent.iter().any(is_recent) {
            if known.recent.len() == RECENT_MAX {
                known.recent.pop_front();
            }
            known.recent.push_back(Arc::clone(&endpoint));
        }
        endpoint
    }

    /// The call waits for a lookup of its slot. If nobody looks it up yet, the caller is to, and holds what waits.
    pub(crate) fn join(&self, slot: Slot, call: Box<Call>) -> Option<Arc<Waiting>> {
        if !self.lookups.strategy.remembers() {
            return Some(Arc::new(Mutex::new(vec![call])));
        }
        let mut known = self.known();
        if let Some(waiting) = known.waiting.get(&slot.0).and_then(Weak::upgrade) {
            lock(&waiting).push(call);
            return None;
        }
        let waiting = Arc::new(Mutex::new(vec![call]));
        known.waiting.insert(slot.0, Arc::downgrade(&waiting));
        Some(waiting)
    }

    /// The lookup is over: what waited for it.
    pub(crate) fn end(&self, slot: Slot, waiting: &Arc<Waiting>) -> Calls {
        let mut known = self.known();
        let weak = Arc::downgrade(waiting);
        if known
            .waiting
            .get(&slot.0)
            .is_some_and(|it| it.ptr_eq(&weak))
        {
            known.waiting.remove(&slot.0);
        }
        std::mem::take(&mut *lock(waiting))
    }

    /// What became of the lookups so far.
    pub(crate) fn counts(&self) -> LookupCounts {
        let known = self.known();
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        LookupCounts {
            direct: value(&counts.direct),
            cached: value(&counts.cached),
            near: value(&counts.near),
            random: value(&counts.random),
            hops: value(&counts.hops),
            questions: value(&counts.questions),
            misses: value(&counts.misses),
            failed: value(&counts.failed),
            leaves: known.cache.len(),
            map_bytes: known.cache.bytes() + known.starts_bytes + known.map_bytes,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics between two changes that belong together.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of them, each as likely as it leads partitions.
fn drawn(starts: &[Start], random: u64) -> Option<&Start> {
    let sum: u64 = starts.iter().map(|it| u64::from(it.led)).sum();
    let mut drawn = random.checked_rem(sum)?;
    starts.iter().find(|start| {
        let led = u64::from(start.led);
        let is_it = drawn < led;
        drawn = drawn.saturating_sub(led);
        is_it
    })
}

/// As many as there is room for: all, or some that are drawn by what they lead, each of which then counts as often as it was drawn. One
/// is kept in any case: without any nothing can begin.
fn sample(starts: Vec<Start>, bytes_max: usize, random: &Random) -> Vec<Start> {
    let bytes: usize = starts.iter().map(Start::bytes).sum();
    if bytes <= bytes_max || starts.is_empty() {
        return starts;
    }
    let draws = (bytes_max * starts.len() / bytes).max(1);
    let mut kept: BTreeMap<&str, Start> = BTreeMap::new();
    let mut left = bytes_max;
    for _ in 0..draws {
        let Some(start) = drawn(&starts, random.next()) else {
            break;
        };
        if let Some(known) = kept.get_mut(start.brick.as_str()) {
            known.led += 1;
        } else if start.bytes() <= left || kept.is_empty() {
            left = left.saturating_sub(start.bytes());
            kept.insert(
                &start.brick,
                Start {
                    led: 1,
                    ..start.clone()
                },
            );
        }
    }
    kept.into_values().collect()
}

#[cfg(test)]
#[path = "finder_test.rs"]
mod finder_test;
