//! Dead space that a record of the very same size may use.
//!
//! In:  records' places as they are freed. Out: places of a size.
//!
//! Caches and counters write records of few sizes again and again; with these lists they use the
//! space that they freed, and nothing needs to be moved to win it back. Only some of the space is
//! remembered: what is not is left to compaction.
//!
//! Invariant: each place is dead space of just its list's size, in a chunk that is not being
//! compacted.

use crate::arena::RecordRef;
use crate::record::UNIT_BYTES;

/// Larger records come in too many sizes to meet their like.
const UNITS_MAX: usize = 256;

/// Places remembered of one size. Enough for a batch of removals, few enough to go through all
/// lists whenever a chunk is given back.
const PLACES_MAX: usize = 64;

/// Places by size.
#[derive(Debug)]
pub(crate) struct Holes {
    by_units: Vec<Vec<RecordRef>>,
}

impl Holes {
    pub(crate) const fn new() -> Self {
        Self {
            by_units: Vec::new(),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.by_units.capacity() * (size_of::<Vec<RecordRef>>() + PLACES_MAX)
    }

    /// Remembers a place, or not.
    #[inline]
    pub(crate) fn push(&mut self, place: RecordRef, size: usize) {
        let units = size / UNIT_BYTES;
        if units >= UNITS_MAX {
            return;
        }
        if self.by_units.len() <= units {
            self.by_units.resize_with(units + 1, Vec::new);
        }
        let places = &mut self.by_units[units];
        if places.len() < PLACES_MAX {
            places.push(place);
        }
    }

    /// Takes the place of `size` bytes that was remembered last.
    #[inline]
    pub(crate) fn take(&mut self, size: usize) -> Option<RecordRef> {
        self.by_units.get_mut(size / UNIT_BYTES)?.pop()
    }

    /// Forgets a place that is used for something else.
    pub(crate) fn forget(&mut self, place: RecordRef, size: usize) {
        if let Some(places) = self.by_units.get_mut(size / UNIT_BYTES)
            && let Some(at) = places.iter().position(|&other| other == place)
        {
            places.swap_remove(at);
        }
    }

    /// Forgets all places in a chunk.
    pub(crate) fn forget_chunk(&mut self, chunk: usize) {
        for places in &mut self.by_units {
            places.retain(|place| place.chunk() != chunk);
        }
    }

    /// All places and their sizes.
    #[cfg(test)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (RecordRef, usize)> + '_ {
        let by_size = self.by_units.iter().enumerate();
        by_size.flat_map(|(units, places)| places.iter().map(move |&at| (at, units * UNIT_BYTES)))
    }
}

#[cfg(test)]
#[path = "holes_test.rs"]
mod holes_test;
