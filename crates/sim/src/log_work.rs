//! What the threads of a brick's log would do, as steps that take virtual time.
//!
//! In:  orders of the brick. Out: reports for it. Each of the three has one order under way at a time, and none
//! waits for another, as with the server's threads.

use crate::clock::{Nanos, SECOND};
use crate::disk::SimDisk;
use brickyard_brick::{BatchId, Event};
use brickyard_node::disk::{
    AppendOrder, Appending, Outcome, ReadOrder, ReadReport, Reading, SYNC_ONLY, Syncing,
};
use brickyard_store::{AppendError, HintJob, Opened, Rolled};
use brickyard_types::{Position, SegmentId};
use std::collections::VecDeque;

/// The log is synced this long after something was written at the latest.
pub(crate) const SYNC_INTERVAL: Nanos = SECOND;

/// Whose step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worker {
    Append,
    Sync,
    Read,
    Hint,
}

/// What the brick is told, in order.
#[derive(Debug)]
pub(crate) enum Report {
    Appended(BatchId, Position),
    Failed(BatchId, String),
    Rolled(SegmentId, u64),
    Synced(BatchId),
    Checkpointed(u64),
    Poisoned(String),
    Read(ReadReport),
}

impl Report {
    pub(crate) fn deliver(&self, handle: &mut impl FnMut(Event<'_>)) {
        match self {
            Self::Appended(id, position) => handle(Event::Appended {
                id: *id,
                position: *position,
            }),
            Self::Failed(id, reason) => handle(Event::AppendFailed {
                id: *id,
                reason: reason.clone(),
            }),
            Self::Rolled(sealed, bytes) => handle(Event::Rolled {
                sealed: *sealed,
                bytes: *bytes,
            }),
            Self::Synced(id) => handle(Event::Synced(*id)),
            Self::Checkpointed(token) => handle(Event::Checkpointed(*token, Ok(()))),
            Self::Poisoned(reason) => handle(Event::Poisoned(reason.clone())),
            Self::Read(report) => report.deliver(handle),
        }
    }
}

/// A sync that is under way.
#[derive(Debug)]
struct SyncJob {
    id: BatchId,
    end: Position,
    checkpoints: Vec<u64>,
    /// What came of it, if the disk did it at its beginning.
    done: Option<Result<(), String>>,
}

/// See the module.
pub(crate) struct LogWork {
    appending: Appending<SimDisk>,
    syncing: Syncing<SimDisk>,
    reading: Reading<SimDisk>,
    appends: VecDeque<AppendOrder>,
    is_appending: bool,
    written: (BatchId, Position),
    wanted: BatchId,
    synced: BatchId,
    rolled: Vec<Rolled<SimDisk>>,
    checkpoints: Vec<u64>,
    /// Since when something is written and not synced.
    dirty_since: Option<Nanos>,
    sync: Option<SyncJob>,
    reads: VecDeque<ReadOrder>,
    is_reading: bool,
    hints: VecDeque<HintJob<SimDisk>>,
    is_hinting: bool,
    is_poisoned: bool,
    pub(crate) reports: VecDeque<Report>,
}

impl LogWork {
    pub(crate) fn new(opened: Opened<SimDisk>) -> Self {
        let end = opened.appender.end();
        Self {
            appending: Appending::new(opened.appender),
            syncing: Syncing::new(opened.syncer, opened.report.resealed.iter().copied()),
            reading: Reading::new(opened.reader),
            appends: VecDeque::new(),
            is_appending: false,
            written: (BatchId(0), end),
            wanted: BatchId(0),
            synced: BatchId(0),
            rolled: Vec::new(),
            checkpoints: Vec::new(),
            dirty_since: None,
            sync: None,
            reads: VecDeque::new(),
            is_reading: false,
            hints: VecDeque::new(),
            is_hinting: false,
            is_poisoned: false,
            reports: VecDeque::new(),
        }
    }

    pub(crate) fn append(&mut self, order: AppendOrder) {
        self.appends.push_back(order);
    }

    pub(crate) fn read(&mut self, order: ReadOrder) {
        self.reads.push_back(order);
    }

    pub(crate) fn delete(&mut self, segment: SegmentId) {
        self.syncing.postpone(segment);
    }

    /// Whether a worker that has nothing to do could begin something.
    pub(crate) fn begin(
        &mut self,
        worker: Worker,
        now: Nanos,
        is_early: bool,
    ) -> Option<Option<Nanos>> {
        match worker {
            Worker::Append if !self.is_appending && !self.appends.is_empty() => {
                self.is_appending = true;
                Some(None)
            }
            Worker::Read if !self.is_reading && !self.reads.is_empty() => {
                self.is_reading = true;
                Some(None)
            }
            Worker::Hint if !self.is_hinting && !self.hints.is_empty() => {
                self.is_hinting = true;
                Some(None)
            }
            Worker::Sync if self.sync.is_none() && !self.is_poisoned => {
                let is_wanted = self.wanted > self.synced
                    || !self.checkpoints.is_empty()
                    || self.syncing.has_deletes();
                let due = self.dirty_since.map(|since| since + SYNC_INTERVAL);
                if !is_wanted && due.is_none_or(|due| due > now) {
                    // Looked at again when it is due.
                    return due.map(Some);
                }
                self.begin_sync(is_early);
                Some(None)
            }
            _ => None,
        }
    }

    fn begin_sync(&mut self, is_early: bool) {
        for rolled in self.rolled.drain(..) {
            self.syncing.add_rolled(rolled);
        }
        let (id, end) = self.written;
        self.dirty_since = None;
        let mut job = SyncJob {
            id,
            end,
            checkpoints: std::mem::take(&mut self.checkpoints),
            done: None,
        };
        // The disk may be done long before anybody hears of it, or not before.
        if is_early {
            job.done = Some(self.sync_now(end));
        }
        self.sync = Some(job);
    }

    fn sync_now(&mut self, end: Position) -> Result<(), String> {
        let synced = self
            .syncing
            .sync(end)
            .and_then(|jobs| {
                self.hints.extend(jobs);
                // The brick may have heard of a full segment, and found it dead, since the sync began.
                for rolled in self.rolled.drain(..) {
                    self.syncing.add_rolled(rolled);
                }
                self.syncing.delete().map(drop)
            })
            .map_err(|error| error.to_string());
        self.is_poisoned |= synced.is_err();
        synced
    }

    /// A worker has come to the end of what it does.
    pub(crate) fn finish(&mut self, worker: Worker, now: Nanos) {
        match worker {
            Worker::Append => self.finish_append(now),
            Worker::Sync => self.finish_sync(),
            Worker::Read => self.finish_read(),
            Worker::Hint => {
                self.is_hinting = false;
                if let Some(job) = self.hints.pop_front() {
                    // Without one the next start is slower.
                    drop(job.run());
                }
            }
        }
    }

    fn finish_append(&mut self, now: Nanos) {
        self.is_appending = false;
        match self.appends.pop_front() {
            Some(AppendOrder::Batch(append)) => {
                let outcome = self.appending.append(&append);
                self.pass_on_rolled();
                match outcome {
                    Outcome::Appended(appended) => {
                        let report = Report::Appended(append.id, appended.start);
                        self.reports.push_back(report);
                        self.written = (append.id, appended.end);
                        self.dirty_since.get_or_insert(now);
                        if append.sync {
                            self.wanted = append.id;
                        }
                    }
                    Outcome::Failed(reason) => {
                        self.reports.push_back(Report::Failed(append.id, reason));
                    }
                    Outcome::Poisoned(reason) => self.reports.push_back(Report::Poisoned(reason)),
                }
            }
            Some(AppendOrder::Checkpoint(token)) => {
                if token != SYNC_ONLY {
                    let rolled = self.appending.appender.roll();
                    self.pass_on_rolled();
                    if let Err(AppendError::Poisoned(poisoned)) = rolled {
                        self.reports
                            .push_back(Report::Poisoned(poisoned.to_string()));
                    }
                }
                self.written.1 = self.appending.appender.end();
                self.checkpoints.push(token);
            }
            None => {}
        }
    }

    fn pass_on_rolled(&mut self) {
        while let Some(rolled) = self.appending.appender.take_rolled() {
            let report = Report::Rolled(rolled.segment(), u64::from(rolled.bytes()));
            self.reports.push_back(report);
            self.rolled.push(rolled);
        }
    }

    fn finish_sync(&mut self) {
        let Some(mut job) = self.sync.take() else {
            return;
        };
        let done = match job.done.take() {
            Some(done) => done,
            None => self.sync_now(job.end),
        };
        match done {
            Ok(()) => {
                self.synced = self.synced.max(job.id);
                self.reports.push_back(Report::Synced(self.synced));
                let tokens = job.checkpoints.into_iter();
                self.reports.extend(tokens.map(Report::Checkpointed));
            }
            Err(reason) => self.reports.push_back(Report::Poisoned(reason)),
        }
    }

    fn finish_read(&mut self) {
        self.is_reading = false;
        if let Some(order) = self.reads.pop_front() {
            let written = self.appending.appender.end();
            let report = self.reading.read(&order, written);
            self.reports.extend(report.map(Report::Read));
        }
    }

    /// The process ends in order: everything is written, and synced.
    pub(crate) fn finish_all(&mut self, now: Nanos) {
        while !self.appends.is_empty() {
            self.finish_append(now);
        }
        self.finish_sync();
        if !self.is_poisoned {
            self.begin_sync(false);
            self.finish_sync();
        }
    }

    /// The process is being killed in the middle of what it does: the last of it may get anywhere.
    pub(crate) fn die(&mut self, now: Nanos) {
        if self.is_appending {
            self.finish_append(now);
        }
        if self.sync.is_some() {
            self.finish_sync();
        }
    }
}
