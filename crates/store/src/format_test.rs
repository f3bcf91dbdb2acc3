//! Goal: no change of the format goes unnoticed, and docs/data-file.md tells the truth about it.
//! Method: files kept in testdata/v1; the writer must produce them byte for byte, and the reader must
//! find in them what they were made of.
//!
//! `STORE_WRITE_FIXTURES=1 cargo test -p brickyard-store format` writes them, when the format changes on purpose.

use crate::config::PageCache;
use crate::disk::Disk;
use crate::fixture::{Log, config, header, put};
use crate::inspect::inspect;
use crate::mem_disk::MemDisk;
use crate::{Damage, LogConfig, Part, Tainted};
use brickyard_types::record::{self, BatchEntry, Header, Kind, RequestId, flag};
use brickyard_types::{Op, PartitionId, SegmentId, UnixMillis, View};
use std::path::PathBuf;

const FILES: [&str; 3] = ["000001.seg", "000001.hint", "000002.seg"];

fn directory(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testdata", "v1", name]
        .iter()
        .collect()
}

/// One record of each kind, with each flag somewhere.
fn records() -> Vec<Vec<u8>> {
    let encode = |header: Header, key: &[u8], value: &[u8]| {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, &header, key, &[value]);
        bytes
    };
    let mut batch = Vec::new();
    for (kind, key, value) in [
        (Kind::Put, b"left", &b"1"[..]),
        (Kind::Delete, b"gone", b""),
    ] {
        let entry = BatchEntry {
            kind,
            flags: 0,
            key,
            value,
            expires_at: None,
        };
        record::encode_entry(&mut batch, &entry);
    }
    vec![
        put(1, 1, b"key", b"value"),
        encode(
            Header {
                flags: flag::RAW,
                expires_at: Some(UnixMillis(4_102_444_800_000)),
                request: Some(RequestId {
                    client: 0x0102_0304_0506_0708,
                    sequence: 9,
                }),
                view: View(2),
                ..header(Kind::Put, 2, 1)
            },
            b"until 2100",
            b"raw",
        ),
        encode(header(Kind::Delete, 1, 2), b"key", b""),
        encode(header(Kind::Batch, 1, 3), b"", &batch),
        encode(header(Kind::Clear, 2, 2), b"", b""),
        encode(header(Kind::Watermark, 1, 2), b"", b""),
        encode(
            Header {
                flags: flag::MOVED,
                origin: Some(SegmentId(1)),
                ..header(Kind::Delete, 1, 2)
            },
            b"key",
            b"",
        ),
    ]
}

/// What only a replicated partition's log has.
fn replicated() -> Vec<Vec<u8>> {
    let with = |kind, view, op, committed: Option<u64>, value: &[u8]| {
        let header = Header {
            view: View(view),
            committed: committed.map(Op),
            ..header(kind, 1, op)
        };
        let mut bytes = Vec::new();
        record::encode(&mut bytes, &header, b"", &[value]);
        bytes
    };
    // View 0 op 0 came before, generation 5; then a run: view 1 from op 1 on.
    let start = [&[0; 12][..], &[5, 0, 0, 0]].concat();
    let base = [
        &[5, 0, 0, 0, 1, 0, 1, 0, 0, 0][..],
        &[1, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    vec![
        with(Kind::ViewStart, 1, 1, Some(0), &start),
        with(Kind::Put, 1, 2, Some(1), b"of the empty key"),
        with(Kind::Cut, 1, 1, None, b""),
        with(Kind::Baseline, 1, 1, None, &base),
        with(Kind::Drop, 1, 1, None, b""),
    ]
}

fn config_v1() -> LogConfig {
    LogConfig {
        segment_bytes: 600,
        page_cache: PageCache::Intact,
        ..config()
    }
}

/// A sealed segment with its hint file, and an active one with a mark and a last record.
fn write() -> MemDisk {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config_v1());
    for record in records() {
        log.append(&record).unwrap();
    }
    log.sync();
    log.append(&put(2, 3, b"big", &[b'.'; 20])).unwrap();
    log.sync();
    log.append(&put(2, 4, b"last", b"record")).unwrap();
    log.write_hints();
    disk
}

fn load(name: &str) -> MemDisk {
    let disk = MemDisk::new(1);
    for file in FILES {
        if let Ok(bytes) = std::fs::read(directory(name).join(file)) {
            disk.put(file, &bytes);
        }
    }
    disk
}

fn store(name: &str, disk: &MemDisk) {
    std::fs::create_dir_all(directory(name)).unwrap();
    for file in disk.list().unwrap() {
        std::fs::write(directory(name).join(&file), disk.content(&file).unwrap()).unwrap();
    }
}

#[test]
fn writer_still_writes_v1() {
    let disk = write();
    if std::env::var_os("STORE_WRITE_FIXTURES").is_some() {
        store("good", &disk);
        let torn = disk.fork(1);
        let content = torn.content("000002.seg").unwrap();
        torn.put("000002.seg", &content[..content.len() - 3]);
        store("torn-tail", &torn);
        let corrupted = disk.fork(1);
        corrupted.flip("000001.seg", FLIPPED, 0x20);
        corrupted.remove("000001.hint").unwrap();
        store("corrupted-middle", &corrupted);
    }
    for file in FILES {
        let kept = std::fs::read(directory("good").join(file)).unwrap();
        assert!(disk.content(file).unwrap() == kept, "{file} differs");
    }
}

/// In the body of the second record, which starts behind the header and a first of 56 bytes.
const SECOND: u32 = 64 + 56;
const FLIPPED: usize = SECOND as usize + 48 + 16 + 2;

#[test]
fn opens_v1() {
    let disk = load("good");
    let log = Log::open(&disk, config_v1());
    assert!(log.report().damages.is_empty() && log.report().torn.is_none());
    let found: Vec<_> = log.seen.iter().map(|seen| seen.header).collect();
    let expected: Vec<_> = records()
        .iter()
        .map(|bytes| record::decode(bytes).unwrap().header)
        .collect();
    assert_eq!(found[..7], expected);
    assert_eq!((found.len(), found[8].op), (9, Op(4)));
    assert_eq!(log.seen[8].value.as_deref(), Some(&b"record"[..]));
    let hinted = Log::open_needing(&load("good"), config_v1(), &|_| false).unwrap();
    assert_eq!(hinted.report().records_from_hints, 7);
    assert!(inspect(&disk, &mut |_| {}).unwrap().is_sound());
}

/// The kinds 6 to 9 and flag 16.
#[test]
fn v1_of_a_replicated_partition_is_written_and_read() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config_v1());
    for record in replicated() {
        log.append(&record).unwrap();
    }
    log.roll().unwrap();
    log.sync();
    log.write_hints();
    if std::env::var_os("STORE_WRITE_FIXTURES").is_some() {
        store("replicated", &disk);
    }
    for file in FILES {
        let kept = std::fs::read(directory("replicated").join(file)).unwrap();
        assert!(disk.content(file).unwrap() == kept, "{file} differs");
    }
    let expected = replicated();
    for needs_values in [true, false] {
        let disk = load("replicated");
        let log = Log::open_needing(&disk, config_v1(), &|_| needs_values).unwrap();
        assert!(log.report().damages.is_empty() && log.report().torn.is_none());
        assert_eq!(log.seen.len(), expected.len());
        for (seen, bytes) in log.seen.iter().zip(&expected) {
            let record = record::decode(bytes).unwrap();
            assert_eq!(seen.header, record.header);
            if needs_values || record.header.kind != Kind::Put {
                assert_eq!(seen.value.as_deref(), Some(record.value));
            }
        }
    }
}

#[test]
fn opens_v1_segment_with_torn_tail() {
    let log = Log::open(&load("torn-tail"), config_v1());
    assert_eq!(log.seen.len(), 8);
    let cut = log.report().torn.unwrap();
    assert_eq!((cut.at.segment, cut.len), (SegmentId(2), 55));
    assert!(log.report().damages.is_empty());
}

#[test]
fn opens_v1_segment_with_corrupted_middle() {
    let log = Log::open(&load("corrupted-middle"), config_v1());
    assert_eq!(log.seen.len(), 8);
    let [
        Damage {
            segment: SegmentId(1),
            offset: SECOND,
            len: 77,
            part: Part::Record,
            tainted: Tainted::Op(PartitionId(2), Op(1)),
            ..
        },
    ] = &log.report().damages[..]
    else {
        panic!("{:?}", log.report().damages);
    };
}

/// The dump in the format document is the file in testdata.
#[test]
fn document_shows_the_real_bytes() {
    let document: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/data-file.md"]
        .iter()
        .collect();
    let text = std::fs::read_to_string(document).unwrap();
    let dump = text.split("```hex\n").nth(1).unwrap();
    let dump = dump.split("```").next().unwrap();
    let mut shown = Vec::new();
    for line in dump.lines() {
        let bytes = line.split_once("  ").unwrap().1;
        let bytes = bytes.split('|').next().unwrap();
        shown.extend(
            bytes
                .split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
        );
    }
    let kept = std::fs::read(directory("good").join("000002.seg")).unwrap();
    assert_eq!(shown, kept);
}
