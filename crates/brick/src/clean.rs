//! The cleaner: moves what is live out of segments that are mostly dead, so that they can go.
//!
//! In:  records of a segment, chunk by chunk; the log's progress. Out: the live ones appended
//!      again with [`flag::MOVED`], and the segment's removal once they are synced.
//!
//! Invariants:
//! - A segment is removed only when every live record of it has been appended elsewhere *and
//!   synced*, and nothing in it was pending or damaged (rule `pending records are live`), but for damage that has healed
//!   (`heal`).
//! - A moved record keeps its (view, op), so it never wins over a newer one.
//! - A tombstone is dropped only when no segment is left that was there when it was written, or
//!   when a newer record of its key stands in the log; the watermark is raised before (rule
//!   `tombstones reach down to the watermark`).
//! - What is moved and what clients write stand in segments of their own, as far as that pays (`apart`).
//! - A pass frees more than it writes: what it would only move is counted as such (`retained`), and what is said of a whole
//!   partition it says once, or not at all where a later segment says it. So an idle log comes to rest.
//! - Work a turn is bounded by a chunk, and chunks come at even distances (`pace`). A segment with nothing
//!   live in it moves next to nothing: it is read faster, and the next one while it waits for the sync.

mod apart;
mod pace;
mod records;

pub(crate) use apart::APART_TOKEN;

use crate::append::BatchId;
use crate::effect::Effect;
use crate::executed::micros;
use crate::log::{KeyRef, KeyRefHasher, Log};
use crate::log_chunk::LogChunk;
use crate::log_reader::LogReader;
use crate::outside::Outside;
use crate::repeats::Repeats;
use crate::replica::Replication;
use crate::retained::{self, Level};
use crate::segments::{Segments, Usage};
use crate::tables::{AHEAD, Tables};
use brickyard_types::record::Header;
use brickyard_types::{Instant, Op, PartitionId, Position, SegmentId, UnixMillis};
use hashbrown::HashSet;
use pace::{DEAD_RATE, MOVING_RATE, Pace};
use records::Mover;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::time::Duration;

/// Bytes of a segment that are looked at in one turn.
const CHUNK_BYTES: u32 = 128 * 1024;

/// Bytes of a segment without anything live that are looked at in one turn.
const DEAD_CHUNK_BYTES: u32 = 256 * 1024;

/// Ticks to wait after the log refused what was moved.
const BACK_OFF_TICKS: u32 = 5;

/// How long a segment is left alone that has records of a partition which claims nothing yet.
const UNCLAIMED_PAUSE: Duration = Duration::from_secs(5);

/// What one batch of the log has of the segment that is being cleaned.
#[derive(Debug)]
struct Moved {
    batch: BatchId,
    segment: SegmentId,
    moves: Vec<Move>,
    /// What no table counts as live.
    kept: retained::Moved,
}

/// A watermark as it was before a pass raised it.
#[derive(Debug)]
struct Raised {
    partition: PartitionId,
    before: Op,
}

/// The way through one segment: what its records lead to that is said once, at the end.
#[derive(Debug, Default)]
struct Pass {
    /// Nothing of it was live when it was picked, and nothing dead comes to life again.
    is_dead: bool,
    /// Bytes that were appended again.
    moved: u64,
    /// The last batch that something of it was moved into.
    last_batch: BatchId,
    /// Replicated partitions that it has records of, and the last (view, op) of each: a baseline must say as much before the
    /// records go (rule `log summaries begin at a baseline`).
    baselines: BTreeMap<PartitionId, Level>,
    /// The horizons that it raises, with what they were before, and the records that say so (rule
    /// `tombstones reach down to the watermark`).
    horizons: BTreeMap<PartitionId, (Op, Header)>,
    /// Partitions of which it has ids that were forgotten: the last op, and the highest sequence (rule
    /// `requests are executed once`).
    floors: BTreeMap<(usize, PartitionId), (Op, u64)>,
    /// The deletions that were appended again.
    deletions: Repeats,
}

impl Pass {
    fn raised(&self) -> Vec<Raised> {
        let horizons = self.horizons.iter();
        horizons
            .map(|(&partition, &(before, _))| Raised { partition, before })
            .collect()
    }
}

/// What a chunk leads to, besides records appended.
#[derive(Debug, Default)]
struct Sorted {
    moves: Vec<Move>,
    kept: retained::Moved,
    /// It ends what older segments may still have of a partition, or says what became of it: it must outlive them.
    has_drop: bool,
    /// It has records of a partition that claims nothing yet: a copy is under way.
    lacks_baseline: bool,
}

/// A record that was appended again.
#[derive(Debug)]
struct Move {
    key: KeyRef,
    name: Vec<u8>,
    op: Op,
    record_at: u32,
}

/// Keys whose record was appended again, before the table is pointed there. A segment can have one record several times (it
/// was copied here more than once), and the table, which knows the segment alone of a value in memory, says of each that it
/// is live: moved all together, they would be moved for ever. Of two keys with one hash the second waits for another pass.
type Moving = HashSet<KeyRef, BuildHasherDefault<KeyRefHasher>>;

/// A segment that had nothing live, and has been looked through: it goes once this batch is synced.
#[derive(Debug)]
struct Leaving {
    segment: SegmentId,
    batch: BatchId,
    raised: Vec<Raised>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// A chunk was asked for.
    Reading,
    /// It is too early for the next chunk.
    Resting,
    /// All is moved; removed once this batch is synced.
    Syncing { segment: SegmentId, batch: BatchId },
}

/// What others that read the log leave to the cleaner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permit {
    /// It may begin with another segment.
    pub(crate) begin: bool,
    /// Segments may go.
    pub(crate) remove: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    /// Reads the segment at hand.
    reader: LogReader,
    /// Moves of batches that are not appended yet, in order.
    moves: VecDeque<Moved>,
    /// Keys of those moves.
    moving: Moving,
    /// Of the segment at hand.
    pass: Pass,
    /// In the order in which they will go.
    leaving: VecDeque<Leaving>,
    pace: Pace,
    cleaned: u64,
    back_off: u32,
}

impl Cleaner {
    /// Nothing is being moved.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.moves.is_empty() && self.leaving.is_empty()
    }

    /// A batch is in the log: the tables are pointed at where its moved records are now.
    pub(crate) fn on_appended(
        &mut self,
        id: BatchId,
        position: Position,
        tables: &mut Tables,
        segments: &mut Segments,
    ) {
        if self.moves.front().is_none_or(|moved| moved.batch != id) {
            return;
        }
        if let Some(moved) = self.moves.pop_front() {
            self.relocate(moved, position, tables, segments);
        }
    }

    /// The log refused batches: what was moved is not there; begin again later.
    pub(crate) fn on_refused(&mut self, log: &Log, tables: &mut Tables, segments: &mut Segments) {
        self.keep_refused(log, tables, segments);
        if self.moves.is_empty() && self.pass.horizons.is_empty() {
            // Other writes were refused: on a full disk cleaning must go on all the more.
            return;
        }
        self.moves.clear();
        self.moving.clear();
        self.back_off = BACK_OFF_TICKS;
        self.abandon_pass(tables);
    }

    /// The segment at hand stays: what its records were to lead to is undone.
    fn abandon_pass(&mut self, tables: &mut Tables) {
        self.state = State::Idle;
        self.reader = LogReader::default();
        let raised = std::mem::take(&mut self.pass).raised();
        lower_horizons(tables, &raised);
    }

    /// A table went out of memory: what was looked up in its index says nothing of the segments at hand any more. They stay,
    /// and what was moved out of them is there twice.
    pub(crate) fn abandon(&mut self, tables: &mut Tables, segments: &mut Segments) {
        self.moves.clear();
        self.moving.clear();
        self.abandon_pass(tables);
        while let Some(last) = self.leaving.pop_back() {
            lower_horizons(tables, &last.raised);
            segments.set_leaving(last.segment, false);
        }
        assert!(self.is_idle(), "cleaning is abandoned and goes on");
    }

    /// Segments wait for a batch that was refused: what stands for their tombstones is not there.
    fn keep_refused(&mut self, log: &Log, tables: &mut Tables, segments: &mut Segments) {
        let written = log.written();
        while let Some(last) = self.leaving.pop_back_if(|it| it.batch > written) {
            lower_horizons(tables, &last.raised);
            segments.set_leaving(last.segment, false);
            self.back_off = BACK_OFF_TICKS;
        }
        let mut kept = self.leaving.iter();
        assert!(kept.all(|it| it.batch <= written), "{:?}", self.leaving);
    }

    /// A tick's worth of cleaning.
    pub(crate) fn clean(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        permit: Permit,
    ) {
        if self.back_off > 0 {
            self.back_off -= 1;
            return;
        }
        if matches!(self.state, State::Idle) {
            self.begin(replication, outside, permit, false);
        }
    }

    /// When it goes on, if it is too early for that.
    pub(crate) fn rests_until(&self) -> Option<Instant> {
        matches!(self.state, State::Resting).then(|| self.pace.go_on_at())
    }

    /// Goes on if it is time.
    pub(crate) fn go_on(&mut self, outside: &mut Outside<'_>) {
        if self.rests_until().is_some_and(|it| it <= outside.now) {
            self.read_on(outside);
        }
    }

    /// Begins with the segment whose cleaning pays most, if there is one; `dead_only`: if nothing of it is live.
    fn begin(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        permit: Permit,
        dead_only: bool,
    ) {
        if !permit.begin {
            return;
        }
        let segments = &*replication.segments;
        // A segment with operations that have not committed is not ready.
        let before = replication.log.oldest_pending_segment();
        let usage = segment_usage(replication.tables, segments, replication.unix);
        let picked = segments.pick(&usage, before, self.cleaned, outside.now);
        let Some(segment) = picked else {
            return;
        };
        let is_dead = usage
            .get(&segment)
            .is_none_or(|usage| *usage == Usage::default());
        if is_dead || !dead_only {
            assert!(
                self.pass.horizons.is_empty(),
                "a pass begins before another one is over"
            );
            assert!(
                segment < before && segment != segments.active(),
                "segment {segment} is in use"
            );
            self.pass = Pass {
                is_dead,
                ..Pass::default()
            };
            if !is_dead {
                apart::before_moved(replication.segments, replication.log, outside);
            }
            self.reader = LogReader::over([segment]);
            self.pace.begin(outside.now);
            self.read_on(outside);
        }
    }

    fn read_on(&mut self, outside: &mut Outside<'_>) {
        self.state = State::Reading;
        let bytes_max = if self.pass.is_dead {
            DEAD_CHUNK_BYTES
        } else {
            CHUNK_BYTES
        };
        if let Some(at) = self.reader.ask() {
            outside.read_log(at, bytes_max);
        }
    }

    /// A chunk of the segment at hand; others may have given up what they asked for.
    pub(crate) fn on_chunk(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        permit: Permit,
        chunk: &LogChunk<'_>,
    ) {
        let LogChunk { segment, next, .. } = *chunk;
        if !self.reader.accept(chunk) {
            return;
        }
        if chunk.is_damaged && !(chunk.is_known && replication.segments.is_healed(segment)) {
            replication.segments.mark_damaged(segment);
            return self.abandon_pass(replication.tables);
        }
        let mut rest = chunk.records();
        let mut sorted = Sorted::default();
        let building = replication.log.building_id();
        let before = replication.log.building_len();
        let pass = &mut self.pass;
        let mut mover = Mover {
            tables: replication.tables,
            log: replication.log,
            segments: replication.segments,
            replicator: replication.replicas.replicator(),
            moving: &mut self.moving,
            pass,
            sorted: &mut sorted,
        };
        mover.move_records(&mut rest);
        let is_needed = mover.sorted.has_drop && mover.segments.has_older(segment, segment);
        let is_over = next.is_none() && !is_needed && !mover.sorted.lacks_baseline;
        let is_said = is_over && mover.say_of_partitions(segment);
        let moved = replication.log.building_len() - before;
        if moved > 0 {
            assert_eq!(
                replication.log.building_id(),
                building,
                "what one chunk leads to is in one batch"
            );
            self.pass.last_batch = building;
            self.pass.moved += moved as u64;
            outside.stats.log.moved_bytes.add(moved as u64);
            self.note_moved(segment, building, sorted.moves, sorted.kept);
        }
        let segments = &mut *replication.segments;
        if is_needed {
            segments.pin(segment);
            return self.abandon_pass(replication.tables);
        }
        if sorted.lacks_baseline || is_over && !is_said {
            let until = outside.now + UNCLAIMED_PAUSE;
            segments.leave_until(segment, until);
            return self.abandon_pass(replication.tables);
        }
        let rate = if moved > 0 || !self.pass.is_dead {
            MOVING_RATE
        } else {
            DEAD_RATE
        };
        self.pace
            .on_read(outside.now, chunk.records.byte_len(), rate);
        match next {
            Some(_) => {
                self.state = State::Resting;
                self.go_on(outside);
            }
            None => self.end_pass(replication, outside, permit, segment),
        }
    }

    /// Takes note of what was appended of a segment.
    fn note_moved(
        &mut self,
        segment: SegmentId,
        building: BatchId,
        mut moves: Vec<Move>,
        kept: retained::Moved,
    ) {
        match self.moves.back_mut() {
            Some(moved) if moved.batch == building => {
                moved.moves.append(&mut moves);
                moved.kept.add(kept);
            }
            _ => self.moves.push_back(Moved {
                batch: building,
                segment,
                moves,
                kept,
            }),
        }
    }

    /// All of the segment has been looked at: it goes when what stands for its records is synced.
    fn end_pass(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        permit: Permit,
        segment: SegmentId,
    ) {
        // Also what took the place of the records that were left behind must be safe, or a
        // power cut would take a key's new value and its old one.
        let batch = self.pass.last_batch.max(replication.log.written());
        // They go in their order. Whoever is behind one that waits for a batch waits for it too: should the log refuse that,
        // both stay.
        let batch = self.leaving.back().map_or(batch, |it| it.batch.max(batch));
        if !self.pass.is_dead {
            let moved = self.pass.moved;
            apart::after_moved(replication.segments, moved, replication.log, outside);
            self.state = State::Syncing { segment, batch };
            return self.on_synced(replication, outside, permit);
        }
        replication.segments.set_leaving(segment, true);
        let raised = std::mem::take(&mut self.pass).raised();
        self.leaving.push_back(Leaving {
            segment,
            batch,
            raised,
        });
        self.state = State::Idle;
        self.on_synced(replication, outside, permit);
        self.begin(replication, outside, permit, true);
    }

    fn relocate(
        &mut self,
        moved: Moved,
        position: Position,
        tables: &mut Tables,
        segments: &mut Segments,
    ) {
        let Moved {
            segment: from,
            moves,
            kept,
            ..
        } = moved;
        assert!(
            from < position.segment,
            "what is moved out of segment {from} stands in {}",
            position.segment
        );
        segments.retained.on_moved(position.segment, kept);
        for group in moves.chunks(AHEAD) {
            tables.look_ahead_for(group.iter().map(|it| it.key));
            for moved in group {
                self.relocate_one(moved, from, position, tables);
            }
        }
    }

    fn relocate_one(
        &mut self,
        moved: &Move,
        from: SegmentId,
        batch: Position,
        tables: &mut Tables,
    ) {
        let Move {
            key,
            ref name,
            op,
            record_at,
        } = *moved;
        self.moving.remove(&key);
        let Some(state) = tables.get_mut(key.table as usize) else {
            return;
        };
        let to = Position {
            segment: batch.segment,
            offset: batch.offset + record_at,
        };
        // A table that cannot note the place keeps the segment: it is not removed then.
        let table = &mut state.table;
        let relocated = table.relocate(key.partition, key.hash, name, op, from, to);
        if relocated.is_err() {
            self.back_off = BACK_OFF_TICKS;
            self.abandon_pass(tables);
        }
    }

    /// Removes the segment that was emptied, once what was in it is safe elsewhere.
    pub(crate) fn on_synced(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        permit: Permit,
    ) {
        if !permit.remove {
            return;
        }
        let frontier = replication.log.frontier();
        let upto = frontier.synced.min(frontier.appended);
        while let Some(first) = self.leaving.pop_front_if(|it| it.batch <= upto) {
            replication.segments.set_leaving(first.segment, false);
            self.remove(replication, outside, first.segment, &first.raised);
        }
        let State::Syncing { segment, batch } = self.state else {
            return;
        };
        if batch <= upto {
            self.state = State::Idle;
            let raised = std::mem::take(&mut self.pass).raised();
            self.remove(replication, outside, segment, &raised);
        }
    }

    fn remove(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        segment: SegmentId,
        raised: &[Raised],
    ) {
        assert!(
            segment != replication.segments.active(),
            "segment {segment} is written to"
        );
        for raised in raised {
            // It may have been split since.
            for child in replication.tables.children(raised.partition) {
                tell_watermark(replication, child);
            }
        }
        let live = live_bytes(replication.tables);
        if live.get(&segment).copied().unwrap_or(0) > 0 {
            // Something is live there that the pass did not move (a table full of segments): it
            // stays, and another pass will see to it.
            self.back_off = BACK_OFF_TICKS;
            if replication.segments.is_healed(segment) {
                // It is in the damaged part alone, and cannot be moved.
                replication.segments.mark_damaged(segment);
            }
            return;
        }
        replication.segments.remove(segment);
        outside.effects.push_back(Effect::DeleteSegment(segment));
        outside.stats.log.segments_cleaned.add(1);
        self.cleaned += 1;
    }
}

/// Tombstones up to the partition's watermark may be gone from the log.
fn tell_watermark(replication: &mut Replication<'_>, partition: PartitionId) {
    if let Some((_, held)) = replication.tables.partition(partition) {
        let watermark = held.gaps.watermark();
        replication.raise_watermark(partition, watermark);
    }
}

/// Live bytes of every segment, over all tables.
fn live_bytes(tables: &Tables) -> BTreeMap<SegmentId, u64> {
    let mut live = BTreeMap::new();
    for state in tables.iter() {
        for (segment, bytes) in state.table.segments() {
            *live.entry(segment).or_insert(0) += bytes;
        }
    }
    live
}

/// What of each segment is live, and what cleaning it would only move.
pub(crate) fn segment_usage(
    tables: &Tables,
    segments: &Segments,
    now: UnixMillis,
) -> BTreeMap<SegmentId, Usage> {
    let live = live_bytes(tables);
    let oldest = segments.ids().next().unwrap_or_default();
    let now = micros(now);
    let all = segments.ids().chain([segments.active()]);
    all.map(|segment| {
        let kept = segments.retained.kept(segment, oldest, now);
        let usage = Usage {
            live: live.get(&segment).copied().unwrap_or(0) + kept.lasting,
            tombstones: kept.tombstones,
        };
        (segment, usage)
    })
    .collect()
}

/// Horizons are as they were: the tombstones below them still stand where they stood.
fn lower_horizons(tables: &mut Tables, raised: &[Raised]) {
    for raised in raised.iter().rev() {
        tables.for_children(raised.partition, |partition| {
            partition.gaps.lower_watermark(raised.before);
        });
    }
}

#[cfg(test)]
impl crate::brick::Brick {
    /// Horizons that are above nothing.
    pub(crate) fn horizons(&self) -> Vec<Op> {
        let states = self.core.tables.iter();
        let partitions = states.flat_map(|state| state.partitions.iter().flatten());
        partitions
            .map(|partition| partition.gaps.watermark())
            .filter(|watermark| watermark.0 > 0)
            .collect()
    }
}

#[cfg(test)]
#[path = "clean_test.rs"]
mod clean_test;
