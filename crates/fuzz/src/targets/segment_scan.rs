//! A segment of any bytes: opening it never panics, yields only what verifies, and is done: opening
//! it again finds the same records.
//!
//! The first byte chooses whether the page cache survived, whether there is a later segment, and whether
//! the rest is cut into sound records of all kinds; what is made of it follows a sound segment
//! header. So the fuzzer need not guess checksums.

use brickyard_store::{
    DirectoryId, Disk, LogConfig, MemDisk, Opened, PageCache, Purpose, RecoveredRecord, open,
    scan_bytes,
};
use brickyard_types::record::{self, Header, Kind, RequestId, flag};
use brickyard_types::{BrickId, Op, PartitionId, SegmentId, TableId, UnixMillis, View};

/// See the module.
pub(super) fn run(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else {
        return;
    };
    let made = if first & 4 == 0 {
        bytes.to_vec()
    } else {
        records(bytes)
    };
    let bytes = &made[..];
    let mut end = 0;
    let unreadable = scan_bytes(bytes, &mut |offset, record| {
        assert!(offset >= end, "records overlap");
        end = offset + record.len as u32;
    });
    assert!(unreadable <= bytes.len() as u64);

    let mut config = LogConfig::new(BrickId(0), DirectoryId([7; 16]));
    config.page_cache = if first & 1 == 0 {
        PageCache::Intact
    } else {
        PageCache::MaybeLost
    };
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
}

/// Opens the log and returns its records, encoded.
fn visit(disk: &MemDisk, config: &LogConfig) -> (Vec<Vec<u8>>, Opened<MemDisk>) {
    let mut records = Vec::new();
    let opened = open(disk.clone(), config.clone(), &|_| true, &mut |recovered| {
        if let RecoveredRecord::Record { record, .. } = recovered {
            let mut bytes = Vec::new();
            let (outcome, value) = (record.outcome, [record.value]);
            record::encode_with(&mut bytes, &record.header, outcome, record.key, &value);
            records.push(bytes);
        }
    });
    (records, opened.expect("damage is no error"))
}

const KINDS: [Kind; 9] = [
    Kind::Put,
    Kind::Delete,
    Kind::Batch,
    Kind::Clear,
    Kind::Watermark,
    Kind::ViewStart,
    Kind::Cut,
    Kind::Baseline,
    Kind::Drop,
];

/// Cuts the input into records: kind, flags, fields, length of the key and of the value, and these. What is
/// left over follows as it is.
fn records(mut input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [kind, flags, field, key_len, value_len, rest @ ..] = input
        && let Some((key, rest)) = rest.split_at_checked(usize::from(*key_len))
        && let Some((value, rest)) = rest.split_at_checked(usize::from(*value_len))
    {
        let number = u64::from(*field);
        let with = |bit| flags & bit != 0;
        let header = Header {
            kind: KINDS[usize::from(*kind) % KINDS.len()],
            flags: flags & (flag::MOVED | flag::RAW),
            table: TableId(u32::from(field & 1)),
            partition: PartitionId(u32::from(field & 3)),
            view: View(u32::from(field >> 6)),
            op: Op(number),
            expires_at: with(128).then_some(UnixMillis(number + 1)),
            request: with(flag::REQUEST_ID).then_some(RequestId {
                client: number,
                sequence: number,
            }),
            origin: with(flag::ORIGIN).then_some(SegmentId(1)),
            committed: with(flag::COMMITTED).then_some(Op(number / 2)),
        };
        record::encode(&mut out, &header, key, &[value]);
        input = rest;
    }
    out.extend_from_slice(input);
    out
}

/// Segments: records as they are, and the fields of records to be made.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let records = super::records();
    let all = records.concat();
    let made = b"\x04\0\0\x05\x01\x02kvv\x01\x02\x06\x01\0k\x05\x40\x47\0\0\x06\0\x42\0\0";
    let mut seeds: Vec<Vec<u8>> = [0, 1, 2, 3]
        .map(|first| [&[first][..], &all].concat())
        .into();
    seeds.push(made.to_vec());
    seeds
}
