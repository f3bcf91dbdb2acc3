//! The cleaner: moves what is live out of segments that are mostly dead, so that they can go.
//!
//! In:  records of a segment, chunk by chunk; the log's progress. Out: the live ones appended
//!      again with [`flag::MOVED`], and the segment's removal once they are synced.
//!
//! Invariants:
//! - A segment is removed only when every live record of it has been appended elsewhere *and
//!   synced*, and nothing in it was pending or damaged (PROTOCOL rule 27).
//! - A moved record keeps its (view, op), so it never wins over a newer one.
//! - A tombstone is dropped only when no segment is left that was there when it was written, or
//!   when a newer record of its key stands in the log; the horizon is raised before (rule 14).
//! - A pass frees more than it writes: what it would only move is counted as such (`retained`), and what is said of a whole
//!   partition it says once, or not at all where a later segment says it. So an idle log comes to rest.
//! - Work a turn is bounded by a chunk, and work a tick by [`TICK_BYTES_MAX`]; but a segment with nothing
//!   live in it moves next to nothing, so it is read as fast as the disk gives it, and the next one while
//!   it waits for the sync.

mod records;

use crate::append::BatchId;
use crate::brick::Brick;
use crate::core::Core;
use crate::effect::Effect;
use crate::executed::micros;
use crate::log::KeyRef;
use crate::log_chunk::LogChunk;
use crate::log_reader::LogReader;
use crate::retained::{self, Level};
use crate::segments::Usage;
use brickyard_types::record::Header;
use brickyard_types::{Op, PartitionId, Position, SegmentId};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of a segment that are looked at in one turn.
const CHUNK_BYTES: u32 = 128 * 1024;

/// Bytes of segments that are looked at between two ticks (100 ms): 80 MB/s at most.
const TICK_BYTES_MAX: u64 = 8 << 20;

/// Bytes of a segment without anything live that are looked at in one turn.
const DEAD_CHUNK_BYTES: u32 = 512 * 1024;

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

/// A horizon as it was before a pass raised it.
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
    /// The last batch that something of it was moved into.
    last_batch: BatchId,
    /// Replicated partitions that it has records of, and the last (view, op) of each: a base must say as much before the
    /// records go (PROTOCOL rule 15).
    claims: BTreeMap<PartitionId, Level>,
    /// The horizons that it raises, with what they were before, and the records that say so (rule 14).
    horizons: BTreeMap<PartitionId, (Op, Header)>,
    /// Partitions of which it has ids that were forgotten: the last op, and the highest sequence (rule 19).
    floors: BTreeMap<(usize, PartitionId), (Op, u64)>,
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
    /// It ends what older segments may still have of a partition: it must outlive them.
    has_drop: bool,
    /// It has records of a partition that claims nothing yet: a copy is under way.
    is_unclaimed: bool,
}

/// A record that was appended again.
#[derive(Debug)]
struct Move {
    key: KeyRef,
    name: Vec<u8>,
    op: Op,
    record_at: u32,
}

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
    /// The tick's budget is used up; go on later.
    Resting,
    /// All is moved; removed once this batch is synced.
    Syncing { segment: SegmentId, batch: BatchId },
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    /// Reads the segment at hand.
    reader: LogReader,
    /// Moves of batches that are not appended yet, in order.
    moves: VecDeque<Moved>,
    /// Moves of the batch that was appended just now.
    appended: Option<Moved>,
    /// Of the segment at hand.
    pass: Pass,
    /// In the order in which they will go.
    leaving: VecDeque<Leaving>,
    budget: u64,
    cleaned: u64,
    back_off: u32,
}

impl Cleaner {
    /// Nothing is being moved.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.moves.is_empty() && self.leaving.is_empty()
    }

    /// Whether the batch has moved records, which must be relocated now.
    pub(crate) fn on_appended(&mut self, id: BatchId, _: Position) -> bool {
        if self.moves.front().is_none_or(|moved| moved.batch != id) {
            return false;
        }
        self.appended = self.moves.pop_front();
        true
    }
}

impl Brick {
    /// The log refused batches: what was moved is not there; begin again later.
    pub(crate) fn on_clean_refused(&mut self) {
        self.keep_refused();
        if self.cleaner.moves.is_empty() && self.cleaner.pass.horizons.is_empty() {
            // Other writes were refused: on a full disk cleaning must go on all the more.
            return;
        }
        self.cleaner.moves.clear();
        self.cleaner.back_off = BACK_OFF_TICKS;
        self.abandon_pass();
    }

    /// The segment at hand stays: what its records were to lead to is undone.
    fn abandon_pass(&mut self) {
        self.cleaner.state = State::Idle;
        self.cleaner.reader = LogReader::default();
        let raised = std::mem::take(&mut self.cleaner.pass).raised();
        self.core.lower_horizons(&raised);
    }

    /// A table went out of memory: what was looked up in its index says nothing of the segments at hand any more. They stay,
    /// and what was moved out of them is there twice.
    pub(crate) fn abandon_cleaning(&mut self) {
        self.cleaner.moves.clear();
        self.cleaner.appended = None;
        self.abandon_pass();
        while let Some(last) = self.cleaner.leaving.pop_back() {
            self.core.lower_horizons(&last.raised);
            self.core.segments.set_leaving(last.segment, false);
        }
    }

    /// Segments wait for a batch that was refused: what stands for their tombstones is not there.
    fn keep_refused(&mut self) {
        let written = self.core.log.written();
        while let Some(last) = self.cleaner.leaving.pop_back_if(|it| it.batch > written) {
            self.core.lower_horizons(&last.raised);
            self.core.segments.set_leaving(last.segment, false);
            self.cleaner.back_off = BACK_OFF_TICKS;
        }
    }

    /// A tick's worth of cleaning.
    pub(crate) fn clean(&mut self) {
        self.cleaner.budget = TICK_BYTES_MAX;
        if self.cleaner.back_off > 0 {
            self.cleaner.back_off -= 1;
            return;
        }
        match self.cleaner.state {
            State::Resting => self.read_on(),
            State::Idle => self.begin_cleaning(false),
            _ => {}
        }
    }

    /// Begins with the segment whose cleaning pays most, if there is one; `dead_only`: if nothing of it is live.
    fn begin_cleaning(&mut self, dead_only: bool) {
        let is_walked = self.core.moves.catch_ups.needs_log();
        let is_shelving = self.core.moves.offline.is_unsettled();
        if self.is_stopping || is_walked || is_shelving || self.exports.need_log() {
            return;
        }
        // A segment with operations that have not committed is not ready.
        let before = self.core.log.oldest_pending_segment();
        let usage = self.core.segment_usage();
        let (now, cleaned) = (self.core.now, self.cleaner.cleaned);
        let picked = self.core.segments.pick(&usage, before, cleaned, now);
        let Some(segment) = picked else {
            return;
        };
        let is_dead = usage
            .get(&segment)
            .is_none_or(|usage| *usage == Usage::default());
        if is_dead || !dead_only {
            assert!(
                self.cleaner.pass.horizons.is_empty(),
                "a pass begins before another one is over"
            );
            assert!(
                segment < before && segment != self.core.segments.active(),
                "segment {segment} is in use"
            );
            self.cleaner.pass = Pass {
                is_dead,
                ..Pass::default()
            };
            self.cleaner.reader = LogReader::over([segment]);
            self.read_on();
        }
    }

    fn read_on(&mut self) {
        self.cleaner.state = State::Reading;
        let bytes_max = if self.cleaner.pass.is_dead {
            DEAD_CHUNK_BYTES
        } else {
            CHUNK_BYTES
        };
        if let Some(at) = self.cleaner.reader.ask() {
            self.core.read_log(at, bytes_max);
        }
    }

    /// A chunk of the segment at hand; others may have given up what they asked for.
    pub(crate) fn on_cleaned_chunk(&mut self, chunk: &LogChunk<'_>) {
        let LogChunk { segment, next, .. } = *chunk;
        if !self.cleaner.reader.accept(chunk) {
            return;
        }
        if chunk.is_damaged {
            self.core.segments.mark_damaged(segment);
            return self.abandon_pass();
        }
        let mut rest = chunk.records();
        let mut sorted = Sorted::default();
        let building = self.core.log.building_id();
        let before = self.core.log.building_len();
        let pass = &mut self.cleaner.pass;
        while let Some((position, record)) = rest.take() {
            self.core.move_record(position, &record, pass, &mut sorted);
        }
        let is_unreadable = !rest.is_empty();
        let is_needed = sorted.has_drop && self.core.segments.has_older(segment, segment);
        let is_over = next.is_none() && !is_unreadable && !is_needed && !sorted.is_unclaimed;
        let is_said = is_over && self.core.say_of_partitions(segment, pass);
        let moved = self.core.log.building_len() - before;
        if moved > 0 {
            pass.last_batch = building;
            self.note_moved(segment, building, moved, sorted.moves, sorted.kept);
        }
        if is_unreadable {
            // What follows cannot be looked at either, so the segment must stay.
            self.core.segments.mark_damaged(segment);
            return self.abandon_pass();
        }
        if is_needed {
            self.core.segments.pin(segment);
            return self.abandon_pass();
        }
        if sorted.is_unclaimed || is_over && !is_said {
            let until = self.core.now + UNCLAIMED_PAUSE;
            self.core.segments.leave_until(segment, until);
            return self.abandon_pass();
        }
        if moved > 0 || !self.cleaner.pass.is_dead {
            self.cleaner.budget = self.cleaner.budget.saturating_sub(chunk.bytes.len() as u64);
        }
        match next {
            Some(_) if self.cleaner.budget > 0 => self.read_on(),
            Some(_) => self.cleaner.state = State::Resting,
            None => self.end_pass(segment),
        }
    }

    /// Takes note of what was appended of a segment.
    fn note_moved(
        &mut self,
        segment: SegmentId,
        building: BatchId,
        bytes: usize,
        mut moves: Vec<Move>,
        kept: retained::Moved,
    ) {
        self.core.stats().log.moved_bytes.add(bytes as u64);
        match self.cleaner.moves.back_mut() {
            Some(moved) if moved.batch == building => {
                moved.moves.append(&mut moves);
                moved.kept.add(kept);
            }
            _ => self.cleaner.moves.push_back(Moved {
                batch: building,
                segment,
                moves,
                kept,
            }),
        }
    }

    /// All of the segment has been looked at: it goes when what stands for its records is synced.
    fn end_pass(&mut self, segment: SegmentId) {
        // Also what took the place of the records that were left behind must be safe, or a
        // power cut would take a key's new value and its old one.
        let pass = &self.cleaner.pass;
        let batch = pass.last_batch.max(self.core.log.written());
        if !pass.is_dead {
            self.cleaner.state = State::Syncing { segment, batch };
            return self.on_clean_synced();
        }
        self.core.segments.set_leaving(segment, true);
        let raised = std::mem::take(&mut self.cleaner.pass).raised();
        self.cleaner.leaving.push_back(Leaving {
            segment,
            batch,
            raised,
        });
        self.cleaner.state = State::Idle;
        self.on_clean_synced();
        self.begin_cleaning(true);
    }

    /// Points the tables at where the records are now.
    pub(crate) fn relocate_moved(&mut self, position: Position) {
        let Some(moved) = self.cleaner.appended.take() else {
            return;
        };
        let Moved {
            segment: from,
            moves,
            kept,
            ..
        } = moved;
        self.core.segments.retained.on_moved(position.segment, kept);
        for Move {
            key,
            name,
            op,
            record_at,
        } in moves
        {
            let Some(state) = self.core.tables.get_mut(key.table as usize) else {
                continue;
            };
            let to = Position {
                segment: position.segment,
                offset: position.offset + record_at,
            };
            // A table that cannot note the place keeps the segment: it is not removed then.
            if state
                .table
                .relocate(key.partition, key.hash, &name, op, from, to)
                .is_err()
            {
                self.cleaner.back_off = BACK_OFF_TICKS;
                self.abandon_pass();
            }
        }
    }

    /// Removes the segment that was emptied, once what was in it is safe elsewhere.
    pub(crate) fn on_clean_synced(&mut self) {
        if self.exports.need_log() {
            return;
        }
        let frontier = self.core.log.frontier();
        let upto = frontier.synced.min(frontier.appended);
        while let Some(first) = self.cleaner.leaving.pop_front_if(|it| it.batch <= upto) {
            self.core.segments.set_leaving(first.segment, false);
            self.remove_segment(first.segment, &first.raised);
        }
        let State::Syncing { segment, batch } = self.cleaner.state else {
            return;
        };
        if batch <= upto {
            self.cleaner.state = State::Idle;
            let raised = std::mem::take(&mut self.cleaner.pass).raised();
            self.remove_segment(segment, &raised);
        }
    }

    fn remove_segment(&mut self, segment: SegmentId, raised: &[Raised]) {
        assert!(
            segment != self.core.segments.active(),
            "segment {segment} is written to"
        );
        for raised in raised {
            // It may have been split since.
            for heir in self.core.tables.heirs(raised.partition) {
                self.core.tell_horizon(heir);
            }
        }
        if self.core.live_bytes().get(&segment).copied().unwrap_or(0) > 0 {
            // Something is live there that the pass did not move (a table full of segments): it
            // stays, and another pass will see to it.
            self.cleaner.back_off = BACK_OFF_TICKS;
            return;
        }
        self.core.segments.remove(segment);
        self.core.effects.push_back(Effect::DeleteSegment(segment));
        self.core.stats().log.segments_cleaned.add(1);
        self.cleaner.cleaned += 1;
    }
}

impl Core {
    /// Live bytes of every segment, over all tables.
    pub(crate) fn live_bytes(&self) -> BTreeMap<SegmentId, u64> {
        let mut live = BTreeMap::new();
        for state in self.tables.iter() {
            for (segment, bytes) in state.table.segments() {
                *live.entry(segment).or_insert(0) += bytes;
            }
        }
        live
    }

    /// What of each segment is live, and what cleaning it would only move.
    pub(crate) fn segment_usage(&self) -> BTreeMap<SegmentId, Usage> {
        let live = self.live_bytes();
        let oldest = self.segments.ids().next().unwrap_or_default();
        let now = micros(self.unix);
        let segments = self.segments.ids().chain([self.segments.active()]);
        segments
            .map(|segment| {
                let kept = self.segments.retained.kept(segment, oldest, now);
                let usage = Usage {
                    live: live.get(&segment).copied().unwrap_or(0) + kept.lasting,
                    tombstones: kept.tombstones,
                };
                (segment, usage)
            })
            .collect()
    }

    /// What the log says of partitions that were dropped, split, merged or moved away is dead.
    pub(crate) fn forget_marks(&mut self) {
        let Self {
            segments, tables, ..
        } = self;
        segments
            .retained
            .retain(|partition| tables.is_here(partition));
    }

    /// Horizons are as they were: the tombstones below them still stand where they stood.
    fn lower_horizons(&mut self, raised: &[Raised]) {
        for raised in raised.iter().rev() {
            self.tables.for_heirs(raised.partition, |partition| {
                partition.gaps.lower_horizon(raised.before);
            });
        }
    }
}

#[cfg(test)]
impl Brick {
    /// Horizons that are above nothing.
    pub(crate) fn horizons(&self) -> Vec<Op> {
        let states = self.core.tables.iter();
        let partitions = states.flat_map(|state| state.partitions.iter().flatten());
        partitions
            .map(|partition| partition.gaps.horizon())
            .filter(|horizon| horizon.0 > 0)
            .collect()
    }
}

#[cfg(test)]
#[path = "clean_test.rs"]
mod clean_test;
