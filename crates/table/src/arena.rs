//! The arena: where the records of a table lie, one behind the other, in chunks.
//!
//! In:  sizes, [`RecordRef`]s. Out: bytes at a `RecordRef`.
//!
//! Invariants:
//! - Every chunk is, from its start to `used`, a run of records and dead space without gaps, so
//!   that it can be walked.
//! - `live` of a chunk is the bytes of its records, and a chunk other than the current one with
//!   none is given back.
//! - A [`Walk`] stands at the start of a record or of dead space, whatever happens around it.
//!
//! Not here: what a record says (`record`), who refers to it (`index`), which chunk is cleaned when
//! (`compact`).

use crate::block::Block;
use crate::full::Full;
use crate::holes::Holes;
use crate::prefetch::prefetch;
use crate::record::{self, Occupant, UNIT_BYTES};

/// Bytes of a chunk: a huge page.
pub(crate) const CHUNK_BYTES: usize = 1 << 21;

/// From so many chunks on, new ones are huge pages. A huge page takes memory as a whole when it is
/// first touched: that is an eighth of such an arena at most, but would be all of a small one.
const HUGE_FROM_CHUNKS: usize = 8;

/// Records larger than this get a chunk of their own. A fourth, so that at most a fourth of a
/// shared chunk stays unused at its end (unused, so untouched), and that a record alone in its
/// chunk does not use up more than four times its length of what a [`RecordRef`] can tell apart.
pub(crate) const SHARED_RECORD_BYTES_MAX: usize = CHUNK_BYTES / 4;

/// Chunks that an arena with a bound is made of at least, so that the one which is being emptied, whose
/// records stand twice meanwhile, is a small part of it.
const BOUND_CHUNKS: usize = 128;

/// Bytes of a chunk at least, however small the bound.
const CHUNK_BYTES_MIN: usize = 1 << 16;

/// Dead bytes are worth compacting when they are more than this share of the live ones, and half a
/// chunk.
const DEAD_SHARE: usize = 8;

/// The same where a bound leaves less, at the utmost: below it emptying chunks would cost too much.
const DEAD_SHARE_MAX: usize = 32;

const CACHE_LINE_BYTES: usize = 64;

/// The average size of records is that of about the last 2^7.
const AVERAGE_BITS: u32 = 7;

const UNITS_PER_CHUNK_BITS: u32 = (CHUNK_BYTES / UNIT_BYTES).trailing_zeros();

/// Most chunks that a [`RecordRef`] can tell apart: 32 GiB of records.
const CHUNKS_MAX: usize = 1 << (32 - UNITS_PER_CHUNK_BITS);

/// Bytes that references can tell apart.
pub(crate) const ADDRESSABLE_BYTES: usize = CHUNKS_MAX * CHUNK_BYTES;

/// Emptied chunks that are kept for the next records, so that a table which is overwritten does not
/// ask the operating system for each.
const SPARE_CHUNKS_MAX: usize = 1;

/// Where a record starts: chunk and offset, in units of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordRef(pub(crate) u32);

impl RecordRef {
    #[inline]
    fn new(chunk: usize, offset: usize) -> Self {
        Self((chunk as u32) << UNITS_PER_CHUNK_BITS | (offset / UNIT_BYTES) as u32)
    }

    #[inline]
    pub(crate) const fn chunk(self) -> usize {
        (self.0 >> UNITS_PER_CHUNK_BITS) as usize
    }

    #[inline]
    pub(crate) const fn offset(self) -> usize {
        (self.0 as usize & ((1 << UNITS_PER_CHUNK_BITS) - 1)) * UNIT_BYTES
    }
}

/// Who is walking the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walker {
    /// Compaction, which moves a chunk's records elsewhere.
    Compaction = 0,
    /// The clock hand of eviction.
    Clock = 1,
}

/// How far a walker has come: chunk and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) chunk: usize,
    pub(crate) offset: usize,
}

#[derive(Debug)]
struct Chunk {
    /// `None`: the chunk's number is free.
    block: Option<Block>,
    /// Whether it is for many records.
    is_shared: bool,
    used: usize,
    live: usize,
}

impl Chunk {
    const FREE: Self = Self {
        block: None,
        is_shared: false,
        used: 0,
        live: 0,
    };
}

/// All records of a table.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    /// The chunk that new records go to.
    current: Option<usize>,
    free_numbers: Vec<u32>,
    spare: Vec<Block>,
    holes: Holes,
    /// A running average of the sizes asked for, in 2^-[`AVERAGE_BITS`] bytes.
    size_average: usize,
    /// Bytes that records and dead space should take together at most; `usize::MAX`: as many as come.
    bound: usize,
    walks: [Option<Walk>; 2],
    /// Sums over all chunks.
    used: usize,
    live: usize,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            current: None,
            free_numbers: Vec::new(),
            spare: Vec::new(),
            holes: Holes::new(),
            size_average: 0,
            bound: usize::MAX,
            walks: [None; 2],
            used: 0,
            live: 0,
        }
    }

    /// What records and dead space should take together at most. It is compaction that sees to it: the live records of
    /// an arena at its bound have to stay so far below it as the caller wants to leave to dead space.
    pub(crate) fn set_bound(&mut self, bound: usize) {
        self.bound = bound;
        if bound < usize::MAX {
            self.spare.clear();
        }
    }

    /// Bytes of the next chunk that records share.
    fn chunk_bytes(&self) -> usize {
        // Keys alone may be more than the bound of a table that keeps its values in the log.
        let part = self.bound.max(self.used) / BOUND_CHUNKS;
        part.min(CHUNK_BYTES)
            .next_power_of_two()
            .clamp(CHUNK_BYTES_MIN, CHUNK_BYTES)
    }

    /// Whether there is so much dead space that compaction should win it back: an eighth of what is live, or less
    /// where the bound leaves less.
    #[inline]
    pub(crate) fn wants_compaction(&self) -> bool {
        let dead = self.dead();
        dead > CHUNK_BYTES_MIN && dead > self.dead_max()
    }

    fn dead_max(&self) -> usize {
        let usual = self.live / DEAD_SHARE + CHUNK_BYTES / 2;
        if self.live > self.bound {
            // It cannot be kept, however much is won back.
            return usual;
        }
        // One chunk is being emptied, whose records stand twice meanwhile, and one is being filled.
        let left = self
            .bound
            .saturating_sub(self.live + 2 * self.chunk_bytes());
        usual.min(left.max(self.live / DEAD_SHARE_MAX))
    }

    /// Bytes to walk for each byte that is written, to win back as much as that may leave dead. The chunk with the largest
    /// share of dead bytes has at least the average share.
    #[inline]
    pub(crate) fn walked_per_written(&self) -> usize {
        (self.used / self.dead().max(1)).max(DEAD_SHARE) + 1
    }

    /// Bytes of records.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Bytes of records and of dead space.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Bytes of memory that the chunks have touched or keep to touch again.
    pub(crate) fn memory(&self) -> usize {
        self.used
            + self.spare.len() * CHUNK_BYTES
            + self.chunks.capacity() * size_of::<Chunk>()
            + self.holes.memory()
    }

    /// Bytes of the address space that chunks take, whatever part of them is used.
    pub(crate) fn addressed(&self) -> usize {
        (self.chunks.len() - self.free_numbers.len()) * CHUNK_BYTES
    }

    /// Bytes from the record's start to the end of its chunk.
    #[inline]
    pub(crate) fn at(&self, reference: RecordRef) -> &[u8] {
        match &self.chunks[reference.chunk()].block {
            Some(block) => &block[reference.offset()..],
            None => no_chunk(reference),
        }
    }

    /// As [`Self::at`], to write.
    #[inline]
    pub(crate) fn at_mut(&mut self, reference: RecordRef) -> &mut [u8] {
        match &mut self.chunks[reference.chunk()].block {
            Some(block) => &mut block[reference.offset()..],
            None => no_chunk(reference),
        }
    }

    /// Asks the processor for the cache lines that a record of average size takes, up to four: it
    /// fetches those that follow by itself.
    #[inline]
    pub(crate) fn prefetch(&self, reference: RecordRef) {
        let bytes = self.at(reference);
        // A record starts anywhere in its first line.
        let end = (self.size_average >> AVERAGE_BITS) + CACHE_LINE_BYTES - UNIT_BYTES;
        for line in 0..end.div_ceil(CACHE_LINE_BYTES).min(4) {
            prefetch(bytes, line * CACHE_LINE_BYTES);
        }
    }

    /// Asks the processor for the cache line of a record's header.
    #[inline]
    pub(crate) fn prefetch_header(&self, reference: RecordRef) {
        prefetch(self.at(reference), 0);
    }

    /// Takes `size` bytes (a multiple of 8) for a record, which the caller writes at once.
    ///
    /// # Errors
    /// [`Full`]; nothing changed then.
    pub(crate) fn allocate(&mut self, size: usize) -> Result<RecordRef, Full> {
        assert!(size.is_multiple_of(UNIT_BYTES), "a size of {size} bytes");
        self.size_average += size;
        self.size_average -= self.size_average >> AVERAGE_BITS;
        if let Some(hole) = self.holes.take(size) {
            debug_assert_eq!(record::read(self.at(hole)), Occupant::Dead(size));
            self.chunks[hole.chunk()].live += size;
            self.live += size;
            return Ok(hole);
        }
        let (chunk, offset) = if size > self.chunk_bytes() / 4 {
            (self.add_chunk(size, false)?, 0)
        } else {
            match self.current {
                Some(current) if self.chunks[current].used + size <= self.capacity(current) => {
                    (current, self.chunks[current].used)
                }
                _ => {
                    let next = self.add_chunk(self.chunk_bytes(), true)?;
                    if let Some(last) = self.current.replace(next)
                        && self.chunks[last].live == 0
                    {
                        self.release(last);
                    }
                    (next, 0)
                }
            }
        };
        self.chunks[chunk].used += size;
        self.chunks[chunk].live += size;
        self.used += size;
        self.live += size;
        Ok(RecordRef::new(chunk, offset))
    }

    /// Gives back the `size` bytes of the record at `reference`.
    pub(crate) fn free(&mut self, reference: RecordRef, size: usize) {
        record::write_dead(self.at_mut(reference), size);
        let live = &mut self.chunks[reference.chunk()].live;
        assert!(*live >= size, "{size} bytes of {live} are freed");
        *live -= size;
        self.live -= size;
        if self.chunks[reference.chunk()].live == 0 {
            self.release(reference.chunk());
        } else {
            self.note_hole(reference, size);
        }
    }

    /// Remembers dead space for records of its size, unless it is about to go away with its chunk.
    fn note_hole(&mut self, place: RecordRef, size: usize) {
        let compacted = self.walk(Walker::Compaction).map(|walk| walk.chunk);
        if compacted != Some(place.chunk()) {
            self.holes.push(place, size);
        }
    }

    /// Whether the record at `reference` can take `size` bytes instead of `size_before` where it
    /// is.
    #[inline]
    pub(crate) fn fits(&self, reference: RecordRef, size_before: usize, size: usize) -> bool {
        if size == size_before {
            return true;
        }
        // What a record alone in its chunk would leave free there, nothing could win back.
        let is_shared = self.chunks[reference.chunk()].is_shared;
        is_shared && (size < size_before || self.room(reference, size_before, size).is_some())
    }

    /// Makes the record at `reference`, which fits, take `size` bytes instead of `size_before`; the
    /// bytes that it loses are dead, and those that it gains were dead or unused.
    pub(crate) fn resize(&mut self, reference: RecordRef, size_before: usize, size: usize) {
        if size == size_before {
            return;
        }
        let number = reference.chunk();
        let end = reference.offset() + size;
        let room_end = if size < size_before {
            Some(reference.offset() + size_before)
        } else {
            self.room(reference, size_before, size)
        };
        let Some(room_end) = room_end else {
            panic!(
                "record {} does not fit in {size} bytes where it is",
                reference.0
            )
        };
        self.forget_holes(reference, size_before, room_end);
        let chunk = &mut self.chunks[number];
        if room_end > chunk.used {
            self.used += room_end - chunk.used;
            chunk.used = room_end;
        }
        chunk.live = chunk.live - size_before + size;
        self.live = self.live - size_before + size;
        if room_end > end {
            let rest = RecordRef::new(number, end);
            record::write_dead(self.at_mut(rest), room_end - end);
            self.note_hole(rest, room_end - end);
        }
        for walk in self.walks.iter_mut().flatten() {
            // What the walker was about to read is inside the record now.
            if walk.chunk == number && walk.offset > reference.offset() && walk.offset < end {
                walk.offset = end;
            }
        }
    }

    /// Where the dead space behind a record ends that is needed to grow it to `size` bytes, or what
    /// the current chunk has not used; `None` if there is not so much.
    fn room(&self, reference: RecordRef, size_before: usize, size: usize) -> Option<usize> {
        let number = reference.chunk();
        let wanted = reference.offset() + size;
        let used = self.chunks[number].used;
        let mut end = reference.offset() + size_before;
        while end < wanted && end < used {
            match record::read(self.at(RecordRef::new(number, end))) {
                Occupant::Dead(bytes) => end += bytes,
                Occupant::Record(_) => return None,
            }
        }
        if end >= wanted {
            return Some(end);
        }
        (self.current == Some(number) && wanted <= self.capacity(number)).then_some(wanted)
    }

    /// Bytes that the chunk has room for.
    fn capacity(&self, number: usize) -> usize {
        self.chunks[number]
            .block
            .as_ref()
            .map_or(0, |block| block.len())
    }

    /// Forgets the dead space from the end of a record to `room_end`.
    fn forget_holes(&mut self, reference: RecordRef, size: usize, room_end: usize) {
        let number = reference.chunk();
        let mut at = reference.offset() + size;
        while at < room_end.min(self.chunks[number].used) {
            let place = RecordRef::new(number, at);
            let Occupant::Dead(bytes) = record::read(self.at(place)) else {
                break;
            };
            self.holes.forget(place, bytes);
            at += bytes;
        }
    }

    /// Copies the first `len` bytes of one record's space to another's.
    pub(crate) fn copy(&mut self, from: RecordRef, to: RecordRef, len: usize) {
        let (start, target) = (from.offset(), to.offset());
        match self.chunks.get_disjoint_mut([from.chunk(), to.chunk()]) {
            Ok(
                [
                    Chunk {
                        block: Some(from), ..
                    },
                    Chunk {
                        block: Some(to), ..
                    },
                ],
            ) => {
                to[target..target + len].copy_from_slice(&from[start..start + len]);
            }
            _ => {
                if let Some(block) = &mut self.chunks[from.chunk()].block {
                    block.copy_within(start..start + len, target);
                }
            }
        }
    }

    /// The memory of all chunks.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Block> {
        let chunks = self.chunks.into_iter().filter_map(|chunk| chunk.block);
        chunks.chain(self.spare)
    }

    /// Where `walker` is; `None` if it has to begin somewhere.
    pub(crate) fn walk(&self, walker: Walker) -> Option<Walk> {
        self.walks[walker as usize]
    }

    /// Puts `walker` somewhere, or nowhere.
    pub(crate) fn set_walk(&mut self, walker: Walker, walk: Option<Walk>) {
        self.walks[walker as usize] = walk;
    }

    /// Begins to empty the chunk with the largest share of dead bytes; nothing is added to it from here on.
    pub(crate) fn begin_compaction(&mut self) -> Option<Walk> {
        assert_eq!(self.walk(Walker::Compaction), None, "one at a time");
        let walk = Walk {
            chunk: self.emptiest_chunk()?,
            offset: 0,
        };
        self.holes.forget_chunk(walk.chunk);
        self.set_walk(Walker::Compaction, Some(walk));
        Some(walk)
    }

    /// What stands where `walk` is, and its place; `None` at the end of the chunk.
    #[inline]
    pub(crate) fn occupant(&self, walk: Walk) -> Option<(RecordRef, Occupant)> {
        if walk.offset >= self.chunks.get(walk.chunk)?.used {
            return None;
        }
        let reference = RecordRef::new(walk.chunk, walk.offset);
        Some((reference, record::read(self.at(reference))))
    }

    /// The first chunk in use at or after number `from`.
    pub(crate) fn chunk_from(&self, from: usize) -> Option<usize> {
        (from..self.chunks.len()).find(|&number| self.chunks[number].used > 0)
    }

    /// The chunk with the largest share of dead bytes, of those that are shared and not in other use.
    fn emptiest_chunk(&self) -> Option<usize> {
        let compacted = self.walk(Walker::Compaction).map(|walk| walk.chunk);
        let is_free = |number| self.current != Some(number) && compacted != Some(number);
        let chunks = self.chunks.iter().enumerate();
        let worth_while = chunks.filter(|(number, chunk)| {
            chunk.is_shared && is_free(*number) && chunk.live < chunk.used
        });
        worth_while
            .min_by(|(_, a), (_, b)| (a.live * b.used).cmp(&(b.live * a.used)))
            .map(|(number, _)| number)
    }

    /// Dead bytes, which compaction could win back.
    pub(crate) fn dead(&self) -> usize {
        self.used - self.live
    }

    /// Panics unless all places that are remembered as dead are.
    #[cfg(test)]
    pub(crate) fn check_holes(&self) {
        for (place, size) in self.holes.places() {
            let is_used = place.offset() < self.chunks[place.chunk()].used;
            assert!(is_used, "a hole past the end of chunk {}", place.chunk());
            assert_eq!(record::read(self.at(place)), Occupant::Dead(size));
        }
    }

    /// Panics unless a walk that has come to a chunk's end counted what the chunk says.
    #[cfg(test)]
    pub(crate) fn check_chunk(&self, end: Walk, live: usize) {
        let chunk = &self.chunks[end.chunk];
        assert_eq!(
            (chunk.used, chunk.live),
            (end.offset, live),
            "chunk {}",
            end.chunk
        );
        assert!(
            live > 0,
            "chunk {} is empty and was not given back",
            end.chunk
        );
    }

    fn add_chunk(&mut self, size: usize, is_shared: bool) -> Result<usize, Full> {
        let number = match self.free_numbers.last() {
            Some(&number) => number as usize,
            None if self.chunks.len() < CHUNKS_MAX => self.chunks.len(),
            None => return Err(Full::Arena),
        };
        let is_whole = is_shared && size == CHUNK_BYTES;
        let spare = if is_whole { self.spare.pop() } else { None };
        let block = match spare {
            Some(block) => block,
            None => {
                let is_huge = is_whole && self.chunks.len() >= HUGE_FROM_CHUNKS;
                Block::new(size, is_huge).ok_or(Full::Memory)?
            }
        };
        let chunk = Chunk {
            block: Some(block),
            is_shared,
            used: 0,
            live: 0,
        };
        if number == self.chunks.len() {
            self.chunks.push(chunk);
        } else {
            self.free_numbers.pop();
            self.chunks[number] = chunk;
        }
        Ok(number)
    }

    /// Gives a chunk without records back, or begins it again if it is the current one.
    fn release(&mut self, number: usize) {
        let chunk = &mut self.chunks[number];
        assert_eq!(chunk.live, 0, "chunk {number} has records");
        assert!(chunk.block.is_some(), "chunk {number} was given back");
        if chunk.is_shared {
            self.holes.forget_chunk(number);
        }
        self.used -= chunk.used;
        if self.current == Some(number) {
            chunk.used = 0;
        } else {
            let is_shared = chunk.is_shared;
            let block = std::mem::replace(chunk, Chunk::FREE).block;
            self.free_numbers.push(number as u32);
            // What a bound leaves is for records, not for a chunk that nobody uses.
            let may_keep = self.bound == usize::MAX && self.spare.len() < SPARE_CHUNKS_MAX;
            self.spare
                .extend(block.filter(|it| is_shared && may_keep && it.len() == CHUNK_BYTES));
        }
        for walk in &mut self.walks {
            if walk.is_some_and(|walk| walk.chunk == number) {
                *walk = None;
            }
        }
    }
}

#[cold]
#[inline(never)]
fn no_chunk(reference: RecordRef) -> ! {
    panic!(
        "the index leads to record {}, in a chunk that was given back",
        reference.0
    )
}

#[cfg(test)]
#[path = "arena_test.rs"]
mod arena_test;
