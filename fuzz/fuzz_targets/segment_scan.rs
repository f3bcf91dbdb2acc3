//! A segment of any bytes: opening it never panics, yields only what verifies, and is done: opening
//! it again finds the same records.
//!
//! The first byte chooses whether the page cache survived; the rest follows a sound segment header,
//! so that the fuzzer need not guess its checksum.

#![no_main]

use brickyard_store::{
    Config, DirectoryId, Disk, MemDisk, Opened, PageCache, Purpose, Recovered, open, scan_bytes,
};
use brickyard_types::BrickId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let mut end = 0;
    let unreadable = scan_bytes(bytes, &mut |offset, record| {
        assert!(offset >= end, "records overlap");
        end = offset + record.len as u32;
    });
    assert!(unreadable <= bytes.len() as u64);

    let mut config = Config::new(BrickId(0), DirectoryId([7; 16]));
    config.page_cache = if first & 1 == 0 { PageCache::Intact } else { PageCache::MaybeLost };
    let disk = MemDisk::new(u64::from(*first));
    drop(visit(&disk, &config));
    let header = disk.content("000001.seg").expect("a new log has a segment");
    disk.put("000001.seg", &[&header, bytes].concat());
    if first & 2 != 0 {
        // With a successor the segment counts as one that had been full.
        let mut successor = header;
        successor[12] = 2;
        let crc = crc32fast::hash(&successor[..60]);
        successor[60..64].copy_from_slice(&crc.to_le_bytes());
        disk.put("000002.seg", &successor);
    }
    let (records, mut log) = visit(&disk, &config);
    let end = log.appender.end();
    log.syncer.sync(end).expect("the disk is sound");
    let (again, mut log) = visit(&disk, &config);
    assert_eq!(records, again);
    if let Some(record) = records.first() {
        log.appender
            .append(record, Purpose::Store)
            .expect("what was read can be written");
        assert_eq!(visit(&disk, &config).0.len(), records.len() + 1);
    }
    assert!(disk.list().is_ok());
});

/// Opens the log and returns its records, encoded.
fn visit(disk: &MemDisk, config: &Config) -> (Vec<Vec<u8>>, Opened<MemDisk>) {
    let mut records = Vec::new();
    let opened = open(disk.clone(), config.clone(), &|_| true, &mut |recovered| {
        if let Recovered::Record { record, .. } = recovered {
            let mut bytes = Vec::new();
            brickyard_types::record::encode(
                &mut bytes,
                &record.header,
                record.key,
                &[record.value],
            );
            records.push(bytes);
        }
    });
    (records, opened.expect("damage is no error"))
}
