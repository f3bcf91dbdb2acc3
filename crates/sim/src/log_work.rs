//! The workers of a brick's log, in virtual time: their steps take as long as the world says.
//!
//! In:  orders of the brick. Out: reports for it. Each has one order under way at a time, and none waits for another, as
//! with the server's threads. A sync worker that sleeps is woken by what wakes the server's, and by nothing else. A batch
//! for which nothing has to wait may be written at once, by the loop itself.
//!
//! Not here: what the workers do (`node`).

use crate::clock::{Nanos, SECOND};
use crate::random::Random;
use brickyard_brick::{Append, BatchId, Event};
use brickyard_metadata::Catalog;
use brickyard_node::disk::{
    AppendIo, AppendOrder, AppendReport, AppendWorker, Carried, ReadOrder, ReadReport, Reading,
    SyncIo, SyncJob, SyncPace, SyncStep, SyncWorker, Unsynced, WorkerIo, write_hint,
};
use brickyard_store::{FreeJob, HintJob, MemDisk, Opened, Poisoned};
use brickyard_types::record::{self, Kind, flag};
use brickyard_types::{Durability, Instant, Op, PartitionId, Position, SegmentId, View};
use std::collections::VecDeque;
use std::time::Duration;

/// The log is synced this long after something was written at the latest, or after so many bytes.
const SYNC_PACE: SyncPace = SyncPace {
    interval: Duration::from_nanos(SECOND),
    bytes: 32 << 10,
};

/// Whose step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worker {
    Append,
    Sync,
    Read,
    Hint,
}

/// What a worker that has nothing under way comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It has nothing to do.
    Nothing,
    /// It is at work: [`LogWork::finish`] when it is done.
    Work,
    /// It sleeps until it is woken, at most until then.
    Sleep(Nanos),
}

/// What the brick is told, in order.
#[derive(Debug)]
pub(crate) enum Report {
    Append(AppendReport),
    Synced(BatchId),
    Checkpointed(u64),
    Poisoned(String),
    Read(ReadReport),
}

impl Report {
    pub(crate) fn deliver(self, handle: &mut impl FnMut(Event<'_>)) {
        match self {
            Self::Append(report) => handle(report.into_event()),
            Self::Synced(id) => handle(Event::Synced(id)),
            Self::Checkpointed(token) => handle(Event::Checkpointed(token, Ok(()))),
            Self::Poisoned(reason) => handle(Event::Poisoned(reason)),
            Self::Read(report) => report.deliver(handle),
        }
    }
}

/// A sync that is under way.
struct Syncing {
    job: SyncJob,
    began: Nanos,
    /// What came of it, if the disk did it at its beginning.
    done: Option<Result<Vec<HintJob<MemDisk>>, Poisoned>>,
}

/// What is around the workers that write.
struct Around {
    now: Instant,
    unsynced: Unsynced<MemDisk>,
    /// How far the log is whole.
    end: Position,
    is_sync_woken: bool,
    hints: VecDeque<HintJob<MemDisk>>,
    reports: VecDeque<Report>,
}

/// A record: of which partition, by which view, which one.
type Entry = (PartitionId, View, Op);

/// Records that were given to the log in this life, by batches, until they are synced.
#[derive(Debug, Default)]
struct UnderWay {
    batches: VecDeque<(BatchId, Vec<Entry>)>,
    appended: BatchId,
}

impl UnderWay {
    fn begin(&mut self, batch: &Append) {
        let mut records = Vec::new();
        let mut rest = &batch.bytes[..];
        while let Ok(record) = record::decode(rest) {
            rest = &rest[record.len..];
            let header = record.header;
            let is_entry = matches!(
                header.kind,
                Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear | Kind::ViewStart
            );
            // What was moved is older, and was there before.
            if is_entry && header.committed.is_some() && header.flags & flag::MOVED == 0 {
                records.push((header.partition, header.view, header.op));
            }
        }
        self.batches.push_back((batch.id, records));
    }

    /// What became of a batch, and of those before it.
    fn end(&mut self, report: &Report) {
        match report {
            Report::Append(AppendReport::Appended { id, .. }) => self.appended = *id,
            Report::Append(AppendReport::Failed { id, .. }) => {
                self.batches.retain(|(batch, _)| batch != id);
            }
            Report::Synced(id) => self.batches.retain(|(batch, _)| batch > id),
            _ => {}
        }
    }

    fn find(
        &self,
        partition: PartitionId,
        durability: Durability,
        is_it: impl Fn(View, Op) -> bool,
    ) -> Option<Op> {
        let is_counted = |batch: BatchId| match durability {
            Durability::Memory => false,
            Durability::Log => batch > self.appended,
            Durability::Fsync => true,
        };
        let batches = self.batches.iter().filter(|(batch, _)| is_counted(*batch));
        let mut records = batches.flat_map(|(_, records)| records);
        let found = records.find(|(of, view, op)| *of == partition && is_it(*view, *op));
        found.map(|(_, _, op)| *op)
    }
}

/// Which batches a loop writes itself.
struct Inline {
    /// One of so many, where it may.
    one_in: u64,
    chance: Random,
    /// Of one that was written nobody has heard.
    has_reports: bool,
}

/// See the module.
pub(crate) struct LogWork {
    appends: VecDeque<AppendOrder>,
    append: AppendWorker<MemDisk>,
    is_appending: bool,
    inline: Inline,
    deletes: VecDeque<SegmentId>,
    sync: SyncWorker<MemDisk>,
    syncing: Option<Syncing>,
    /// Its thread has ended.
    is_poisoned: bool,
    reads: VecDeque<ReadOrder>,
    reading: Reading<MemDisk>,
    is_reading: bool,
    is_hinting: bool,
    around: Around,
    /// For those who look on.
    under_way: UnderWay,
}

impl LogWork {
    pub(crate) fn new(opened: Opened<MemDisk>, inline_one_in: u64, chance: Random) -> Self {
        let end = opened.appender.end();
        let unsealed = opened.report.resealed.iter().copied();
        Self {
            appends: VecDeque::new(),
            append: AppendWorker::new(opened.appender),
            is_appending: false,
            inline: Inline {
                one_in: inline_one_in,
                chance,
                has_reports: false,
            },
            deletes: VecDeque::new(),
            sync: SyncWorker::new(opened.syncer, unsealed, SYNC_PACE),
            syncing: None,
            is_poisoned: false,
            reads: VecDeque::new(),
            reading: Reading::new(opened.reader, opened.report.damages),
            is_reading: false,
            is_hinting: false,
            under_way: UnderWay::default(),
            around: Around {
                now: Instant(0),
                unsynced: Unsynced::new(end),
                end,
                is_sync_woken: true,
                hints: VecDeque::new(),
                reports: VecDeque::new(),
            },
        }
    }

    pub(crate) fn append(&mut self, order: AppendOrder) {
        if let AppendOrder::Batch(batch) = &order {
            self.under_way.begin(batch);
        }
        self.appends.push_back(order);
    }

    /// Writes a batch at once, if nothing is ordered that comes before it, and chance has it so; whether it did.
    pub(crate) fn append_inline(&mut self, batch: &Append, now: Instant) -> bool {
        if !self.appends.is_empty() || !self.inline.chance.one_in(self.inline.one_in) {
            return false;
        }
        assert!(!self.is_appending, "what is under way is in the queue");
        self.around.now = now;
        let reports = self.around.reports.len();
        let appended = self.append.append_inline(batch, &mut self.around);
        if appended.is_none() {
            return false;
        }
        assert!(
            self.around.reports.len() > reports,
            "a batch that was written is reported"
        );
        self.under_way.begin(batch);
        self.inline.has_reports = true;
        true
    }

    pub(crate) fn has_inline_reports(&self) -> bool {
        self.inline.has_reports
    }

    pub(crate) fn read(&mut self, order: ReadOrder) {
        self.reads.push_back(order);
    }

    /// A record of a partition that is not in the log yet, or not so durably.
    pub(crate) fn under_way(
        &self,
        partition: PartitionId,
        durability: Durability,
        is_it: impl Fn(View, Op) -> bool,
    ) -> Option<Op> {
        self.under_way.find(partition, durability, is_it)
    }

    /// The sync worker has slept for long enough.
    pub(crate) fn wake_sync(&mut self) {
        self.around.is_sync_woken = true;
    }

    pub(crate) fn has_reports(&self) -> bool {
        !self.around.reports.is_empty()
    }

    pub(crate) fn take_reports(&mut self, mut handle: impl FnMut(Event<'_>)) {
        self.inline.has_reports = false;
        for report in self.around.reports.drain(..) {
            self.under_way.end(&report);
            report.deliver(&mut handle);
        }
    }

    /// A worker that has nothing under way begins something, if there is something.
    pub(crate) fn begin(&mut self, worker: Worker, now: Nanos, is_early: bool) -> Begun {
        let (is_at_work, has_orders) = match worker {
            Worker::Append => (&mut self.is_appending, !self.appends.is_empty()),
            Worker::Read => (&mut self.is_reading, !self.reads.is_empty()),
            Worker::Hint => (&mut self.is_hinting, !self.around.hints.is_empty()),
            Worker::Sync => return self.begin_sync(now, is_early),
        };
        if *is_at_work || !has_orders {
            return Begun::Nothing;
        }
        *is_at_work = true;
        Begun::Work
    }

    fn begin_sync(&mut self, now: Nanos, is_early: bool) -> Begun {
        if self.syncing.is_some()
            || self.is_poisoned
            || !std::mem::take(&mut self.around.is_sync_woken)
        {
            return Begun::Nothing;
        }
        match self.next_sync(now) {
            Ok(SyncStep::Sync(job)) => {
                // The disk may be done long before anybody hears of it, or not before.
                let done = is_early.then(|| self.sync.sync(&job));
                self.syncing = Some(Syncing {
                    job,
                    began: now,
                    done,
                });
                Begun::Work
            }
            Ok(SyncStep::Sleep(Some(timeout))) => Begun::Sleep(now + timeout.as_nanos() as Nanos),
            Ok(SyncStep::Sleep(None) | SyncStep::Again) => Begun::Nothing,
            Err(poisoned) => {
                self.poison(&poisoned);
                Begun::Nothing
            }
        }
    }

    /// What the sync worker finds to do, once there is nothing to delete.
    fn next_sync(&mut self, now: Nanos) -> Result<SyncStep, Poisoned> {
        self.around.now = Instant(now);
        loop {
            for segment in self.deletes.drain(..) {
                self.sync.postpone(segment);
            }
            let next = self.sync.next(&mut self.around)?;
            if !matches!(next, SyncStep::Again) {
                return Ok(next);
            }
        }
    }

    fn poison(&mut self, poisoned: &Poisoned) {
        self.is_poisoned = true;
        let report = Report::Poisoned(poisoned.to_string());
        self.around.reports.push_back(report);
    }

    /// A worker has come to the end of what it does; `catalog` says what hint files are for.
    pub(crate) fn finish(&mut self, worker: Worker, now: Nanos, catalog: Option<&Catalog>) {
        self.around.now = Instant(now);
        match worker {
            Worker::Append => {
                self.is_appending = false;
                self.append_next();
            }
            Worker::Sync => {
                self.finish_sync(now);
            }
            Worker::Read => {
                self.is_reading = false;
                if let Some(order) = self.reads.pop_front() {
                    match self.reading.carry_out(&order, self.around.end) {
                        Carried::Report(report) => {
                            self.around.reports.push_back(Report::Read(report));
                        }
                        Carried::Closed(segment) => {
                            self.deletes.push_back(segment);
                            self.around.is_sync_woken = true;
                        }
                    }
                }
            }
            Worker::Hint => {
                self.is_hinting = false;
                if let Some(job) = self.around.hints.pop_front()
                    && let Some(catalog) = catalog
                {
                    write_hint(job, catalog);
                }
            }
        }
    }

    fn append_next(&mut self) {
        if let Some(order) = self.appends.pop_front() {
            self.append.carry_out(&order, &mut self.around);
        }
    }

    /// Whether that was the last sync, or there is none any more.
    fn finish_sync(&mut self, now: Nanos) -> bool {
        let Some(Syncing { job, began, done }) = self.syncing.take() else {
            return self.is_poisoned;
        };
        match done.unwrap_or_else(|| self.sync.sync(&job)) {
            Ok(hints) => {
                let took = Duration::from_nanos(now - began);
                // It looks again before it sleeps.
                self.around.is_sync_woken = true;
                self.sync.finish(job, hints, took, &mut self.around)
            }
            Err(poisoned) => {
                self.poison(&poisoned);
                true
            }
        }
    }

    /// The process ends in order: everything is written, and synced.
    pub(crate) fn finish_all(&mut self, now: Nanos) {
        self.around.now = Instant(now);
        while !self.appends.is_empty() {
            self.append_next();
        }
        self.finish_sync(now);
        self.append.close(&mut self.around);
        while self.begin_sync(now, false) == Begun::Work {
            if self.finish_sync(now) {
                break;
            }
        }
        let rest = self.deletes.drain(..);
        rest.for_each(|segment| self.sync.postpone(segment));
        while !self.is_poisoned {
            match self.sync.delete(&mut self.around) {
                Ok(true) => {}
                Ok(false) => break,
                Err(poisoned) => self.poison(&poisoned),
            }
        }
        self.append.mark_synced();
    }

    /// The process is being killed in the middle of what it does: the last of it may get anywhere.
    pub(crate) fn die(&mut self, now: Nanos) {
        self.around.now = Instant(now);
        if self.is_appending {
            self.append_next();
        }
        self.finish_sync(now);
    }
}

impl WorkerIo<MemDisk> for Around {
    fn now(&self) -> Instant {
        self.now
    }

    fn unsynced<R>(&mut self, look: impl FnOnce(&mut Unsynced<MemDisk>) -> R) -> R {
        look(&mut self.unsynced)
    }
}

impl AppendIo<MemDisk> for Around {
    fn set_end(&mut self, end: Position) {
        self.end = end;
    }

    fn wake_sync(&mut self) {
        self.is_sync_woken = true;
    }

    fn report(&mut self, report: AppendReport) {
        self.reports.push_back(Report::Append(report));
    }

    fn count_append(&mut self, _took: Duration, _is_failed: bool) {}
}

impl SyncIo<MemDisk> for Around {
    fn synced(&mut self, batch: BatchId) {
        self.reports.push_back(Report::Synced(batch));
    }

    fn checkpointed(&mut self, token: u64) {
        self.reports.push_back(Report::Checkpointed(token));
    }

    fn hint(&mut self, job: HintJob<MemDisk>) {
        self.hints.push_back(job);
    }

    fn free(&mut self, mut job: FreeJob<MemDisk>) {
        while job.step() {}
    }
}
