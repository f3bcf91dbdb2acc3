//! A table on one brick: what [`Table`] is made of, and its reads and writes of single keys.
//!
//! In:  committed operations, in any order that replay or catch-up brings. Out: records.
//!
//! Invariants:
//! - A record applies only over one with a lower op, so that the order does not matter.
//! - Every byte and record that comes or goes is counted once: by partition, by segment, in all.
//!
//! Not here: scans (`scan`), compaction (`compact`), clearing (`clear`), eviction (`evict`), expiry
//! (`due`); each is another `impl Table`.

use crate::arena::{Arena, RecordRef};
use crate::expiry::{Entry, Timers};
use crate::full::Full;
use crate::hash::{KeyHash, KeyHasher};
use crate::index::{Hashes, Index, Place};
use crate::pool::Pool;
use crate::record::{self, Expiry, Header, Layout, State};
use crate::segments::Segments;
use brickyard_types::{Medium, Op, Position, SegmentId, UnixMillis, record::encoded_len};

/// What a table is, as far as its memory is concerned; fixed for its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The seed of the table's key hashes.
    pub seed: u64,
    /// Where values live.
    pub medium: Medium,
    /// Whether [`Table::evict_step`] will be called: then reads mark what they read, which costs a
    /// write to memory now and then.
    pub evicts: bool,
}

/// A partition of the table on this brick: the table's own dense number of it, below 65,536, given by
/// [`Table::add_partition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalPartition(pub u32);

impl LocalPartition {
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A record's value: here, or in the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The bytes.
    Hot(&'a [u8]),
    /// They are to be read from the record at its position in the log.
    Cold {
        /// How many bytes the value has.
        len: usize,
    },
}

impl Value<'_> {
    /// Length in bytes, wherever they are.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Hot(bytes) => bytes.len(),
            Self::Cold { len } => *len,
        }
    }

    /// Whether the value is the empty string.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A key's record as it is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The value, or how long it is.
    pub value: Value<'a>,
    /// When the key is gone; it may be past. `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The op that wrote the record.
    pub op: Op,
    /// Whether the value was built by a partial write.
    pub is_raw: bool,
    /// Where the record is in the log; of a table of medium `ram` the segment only.
    pub position: Position,
}

/// A record to put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put<'a> {
    /// The value. A table of medium `disk` may take it as [`Value::Cold`].
    pub value: Value<'a>,
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The op that writes the record, below 2^48.
    pub op: Op,
    /// Where the record is in the log; [`Position::NONE`] if in none.
    pub position: Position,
    /// Whether the value was built by a partial write.
    pub is_raw: bool,
}

/// What has become of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The key was not in the table.
    Inserted,
    /// The key had a record, or a tombstone, with a lower op.
    Replaced(Replaced),
    /// Nothing: the table has the key with the same op or a higher one, or was cleared at one.
    Stale,
}

impl Applied {
    /// The record that made way, if there was one.
    #[inline]
    #[must_use]
    pub const fn replaced(self) -> Option<Replaced> {
        match self {
            Self::Replaced(replaced) => Some(replaced),
            Self::Inserted | Self::Stale => None,
        }
    }
}

/// A record of the log that is no longer live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The segment that it is in; 0 if in none.
    pub segment: SegmentId,
    /// Its length there in bytes; of [`Table::poll_replaced`], the sum over several.
    pub log_len: usize,
}

/// One partition's share of the table.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    pub(crate) index: Index,
    /// Records other than tombstones.
    pub(crate) keys: u32,
    pub(crate) tombstones: u32,
    pub(crate) expiring: u32,
    pub(crate) expires_at_sum: u128,
    /// Every op up to here that is not in the table was cleared away.
    pub(crate) cleared: Op,
    /// The highest op that was ever put.
    pub(crate) op_max: Op,
}

/// Committed state of one table on one brick: the records of its partitions here.
///
/// - Time: a lookup is two cache misses at most, which [`Self::prefetch_bucket`] and
///   [`Self::prefetch_record`] overlap over a batch; a write besides moves the rest of the table along by a
///   few records (compaction, splits, sweeps), never by more.
/// - Memory: 16 bytes a record, up to 8 for alignment, some 7 of index, 8 for an expiry, and at most
///   an eighth of dead space.
#[derive(Debug)]
pub struct Table {
    pub(crate) layout: Layout,
    pub(crate) evicts: bool,
    pub(crate) hasher: KeyHasher,
    pub(crate) arena: Arena,
    pub(crate) pool: Pool,
    pub(crate) segments: Segments,
    pub(crate) timers: Timers,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) free_partitions: Vec<LocalPartition>,
    /// Indexes of partitions that were cleared or dropped, whose records are still being counted out.
    pub(crate) buried: Vec<Index>,
    /// What was counted out of them and not polled yet.
    pub(crate) replaced: Vec<Replaced>,
    /// Sums over all partitions.
    pub(crate) keys: usize,
    pub(crate) tombstones: usize,
    pub(crate) expiring: usize,
    pub(crate) expires_at_sum: u128,
}

/// What the index asks about records.
pub(crate) struct Records<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) layout: Layout,
    pub(crate) hasher: &'a KeyHasher,
}

impl Hashes for Records<'_> {
    fn hash(&self, reference: RecordRef) -> KeyHash {
        let bytes = self.arena.at(reference);
        self.hasher
            .hash(self.layout.key(record::header(bytes), bytes))
    }

    fn prefetch(&self, reference: RecordRef) {
        self.arena.prefetch_header(reference);
    }
}

/// What a write wants the record of a key to be.
struct Change<'a> {
    header: Header,
    value: &'a [u8],
    expiry: Option<Expiry>,
    position: Position,
}

impl Table {
    /// An empty table without partitions.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            layout: Layout::new(config.medium),
            evicts: config.evicts,
            hasher: KeyHasher::new(config.seed),
            arena: Arena::new(),
            pool: Pool::new(),
            segments: Segments::new(),
            timers: Timers::new(),
            partitions: Vec::new(),
            free_partitions: Vec::new(),
            buried: Vec::new(),
            replaced: Vec::new(),
            keys: 0,
            tombstones: 0,
            expiring: 0,
            expires_at_sum: 0,
        }
    }

    /// Changes [`Config::evicts`].
    pub const fn set_evicts(&mut self, evicts: bool) {
        self.evicts = evicts;
    }

    /// The hash of `key` in this table, which every call about the key wants.
    #[inline]
    #[must_use]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        self.hasher.hash(key)
    }

    /// Adds an empty partition and returns its number; numbers of dropped partitions are given again.
    ///
    /// # Panics
    /// If the table has 65,536 partitions on this brick already: a record has 16 bits for it.
    pub fn add_partition(&mut self) -> LocalPartition {
        if let Some(partition) = self.free_partitions.pop() {
            return partition;
        }
        let number = self.partitions.len();
        assert!(
            number <= usize::from(u16::MAX),
            "a brick takes 65536 partitions of a table"
        );
        self.partitions.push(Partition::default());
        LocalPartition(number as u32)
    }

    /// Asks the processor for the bucket in which `hash` would be.
    #[inline]
    pub fn prefetch_bucket(&self, partition: LocalPartition, hash: KeyHash) {
        self.partitions[partition.index()]
            .index
            .prefetch(&self.pool, hash);
    }

    /// Asks the processor for the record that `hash` probably leads to; to be called when the bucket has
    /// had time to arrive.
    #[inline]
    pub fn prefetch_record(&self, partition: LocalPartition, hash: KeyHash) {
        let index = &self.partitions[partition.index()].index;
        index.candidates(&self.pool, hash, |reference| self.arena.prefetch(reference));
    }

    /// The record of `key`, marked as used lately if the table evicts.
    #[inline]
    pub fn get(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<Found<'_>> {
        let (_, (reference, header)) = self.find(partition, hash, key)?;
        // Written only when it changes, so that reading does not dirty the cache line each time.
        if self.evicts && !header.is_referenced() {
            record::mark_referenced(self.arena.at_mut(reference), true);
        }
        self.found(reference, header)
    }

    /// As [`Self::get`], without a mark.
    #[inline]
    #[must_use]
    pub fn peek(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> Option<Found<'_>> {
        let (_, (reference, header)) = self.find(partition, hash, key)?;
        self.found(reference, header)
    }

    /// Whether `key` has a record; its time may be past.
    #[inline]
    #[must_use]
    pub fn contains(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> bool {
        self.peek(partition, hash, key).is_some()
    }

    /// Gives `key` the record `put`, unless the table has something newer.
    ///
    /// - Sizes: `key` up to 65,535 bytes, the value up to 128 MiB less one byte.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    ///
    /// # Panics
    /// If a size or the op is out of its bounds (a caller bug).
    pub fn put(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        put: &Put<'_>,
    ) -> Result<Applied, Full> {
        let (state, value) = match put.value {
            Value::Hot(bytes) => (State::Hot, bytes),
            Value::Cold { .. } => {
                assert!(
                    self.layout.has_offset(),
                    "a cold value in a table of medium ram"
                );
                (State::Cold, &[][..])
            }
        };
        let header = Header::new(state, put.value.len(), partition.0 as u16, put.op)
            .with_raw(put.is_raw)
            .with_referenced(self.evicts)
            .with_expiry(put.expires_at.is_some());
        let change = Change {
            header,
            value,
            expiry: put.expires_at.map(Expiry::new),
            position: put.position,
        };
        self.change(partition, hash, key, change)
    }

    /// Remembers that `key` was deleted by `op`, so that older records of it do not apply: for replay and
    /// catch-up, where they may still come. Invisible to everything but writes.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    ///
    /// # Panics
    /// As [`Self::put`].
    pub fn put_tombstone(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        position: Position,
    ) -> Result<Applied, Full> {
        let change = Change {
            header: Header::new(State::Tombstone, 0, partition.0 as u16, op),
            value: &[],
            expiry: None,
            position,
        };
        self.change(partition, hash, key, change)
    }

    /// Removes the record of `key`, if it has one with an op below `op`, and leaves nothing behind.
    pub fn remove(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Option<Replaced> {
        let (place, (reference, header)) = self.find(partition, hash, key)?;
        if header.op() >= op {
            return None;
        }
        let replaced = self.uncount(partition, reference, header);
        self.partitions[partition.index()]
            .index
            .remove(&mut self.pool, hash, place);
        let size = self.layout.size(header);
        self.arena.free(reference, size);
        self.tend(size);
        Some(replaced)
    }

    /// Notes that the record of `key` is at `to` in the log now, if it is still the one with `op` in
    /// segment `from`; returns whether it is.
    ///
    /// # Errors
    /// [`Full::Segments`]; nothing changed.
    pub fn relocate(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        from: SegmentId,
        to: Position,
    ) -> Result<bool, Full> {
        let Some((_, (reference, header))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if header.op() != op || self.segments.id(header.segment()) != from {
            return Ok(false);
        }
        let number = self.segments.number(to.segment)?;
        let log_len = log_len(header);
        self.segments.add(number, log_len);
        self.segments.subtract(header.segment(), log_len);
        let bytes = self.arena.at_mut(reference);
        record::write_header(bytes, header.with_segment(number));
        self.layout.write_offset(header, bytes, to.offset);
        Ok(true)
    }

    /// Gives the cold record of `key` its value back, if it is still the one with `op`; returns whether
    /// the value is in memory now.
    ///
    /// # Errors
    /// [`Full`]; the record stays cold.
    pub fn warm(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        value: &[u8],
    ) -> Result<bool, Full> {
        let Some((place, (reference, before))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if before.op() != op || before.value_len() != value.len() {
            return Ok(false);
        }
        match before.state() {
            State::Tombstone => return Ok(false),
            State::Hot => return Ok(true),
            State::Cold => {}
        }
        let header = before.with_state(State::Hot).with_referenced(true);
        let value_at = self.layout.value_at(header);
        let size = self.layout.size(header);
        let target = self.reshape(partition, place, reference, before, header, value_at)?;
        let bytes = self.arena.at_mut(target);
        record::write_header(bytes, header);
        bytes[value_at..value_at + value.len()].copy_from_slice(value);
        self.tend(size);
        Ok(true)
    }

    /// Drops the value of the hot record of `key` from memory, if it is the one with `op` and is in the
    /// log; returns whether the value is in the log alone now.
    ///
    /// # Errors
    /// [`Full`]; the record stays hot. Records larger than 256 KiB need a little room elsewhere first.
    pub fn make_cold(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Result<bool, Full> {
        let Some((place, (reference, header))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if header.op() != op {
            return Ok(false);
        }
        self.cool(partition, place, reference)
    }

    /// How many keys a partition has.
    #[must_use]
    pub fn len(&self, partition: LocalPartition) -> usize {
        self.partitions[partition.index()].keys as usize
    }

    /// Whether a partition has no keys.
    #[must_use]
    pub fn is_empty(&self, partition: LocalPartition) -> bool {
        self.len(partition) == 0
    }

    /// How many keys the table has on this brick.
    #[must_use]
    pub const fn len_total(&self) -> usize {
        self.keys
    }

    /// How many tombstones there are.
    #[must_use]
    pub const fn tombstones(&self) -> usize {
        self.tombstones
    }

    /// How many keys of a partition have an expiry.
    #[must_use]
    pub fn expires_count(&self, partition: LocalPartition) -> usize {
        self.partitions[partition.index()].expiring as usize
    }

    /// How many keys of the table have an expiry.
    #[must_use]
    pub const fn expires_count_total(&self) -> usize {
        self.expiring
    }

    /// The mean time to live at `now` of the keys that have an expiry, in milliseconds.
    #[must_use]
    pub fn average_ttl_ms(&self, now: UnixMillis) -> u64 {
        let Some(average) = self.expires_at_sum.checked_div(self.expiring as u128) else {
            return 0;
        };
        u64::try_from(average)
            .unwrap_or(u64::MAX)
            .saturating_sub(now.0)
    }

    /// The segments that hold live records of this table, and the bytes of those in each.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentId, u64)> + '_ {
        self.segments.live()
    }

    /// Bytes of memory that the table takes: records, dead space, indexes, timers.
    #[must_use]
    pub fn memory_used(&self) -> usize {
        self.arena.memory() + self.pool.memory() + self.timers.memory()
    }

    /// Whether a record may still be prepared for this table, however many others have been that are
    /// not in it yet: of the space that references can address, half a GiB is kept for those.
    #[must_use]
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        const ADDRESSABLE: usize = 32 << 30;
        const KEPT: usize = 512 << 20;
        self.arena.memory() + key_len + value_len + KEPT <= ADDRESSABLE
    }

    /// Bytes of records alone, each with its header and padding.
    #[must_use]
    pub fn records_bytes(&self) -> usize {
        self.arena.live()
    }

    /// Bytes that the record of a key takes, its share of the index included.
    #[must_use]
    pub fn record_memory(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<usize> {
        const INDEX_BYTES_PER_RECORD: usize = 7;
        let (_, (_, header)) = self.find(partition, hash, key)?;
        (header.state() != State::Tombstone)
            .then(|| self.layout.size(header) + INDEX_BYTES_PER_RECORD)
    }

    #[inline]
    pub(crate) fn find(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<(Place, (RecordRef, Header))> {
        debug_assert_eq!(hash, self.hash(key), "a hash of another key or table");
        self.partitions[partition.index()]
            .index
            .find(&self.pool, hash, |reference| {
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                self.layout
                    .is_key(header, bytes, key)
                    .then_some((reference, header))
            })
    }

    /// Where the index refers to `reference`, whose key has `hash`; `None` if it does not.
    pub(crate) fn find_reference(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        reference: RecordRef,
    ) -> Option<Place> {
        let index = &self.partitions.get(partition.index())?.index;
        let is_it = |candidate| (candidate == reference).then_some(());
        let found = index.find(&self.pool, hash, is_it);
        found.map(|(place, _)| place)
    }

    /// The record at `reference`; `None` if it is a tombstone.
    #[inline]
    pub(crate) fn found(&self, reference: RecordRef, header: Header) -> Option<Found<'_>> {
        let bytes = self.arena.at(reference);
        let value = match header.state() {
            State::Hot => Value::Hot(self.layout.value(header, bytes)),
            State::Cold => Value::Cold {
                len: header.value_len(),
            },
            State::Tombstone => return None,
        };
        Some(Found {
            value,
            expires_at: self.layout.expires_at(header, bytes),
            op: header.op(),
            is_raw: header.is_raw(),
            position: Position {
                segment: self.segments.id(header.segment()),
                offset: self.layout.offset(header, bytes),
            },
        })
    }

    fn change(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        mut change: Change<'_>,
    ) -> Result<Applied, Full> {
        let Ok(key_len) = u16::try_from(key.len()) else {
            panic!("a key of {} bytes", key.len())
        };
        let op = change.header.op();
        if op <= self.partitions[partition.index()].cleared {
            return Ok(Applied::Stale);
        }
        let found = self.find(partition, hash, key);
        if found.is_some_and(|(_, (_, before))| before.op() >= op) {
            return Ok(Applied::Stale);
        }
        // From here on nothing is refused but for want of memory, which is asked for first.
        let segment = self.segments.number(change.position.segment)?;
        change.header = change.header.with_key_len(key_len).with_segment(segment);
        let size = self.layout.size(change.header);
        let mut wants_timer = change.expiry.is_some_and(Expiry::has_timer);
        let applied = match found {
            Some((place, (reference, before))) => {
                if before.has_expiry() {
                    let armed = record::expiry(self.arena.at(reference));
                    if let Some(expiry) = &mut change.expiry
                        && armed.has_timer()
                        && armed.at() <= expiry.at()
                    {
                        // The entry that is there comes out early enough.
                        *expiry = expiry.with_sweep(armed.sweep());
                        wants_timer = false;
                    }
                }
                let size_before = self.layout.size(before);
                let target = if self.arena.fits(reference, size_before, size) {
                    reference
                } else {
                    self.arena.allocate(size)?
                };
                let replaced = self.uncount(partition, reference, before);
                if target == reference {
                    self.arena.resize(reference, size_before, size);
                } else {
                    let index = &mut self.partitions[partition.index()].index;
                    index.replace(&mut self.pool, place, target);
                    self.arena.free(reference, size_before);
                }
                self.write(target, key, &change);
                Applied::Replaced(replaced)
            }
            _ => {
                self.pool
                    .reserve(PAGES_PER_INSERT, CELLS_PER_INSERT)
                    .ok_or(Full::Memory)?;
                let target = self.arena.allocate(size)?;
                self.write(target, key, &change);
                let records = Records {
                    arena: &self.arena,
                    layout: self.layout,
                    hasher: &self.hasher,
                };
                let index = &mut self.partitions[partition.index()].index;
                index.insert(&mut self.pool, hash, target, &records);
                Applied::Inserted
            }
        };
        self.count(partition, &change);
        if wants_timer && let Some(expiry) = change.expiry {
            self.timers.arm(Entry::new(partition.0, hash), expiry.at());
        }
        self.tend(size);
        Ok(applied)
    }

    fn write(&mut self, target: RecordRef, key: &[u8], change: &Change<'_>) {
        let header = change.header;
        let key_at = self.layout.key_at(header);
        let value_at = self.layout.value_at(header);
        let bytes = self.arena.at_mut(target);
        record::write_header(bytes, header);
        if let Some(expiry) = change.expiry {
            record::write_expiry(bytes, expiry);
        }
        self.layout
            .write_offset(header, bytes, change.position.offset);
        bytes[key_at..value_at].copy_from_slice(key);
        bytes[value_at..value_at + change.value.len()].copy_from_slice(change.value);
    }

    fn count(&mut self, partition: LocalPartition, change: &Change<'_>) {
        let header = change.header;
        let share = &mut self.partitions[partition.index()];
        share.op_max = share.op_max.max(header.op());
        if header.state() == State::Tombstone {
            share.tombstones += 1;
            self.tombstones += 1;
        } else {
            share.keys += 1;
            self.keys += 1;
        }
        if let Some(expiry) = change.expiry {
            let at = u128::from(expiry.at().0);
            share.expiring += 1;
            share.expires_at_sum += at;
            self.expiring += 1;
            self.expires_at_sum += at;
        }
        self.segments.add(header.segment(), log_len(header));
    }

    /// Takes a record out of all counts.
    fn uncount(
        &mut self,
        partition: LocalPartition,
        reference: RecordRef,
        header: Header,
    ) -> Replaced {
        let share = &mut self.partitions[partition.index()];
        if header.state() == State::Tombstone {
            share.tombstones -= 1;
            self.tombstones -= 1;
        } else {
            share.keys -= 1;
            self.keys -= 1;
        }
        if header.has_expiry() {
            let at = u128::from(record::expiry(self.arena.at(reference)).at().0);
            share.expiring -= 1;
            share.expires_at_sum -= at;
            self.expiring -= 1;
            self.expires_at_sum -= at;
        }
        self.lose(header)
    }

    /// Takes a record out of what its segment has.
    pub(crate) fn lose(&mut self, header: Header) -> Replaced {
        let log_len = log_len(header);
        let segment = self.segments.id(header.segment());
        self.segments.subtract(header.segment(), log_len);
        Replaced { segment, log_len }
    }

    /// Removes a record; `None` if the index does not refer to it.
    pub(crate) fn discard(
        &mut self,
        partition: LocalPartition,
        reference: RecordRef,
    ) -> Option<Replaced> {
        let bytes = self.arena.at(reference);
        let header = record::header(bytes);
        let hash = self.hasher.hash(self.layout.key(header, bytes));
        let place = self.find_reference(partition, hash, reference)?;
        let replaced = self.uncount(partition, reference, header);
        self.partitions[partition.index()]
            .index
            .remove(&mut self.pool, hash, place);
        self.arena.free(reference, self.layout.size(header));
        Some(replaced)
    }

    /// Gives the record at `reference` the size that `after` wants, here or elsewhere; its first
    /// `keep` bytes go with it. The caller writes `after` and what comes after `keep`.
    pub(crate) fn reshape(
        &mut self,
        partition: LocalPartition,
        place: Place,
        reference: RecordRef,
        before: Header,
        after: Header,
        keep: usize,
    ) -> Result<RecordRef, Full> {
        let size_before = self.layout.size(before);
        let size = self.layout.size(after);
        if self.arena.fits(reference, size_before, size) {
            self.arena.resize(reference, size_before, size);
            return Ok(reference);
        }
        let target = self.arena.allocate(size)?;
        self.arena.copy(reference, target, keep);
        let index = &mut self.partitions[partition.index()].index;
        index.replace(&mut self.pool, place, target);
        self.arena.free(reference, size_before);
        Ok(target)
    }
}

/// An insertion splits one bucket at most, into one that may need a page.
const PAGES_PER_INSERT: u32 = 2;

/// Cells for the two halves of a split, of the longest chain that chance makes.
const CELLS_PER_INSERT: u32 = 16;

/// Length in the log of the record with this header.
#[inline]
pub(crate) fn log_len(header: Header) -> usize {
    encoded_len(header.key_len(), header.value_len())
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
