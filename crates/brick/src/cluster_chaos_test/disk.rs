//! A node's log: segments in memory that append, sync, refuse, roll and lose their tails as they are told.

use crate::append::{Append, BatchId};
use crate::effect::{ColdRead, Event};
use crate::harness::HEADER_BYTES;
use crate::log_chunk::{LogChunk, offsets};
use crate::random::Random;
use crate::{Brick, LogRecord, LogReplay, hinted};
use brickyard_types::record::{self, Kind, flag};
use brickyard_types::{Durability, Op, PartitionId, Position, SegmentId, View};
use std::collections::{BTreeMap, VecDeque};

/// How the log behaves at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Mood {
    #[default]
    Well,
    Slow,
    Stuck,
    Full,
}

#[derive(Debug, Default)]
struct Segment {
    bytes: Vec<u8>,
    synced: usize,
    /// Nothing in it seems to be dead.
    is_full: bool,
}

impl Segment {
    /// How long it is said to be once it is sealed: all of it is live, or hardly anything.
    fn told(&self) -> u64 {
        if self.is_full {
            1
        } else {
            self.bytes.len() as u64 + GARBAGE
        }
    }
}

/// So much of a sealed segment is dead, as it seems: cleaning it pays.
const GARBAGE: u64 = 64 << 20;

/// A sync that is under way: it covers what was there when it began.
#[derive(Debug)]
struct Syncing {
    upto: BatchId,
    lens: Vec<(u32, usize)>,
    tops: BTreeMap<PartitionId, Op>,
    /// Of the records that are not synced so many are older.
    records: usize,
}

const fn is_entry(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear | Kind::ViewStart
    )
}

/// See the module.
#[derive(Debug)]
pub(super) struct Disk {
    segments: BTreeMap<u32, Segment>,
    active: u32,
    queue: VecDeque<Append>,
    reads: Vec<ColdRead>,
    chunks: VecDeque<(SegmentId, u32)>,
    checkpoints: Vec<u64>,
    appended: BatchId,
    synced: BatchId,
    wants_sync: bool,
    refused: Option<u64>,
    pub(super) mood: Mood,
    /// Turns in which no value is read.
    reads_held: u32,
    /// Syncs take about so many turns; `None`: none.
    sync_turns: Option<u64>,
    syncing: Option<Syncing>,
    /// The highest op of each partition in the log, and in what of it is synced.
    tops: [BTreeMap<PartitionId, Op>; 2],
    /// Views of records that are not synced.
    unsynced: Vec<(PartitionId, View, Op, Kind)>,
}

impl Disk {
    /// A disk whose syncs take about so many turns; `None`: none.
    pub(super) fn new(sync_turns: Option<u64>) -> Self {
        Self {
            sync_turns,
            syncing: None,
            reads_held: 0,
            segments: BTreeMap::from([(1, Segment::default())]),
            active: 1,
            queue: VecDeque::new(),
            reads: Vec::new(),
            chunks: VecDeque::new(),
            checkpoints: Vec::new(),
            appended: BatchId(0),
            synced: BatchId(0),
            wants_sync: false,
            refused: None,
            mood: Mood::Well,
            tops: Default::default(),
            unsynced: Vec::new(),
        }
    }

    /// The process is gone, and with it what it had not written yet; a power cut takes more.
    pub(super) fn forget(&mut self, is_power_cut: bool) {
        if is_power_cut {
            for segment in self.segments.values_mut() {
                segment.bytes.truncate(segment.synced);
            }
        }
        self.queue.clear();
        self.reads.clear();
        self.chunks.clear();
        self.checkpoints.clear();
        self.syncing = None;
        self.reads_held = 0;
        self.appended = BatchId(0);
        self.synced = BatchId(0);
        self.wants_sync = false;
        self.refused = None;
    }

    /// How far the log has a partition, as durably as that; `None`: such a table has none.
    pub(super) fn stored(&self, partition: PartitionId, durability: Durability) -> Option<Op> {
        let tops = match durability {
            Durability::Memory => return None,
            Durability::Log => &self.tops[0],
            Durability::Fsync => &self.tops[1],
        };
        Some(tops.get(&partition).copied().unwrap_or(Op(0)))
    }

    /// A record of the partition from before this view that is not synced.
    pub(super) fn unsynced_before(&self, partition: PartitionId, view: View) -> Option<(Op, Kind)> {
        let mut unsynced = self.unsynced.iter();
        let found = unsynced.find(|it| it.0 == partition && it.1 < view);
        found.map(|it| (it.2, it.3))
    }

    fn note(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Ok(record) = record::decode(rest) {
            rest = &rest[record.len..];
            let header = record.header;
            let is_held = !matches!(header.kind, Kind::Drop | Kind::Horizon);
            if is_held && header.flags & flag::MOVED == 0 {
                let top = self.tops[0].entry(header.partition).or_insert(header.op);
                *top = (*top).max(header.op);
            }
            let is_moved = header.flags & flag::MOVED != 0;
            if header.committed.is_some() && !is_moved && is_entry(header.kind) {
                let what = (header.partition, header.view, header.op, header.kind);
                self.unsynced.push(what);
            }
        }
    }

    fn note_synced(&mut self) {
        self.tops[1] = self.tops[0].clone();
        self.unsynced.clear();
    }

    /// All goes well: reads and syncs take no time any more.
    pub(super) fn hurry(&mut self) {
        self.reads_held = 0;
        self.sync_turns = self.sync_turns.map(|_| 1);
    }

    /// No value is read for so many turns.
    pub(super) fn hold_reads(&mut self, turns: u32) {
        self.reads_held = turns;
    }

    pub(super) fn append(&mut self, append: Append) {
        self.queue.push_back(append);
    }

    pub(super) fn read(&mut self, read: ColdRead) {
        self.reads.push(read);
    }

    pub(super) fn read_segment(&mut self, segment: SegmentId, from: u32) {
        self.chunks.push_back((segment, from));
    }

    pub(super) fn checkpoint(&mut self, token: u64) {
        self.checkpoints.push(token);
    }

    pub(super) fn delete(&mut self, segment: SegmentId) {
        assert!(segment.0 < self.active, "the active segment is in use");
        self.segments.remove(&segment.0);
    }

    pub(super) fn recover(&mut self, brick: Brick) -> Brick {
        let mut recovery = LogReplay::of(brick);
        self.tops = Default::default();
        let all: Vec<Vec<u8>> = self.segments.values().map(|it| it.bytes.clone()).collect();
        all.iter().for_each(|bytes| self.note(bytes));
        self.note_synced();
        for (id, segment) in &mut self.segments {
            segment.synced = segment.bytes.len();
            // As the store does: of `disk` tables a hint file is enough.
            let is_hinted = *id < self.active && hinted::is_hinted(&recovery, &segment.bytes);
            let mut at = 0;
            while at < segment.bytes.len() {
                let Ok(record) = record::decode(&segment.bytes[at..]) else {
                    segment.bytes.truncate(at);
                    segment.synced = at;
                    break;
                };
                let position = Position {
                    segment: SegmentId(*id),
                    offset: HEADER_BYTES + at as u32,
                };
                at += record.len;
                if is_hinted {
                    hinted::recover(&mut recovery, &record, position);
                } else {
                    recovery.on_record(&LogRecord::Whole { record, position });
                }
            }
        }
        for position in recovery.tails_wanted() {
            let segment = &self.segments[&position.segment.0];
            let at = (position.offset - HEADER_BYTES) as usize;
            let record = record::decode(&segment.bytes[at..]).unwrap();
            recovery.on_tail(position, &record);
        }
        let sealed: Vec<_> = self
            .segments
            .iter()
            .filter(|(id, _)| **id < self.active)
            .map(|(id, segment)| (SegmentId(*id), segment.told()))
            .collect();
        recovery.end(&sealed, SegmentId(self.active))
    }

    /// Does some of what waits, as the mood allows.
    pub(super) fn work(&mut self, brick: &mut Brick, random: &mut Random) {
        self.answer_reads(brick, random);
        let turns = self.sync_turns.unwrap_or(1);
        if let Some(syncing) = self
            .syncing
            .take_if(|_| random.next().is_multiple_of(turns))
        {
            self.end_sync(brick, syncing);
        }
        if self.mood == Mood::Stuck || (self.mood == Mood::Slow && !random.next().is_multiple_of(4))
        {
            return;
        }
        let count = match self.mood {
            Mood::Well => random.next() % 4 + 1,
            _ => 1,
        };
        for _ in 0..count {
            let Some(append) = self.queue.pop_front() else {
                break;
            };
            self.write(brick, &append);
        }
        let may_sync = self.mood != Mood::Slow || random.next().is_multiple_of(2);
        if may_sync && (self.wants_sync || random.next().is_multiple_of(8)) {
            if self.sync_turns.is_some() {
                self.begin_sync();
            } else {
                self.sync(brick);
            }
        }
        if self.queue.is_empty() && !self.checkpoints.is_empty() {
            let active = self.segments.get_mut(&self.active);
            if active.is_some_and(|it| !it.bytes.is_empty()) {
                self.roll(brick, false);
            }
            self.sync(brick);
            for token in std::mem::take(&mut self.checkpoints) {
                brick.handle(Event::Checkpointed(token, Ok(())));
            }
        }
    }

    fn write(&mut self, brick: &mut Brick, append: &Append) {
        if self.refused.is_some_and(|epoch| append.epoch <= epoch) {
            return;
        }
        if self.mood == Mood::Full && !append.frees_space {
            self.refused = Some(append.epoch);
            brick.handle(Event::AppendFailed {
                id: append.id,
                reason: "No space left on device".to_owned(),
            });
            return;
        }
        let segment = self.segments.entry(self.active).or_default();
        let offset = segment.bytes.len() as u32;
        segment.bytes.extend_from_slice(&append.bytes);
        self.note(&append.bytes);
        let position = Position {
            segment: SegmentId(self.active),
            offset: HEADER_BYTES + offset,
        };
        self.appended = append.id;
        self.wants_sync |= append.sync;
        brick.handle(Event::Appended {
            id: append.id,
            position,
        });
    }

    fn begin_sync(&mut self) {
        if self.syncing.is_some() {
            return;
        }
        self.wants_sync = false;
        let segments = self.segments.iter();
        self.syncing = Some(Syncing {
            upto: self.appended,
            lens: segments.map(|(id, it)| (*id, it.bytes.len())).collect(),
            tops: self.tops[0].clone(),
            records: self.unsynced.len(),
        });
    }

    fn end_sync(&mut self, brick: &mut Brick, syncing: Syncing) {
        for (id, len) in syncing.lens {
            if let Some(segment) = self.segments.get_mut(&id) {
                segment.synced = segment.synced.max(len);
            }
        }
        self.tops[1] = syncing.tops;
        self.unsynced.drain(..syncing.records);
        if syncing.upto > self.synced {
            self.synced = syncing.upto;
            brick.handle(Event::Synced(syncing.upto));
        }
    }

    fn sync(&mut self, brick: &mut Brick) {
        self.syncing = None;
        self.wants_sync = false;
        for segment in self.segments.values_mut() {
            segment.synced = segment.bytes.len();
        }
        self.note_synced();
        if self.appended > self.synced {
            self.synced = self.appended;
            brick.handle(Event::Synced(self.appended));
        }
    }

    /// Seals the active segment, which looks as if there were much more in it that is dead, or nothing.
    pub(super) fn roll(&mut self, brick: &mut Brick, is_full: bool) {
        let sealed = SegmentId(self.active);
        let segment = self.segments.entry(self.active).or_default();
        segment.is_full = is_full;
        let bytes = segment.told();
        self.active += 1;
        self.segments.insert(self.active, Segment::default());
        brick.handle(Event::Rolled { sealed, bytes });
    }

    fn answer_reads(&mut self, brick: &mut Brick, random: &mut Random) {
        if self.reads_held > 0 {
            self.reads_held -= 1;
            return;
        }
        let reads = std::mem::take(&mut self.reads);
        for read in reads {
            if random.next().is_multiple_of(4) {
                self.reads.push(read);
                continue;
            }
            let value = self.value(&read);
            let value = value.as_deref().map_err(Clone::clone);
            brick.handle(Event::Read {
                token: read.token,
                value,
            });
        }
        if random.next().is_multiple_of(2)
            && let Some((segment, from)) = self.chunks.pop_front()
        {
            self.answer_chunk(brick, segment, from, random);
        }
    }

    fn value(&self, read: &ColdRead) -> Result<Vec<u8>, String> {
        let segment = self.segments.get(&read.position.segment.0);
        let segment = segment.ok_or("the segment is gone")?;
        let at = read.position.offset - HEADER_BYTES;
        let bytes = segment.bytes.get(at as usize..);
        let record = record::decode(bytes.unwrap_or_default()).map_err(|it| it.to_string())?;
        if record.header.op != read.op
            || read
                .partition
                .is_some_and(|it| it != record.header.partition)
        {
            return Err("another record is there".to_owned());
        }
        if record.header.kind != Kind::Batch {
            return Ok(record.value.to_vec());
        }
        let mut entries = record::entries(record.value).map_while(Result::ok);
        let found = entries.find(|entry| entry.key == read.key);
        Ok(found.ok_or("the key is not in it")?.value.to_vec())
    }

    fn answer_chunk(
        &mut self,
        brick: &mut Brick,
        segment: SegmentId,
        from: u32,
        random: &mut Random,
    ) {
        let Some(found) = self.segments.get(&segment.0) else {
            panic!("segment {} was removed while it was read", segment.0);
        };
        let start = from.max(HEADER_BYTES);
        let mut starts = offsets(HEADER_BYTES, &found.bytes);
        starts.retain(|offset| *offset >= start);
        let next = starts.get(random.next() as usize % 20 + 1).copied();
        starts.retain(|offset| next.is_none_or(|next| *offset < next));
        let begin = (start - HEADER_BYTES) as usize;
        let end = next.map_or(found.bytes.len(), |next| (next - HEADER_BYTES) as usize);
        brick.handle(Event::SegmentChunk(LogChunk {
            segment,
            from,
            bytes: &found.bytes[begin..end],
            offsets: &starts,
            next,
            is_damaged: false,
        }));
    }
}
