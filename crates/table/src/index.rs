//! A partition's index: from a key's hash to its record.
//!
//! In:  [`KeyHash`]es and references, and the arena to ask a record's hash ([`Hashes`]). Out:
//!      references.
//!
//! # How it grows
//! Linear hashing (Litwin, 1980): buckets split one at a time, in a fixed order, as records are
//! added, so that no insertion ever pays for more than one bucket's split; and merge back as
//! records go. With `2^level + split` buckets, the first `split` prefixes of `level` bits have been
//! split in two. Unlike the textbook's, buckets hold the hashes with one *prefix*, so that a scan
//! can walk them in the order of hashes, and buckets that split and merge meanwhile stay where the
//! scan has, or has not, been:
//!
//! ```text
//! level 1, split 1: three buckets
//!   prefix   00    01    1
//!   storage   0     2    1        the lower half of a split stays, the upper half is new, at the end
//! ```
//! The prefix that is split last has the highest storage number, so merging frees the end.
//!
//! Invariants:
//! - A reference is in the bucket of its hash's prefix, or in a cell of that bucket's chain.
//! - A bucket with a chain is full, and so are all cells of the chain but the first.

use crate::arena::RecordRef;
use crate::bucket::{BUCKET_SLOTS, Line};
use crate::hash::KeyHash;
use crate::pool::{PAGE_BUCKETS, Pool};
use crate::prefetch::prefetch;

/// References a bucket has on average when the next one is split: 11 of 12. Overflow cells are
/// small, so a high load costs little, and an index line that is half empty costs twice.
pub(crate) const SPLIT_LOAD: usize = 11;

/// References a bucket has on average when the last one is merged: half of it, so that a partition
/// whose size swings does not split and merge all the time.
const MERGE_LOAD: usize = 5;

/// Who knows the records that an index refers to.
pub(crate) trait Hashes {
    /// The hash of a record's key.
    fn hash(&self, reference: RecordRef) -> KeyHash;
    /// Asks the processor for a record whose hash is wanted soon.
    fn prefetch(&self, reference: RecordRef);
}

/// Where in an index a reference stands; good until the index changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    line: LineNumber,
    slot: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineNumber {
    Bucket(u32),
    Cell(u32),
}

/// One partition's index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The pool's page for each four buckets; empty: no buckets yet.
    pages: Vec<u32>,
    level: u32,
    split: u32,
    entries: u32,
}

impl Index {
    /// How many references there are.
    #[inline]
    pub(crate) const fn entries(&self) -> usize {
        self.entries as usize
    }

    /// Finds the reference with `hash` of which `look` makes something, and returns that.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        pool: &Pool,
        hash: KeyHash,
        mut look: impl FnMut(RecordRef) -> Option<T>,
    ) -> Option<(Place, T)> {
        let number = self.bucket_of(hash)?;
        let tag = hash.tag();
        let bucket = pool.bucket(number);
        let mut line = LineNumber::Bucket(number);
        let mut slots = bucket.matches(tag);
        let mut references = bucket.references();
        let mut link = bucket.link();
        // One loop over both kinds of lines, so that there is one place where `look` is called and
        // the compiler puts it in there.
        loop {
            for slot in slots {
                if let Some(found) = look(RecordRef(u32::from_le_bytes(references[slot]))) {
                    return Some((
                        Place {
                            line,
                            slot: slot as u8,
                        },
                        found,
                    ));
                }
            }
            if link == 0 {
                return None;
            }
            let cell = pool.cell(link);
            line = LineNumber::Cell(link);
            slots = cell.matches(tag);
            references = cell.references();
            link = cell.link();
        }
    }

    /// Asks the processor for the bucket of `hash`.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &Pool, hash: KeyHash) {
        if let Some(number) = self.bucket_of(hash) {
            prefetch(pool.bucket(number), 0);
        }
    }

    /// Calls `f` with the references that may be for `hash`, as far as tags can tell.
    #[inline]
    pub(crate) fn candidates(&self, pool: &Pool, hash: KeyHash, mut f: impl FnMut(RecordRef)) {
        let _ = self.find(pool, hash, |reference| {
            f(reference);
            // Tags rarely agree by chance, and looking further costs a miss for a chain.
            Some(())
        });
    }

    /// Adds a reference.
    pub(crate) fn insert(
        &mut self,
        pool: &mut Pool,
        hash: KeyHash,
        reference: RecordRef,
        hashes: &impl Hashes,
    ) {
        let number = match self.bucket_of(hash) {
            Some(number) => number,
            None => {
                self.pages.push(pool.take_page());
                self.bucket(0)
            }
        };
        append(pool, number, hash.tag(), reference.0);
        self.entries += 1;
        if self.entries() > self.buckets() as usize * SPLIT_LOAD {
            self.split_one(pool, hashes);
        }
    }

    /// Makes `place` refer to `reference` instead.
    #[inline]
    pub(crate) fn replace(&self, pool: &mut Pool, place: Place, reference: RecordRef) {
        let slot = usize::from(place.slot);
        match place.line {
            LineNumber::Bucket(number) => {
                let bucket = pool.bucket_mut(number);
                bucket.set(slot, bucket.tag(slot), reference.0);
            }
            LineNumber::Cell(number) => {
                let cell = pool.cell_mut(number);
                cell.set(slot, cell.tag(slot), reference.0);
            }
        }
    }

    /// Removes the reference for `hash` at `place`.
    pub(crate) fn remove(&mut self, pool: &mut Pool, hash: KeyHash, place: Place) {
        let Some(number) = self.bucket_of(hash) else {
            return;
        };
        // The hole is filled from the first cell of the chain, which alone may have free slots.
        let mut filler = (0, 0);
        let head = pool.bucket(number).link();
        if head != 0 {
            let cell = pool.cell_mut(head);
            let at_place = if place.line == LineNumber::Cell(head) {
                place.slot
            } else {
                u8::MAX
            };
            let last = cell
                .taken()
                .filter(|&slot| slot != usize::from(at_place))
                .last();
            match last {
                Some(slot) => {
                    filler = (cell.tag(slot), cell.reference(slot));
                    cell.set(slot, 0, 0);
                }
                None => assert!(at_place != u8::MAX, "an empty cell is in a chain"),
            }
        }
        let slot = usize::from(place.slot);
        match place.line {
            LineNumber::Bucket(number) => pool.bucket_mut(number).set(slot, filler.0, filler.1),
            LineNumber::Cell(cell) => pool.cell_mut(cell).set(slot, filler.0, filler.1),
        }
        if head != 0 && pool.cell(head).taken().count() == 0 {
            let next = pool.cell(head).link();
            pool.bucket_mut(number).set_link(next);
            pool.free_cell(head);
        }
        self.entries -= 1;
        if self.entries == 0 {
            self.free_all(pool);
        } else if self.entries() < (self.buckets() as usize - 1) * MERGE_LOAD {
            self.merge_one(pool);
        }
    }

    /// Calls `f` with every reference in the bucket of `position`, whose hashes need not be at or
    /// after it, and returns where the next bucket starts; `None` after the last.
    pub(crate) fn visit_bucket(
        &self,
        pool: &Pool,
        position: KeyHash,
        mut f: impl FnMut(RecordRef),
    ) -> Option<KeyHash> {
        let number = self.bucket_of(position)?;
        for_each(pool, number, |_, reference| f(RecordRef(reference)));
        let (prefix, depth) = self.prefix_of(position);
        let next = prefix + 1;
        (next >> depth == 0).then(|| KeyHash(next << (64 - depth)))
    }

    /// Takes the last bucket out of the index, calling `f` with its references. The index is only
    /// good for taking the rest then. Returns false when nothing is left.
    pub(crate) fn take_bucket(&mut self, pool: &mut Pool, mut f: impl FnMut(RecordRef)) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        let last = self.buckets() - 1;
        let number = self.bucket(last);
        for_each(pool, number, |_, reference| f(RecordRef(reference)));
        let mut entries = self.entries;
        clear(pool, number, |_, _| entries -= 1);
        self.entries = entries;
        self.shrink(pool);
        true
    }

    /// Panics unless the invariants hold; calls `f` with each reference and its bucket's prefix and
    /// depth for the tag that it should have.
    #[cfg(test)]
    pub(crate) fn check(&self, pool: &Pool, mut f: impl FnMut(RecordRef, u64, u32) -> u8) {
        let mut entries = 0;
        let mut next = (!self.pages.is_empty()).then_some(KeyHash(0));
        while let Some(position) = next {
            let (prefix, depth) = self.prefix_of(position);
            let number = self.bucket_of(position).unwrap();
            for_each(pool, number, |tag, reference| {
                assert_eq!(f(RecordRef(reference), prefix, depth), tag);
                entries += 1;
            });
            let bucket = pool.bucket(number);
            let mut link = bucket.link();
            assert!(
                link == 0 || bucket.matches(0).first().is_none(),
                "a hole before a chain"
            );
            while link != 0 {
                let cell = pool.cell(link);
                link = cell.link();
                assert_ne!(cell.taken().count(), 0, "an empty cell");
                let next_is_full = link == 0 || pool.cell(link).matches(0).first().is_none();
                assert!(next_is_full, "a hole within a chain");
            }
            next = self.visit_bucket(pool, position, |_| {});
        }
        assert_eq!(self.entries, entries);
        let pages = if entries == 0 {
            0
        } else {
            self.buckets().div_ceil(PAGE_BUCKETS)
        };
        assert_eq!(self.pages.len(), pages as usize);
    }

    /// Gives all buckets back; the index must be empty.
    fn free_all(&mut self, pool: &mut Pool) {
        assert_eq!(self.entries, 0, "references are lost");
        for page in self.pages.drain(..) {
            pool.free_page(page);
        }
        *self = Self::default();
    }

    #[inline]
    const fn buckets(&self) -> u32 {
        (1 << self.level) + self.split
    }

    /// The prefix whose bucket has `hash`, and its length in bits.
    #[inline]
    const fn prefix_of(&self, hash: KeyHash) -> (u64, u32) {
        let prefix = hash.prefix(self.level);
        if prefix < self.split as u64 {
            (hash.prefix(self.level + 1), self.level + 1)
        } else {
            (prefix, self.level)
        }
    }

    /// The number in the pool of the bucket for `hash`; `None` if the index has no buckets.
    #[inline]
    fn bucket_of(&self, hash: KeyHash) -> Option<u32> {
        let (prefix, depth) = self.prefix_of(hash);
        let storage = storage_of(prefix, depth);
        let page = self.pages.get((storage / PAGE_BUCKETS) as usize)?;
        Some(page * PAGE_BUCKETS + storage % PAGE_BUCKETS)
    }

    /// The number in the pool of the bucket with storage number `storage`.
    fn bucket(&self, storage: u32) -> u32 {
        self.pages[(storage / PAGE_BUCKETS) as usize] * PAGE_BUCKETS + storage % PAGE_BUCKETS
    }

    fn split_one(&mut self, pool: &mut Pool, hashes: &impl Hashes) {
        let lower = self.bucket(storage_of(u64::from(self.split), self.level));
        let storage = self.buckets();
        if storage.is_multiple_of(PAGE_BUCKETS) {
            self.pages.push(pool.take_page());
        }
        let upper = self.bucket(storage);
        let mut moving = Vec::with_capacity(2 * BUCKET_SLOTS);
        clear(pool, lower, |tag, reference| {
            hashes.prefetch(RecordRef(reference));
            moving.push((tag, reference));
        });
        let depth = self.level + 1;
        for (tag, reference) in moving {
            let is_upper = hashes.hash(RecordRef(reference)).prefix(depth) & 1 == 1;
            append(pool, if is_upper { upper } else { lower }, tag, reference);
        }
        self.split += 1;
        if self.split == 1 << self.level {
            self.level += 1;
            self.split = 0;
        }
    }

    fn merge_one(&mut self, pool: &mut Pool) {
        let upper = self.bucket(self.buckets() - 1);
        let mut moving = Vec::with_capacity(BUCKET_SLOTS);
        clear(pool, upper, |tag, reference| moving.push((tag, reference)));
        self.shrink(pool);
        let lower = self.bucket(storage_of(u64::from(self.split), self.level));
        for (tag, reference) in moving {
            append(pool, lower, tag, reference);
        }
    }

    /// Takes the last bucket, which is empty, off the end.
    fn shrink(&mut self, pool: &mut Pool) {
        if self.buckets() == 1 {
            return self.free_all(pool);
        }
        if self.split == 0 {
            self.level -= 1;
            self.split = 1 << self.level;
        }
        self.split -= 1;
        if self.buckets().is_multiple_of(PAGE_BUCKETS)
            && let Some(page) = self.pages.pop()
        {
            pool.free_page(page);
        }
    }
}

/// The storage number of the bucket for `prefix` of `depth` bits.
///
/// The lower half of a split keeps the number, so trailing zeros of a prefix do not matter; the
/// upper half of the split of prefix `p` of `d` bits got `2^d + p`. Prefix 0 is bucket 0.
#[inline]
const fn storage_of(prefix: u64, depth: u32) -> u32 {
    if prefix == 0 {
        return 0;
    }
    let zeros = prefix.trailing_zeros();
    (1 << (depth - zeros - 1)) + (prefix >> (zeros + 1)) as u32
}

/// Calls `f` with the tags and references of a bucket and its chain.
fn for_each(pool: &Pool, number: u32, mut f: impl FnMut(u8, u32)) {
    let bucket = pool.bucket(number);
    for slot in bucket.taken() {
        f(bucket.tag(slot), bucket.reference(slot));
    }
    let mut link = bucket.link();
    while link != 0 {
        let cell = pool.cell(link);
        for slot in cell.taken() {
            f(cell.tag(slot), cell.reference(slot));
        }
        link = cell.link();
    }
}

/// As [`for_each`], and empties the bucket.
fn clear(pool: &mut Pool, number: u32, f: impl FnMut(u8, u32)) {
    for_each(pool, number, f);
    let bucket = pool.bucket_mut(number);
    let mut link = bucket.link();
    bucket.fill(0);
    while link != 0 {
        let next = pool.cell(link).link();
        pool.free_cell(link);
        link = next;
    }
}

/// Adds a reference to a bucket or its chain.
fn append(pool: &mut Pool, number: u32, tag: u8, reference: u32) {
    let bucket = pool.bucket_mut(number);
    if let Some(slot) = bucket.matches(0).first() {
        return bucket.set(slot, tag, reference);
    }
    let head = bucket.link();
    if head != 0 {
        let cell = pool.cell_mut(head);
        if let Some(slot) = cell.matches(0).first() {
            return cell.set(slot, tag, reference);
        }
    }
    let fresh = pool.take_cell();
    let cell = pool.cell_mut(fresh);
    cell.set(0, tag, reference);
    cell.set_link(head);
    pool.bucket_mut(number).set_link(fresh);
}

#[cfg(test)]
#[path = "index_test.rs"]
mod index_test;
