//! Goal: whatever the moment of a crash, every record that was synced (power cut) or acknowledged (killed
//! process) is there afterwards, nothing that was refused is, and what is there is a prefix of what
//! was written. What stands where a lost record stood is not taken for it. Of what rots at last, no loss is
//! passed over in silence. Method: thousands of seeded runs on a disk that dies at a random call, several
//! crashes one after the other on the same log.

#[path = "sabotage_test.rs"]
mod sabotage_test;

use crate::config::PageCache;
use crate::damage::{Part, Tainted};
use crate::disk::{Disk, replace_file};
use crate::fixture::{Log, config, header};
use crate::mem_disk::{Fault, MemDisk};
use crate::{AppendError, LogConfig, Purpose, ReadRequest};
use brickyard_types::record::{self, Kind};
use brickyard_types::{Op, PartitionId, Position, View};
use std::collections::BTreeSet;

/// SplitMix64, seeded by the run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A record as the oracle knows it.
type Written = (PartitionId, View, u64, Vec<u8>);

/// Records that are read again at most.
const ELSEWHERE_MAX: usize = 40;

#[derive(Default)]
struct Oracle {
    /// In log order: everything that was appended and not refused.
    written: Vec<Written>,
    /// How many of them were synced.
    synced: usize,
    /// The batch under way when the process died.
    unknown: Vec<Written>,
    /// Never to be seen again: identified by its content.
    refused: BTreeSet<Vec<u8>>,
    serial: u64,
    view: u32,
    /// All values are of this length; 0: of any.
    value_len: u64,
    /// Where puts stood once, which may be gone.
    elsewhere: Vec<(Position, Written)>,
}

impl Oracle {
    fn batch(&mut self, random: &mut Random) -> (Vec<u8>, Vec<Written>) {
        let mut bytes = Vec::new();
        let mut records = Vec::new();
        for _ in 0..=random.below(4) {
            self.serial += 1;
            let partition = random.below(3) as u32;
            let op = 1 + self.last_op(partition, &records);
            let kinds = [
                Kind::Put,
                Kind::Batch,
                Kind::ViewStart,
                Kind::Cut,
                Kind::Baseline,
                Kind::Drop,
            ];
            let kind = kinds[random.below(12).saturating_sub(6) as usize];
            let mut header = header(kind, partition, op);
            header.view = View(self.view);
            header.committed = (random.below(2) == 0).then(|| Op(op - 1));
            let len = match random.below(10) {
                0 => random.below(3000),
                _ => random.below(200),
            };
            let len = if self.value_len > 0 {
                self.value_len
            } else {
                len
            };
            let value = format!("{:06}-{}", self.serial, "v".repeat(len as usize)).into_bytes();
            record::encode(&mut bytes, &header, b"key", &[&value]);
            records.push((header.partition, header.view, op, value));
        }
        (bytes, records)
    }

    /// Notes where the puts of a batch are.
    fn note(&mut self, start: Position, bytes: &[u8], records: &[Written]) {
        let mut offset = start.offset;
        for written in records {
            let at = (offset - start.offset) as usize;
            let record = record::decode(&bytes[at..]).unwrap();
            if record.header.kind == Kind::Put {
                let position = Position { offset, ..start };
                self.elsewhere.push((position, written.clone()));
            }
            offset += record.len as u32;
        }
        let old = self.elsewhere.len().saturating_sub(ELSEWHERE_MAX);
        self.elsewhere.drain(..old);
    }

    /// Reads something from where it was once: there is either that or nothing.
    fn look_back(&self, log: &mut Log, random: &mut Random) {
        if self.elsewhere.is_empty() {
            return;
        }
        let at = random.below(self.elsewhere.len() as u64) as usize;
        let (position, (partition, view, op, value)) = &self.elsewhere[at];
        let mut buffer = Vec::new();
        let request = ReadRequest {
            position: *position,
            key: b"key",
            value_len: 0,
            partition: Some(*partition),
            op: Op(*op),
            view: Some(*view),
        };
        if let Ok(found) = log.ends.reader.read(&request, &mut buffer) {
            assert!(
                buffer[found.value] == *value,
                "op {op} of {partition} in {view} is read at {position}, and something else is there"
            );
        }
    }

    /// Compares what is left of a log in which something rotted with what was there: what is missing is tainted.
    fn check_rot(&self, log: &Log, seed: u64) {
        let seen: BTreeSet<&[u8]> = (log.seen.iter())
            .filter_map(|seen| seen.value.as_deref())
            .collect();
        let damages = &log.report().damages;
        for (partition, _, op, value) in &self.written {
            let is_tainted = damages.iter().any(|damage| match &damage.tainted {
                Tainted::Nothing => false,
                Tainted::Op(of, at) => (of, at) == (partition, &Op(*op)),
                Tainted::Partitions(all) => all.contains(partition),
                Tainted::All => true,
            });
            assert!(
                is_tainted || seen.contains(&value[..]),
                "seed {seed}: op {op} of {partition} has rotted, and nobody says so: {damages:?}"
            );
        }
    }

    fn last_op(&self, partition: u32, batch: &[Written]) -> u64 {
        let newest = self.written.iter().chain(batch).rev();
        let mut of_partition = newest.filter(|record| record.0.0 == partition);
        of_partition.next().map_or(0, |record| record.2)
    }

    /// Compares what was recovered with what must and may be there, and goes on from it.
    fn check(&mut self, log: &Log, is_power_cut: bool, seed: u64) {
        let seen = log.seen.iter().map(|seen| {
            let value = seen.value.clone().unwrap();
            let header = &seen.header;
            (header.partition, header.view, header.op.0, value)
        });
        let seen: Vec<Written> = seen.collect();
        let mut may = std::mem::take(&mut self.written);
        let must = if is_power_cut { self.synced } else { may.len() };
        may.append(&mut self.unknown);
        let count = seen.len();
        assert!(
            count >= must,
            "seed {seed}: {count} records of {must} are there"
        );
        assert!(count <= may.len(), "seed {seed}: more than was written");
        assert!(
            seen == may[..count],
            "seed {seed}: no prefix of what was written"
        );
        let is_back = seen.iter().any(|record| self.refused.contains(&record.3));
        assert!(!is_back, "seed {seed}: a refused record is back");
        let mut positions = log.seen.iter().map(|seen| seen.position);
        let mut last = Position::NONE;
        assert!(
            positions.all(|position| std::mem::replace(&mut last, position) < position),
            "seed {seed}: out of order"
        );
        for damage in &log.report().damages {
            let is_harmless = is_power_cut && damage.part == Part::Footer;
            assert!(is_harmless, "seed {seed}: a crash was taken for {damage}");
        }
        // A refused record that was cut may be written again under the same op, never itself.
        self.refused
            .extend(may.drain(seen.len()..).map(|record| record.3));
        self.written = seen;
        self.synced = self.written.len();
        self.view += 1;
    }
}

fn small(page_cache: PageCache) -> LogConfig {
    LogConfig {
        segment_bytes: 4096,
        runway_bytes: 700,
        runway_syncs_min: 1,
        page_cache,
        ..config()
    }
}

/// Works on the log until the disk dies or enough was done.
fn work(log: &mut Log, oracle: &mut Oracle, random: &mut Random) -> Result<(), String> {
    for _ in 0..60 {
        if random.below(4) == 0 {
            oracle.look_back(log, random);
        }
        match random.below(10) {
            0..6 => {
                let (bytes, records) = oracle.batch(random);
                match log.append(&bytes) {
                    Ok(appended) => {
                        oracle.note(appended.start, &bytes, &records);
                        oracle.written.extend(records);
                    }
                    Err(AppendError::DiskFull { .. }) => {
                        oracle
                            .refused
                            .extend(records.into_iter().map(|record| record.3));
                    }
                    Err(error) => {
                        oracle.unknown = records;
                        return Err(error.to_string());
                    }
                }
            }
            6 if random.below(2) == 0 => match log.roll() {
                Ok(()) | Err(AppendError::DiskFull { .. }) => {}
                Err(error) => return Err(error.to_string()),
            },
            6..9 => {
                let written = oracle.written.len();
                let end = log.ends.appender.end();
                log.ends
                    .syncer
                    .sync(end)
                    .map_err(|error| error.to_string())?;
                oracle.synced = written;
            }
            _ => {
                if let Some(job) = log.ends.syncer.take_hint_job() {
                    let _ = job.run();
                }
            }
        }
    }
    Ok(())
}

/// A small file that is replaced again and again, in a directory of its own.
struct Note {
    disk: MemDisk,
    /// What it may hold: what it was told to last, and if that was interrupted what it held before.
    may: Vec<Vec<u8>>,
}

impl Note {
    /// Writes anew, and maybe dies at that; then the power is cut, or not.
    fn rewrite(&mut self, serial: u64, random: &mut Random) {
        let bytes = format!("note {serial} {}", "n".repeat(random.below(2000) as usize));
        self.disk.inject(Fault::Dies {
            after: random.below(12),
        });
        match replace_file(&self.disk, "note", bytes.as_bytes()) {
            Ok(()) => self.may = vec![bytes.into_bytes()],
            Err(_) => self.may.push(bytes.into_bytes()),
        }
        self.disk.heal();
        if random.below(2) == 0 {
            self.disk.power_cut();
        }
    }

    fn check(&self, seed: u64) {
        let found = self.disk.content("note").unwrap_or_default();
        assert!(
            self.may.contains(&found),
            "seed {seed}: a small file is neither the old one nor the new one: {} bytes",
            found.len()
        );
    }
}

pub(super) fn run(seed: u64) {
    let mut random = Random(seed);
    let mut note = Note {
        disk: MemDisk::new(seed),
        may: vec![Vec::new()],
    };
    for serial in 0..6 {
        note.rewrite(serial, &mut random);
        note.check(seed);
    }
    let mut disk = MemDisk::new(seed);
    let mut oracle = Oracle {
        view: 1,
        // What comes back after a cut fits behind what was written since only if it is as long.
        value_len: [0, 0, 300, 600][random.below(4) as usize],
        ..Oracle::default()
    };
    let mut page_cache = PageCache::Intact;
    for _ in 0..6 {
        // Opening may be interrupted too, as often as it likes.
        let mut log = loop {
            let is_interrupted = random.below(3) == 0;
            if is_interrupted {
                disk.inject(Fault::Dies {
                    after: random.below(12),
                });
            }
            let opened = Log::try_open(&disk, small(page_cache));
            disk.heal();
            match opened {
                Ok(log) => break log,
                Err(error) => {
                    assert!(is_interrupted, "seed {seed}: {error}");
                    if page_cache == PageCache::MaybeLost && random.below(2) == 0 {
                        disk.power_cut();
                    }
                }
            }
        };
        oracle.check(&log, page_cache == PageCache::MaybeLost, seed);
        if random.below(4) == 0 {
            let used: usize = (disk.list().unwrap().iter())
                .map(|name| disk.content(name).unwrap().len())
                .sum();
            disk.inject(Fault::Full {
                capacity: used as u64 + random.below(12_000),
            });
        }
        if random.below(2) == 0 {
            disk.inject(Fault::SpaceUnknown);
        }
        disk.inject(Fault::Dies {
            after: random.below(150),
        });
        let _ = work(&mut log, &mut oracle, &mut random);
        drop(log);
        disk.heal();
        page_cache = if random.below(2) == 0 {
            PageCache::Intact
        } else {
            disk.power_cut();
            PageCache::MaybeLost
        };
        if page_cache == PageCache::Intact && random.below(3) == 0 {
            // The same, for a reader of whatever is on the disk.
            disk = disk.fork(seed + 1);
        }
    }
    let log = Log::open(&disk, small(page_cache));
    oracle.check(&log, page_cache == PageCache::MaybeLost, seed);
    drop(log);
    rot(&disk, &oracle, &mut random, seed);
}

/// A stretch of a segment rots. Not of the last one: there nobody can tell it from a torn write.
fn rot(disk: &MemDisk, oracle: &Oracle, random: &mut Random, seed: u64) {
    let disk = disk.fork(seed + 2);
    let names = disk.list().unwrap();
    let mut segments: Vec<&String> = (names.iter())
        .filter(|name| name.ends_with(".seg"))
        .collect();
    segments.pop();
    if segments.is_empty() {
        return;
    }
    let name = segments[random.below(segments.len() as u64) as usize];
    let len = disk.content(name).unwrap().len() as u64;
    let start = random.below(len);
    for offset in start..len.min(start + 1 + random.below(40)) {
        disk.flip(name, offset as usize, 1 << random.below(8));
    }
    // What cannot be opened is told as well.
    if let Ok(log) = Log::try_open(&disk, small(PageCache::Intact)) {
        oracle.check_rot(&log, seed);
    }
}

#[test]
fn every_synced_record_survives_and_no_refused_one_does() {
    let seeds = std::env::var("STORE_CRASH_SEEDS").map_or(300, |seeds| seeds.parse().unwrap());
    // STORE_CRASH_FIRST reproduces the one that a message names.
    let first = std::env::var("STORE_CRASH_FIRST").map_or(0, |first| first.parse().unwrap());
    for seed in first..first + seeds {
        run(seed);
    }
}

#[test]
fn delete_is_not_refused_for_want_of_the_reserve() {
    let disk = MemDisk::new(1);
    disk.inject(Fault::Full { capacity: 1 << 20 });
    let mut config = small(PageCache::Intact);
    config.reserve_bytes = 1 << 30;
    let mut log = Log::open(&disk, config);
    let put = crate::fixture::put(1, 1, b"k", &[0; 3000]);
    let mut refused = 0;
    for _ in 0..400 {
        match log.append(&put) {
            Ok(_) => assert_eq!(refused, 0, "room came back by itself"),
            Err(AppendError::DiskFull { reserve, .. }) => {
                // A sixteenth of so small a disk.
                assert_eq!(reserve, 1 << 16);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0);
    let mut delete = Vec::new();
    record::encode(&mut delete, &header(Kind::Delete, 1, 2), b"k", &[]);
    log.ends.appender.append(&delete, Purpose::Reclaim).unwrap();
}
