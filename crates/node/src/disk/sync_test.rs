//! When is what synced, and who must be woken for it; in time that stands still until it is told to move.

use super::*;
use crate::disk::{AppendIo, AppendOrder, AppendReport, AppendWorker, SYNC_ONLY, WorkerIo};
use brickyard_brick::Append;
use brickyard_store::{DirectoryId, Fault, FreeJob, LogConfig, MemDisk, open};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{BrickId, Op, PartitionId, TableId, View};
use std::sync::Arc;

const INTERVAL: Duration = Duration::from_secs(1);
const PACE: SyncPace = SyncPace {
    interval: INTERVAL,
    bytes: 1 << 20,
};
const MILLISECOND: Duration = Duration::from_millis(1);

struct Around {
    now: Instant,
    unsynced: Unsynced<MemDisk>,
    wakes: u32,
    reported: Vec<String>,
}

struct Bench {
    disk: MemDisk,
    append: AppendWorker<MemDisk>,
    sync: SyncWorker<MemDisk>,
    around: Around,
    op: u64,
}

impl WorkerIo<MemDisk> for Around {
    fn now(&self) -> Instant {
        self.now
    }

    fn unsynced<R>(&mut self, check: impl FnOnce(&mut Unsynced<MemDisk>) -> R) -> R {
        check(&mut self.unsynced)
    }
}

impl AppendIo<MemDisk> for Around {
    fn set_end(&mut self, _end: Position) {}

    fn wake_sync(&mut self) {
        self.wakes += 1;
    }

    fn report(&mut self, report: AppendReport) {
        self.reported.push(match report {
            AppendReport::Appended { id, .. } => format!("appended {}", id.0),
            AppendReport::Failed { id, .. } => format!("failed {}", id.0),
            AppendReport::Rolled { sealed, .. } => format!("rolled {}", sealed.0),
            AppendReport::Poisoned(_) => "poisoned".to_owned(),
        });
    }

    fn count_append(&mut self, _took: Duration, _is_failed: bool) {}
}

impl SyncIo<MemDisk> for Around {
    fn synced(&mut self, batch: BatchId) {
        self.reported.push(format!("synced {}", batch.0));
    }

    fn checkpointed(&mut self, token: u64) {
        self.reported.push(format!("checkpointed {token}"));
    }

    fn hint(&mut self, job: HintJob<MemDisk>) {
        self.reported.push(format!("sealed {}", job.segment().0));
    }

    fn free(&mut self, mut job: FreeJob<MemDisk>) {
        while job.step() {}
        self.reported.push("freed".to_owned());
    }
}

impl Bench {
    fn new() -> Self {
        let disk = MemDisk::new(1);
        let mut config = LogConfig::new(BrickId(0), DirectoryId([7; 16]));
        config.segment_bytes = 4096;
        config.reserve_bytes = 0;
        let opened = open(disk.clone(), config, &|_| true, &mut |_| {}).expect("the log opens");
        Self {
            disk,
            around: Around {
                now: Instant(1_000_000_000_000),
                unsynced: Unsynced::new(opened.appender.end()),
                wakes: 0,
                reported: Vec::new(),
            },
            append: AppendWorker::new(opened.appender),
            sync: SyncWorker::new(opened.syncer, [], PACE),
            op: 0,
        }
    }

    /// Appends a batch; whether the sync worker was woken.
    fn append(&mut self, sync: bool, value_len: usize) -> bool {
        self.op += 1;
        let header = Header {
            kind: Kind::Put,
            flags: 0,
            table: TableId(1),
            partition: PartitionId(1),
            view: View(1),
            op: Op(self.op),
            expires_at: None,
            request: None,
            origin: None,
            committed: None,
        };
        let mut bytes = Vec::new();
        encode(&mut bytes, &header, b"key", &[&vec![b'v'; value_len]]);
        let append = Append {
            id: BatchId(self.op),
            bytes: Arc::new(bytes),
            epoch: 0,
            sync,
            frees_space: false,
        };
        self.order(&AppendOrder::Batch(append))
    }

    fn order(&mut self, order: &AppendOrder) -> bool {
        let before = self.around.wakes;
        self.append.carry_out(order, &mut self.around);
        self.around.wakes > before
    }

    fn check(&mut self) -> SyncStep {
        self.sync.next(&mut self.around).expect("the log is whole")
    }

    fn begin(&mut self) -> SyncJob {
        match self.check() {
            SyncStep::Sync(job) => job,
            other => panic!("{other:?}, and not a sync"),
        }
    }

    /// How long the worker sleeps at most.
    fn sleep(&mut self) -> Option<Duration> {
        match self.check() {
            SyncStep::Sleep(timeout) => timeout,
            other => panic!("{other:?}, and no sleep"),
        }
    }

    fn finish(&mut self, job: SyncJob, took: Duration) -> bool {
        self.pass(took);
        let hints = self.sync.sync(&job).expect("synced");
        self.sync.finish(job, hints, took, &mut self.around)
    }

    fn pass(&mut self, time: Duration) {
        self.around.now = self.around.now + time;
    }

    fn reported(&mut self) -> Vec<String> {
        std::mem::take(&mut self.around.reported)
    }
}

#[test]
fn batch_that_asks_wakes_the_worker_and_is_synced_at_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.sleep(), None);
    assert!(bench.append(true, 10));
    let job = bench.begin();
    assert!(!bench.finish(job, MILLISECOND));
    assert_eq!(bench.reported(), ["appended 1", "synced 1"]);
    assert_eq!(bench.sleep(), None);
}

#[test]
fn batch_that_does_not_ask_wakes_who_sleeps_for_ever_and_nobody_else() {
    let mut bench = Bench::new();
    assert_eq!(bench.sleep(), None);
    assert!(bench.append(false, 10));
    assert_eq!(bench.sleep(), Some(INTERVAL));
    assert!(!bench.append(false, 10), "it wakes by itself");
    bench.pass(INTERVAL / 2);
    assert_eq!(bench.sleep(), Some(INTERVAL / 2));
    bench.pass(INTERVAL / 2);
    let job = bench.begin();
    bench.finish(job, MILLISECOND);
    assert_eq!(bench.reported(), ["appended 1", "appended 2", "synced 2"]);
}

#[test]
fn much_is_synced_before_its_time_and_wakes_the_worker_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.sleep(), None);
    assert!(bench.append(false, 10));
    assert_eq!(bench.sleep(), Some(INTERVAL));
    let half = PACE.bytes as usize / 2;
    assert!(!bench.append(false, half));
    assert!(bench.append(false, half), "that is as much as may wait");
    assert!(!bench.append(false, half), "it was woken");
    let job = bench.begin();
    assert!(!bench.append(false, half), "it looks again by itself");
    bench.finish(job, MILLISECOND);
    assert_eq!(bench.sleep(), Some(INTERVAL), "half of it has come since");
    assert!(bench.append(false, half));
    let job = bench.begin();
    bench.finish(job, MILLISECOND);
    assert_eq!(bench.sleep(), None);
}

#[test]
fn client_that_is_alone_waits_for_nobody() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.append(true, 100);
        let job = bench.begin();
        bench.finish(job, MILLISECOND);
    }
    assert_eq!(bench.reported().len(), 6);
}

#[test]
fn groups_that_take_turns_meet_in_one_sync() {
    let mut bench = Bench::new();
    bench.append(true, 100);
    let job = bench.begin();
    // The other group, while the sync runs.
    bench.append(true, 100);
    bench.finish(job, MILLISECOND / 2);
    // It waits for about as much again, and is not woken for less.
    assert_eq!(bench.sleep(), Some(MILLISECOND));
    assert!(!bench.append(true, 10));
    assert!(bench.append(true, 100), "that is enough");
    let job = bench.begin();
    bench.finish(job, MILLISECOND / 2);
    let reported = bench.reported();
    assert_eq!(reported.last().map(String::as_str), Some("synced 4"));
}

#[test]
fn held_back_is_no_longer_than_three_syncs_nor_than_a_millisecond() {
    for (took, hold) in [
        (MILLISECOND / 4, MILLISECOND * 3 / 4),
        (10 * MILLISECOND, MILLISECOND),
    ] {
        let mut bench = Bench::new();
        bench.append(true, 100);
        let job = bench.begin();
        bench.append(true, 100);
        bench.finish(job, took);
        assert_eq!(bench.sleep(), Some(hold));
        bench.pass(hold);
        let job = bench.begin();
        bench.finish(job, took);
    }
}

#[test]
fn late_one_is_not_held_back() {
    let mut bench = Bench::new();
    bench.append(true, 100);
    bench.append(true, 100);
    let job = bench.begin();
    bench.finish(job, MILLISECOND / 5);
    assert_eq!(bench.sleep(), None);
    bench.pass(MILLISECOND);
    assert!(bench.append(true, 10));
    bench.begin();
}

#[test]
fn checkpoint_is_not_held_back_and_is_told_behind_the_sync() {
    let mut bench = Bench::new();
    bench.append(true, 100);
    let job = bench.begin();
    bench.append(true, 100);
    bench.finish(job, MILLISECOND);
    assert!(bench.order(&AppendOrder::Checkpoint(SYNC_ONLY)));
    let job = bench.begin();
    bench.reported();
    bench.finish(job, MILLISECOND);
    let answer = format!("checkpointed {SYNC_ONLY}");
    assert_eq!(bench.reported(), ["synced 2".to_owned(), answer]);
}

#[test]
fn segment_that_is_dead_as_soon_as_it_is_full_is_deleted_when_it_is_sealed() {
    let mut bench = Bench::new();
    bench.append(false, 4000);
    bench.append(false, 4000);
    assert_eq!(bench.reported(), ["appended 1", "rolled 1", "appended 2"]);
    bench.sync.postpone(SegmentId(1));
    // Nothing may be deleted before the segment is sealed, which the next sync does.
    assert_eq!(bench.sleep(), Some(INTERVAL));
    assert!(bench.disk.content("000001.seg").is_some());
    bench.pass(INTERVAL);
    let job = bench.begin();
    bench.finish(job, MILLISECOND);
    assert_eq!(bench.reported(), ["synced 2", "sealed 1"]);
    assert_eq!(bench.sleep(), None);
    assert!(bench.disk.content("000001.seg").is_none());
}

#[test]
fn closed_log_is_synced_once_more_and_that_is_the_last_sync() {
    let mut bench = Bench::new();
    bench.append(false, 10);
    bench.append.close(&mut bench.around);
    let job = bench.begin();
    assert!(bench.finish(job, MILLISECOND));
    assert_eq!(bench.reported(), ["appended 1", "synced 1"]);
}

#[test]
fn failed_sync_ends_it() {
    let mut bench = Bench::new();
    bench.append(true, 10);
    bench.disk.inject(Fault::SyncFails { after: 0 });
    let job = bench.begin();
    assert!(bench.sync.sync(&job).is_err());
    assert!(!bench.reported().contains(&"synced 1".to_owned()));
}
