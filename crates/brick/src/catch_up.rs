//! Older records for replicas that are catching up: one walk over the own log for all of them.
//!
//! In:  what learners lack ([`CatchUps::begin`]); chunks of the log. Out: committed records, tombstones
//!      included, handed to the replicator.
//!
//! Invariants:
//! - Only what is committed is copied: a put if the index still has it from this very record, a deletion if
//!   the key is not there. What was cut, or is pending, is neither (rules `a learner begins with what is pending` and
//!   `tombstones reach down to the watermark`). The numbers of cut ops are used again, so that the op alone does not
//!   tell.
//! - A walk ends where the log ended when it began, with what was on its way to it then: learners have been there longer, and have got everything
//!   since as it was made. So it ends, whatever is written meanwhile, also where less may be copied than is written.
//! - No segment is cleaned while a walk is under way: what moves to where the walk was is not seen, and what is
//!   deleted before it is there neither.
//! - A walk waits while a learner's link is full, or as much was copied as `recovery_bandwidth` allows; it never
//!   holds up the loop. While clients are served it rests after each chunk, for half as long as that took: they share the
//!   processor with it.
//!
//! Not here: what a walk makes of a log with damage (`catch_up/damaged`).

mod damaged;

use crate::append::BatchId;
use crate::log::Log;
use crate::log_chunk::{LogChunk, Records};
use crate::log_reader::LogReader;
use crate::outside::Outside;
use crate::rate_limiter::RateLimiter;
use crate::repeats::Repeats;
use crate::replica::{Replicas, Replication};
use crate::segments::Segments;
use crate::tables::Tables;
use brickyard_replication::LinkId;
use brickyard_routing::Replica;
use brickyard_table::{Found, KeyHash, ScanPosition, ValueRef};
use brickyard_types::record::{self, Header, Kind, Record, VerifiedRecords, flag};
use brickyard_types::{Instant, Op, PartitionId, Position, SegmentId, UnixMillis};
use damaged::Damaged;
use std::time::Duration;

/// Bytes of the log read at a time: some hundred records, so that whoever is served meanwhile waits for less than a
/// millisecond.
const CHUNK_BYTES: u32 = 64 << 10;

/// Longest rest after a chunk.
const REST_MAX: Duration = Duration::from_millis(5);

/// Records of a table without a log that are looked at in a turn.
const SCAN_STEP: usize = 512;

#[derive(Debug)]
struct Wanted {
    partition: PartitionId,
    learner: Replica,
    link: LinkId,
    after: Option<Op>,
    /// Where the scan of a table without a log goes on.
    scan: ScanPosition,
    damaged: Option<Damaged>,
}

/// One way through the log.
#[derive(Debug)]
struct Walk {
    reader: LogReader,
    /// A chunk that did not fit into the links.
    rest: Option<Rest>,
    /// How many of the learners it serves; those behind came later.
    learners: usize,
    /// When the chunk at hand was asked for, and how many commands had been executed then.
    asked: (Instant, u64),
    /// The next one is not asked for before.
    rests_until: Instant,
    end: WalkEnd,
    /// The deletions that were copied.
    deletions: Repeats,
}

/// Where a walk ends.
#[derive(Clone, Copy, Debug)]
enum WalkEnd {
    /// Where this batch ends, the last one when it began: it is on its way to the disk. The segments that the walk has go to this one.
    Batch(BatchId, SegmentId),
    /// There.
    At((SegmentId, u64)),
}

/// A chunk of which some was copied.
#[derive(Debug)]
struct Rest {
    segment: SegmentId,
    records: VerifiedRecords,
    /// How many of them.
    copied: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CatchUps {
    logged: Vec<Wanted>,
    unlogged: Vec<Wanted>,
    /// All records were handed over; what is left is the window of requests.
    windows: Vec<Wanted>,
    walk: Option<Walk>,
    rate_limiter: RateLimiter,
    /// Asked for since the last turn; sorted by table then.
    asked: Vec<Wanted>,
}

impl Walk {
    /// Looks whether it is known by now where it ends.
    fn settle(&mut self, log: &Log, segments: &Segments) {
        let WalkEnd::Batch(batch, last) = self.end else {
            return;
        };
        if log.has_answers_to(batch) {
            let end = segments.end();
            let rolled = segments.ids().chain([segments.active()]);
            let rolled = rolled.filter(|it| *it > last && *it <= end.0);
            self.reader.go_on_with(rolled);
            self.end = WalkEnd::At(end);
        }
    }

    /// Whether all is read.
    fn is_over(&self) -> bool {
        match self.end {
            WalkEnd::Batch(..) => false,
            WalkEnd::At(end) => self.reader.has_reached(end),
        }
    }

    /// All of a chunk was copied.
    fn rest_from(&mut self, now: Instant, commands: u64) {
        let (asked, before) = self.asked;
        if commands != before {
            self.rests_until = now + ((now - asked) / 2).min(REST_MAX);
        }
    }
}

impl CatchUps {
    /// At most so many bytes a second; 0: as fast as it goes.
    pub(crate) fn at(bandwidth: u64) -> Self {
        Self {
            rate_limiter: RateLimiter::new(bandwidth),
            ..Self::default()
        }
    }

    pub(crate) fn begin(
        &mut self,
        partition: PartitionId,
        learner: Replica,
        link: LinkId,
        after: Option<Op>,
    ) {
        self.stop(partition, learner);
        self.asked.push(Wanted {
            partition,
            learner,
            link,
            after,
            scan: ScanPosition::START,
            damaged: None,
        });
    }

    pub(crate) fn stop(&mut self, partition: PartitionId, learner: Replica) {
        let is_it = |it: &Wanted| it.partition == partition && it.learner == learner;
        self.asked.retain(|it| !is_it(it));
        self.unlogged.retain(|it| !is_it(it));
        self.windows.retain(|it| !is_it(it));
        if let Some(at) = self.logged.iter().position(is_it) {
            self.logged.remove(at);
            if let Some(walk) = &mut self.walk
                && at < walk.learners
            {
                walk.learners -= 1;
            }
            let served = self.walk.as_ref().map_or(0, |walk| walk.learners);
            assert!(
                served <= self.logged.len(),
                "a walk serves {served} of {}",
                self.logged.len()
            );
            // A walk for nobody would keep the cleaner from the log for ever: nobody goes on with it.
            self.walk.take_if(|walk| walk.learners == 0);
        }
    }

    /// When a walk goes on that rests.
    pub(crate) fn rests_until(&self) -> Option<Instant> {
        let walk = self.walk.as_ref().filter(|it| !it.reader.is_asked());
        walk.map(|it| it.rests_until)
    }

    /// Whether segments must stay.
    pub(crate) fn needs_log(&self) -> bool {
        self.walk.is_some() || !self.logged.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.asked.is_empty()
            && self.logged.is_empty()
            && self.unlogged.is_empty()
            && self.windows.is_empty()
    }

    /// A turn's worth of catching others up. A walk that is under way goes on; whether one may begin the caller says.
    pub(crate) fn maintain(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        may_walk: bool,
    ) {
        if self.is_idle() {
            return;
        }
        self.rate_limiter.refill(outside.now);
        self.sort_asked(replication.tables);
        self.scan_unlogged(replication.tables, replication.replicas, outside);
        if may_walk || self.walk.is_some() {
            self.walk_on(replication, outside);
        }
        self.send_windows(replication);
    }

    /// A chunk of the log; whether it was asked for here.
    pub(crate) fn on_chunk(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        chunk: &LogChunk<'_>,
    ) -> bool {
        let Some(walk) = &mut self.walk else {
            return false;
        };
        if !walk.reader.accept(chunk) {
            return false;
        }
        assert!(
            walk.rest.is_none(),
            "a chunk comes before the last is copied"
        );
        walk.rest = Some(Rest {
            segment: chunk.segment,
            records: chunk.records.clone(),
            copied: 0,
        });
        self.copy_on(replication, outside);
        true
    }

    fn sort_asked(&mut self, tables: &Tables) {
        for wanted in std::mem::take(&mut self.asked) {
            let held = tables.partition(wanted.partition);
            let is_logged = held.is_some_and(|(state, _)| state.is_logged());
            if is_logged {
                self.logged.push(wanted);
            } else {
                self.unlogged.push(wanted);
            }
        }
    }

    /// Copies what is in memory, by the index: of tables without a log, and where the log is damaged.
    fn scan_unlogged(
        &mut self,
        tables: &Tables,
        replicas: &mut Replicas,
        outside: &mut Outside<'_>,
    ) {
        let mut at = 0;
        while at < self.unlogged.len() {
            if self.unlogged[at].is_held_up(tables, replicas, outside) {
                at += 1;
                continue;
            }
            let Wanted {
                partition,
                link,
                scan,
                ..
            } = self.unlogged[at];
            let may_copy = self.rate_limiter.has_room();
            if !may_copy || !replicas.has_room(link) {
                at += 1;
                continue;
            }
            let mut records = Vec::new();
            let next = scan_partition(tables, partition, scan, &mut records);
            for raw in &records {
                self.rate_limiter.spend(raw.len());
                replicas.catch_up_record(link, partition, raw);
            }
            match next {
                Some(next) => {
                    self.unlogged[at].scan = next;
                    at += 1;
                }
                None => {
                    let wanted = self.unlogged.remove(at);
                    self.windows.push(wanted);
                }
            }
        }
    }

    /// Sends the windows of requests (rule `requests are executed once`), which end a catch-up: most of their ids are
    /// of records that were superseded since, and were not copied.
    fn send_windows(&mut self, replication: &mut Replication<'_>) {
        let mut at = 0;
        while let Some(Wanted {
            partition, link, ..
        }) = self.windows.get(at)
        {
            let (partition, link) = (*partition, *link);
            if !replication.replicas.has_room(link) {
                at += 1;
                continue;
            }
            let held = replication.tables.partition(partition);
            let records = held.map(|(state, it)| it.window_records(state.id));
            for raw in records.iter().flatten() {
                replication.replicas.catch_up_record(link, partition, raw);
            }
            replication.replicate(|replicator| replicator.catch_up_done(link, partition));
            self.windows.remove(at);
        }
    }

    /// Begins a walk for those who wait for one, or goes on with the one under way.
    fn walk_on(&mut self, replication: &mut Replication<'_>, outside: &mut Outside<'_>) {
        if self.walk.is_none() {
            if self.logged.is_empty() {
                return;
            }
            self.walk = Some(self.begin_walk(replication, outside));
        }
        self.copy_on(replication, outside);
    }

    /// A walk for all that wait for one.
    fn begin_walk(&self, replication: &Replication<'_>, outside: &Outside<'_>) -> Walk {
        let segments = &*replication.segments;
        Walk {
            reader: LogReader::over(segments.ids().chain([segments.active()])),
            rest: None,
            learners: self.logged.len(),
            asked: (outside.now, 0),
            rests_until: outside.now,
            end: WalkEnd::Batch(replication.log.building_id(), segments.active()),
            deletions: Repeats::default(),
        }
    }

    /// Goes on with the walk as far as links have room.
    fn copy_on(&mut self, replication: &mut Replication<'_>, outside: &mut Outside<'_>) {
        if !self.copy_rest(replication.tables, replication.replicas, outside) {
            return;
        }
        let commands = outside.stats.commands.value();
        let Some(walk) = &mut self.walk else {
            return;
        };
        if walk.reader.is_asked() || outside.now < walk.rests_until {
            return;
        }
        walk.settle(replication.log, replication.segments);
        if walk.is_over() {
            return self.end_walk(replication);
        }
        walk.asked = (outside.now, commands);
        if let Some(at) = walk.reader.ask() {
            outside.read_log(at, CHUNK_BYTES);
        }
    }

    fn end_walk(&mut self, replication: &mut Replication<'_>) {
        let Some(walk) = self.walk.take() else {
            return;
        };
        assert!(
            walk.rest.is_none(),
            "a walk ends before its last chunk is copied"
        );
        let served: Vec<Wanted> = self.logged.drain(..walk.learners).collect();
        for wanted in served {
            if walk.reader.damaged().is_empty() {
                self.windows.push(wanted);
            } else if wanted.after.is_some() {
                // A difference is not enough: the learner begins anew.
                let replicator = replication.replicas.replicator();
                let committed = replicator.committed(wanted.partition);
                replication.raise_watermark(wanted.partition, committed);
            } else {
                self.unlogged
                    .push(wanted.after_damage(walk.reader.damaged().clone()));
            }
        }
    }

    /// Copies what is left of the chunk at hand; false if a link is full.
    fn copy_rest(
        &mut self,
        tables: &Tables,
        replicas: &mut Replicas,
        outside: &Outside<'_>,
    ) -> bool {
        let Some(walk) = &mut self.walk else {
            return true;
        };
        let Some(mut rest) = walk.rest.take() else {
            return true;
        };
        let learners = walk.learners;
        assert!(learners > 0, "a chunk is copied to nobody");
        assert!(learners <= self.logged.len(), "{learners} of fewer");
        let mut left = Records {
            segment: rest.segment,
            all: &rest.records,
            taken: rest.copied,
        };
        // Only what is copied takes room.
        let mut may_copy = self.may_copy(replicas, learners);
        loop {
            if !may_copy {
                rest.copied = left.taken;
                if let Some(walk) = &mut self.walk {
                    walk.rest = Some(rest);
                }
                return false;
            }
            // Most of a log is nothing to any learner.
            let next = left.take_of(|header| self.concerns(tables, header.partition, learners));
            let Some((position, record)) = next else {
                let commands = outside.stats.commands.value();
                if let Some(walk) = &mut self.walk {
                    walk.rest_from(outside.now, commands);
                }
                return true;
            };
            if self.copy_record(tables, replicas, position, &record, learners) {
                may_copy = self.may_copy(replicas, learners);
            }
        }
    }

    /// Whether every link that the walk serves has room.
    fn may_copy(&self, replicas: &Replicas, learners: usize) -> bool {
        let mut links = self.logged[..learners].iter().map(|it| it.link);
        self.rate_limiter.has_room() && links.all(|link| replicas.has_room(link))
    }

    /// Whether a record of that partition may be for somebody whom the walk serves.
    fn concerns(&self, tables: &Tables, partition: PartitionId, learners: usize) -> bool {
        let mut wanted = self.logged[..learners].iter();
        wanted.any(|it| it.partition == partition) || tables.is_parent(partition)
    }

    /// Copies a record to whoever lacks it; whether that was anybody.
    fn copy_record(
        &mut self,
        tables: &Tables,
        replicas: &mut Replicas,
        position: Position,
        record: &Record<'_>,
        learners: usize,
    ) -> bool {
        let Some(partition) = child_of_record(tables, record) else {
            return false;
        };
        let header = &Header {
            partition,
            ..record.header
        };
        let wanted = self.logged[..learners].iter();
        let links: Vec<LinkId> = wanted
            .filter(|it| {
                it.partition == header.partition && it.after.is_none_or(|after| header.op > after)
            })
            .map(|it| it.link)
            .collect();
        if links.is_empty() {
            return false;
        }
        let mut out = Vec::new();
        if header.op <= replicas.replicator().committed(partition) {
            encode_in_force(tables, position, header, record, &mut out);
        }
        if let Some(walk) = &mut self.walk
            && header.kind == Kind::Delete
            && !out.is_empty()
            && walk
                .deletions
                .has(partition, header.op, record.key, SegmentId(0))
        {
            return false;
        }
        for raw in &out {
            for link in &links {
                self.rate_limiter.spend(raw.len());
                replicas.catch_up_record(*link, header.partition, raw);
            }
        }
        !out.is_empty()
    }
}

fn scan_partition(
    tables: &Tables,
    id: PartitionId,
    from: ScanPosition,
    records: &mut Vec<Vec<u8>>,
) -> Option<ScanPosition> {
    let (state, partition) = tables.partition(id)?;
    state
        .table
        .scan(partition.local, from, SCAN_STEP, |key, found| {
            let ValueRef::Hot(value) = found.value else {
                return;
            };
            let header = Header {
                kind: Kind::Put,
                flags: found.value_type.flags(),
                table: state.id,
                partition: id,
                view: partition.status.view,
                op: found.op,
                expires_at: found.expires_at,
                request: None,
                origin: None,
                committed: None,
            };
            let mut raw = Vec::new();
            record::encode(&mut raw, &header, key, &[value]);
            records.push(raw);
        })
}

/// The partition that has a record's keys now. All keys of a batch are in one slot, and so in one partition.
fn child_of_record(tables: &Tables, record: &Record<'_>) -> Option<PartitionId> {
    let Header {
        table, partition, ..
    } = record.header;
    let key = match record.header.kind {
        Kind::Put | Kind::Delete => record.key,
        Kind::Batch => record::entries(record.value).next()?.ok()?.key,
        _ => return Some(partition),
    };
    tables.child(table, partition, key)
}

/// The parts of a committed record of the log that are in force, each as a record of its own.
fn encode_in_force(
    tables: &Tables,
    position: Position,
    header: &Header,
    record: &Record<'_>,
    out: &mut Vec<Vec<u8>>,
) {
    let Some((state, partition)) = tables.partition(header.partition) else {
        return;
    };
    let mut add = |kind: Kind, flags: u8, key: &[u8], value: &[u8], expires_at| {
        let hash = KeyHash(state.map.hasher().key_hash(key));
        let is_in_force = match kind {
            Kind::Put => {
                let found = state.table.peek(partition.local, hash, key);
                found.is_some_and(|it| is_from(&it, header.op, value, expires_at, position))
            }
            Kind::Delete => state.table.peek(partition.local, hash, key).is_none(),
            // Whoever lacks a clear gets a full copy: it is in the watermark.
            _ => false,
        };
        if is_in_force {
            let header = Header {
                kind,
                flags: flags & flag::TYPES,
                expires_at,
                request: None,
                origin: None,
                committed: None,
                ..*header
            };
            let mut raw = Vec::new();
            record::encode(&mut raw, &header, key, &[value]);
            out.push(raw);
        }
    };
    match header.kind {
        Kind::Batch => {
            for entry in record::entries(record.value).map_while(Result::ok) {
                add(
                    entry.kind,
                    entry.flags,
                    entry.key,
                    entry.value,
                    entry.expires_at,
                );
            }
        }
        kind => add(
            kind,
            header.flags,
            record.key,
            record.value,
            header.expires_at,
        ),
    }
}

/// Whether what a table has of a key is what this record says. In memory the contents tell; a value that is in
/// the log alone has its place there.
pub(crate) fn is_from(
    found: &Found<'_>,
    op: Op,
    value: &[u8],
    expires_at: Option<UnixMillis>,
    position: Position,
) -> bool {
    let is_same = match found.value {
        ValueRef::Hot(hot) => hot == value && found.expires_at == expires_at,
        ValueRef::Cold { .. } => found.position == position,
    };
    found.op == op && is_same
}

#[cfg(test)]
mod catch_up_test {
    use super::*;
    use brickyard_types::Incarnation;

    #[test]
    fn walk_ends_with_the_last_learner_that_it_is_for() {
        let mut catch_ups = CatchUps::default();
        let learners = [1, 2].map(|node| Replica {
            incarnation: Incarnation(node),
            ..Replica::default()
        });
        for learner in learners {
            catch_ups.begin(PartitionId(7), learner, LinkId(3), None);
        }
        catch_ups.logged = std::mem::take(&mut catch_ups.asked);
        catch_ups.walk = Some(Walk {
            reader: LogReader::over([SegmentId(1)]),
            rest: None,
            learners: 2,
            asked: (Instant(0), 0),
            rests_until: Instant(0),
            end: WalkEnd::At((SegmentId(1), 0)),
            deletions: Repeats::default(),
        });
        catch_ups.stop(PartitionId(7), learners[0]);
        assert!(catch_ups.needs_log(), "it is for another one, too");
        catch_ups.stop(PartitionId(7), learners[1]);
        assert!(!catch_ups.needs_log());
    }
}
