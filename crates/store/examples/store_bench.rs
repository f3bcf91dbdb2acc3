//! Prints what the log costs: CPU of an append, of reading a value, and of a restart with a million
//! records, from segments and from hint files.
//!
//! `cargo run --release -p brickyard-store --example store_bench [DIRECTORY]`
//!
//! The directory must be empty; without one a temporary directory is used.

use brickyard_store::{
    DirectoryId, LogConfig, Opened, OsDisk, PageCache, Purpose, ReadRequest, RecoveredRecord, open,
};
use brickyard_types::record::{self, Header, Kind};
use brickyard_types::{BrickId, Op, PartitionId, Position, TableId, View};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const RECORDS: u64 = 1_000_000;
const VALUE_BYTES: usize = 150;
const PARTITIONS: u64 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args()
        .nth(1)
        .map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    println!("{RECORDS} records, 16-byte keys, {VALUE_BYTES}-byte values, {PARTITIONS} partitions");
    for batch_records in [1, 10, 100] {
        let directory = path.join(format!("batch-{batch_records}"));
        std::fs::create_dir(&directory)?;
        let positions = append(OsDisk::open(&directory)?, batch_records)?;
        if batch_records == 100 {
            reads(OsDisk::open(&directory)?, &positions)?;
            restarts(OsDisk::open(&directory)?)?;
        }
    }
    Ok(())
}

fn config() -> LogConfig {
    LogConfig {
        page_cache: PageCache::Intact,
        ..LogConfig::new(BrickId(0), DirectoryId(*b"store-bench-0123"))
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn partition(number: u64) -> PartitionId {
    PartitionId((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 % PARTITIONS as u32)
}

fn append(disk: OsDisk, batch_records: u64) -> Result<Vec<Position>, Box<dyn std::error::Error>> {
    let Opened {
        mut appender,
        mut syncer,
        ..
    } = open(disk, config(), &|_| true, &mut |_| {})?;
    let value = [b'v'; VALUE_BYTES];
    let mut batch = Vec::new();
    let mut starts = Vec::new();
    let mut positions = Vec::with_capacity(RECORDS as usize);
    let mut in_store = Duration::ZERO;
    let (wall, cpu) = (Instant::now(), thread_cpu());
    let mut number = 0;
    while number < RECORDS {
        batch.clear();
        starts.clear();
        for _ in 0..batch_records {
            starts.push(batch.len() as u32);
            let header = Header {
                kind: Kind::Put,
                flags: 0,
                table: TableId(1),
                partition: partition(number),
                view: View(1),
                op: Op(number + 1),
                expires_at: None,
                request: None,
                origin: None,
                committed: None,
            };
            record::encode(&mut batch, &header, &key(number), &[&value]);
            number += 1;
        }
        let before = thread_cpu();
        let appended = appender.append(&batch, Purpose::Store)?;
        in_store += thread_cpu() - before;
        positions.extend(starts.iter().map(|start| Position {
            offset: appended.start.offset + start,
            ..appended.start
        }));
        while let Some(rolled) = appender.take_rolled() {
            syncer.add_rolled(rolled);
        }
    }
    let (wall, cpu) = (wall.elapsed(), thread_cpu() - cpu);
    println!(
        "append, batches of {batch_records:3}: {} in append() (its pwrite included), {} with encoding; wall {wall:.2?}",
        per_record(in_store),
        per_record(cpu)
    );
    let begin = Instant::now();
    syncer.sync(appender.end())?;
    appender.mark_synced()?;
    println!("  sync and seal of all of it: {:.2?}", begin.elapsed());
    let (begin, cpu) = (Instant::now(), thread_cpu());
    let mut hints = 0;
    while let Some(job) = syncer.take_hint_job() {
        hints += u64::from(job.run()?);
    }
    let cpu = thread_cpu() - cpu;
    println!(
        "  {hints} hint files: {:.2?}, CPU {cpu:.2?}",
        begin.elapsed()
    );
    Ok(positions)
}

fn reads(disk: OsDisk, positions: &[Position]) -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = open(disk, config(), &|_| true, &mut |_| {})?.reader;
    let mut buffer = Vec::new();
    let count = 200_000;
    let cpu = thread_cpu();
    for step in 0..count {
        let number = (step * 7_919_993) % RECORDS;
        let request = ReadRequest {
            position: positions[number as usize],
            key: &key(number),
            value_len: VALUE_BYTES,
            partition: Some(partition(number)),
            op: Op(number + 1),
            view: None,
        };
        black_box(reader.read(&request, &mut buffer)?);
    }
    let cpu = (thread_cpu() - cpu) / count as u32;
    println!("read of a value in the page cache: {cpu:.2?} CPU each");
    Ok(())
}

fn restarts(disk: OsDisk) -> Result<(), Box<dyn std::error::Error>> {
    for (what, needs_values) in [("segments", true), ("hint files", false)] {
        for _ in 0..2 {
            let (wall, cpu) = (Instant::now(), thread_cpu());
            let (mut records, mut bytes) = (0u64, 0u64);
            let opened = open(
                disk.clone(),
                config(),
                &|_| needs_values,
                &mut |recovered| {
                    records += 1;
                    bytes += match recovered {
                        RecoveredRecord::Record { record, .. } => record.len as u64,
                        RecoveredRecord::Hint { record, .. } => record.len as u64,
                    };
                },
            )?;
            let (wall, cpu) = (wall.elapsed(), thread_cpu() - cpu);
            assert_eq!(records, RECORDS);
            println!(
                "restart from {what}: {wall:.2?}, {} CPU; {records} records, {} MB, {} of them from hints",
                per_record(cpu),
                bytes / 1_000_000,
                opened.report.records_from_hints,
            );
        }
    }
    Ok(())
}

fn per_record(time: Duration) -> String {
    format!("{:.0} ns a record", time.as_nanos() as f64 / RECORDS as f64)
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
