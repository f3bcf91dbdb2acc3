//! Reading what a partition has committed behind a position.
//!
//! In:  a partition's ring, with those that it came from; places of somebody who follows; how much may be told. Out: the changes behind
//!      them, in order; places to go on from; or that they are not kept any more.
//!
//! OVER SPLITS AND MERGES. A place was given by a partition that may be none any more. So each is looked for in the partition's own ring, and where it
//! is not there, in the rings of those that it came from; from there a *trail* leads back. Say A ended at op 12 and B at 30, AB began at 31 and is at 33; a
//! place of A at 10 has the trail A 11 to 12, AB 32 to 33. Of a trail only keys of its own range are told: who has followed half of a partition gets what
//! that half has. The partition's own ring is read when all trails have come to it: then both halves go on together.
//!
//! Invariants (rule `a change is told once, in order, or compacted`):
//! - All changes of an op are told, as far as its keys are in the range, or none is.
//! - A place that is returned is where telling has stopped: of ops up to it all was told, of those behind it nothing.
//! - A place is believed where the record that it names is covered: by generation, view and op.
//! - If anything may be told at all, something is: whoever asks again gets on.

use super::position::{Place, Position};
use super::ring::{Change, ChangeRing};
use brickyard_command::request::Watched;
use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::record::Kind;
use brickyard_types::{Op, View};
use std::collections::BTreeSet;

/// Operations that are looked at for one share, whether they are told or not: so that nobody holds up the loop.
const LOOKS_MAX: usize = 65_536;

/// A place is older than what is kept, or of another history, or of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

/// How much may be told, about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    count: usize,
    bytes: usize,
    looks: usize,
    has_told: bool,
    /// It has ended before everything was told.
    pub(crate) is_spent: bool,
}

impl Budget {
    pub(crate) const fn new(count: usize, bytes: usize) -> Self {
        Self {
            count,
            bytes,
            looks: LOOKS_MAX,
            has_told: false,
            is_spent: false,
        }
    }

    /// Whether so many changes may be told that belong together. The first always may.
    fn take(&mut self, count: usize, bytes: usize) -> bool {
        let fits = count <= self.count && bytes <= self.bytes;
        if !fits && self.has_told {
            self.is_spent = true;
            return false;
        }
        self.count = self.count.saturating_sub(count);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.has_told = true;
        true
    }

    /// Whether one more operation may be looked at.
    fn look(&mut self) -> bool {
        self.is_spent |= self.looks == 0;
        self.looks = self.looks.saturating_sub(1);
        !self.is_spent
    }
}

/// A change, and whose keys it is about if it is about all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) change: &'a Change,
    pub(crate) scope: Prefix,
}

/// The partition that is followed.
pub(crate) struct Source<'a, H, V> {
    pub(crate) ring: &'a ChangeRing,
    /// The last op that it has prepared: up to there a place may be ahead of what has committed here.
    pub(crate) prepared: Op,
    /// The view of an op that is prepared.
    pub(crate) view_at: V,
    pub(crate) hash: H,
    pub(crate) watched: Watched<'a>,
}

/// From a place to the partition's own ring: the rings on the way, the oldest first, and behind which op each is read.
struct Trail<'a> {
    prefix: Prefix,
    legs: Vec<(&'a ChangeRing, Op)>,
}

/// Tells what has committed behind the places, and returns those to go on from.
pub(crate) fn follow<'a, H, V>(
    followed: &Source<'a, H, V>,
    places: &[Place],
    budget: &mut Budget,
    tell: &mut dyn FnMut(Told<'a>),
) -> Result<Vec<Place>, Compacted>
where
    H: Fn(&[u8]) -> RoutingHash,
    V: Fn(Op) -> Option<View>,
{
    let own = followed.ring;
    let mut trails = Vec::new();
    let mut ahead = Vec::new();
    for place in places {
        let is_ahead = place.op > own.upto
            && place.op <= followed.prepared
            && place.generation == own.generation
            && (followed.view_at)(place.op) == Some(place.view);
        match is_ahead {
            true => ahead.push(*place),
            false => trails.extend(trails_of(own, place.prefix, place)?),
        }
    }
    let mut stopped = Vec::new();
    let mut arrived = Vec::new();
    for trail in trails {
        match followed.walk(&trail, budget, tell) {
            Some(place) => stopped.push(place),
            None => arrived.push((trail.prefix, trail.legs.last().map_or(own.after, |it| it.1))),
        }
    }
    let upto = match stopped.is_empty() {
        true => followed.read_own(&arrived, budget, tell),
        false => Op(0),
    };
    let here = |prefix: Prefix, op: Op| {
        let view = own.view_at(op)?;
        Some(Place {
            prefix,
            generation: own.generation,
            view,
            op,
        })
    };
    let reached = arrived.iter().map(|(prefix, op)| (*prefix, upto.max(*op)));
    let ops: BTreeSet<Op> = reached.clone().map(|(_, op)| op).collect();
    let is_whole = stopped.is_empty() && ahead.is_empty() && ops.len() == 1;
    let covered = arrived
        .iter()
        .map(|(prefix, _)| width(*prefix))
        .sum::<u128>();
    let all: Option<Vec<Place>> = match ops.first() {
        Some(op) if is_whole && covered == width(own.prefix) => {
            here(own.prefix, *op).map(|it| vec![it])
        }
        _ => reached.map(|(prefix, op)| here(prefix, op)).collect(),
    };
    let mut all = all.ok_or(Compacted)?;
    assert!(
        all.iter().all(|it| it.op <= own.upto),
        "{all:?} is behind what has committed"
    );
    all.extend(stopped);
    all.extend(ahead);
    all.sort_unstable_by_key(|it| it.prefix);
    Ok(all)
}

/// The trails from a place, of which keys of this prefix are wanted, to a ring.
fn trails_of<'a>(
    ring: &'a ChangeRing,
    prefix: Prefix,
    place: &Place,
) -> Result<Vec<Trail<'a>>, Compacted> {
    let is_here = place.generation == ring.generation && ring.view_at(place.op) == Some(place.view);
    if is_here {
        let legs = vec![(ring, place.op)];
        return Ok(vec![Trail { prefix, legs }]);
    }
    let mut all = Vec::new();
    let mut covered = 0;
    for parent in ring
        .parents()
        .iter()
        .filter(|it| it.prefix.overlaps(prefix))
    {
        let shared = deeper(parent.prefix, prefix);
        covered += width(shared);
        for mut trail in trails_of(parent, shared, place)? {
            trail.legs.push((ring, ring.after));
            all.push(trail);
        }
    }
    // What is missing is told as missing.
    match covered == width(prefix) {
        true => Ok(all),
        false => Err(Compacted),
    }
}

impl<'a, H, V> Source<'a, H, V>
where
    H: Fn(&[u8]) -> RoutingHash,
    V: Fn(Op) -> Option<View>,
{
    /// The places of a position that are the partition's, each as far as it is; `None`: the position says nothing of some of the keys.
    pub(crate) fn narrowed(&self, position: &Position) -> Option<Vec<Place>> {
        let prefix = self.ring.prefix;
        let own = position.within(prefix).iter();
        let own = own.map(|it| Place {
            prefix: deeper(it.prefix, prefix),
            ..*it
        });
        if let Watched::Key(key) = self.watched {
            let hash = (self.hash)(key);
            let own: Vec<Place> = own.filter(|it| it.prefix.contains(hash)).collect();
            return (!own.is_empty()).then_some(own);
        }
        let own: Vec<Place> = own.collect();
        let covered = own.iter().map(|it| width(it.prefix)).sum::<u128>();
        (covered == width(prefix)).then_some(own)
    }

    /// Tells what a trail has before the partition's own ring; where it had to stop, if it had to.
    fn walk(
        &self,
        trail: &Trail<'a>,
        budget: &mut Budget,
        tell: &mut dyn FnMut(Told<'a>),
    ) -> Option<Place> {
        let (_, before) = trail.legs.split_last()?;
        for (ring, from) in before {
            let of = [(trail.prefix, *from)];
            if let Some(op) = self.read(ring, &of, budget, tell) {
                return Some(Place {
                    prefix: trail.prefix,
                    generation: ring.generation,
                    view: ring.view_at(op)?,
                    op,
                });
            }
        }
        None
    }

    /// Tells what the own ring has behind these; up to which op.
    fn read_own(
        &self,
        from: &[(Prefix, Op)],
        budget: &mut Budget,
        tell: &mut dyn FnMut(Told<'a>),
    ) -> Op {
        self.read(self.ring, from, budget, tell)
            .unwrap_or(self.ring.upto)
    }

    /// Tells what a ring has of these ranges, of each behind that op; up to which op, if it had to stop.
    fn read(
        &self,
        ring: &'a ChangeRing,
        ranges: &[(Prefix, Op)],
        budget: &mut Budget,
        tell: &mut dyn FnMut(Told<'a>),
    ) -> Option<Op> {
        let first = ranges.iter().map(|(_, op)| *op).min()?;
        let mut changes = ring.changes_after(first).peekable();
        let mut together: Vec<Told<'a>> = Vec::new();
        while let Some(op) = changes.peek().map(|it| it.op) {
            if !budget.look() {
                return Some(Op(op.0 - 1));
            }
            together.clear();
            while let Some(change) = changes.next_if(|it| it.op == op) {
                self.collect(ring, ranges, change, &mut together);
            }
            assert!(
                together.iter().all(|it| it.change.op == op),
                "what is told together is of one op"
            );
            let bytes = together.iter().map(|it| it.change.memory()).sum();
            if !together.is_empty() && !budget.take(together.len(), bytes) {
                return Some(Op(op.0 - 1));
            }
            together.drain(..).for_each(&mut *tell);
        }
        None
    }

    /// What of a change is told to who follows these ranges.
    fn collect(
        &self,
        ring: &ChangeRing,
        ranges: &[(Prefix, Op)],
        change: &'a Change,
        together: &mut Vec<Told<'a>>,
    ) {
        if change.kind == Kind::Clear {
            let cleared = ranges.iter().filter(|(_, from)| change.op > *from);
            let scopes = cleared.map(|(prefix, _)| deeper(*prefix, ring.prefix));
            let wanted = scopes.filter(|scope| match self.watched {
                Watched::Key(key) => scope.contains((self.hash)(key)),
                Watched::All | Watched::Prefix(_) => true,
            });
            together.extend(wanted.map(|scope| Told { change, scope }));
            return;
        }
        if !self.watched.has(change.key()) {
            return;
        }
        let is_its = |(prefix, from): &(Prefix, Op)| {
            change.op > *from
                && (*prefix == ring.prefix
                    || prefix.covers(ring.prefix)
                    || prefix.contains((self.hash)(change.key())))
        };
        if ranges.iter().any(is_its) {
            let scope = ring.prefix;
            together.push(Told { change, scope });
        }
    }
}

/// The longer of two prefixes, of which one begins with the other.
pub(crate) const fn deeper(one: Prefix, other: Prefix) -> Prefix {
    if one.depth() > other.depth() {
        one
    } else {
        other
    }
}

/// How many routing hashes begin so.
pub(crate) const fn width(prefix: Prefix) -> u128 {
    1 << (64 - prefix.depth() as u32)
}

#[cfg(test)]
#[path = "follow_test.rs"]
mod follow_test;
