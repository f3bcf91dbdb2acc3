//! The disk threads over a disk in memory that fails on request.

use super::*;
use brickyard_brick::{Append, ColdRead, LogChunk};
use brickyard_metadata::{
    Addresses, Catalog, ClusterId, Genesis, Machine, NodeKey, Registration, Roles,
};
use brickyard_store::{Fault, LogConfig, MemDisk, open};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{
    BrickId, Op, PartitionId, Position, SegmentId, TableAttributes, TableId, UnixMillis, View,
};
use mio::{Events, Poll};
use std::time::Duration;
use tokio::sync::watch;

/// A loop that only collects what its disk threads report.
struct Bench {
    disk: MemDisk,
    poll: Poll,
    wakers: Arc<[Waker]>,
    link: Option<DiskLink>,
    threads: Vec<JoinHandle<()>>,
    idle: Option<IdleThread<MemDisk>>,
    stats: Arc<DiskStats>,
    op: u64,
}

/// What a report said, in words.
type ReportText = String;

impl Bench {
    /// Batches of at most so many bytes the loop writes itself.
    fn new(disk: MemDisk, sync_interval: Duration, inline_append_max: usize) -> Self {
        let mut config = LogConfig::new(BrickId(0), brickyard_store::DirectoryId([7; 16]));
        config.segment_bytes = 4096;
        config.reserve_bytes = 0;
        let opened = open(disk.clone(), config, &|_| true, &mut |_| {}).expect("the log opens");
        let poll = Poll::new().expect("a poll");
        let waker = Waker::new(poll.registry(), mio::Token(0)).expect("a waker");
        let wakers: Arc<[Waker]> = Arc::new([waker]);
        let idle = IdleThread::start(catalog()).expect("a thread");
        let stats = Arc::new(DiskStats::default());
        let setup = DiskSetup {
            brick: 0,
            wakers: &wakers,
            pace: SyncPace {
                interval: sync_interval,
                bytes: 1 << 20,
            },
            inline_append_max,
            stats: Arc::clone(&stats),
        };
        let (link, threads) = start(opened, idle.sender(), setup).expect("threads");
        Self {
            disk,
            poll,
            wakers,
            link: Some(link),
            threads,
            idle: Some(idle),
            stats,
            op: 0,
        }
    }

    fn link(&mut self) -> &mut DiskLink {
        self.link.as_mut().expect("not ended")
    }

    fn append(&mut self, id: u64, epoch: u64, sync: bool, value_len: usize) {
        let mut bytes = Vec::new();
        self.op += 1;
        encode(
            &mut bytes,
            &header(self.op),
            b"key",
            &[&vec![b'v'; value_len]],
        );
        let bytes = Arc::new(bytes);
        let id = BatchId(id);
        self.link().append(AppendOrder::Batch(Append {
            id,
            bytes,
            epoch,
            sync,
            frees_space: false,
        }));
        self.link().flush();
    }

    fn checkpoint(&mut self, token: u64) {
        self.link().append(AppendOrder::Checkpoint(token));
    }

    fn read_segment(&mut self, segment: SegmentId) {
        self.link().read(ReadOrder::Chunk {
            segment,
            from: 0,
            bytes_max: 1 << 20,
        });
    }

    fn delete_segment(&mut self, segment: SegmentId) {
        self.link().read(ReadOrder::Delete(segment));
    }

    /// Takes reports until `is_done` of all that was said, sleeping as a loop does.
    fn wait(&mut self, is_done: impl Fn(&[ReportText]) -> bool) -> Vec<ReportText> {
        let mut reports = Vec::new();
        let mut events = Events::with_capacity(4);
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !is_done(&reports) {
            assert!(
                std::time::Instant::now() < deadline,
                "only this was said: {reports:?}"
            );
            self.wakers[0].fall_asleep();
            if !self.link().has_reports() {
                self.poll
                    .poll(&mut events, Some(Duration::from_secs(1)))
                    .expect("polled");
            }
            self.wakers[0].wake_up();
            self.link().deliver(|event| reports.push(say(&event)));
        }
        reports
    }

    /// Ends the threads and gives back the disk.
    fn end(mut self) -> MemDisk {
        drop(self.link.take());
        for thread in self.threads.drain(..) {
            thread.join().expect("the thread ends");
        }
        let idle = self.idle.take().expect("not ended").finish();
        idle.join().expect("the thread ends");
        self.disk.clone()
    }
}

/// One brick, and a table `default` with its values in memory.
fn catalog() -> watch::Receiver<Arc<Catalog>> {
    let node = Registration {
        key: NodeKey([0; 20]),
        run: 1,
        addresses: Addresses {
            host: "127.0.0.1".to_owned(),
            bricks: vec![1],
            ..Addresses::default()
        },
        bricks: 1,
        weight: 1,
        zone: None,
        roles: Roles::default(),
        machine: Machine::default(),
    };
    let catalog = Catalog::found(Genesis {
        cluster: ClusterId(1),
        node,
        attributes: TableAttributes::default(),
        partitions: Some(1),
        seed: 1,
        created: UnixMillis(1),
    });
    watch::channel(Arc::new(catalog.expect("a catalog"))).1
}

fn header(op: u64) -> Header {
    Header {
        kind: Kind::Put,
        flags: 0,
        table: TableId(1),
        partition: PartitionId(1),
        view: View(1),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: None,
    }
}

fn say(event: &Event<'_>) -> ReportText {
    match event {
        Event::Appended { id, .. } => format!("appended {}", id.0),
        Event::AppendFailed { id, .. } => format!("failed {}", id.0),
        Event::Synced(id) => format!("synced {}", id.0),
        Event::Poisoned(_) => "poisoned".to_owned(),
        Event::Rolled { sealed, .. } => format!("rolled {}", sealed.0),
        Event::Checkpointed(token, Ok(())) => format!("checkpointed {token}"),
        Event::Read {
            token,
            value: Ok(value),
        } => format!("read {token}: {} bytes", value.len()),
        Event::Read {
            token,
            value: Err(_),
        } => format!("read {token}: no"),
        Event::SegmentChunk(LogChunk {
            records,
            next,
            is_damaged,
            ..
        }) => {
            format!(
                "chunk of {} bytes, next {next:?}, damaged {is_damaged}",
                records.byte_len()
            )
        }
        other => format!("{other:?}"),
    }
}

fn has(reports: &[ReportText], wanted: &str) -> bool {
    reports.iter().any(|reports| reports == wanted)
}

const NEVER: Duration = Duration::from_secs(3600);

/// Whatever is written, who writes it makes no difference: the thread all of it, short batches the loop, or all.
const WAYS: [usize; 3] = [0, 1000, 1 << 20];

#[test]
fn batch_is_appended_and_then_synced_when_it_asks() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
        bench.append(1, 0, false, 10);
        bench.append(2, 0, true, 10);
        let reports = bench.wait(|reports| has(reports, "synced 2"));
        assert_eq!(reports, ["appended 1", "appended 2", "synced 2"]);
        bench.end();
    }
}

#[test]
fn idle_log_is_synced_after_the_interval() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), Duration::from_millis(1), way);
        bench.append(1, 0, false, 10);
        bench.wait(|reports| has(reports, "synced 1"));
        bench.append(2, 0, false, 10);
        bench.wait(|reports| has(reports, "synced 2"));
        bench.end();
    }
}

#[test]
fn full_disk_fails_the_rest_of_the_epoch_and_the_next_one_goes_on() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        bench.append(1, 0, false, 10);
        bench.wait(|reports| has(reports, "appended 1"));
        disk.inject(Fault::Full { capacity: 0 });
        bench.append(2, 0, false, 10);
        bench.wait(|reports| has(reports, "failed 2"));
        disk.heal();
        // Sent before the brick heard of the failure: refused although there is room again.
        bench.append(3, 0, false, 10);
        bench.append(4, 0, false, 10);
        bench.append(5, 1, false, 10);
        let reports = bench.wait(|reports| has(reports, "appended 5"));
        assert_eq!(reports, ["failed 3", "failed 4", "appended 5"]);
        let disk = bench.end();
        assert_eq!(ops(&disk), [1, 5]);
    }
}

#[test]
fn failed_sync_poisons() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        disk.inject(Fault::SyncFails { after: 0 });
        bench.append(1, 0, true, 10);
        let reports = bench.wait(|reports| has(reports, "poisoned"));
        assert!(
            !reports.iter().any(|reports| reports.starts_with("synced")),
            "{reports:?}"
        );
        bench.append(2, 0, false, 10);
        let reports = bench.wait(|reports| has(reports, "poisoned"));
        assert!(!has(&reports, "appended 2"), "{reports:?}");
        bench.end();
    }
}

#[test]
fn everything_is_synced_at_the_end_and_survives_a_power_cut() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(3), NEVER, way);
        for id in 1..=20 {
            bench.append(id, 0, false, 100);
        }
        let disk = bench.end();
        disk.power_cut();
        assert_eq!(ops(&disk), (1..=20).collect::<Vec<_>>());
    }
}

#[test]
fn checkpoint_is_told_after_all_before_it_are_synced() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
        bench.append(1, 0, false, 10);
        bench.checkpoint(77);
        bench.link().flush();
        let reports =
            bench.wait(|reports| has(reports, "checkpointed 77") && has(reports, "synced 1"));
        let at = |wanted: &str| reports.iter().position(|reports| reports == wanted);
        assert!(at("appended 1") < at("checkpointed 77"), "{reports:?}");
        bench.end();
    }
}

#[test]
fn checkpoint_seals_the_active_segment_and_the_roll_is_told_before() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
        bench.append(1, 0, false, 10);
        bench.checkpoint(77);
        // The second finds a segment without records.
        bench.checkpoint(78);
        bench.link().flush();
        let reports = bench.wait(|reports| has(reports, "checkpointed 78"));
        let rolls = reports
            .iter()
            .filter(|reports| reports.starts_with("rolled"));
        assert_eq!(rolls.collect::<Vec<_>>(), ["rolled 1"]);
        let at = |wanted: &str| reports.iter().position(|reports| reports == wanted);
        assert!(at("rolled 1") < at("checkpointed 77"), "{reports:?}");
        let sealed = bench.disk.content("000001.seg").expect("a segment");
        assert!(sealed.ends_with(b"BRKYSEAL"));
        bench.append(2, 0, false, 10);
        let disk = bench.end();
        assert_eq!(ops(&disk), [1, 2]);
    }
}

#[test]
fn sync_of_the_replicator_rolls_nothing_and_is_always_answered() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
        let answer = format!("checkpointed {}", u64::MAX);
        for id in 1..=3 {
            bench.append(id, 0, false, 10);
            bench.checkpoint(u64::MAX);
            bench.link().flush();
            let reports = bench.wait(|reports| has(reports, &answer));
            let at = |wanted: &str| reports.iter().position(|reports| reports == wanted);
            let appended = at(&format!("appended {id}")).expect("appended");
            let synced = at(&format!("synced {id}")).expect("synced");
            assert!(
                appended < synced && Some(synced) < at(&answer),
                "{reports:?}"
            );
            assert!(!reports.iter().any(|reports| reports.starts_with("rolled")));
            // There is nothing to sync now.
            bench.checkpoint(u64::MAX);
            bench.link().flush();
            bench.wait(|reports| has(reports, &answer));
        }
        let disk = bench.end();
        assert!(disk.content("000002.seg").is_none());
    }
}

#[test]
fn checkpoint_on_a_full_disk_is_a_sync() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        bench.append(1, 0, false, 10);
        bench.wait(|reports| has(reports, "appended 1"));
        disk.inject(Fault::Full { capacity: 0 });
        bench.checkpoint(77);
        bench.link().flush();
        bench.wait(|reports| has(reports, "checkpointed 77"));
        disk.heal();
        bench.append(2, 0, false, 10);
        let disk = bench.end();
        disk.power_cut();
        assert_eq!(ops(&disk), [1, 2]);
    }
}

#[test]
fn active_segment_is_read_up_to_the_last_whole_batch() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        bench.append(1, 0, true, 10);
        bench.append(2, 0, true, 10);
        bench.wait(|reports| has(reports, "synced 2"));
        // As if the next batch were half-way.
        let bytes = disk.content("000001.seg").expect("a segment");
        disk.put("000001.seg", &[&bytes[..], &bytes[64..90]].concat());
        // The next segment does not exist yet: the brick asks for it when it has not heard of a roll.
        for segment in [1, 2] {
            bench.read_segment(SegmentId(segment));
        }
        bench.link().flush();
        let reports = bench.wait(|reports| reports.len() == 2);
        assert_eq!(
            reports,
            [
                "chunk of 122 bytes, next None, damaged false",
                "chunk of 0 bytes, next None, damaged false"
            ]
        );
        bench.end();
    }
}

#[test]
fn segments_are_deleted_many_with_one_sync() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        for id in 1..=100 {
            bench.append(id, 0, true, 4000);
        }
        bench.wait(|reports| has(reports, "synced 100"));
        // Four would do for the deletes and one for the end, if the sync thread saw all orders at once.
        disk.inject(Fault::SyncFails { after: 20 });
        for segment in 1..100 {
            bench.delete_segment(SegmentId(segment));
        }
        bench.link().flush();
        let disk = bench.end();
        disk.heal();
        assert_eq!(ops(&disk), [100]);
    }
}

#[test]
fn segment_that_is_dead_as_soon_as_it_is_full_is_deleted_once_it_is_sealed() {
    for way in WAYS {
        for _ in 0..50 {
            let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
            bench.append(1, 0, false, 4000);
            // Nobody asks for a sync: the sync thread has no other reason to look.
            bench.append(2, 0, false, 4000);
            bench.wait(|reports| has(reports, "rolled 1"));
            bench.delete_segment(SegmentId(1));
            bench.link().flush();
            let disk = bench.end();
            assert_eq!(ops(&disk), [2]);
        }
    }
}

#[test]
fn full_segments_are_rolled_read_in_chunks_and_deleted() {
    for way in WAYS {
        let disk = MemDisk::new(1);
        let mut bench = Bench::new(disk.clone(), NEVER, way);
        for id in 1..=5 {
            bench.append(id, 0, true, 1500);
        }
        let reports = bench.wait(|reports| has(reports, "synced 5"));
        let rolled = reports
            .iter()
            .position(|reports| reports == "rolled 1")
            .expect("a roll");
        assert!(
            rolled
                < reports
                    .iter()
                    .position(|reports| reports == "appended 3")
                    .expect("appended")
        );
        bench.read_segment(SegmentId(1));
        bench.link().flush();
        let reports =
            bench.wait(|reports| reports.iter().any(|reports| reports.starts_with("chunk")));
        assert_eq!(reports, ["chunk of 3102 bytes, next None, damaged false"]);
        bench.delete_segment(SegmentId(1));
        bench.link().flush();
        let disk = bench.end();
        assert_eq!(ops(&disk), [3, 4, 5]);
    }
}

#[test]
fn value_is_read_back_and_a_wrong_one_is_not() {
    for way in WAYS {
        let mut bench = Bench::new(MemDisk::new(1), NEVER, way);
        bench.append(1, 0, true, 42);
        bench.wait(|reports| has(reports, "synced 1"));
        for (token, op) in [(1, 1), (2, 9)] {
            bench.link().read(ReadOrder::Value(ColdRead {
                token,
                position: Position {
                    segment: SegmentId(1),
                    offset: 64,
                },
                partition: Some(PartitionId(1)),
                op: Op(op),
                key: b"key".to_vec(),
                value_len: 42,
            }));
        }
        bench.link().flush();
        let reports = bench.wait(|reports| reports.len() == 2);
        assert_eq!(reports, ["read 1: 42 bytes", "read 2: no"]);
        bench.end();
    }
}

#[test]
fn short_batch_is_written_at_once_and_reported_without_a_thread() {
    let mut bench = Bench::new(MemDisk::new(1), NEVER, 1000);
    bench.append(1, 0, false, 10);
    assert!(bench.link().has_inline_reports());
    let mut reports = Vec::new();
    bench.link().deliver(|event| reports.push(say(&event)));
    assert_eq!(reports, ["appended 1"]);
    assert!(!bench.link().has_reports());
    assert_eq!(bench.stats.inline_appends.load(Ordering::Relaxed), 1);
    bench.end();
}

#[test]
fn batch_overtakes_nothing_that_the_thread_has_to_do_or_has_reported() {
    let mut bench = Bench::new(MemDisk::new(1), NEVER, 1000);
    let mut reports = Vec::new();
    for round in 0..200 {
        let id = 3 * round;
        bench.append(id + 1, 0, false, 1100);
        bench.append(id + 2, 0, false, 10);
        bench.checkpoint(round);
        bench.append(id + 3, 0, false, 10);
        if round % 2 == 0 {
            let last = format!("appended {}", id + 3);
            reports.extend(bench.wait(|reports| has(reports, &last)));
        }
    }
    reports.extend(bench.wait(|reports| has(reports, "appended 600")));
    let appended: Vec<&str> = reports
        .iter()
        .filter_map(|it| it.strip_prefix("appended "))
        .collect();
    let wanted: Vec<String> = (1..=600).map(|id: u64| id.to_string()).collect();
    assert_eq!(appended, wanted);
    let disk = bench.end();
    let sorted = ops(&disk);
    assert!(sorted.is_sorted(), "{sorted:?}");
    assert_eq!(sorted.len(), 600);
}

/// What is cut off a full disk is synced: the loop does not wait for that a second time.
#[test]
fn log_that_refuses_writes_is_the_threads_until_it_takes_one() {
    let disk = MemDisk::new(1);
    let mut bench = Bench::new(disk.clone(), NEVER, 1000);
    disk.inject(Fault::Full { capacity: 0 });
    bench.append(1, 0, false, 10);
    assert!(bench.link().has_inline_reports());
    bench.wait(|reports| has(reports, "failed 1"));
    bench.append(2, 1, false, 10);
    assert!(!bench.link().has_inline_reports());
    bench.wait(|reports| has(reports, "failed 2"));
    disk.heal();
    bench.append(3, 2, false, 10);
    assert!(!bench.link().has_inline_reports());
    bench.wait(|reports| has(reports, "appended 3"));
    bench.end();
}

#[test]
fn new_segments_are_made_by_the_thread() {
    let mut bench = Bench::new(MemDisk::new(1), NEVER, 1 << 20);
    bench.append(1, 0, false, 3000);
    bench.append(2, 0, false, 3000);
    assert_eq!(bench.stats.inline_appends.load(Ordering::Relaxed), 1);
    bench.wait(|reports| has(reports, "appended 2"));
    // The thread may be on its way to sleep.
    for id in 3..1_000_000 {
        bench.append(id, 0, false, 10);
        if bench.stats.inline_appends.load(Ordering::Relaxed) == 2 {
            return drop(bench.end());
        }
        bench.wait(|reports| has(reports, &format!("appended {id}")));
    }
    panic!("the thread never lets go of the log");
}

/// The ops that a start would find.
fn ops(disk: &MemDisk) -> Vec<u64> {
    let config = LogConfig::new(BrickId(0), brickyard_store::DirectoryId([7; 16]));
    let mut ops = Vec::new();
    open(disk.clone(), config, &|_| true, &mut |found| {
        if let brickyard_store::RecoveredRecord::Record { record, .. } = found {
            ops.push(record.header.op.0);
        }
    })
    .expect("the log opens");
    ops
}
