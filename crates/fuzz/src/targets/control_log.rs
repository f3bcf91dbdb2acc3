//! A control log of any records: opening it never panics, and what was opened opens again as it was.
//!
//! The input is cut into records, each with its length and kind before it, and the checksums are put
//! right, so that the fuzzer reaches what is behind them; its tail follows as it is.

use brickyard_store::{
    ControlLog, ControlState, DirectoryId, MemDisk, PageCache, scan_control_log,
};

const DIRECTORY: DirectoryId = DirectoryId([7; 16]);
const NAME: &str = "control";
const HEAD_BYTES: usize = 32;

/// See the module.
pub(super) fn run(input: &[u8]) {
    let Some((first, mut rest)) = input.split_first() else {
        return;
    };
    let page_cache = if first & 1 == 0 {
        PageCache::Intact
    } else {
        PageCache::MaybeLost
    };
    // An error is an answer; only a panic is not.
    let _ = scan_control_log(input, DIRECTORY, page_cache);

    let disk = MemDisk::new(u64::from(*first));
    let begun = ControlLog::create(disk.clone(), DIRECTORY, &ControlState::default());
    drop(begun.expect("the disk is sound"));
    let mut file = disk.content(NAME).expect("a new log is a file");
    // With all records the fuzzer's own, or behind a sound beginning.
    let mut number = 1;
    if first & 2 != 0 {
        (file, number) = (empty(&file), 0);
    }
    while let [kind, len, more @ ..] = rest
        && let Some((body, behind)) = more.split_at_checked(usize::from(*len))
    {
        let synced = if kind & 16 == 0 { 0 } else { file.len() as u64 };
        file = record(file, *kind & 3, *kind >> 2 & 1, number, synced, body);
        (rest, number) = (behind, number + 1);
    }
    file.extend_from_slice(rest);
    disk.put(NAME, &file);

    let Ok(Some(opened)) = ControlLog::open(disk.clone(), DIRECTORY, page_cache) else {
        return;
    };
    opened.log.close().expect("the disk is sound");
    let again = ControlLog::open(disk, DIRECTORY, page_cache);
    let again = again
        .expect("what was written can be read")
        .expect("there is one");
    assert_eq!(again.state, opened.state);
    assert_eq!(again.cut_bytes, 0);
}

/// The header alone, of a file in which nothing is known to be synced.
fn empty(file: &[u8]) -> Vec<u8> {
    let mut header = file[..64].to_vec();
    header[16..24].fill(0);
    let crc = crc32fast::hash(&header[..60]);
    header[60..64].copy_from_slice(&crc.to_le_bytes());
    header
}

fn record(
    mut file: Vec<u8>,
    kind: u8,
    flags: u8,
    number: u64,
    synced: u64,
    body: &[u8],
) -> Vec<u8> {
    let offset = file.len() as u64;
    let mut head = vec![0; HEAD_BYTES];
    head[4..8].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    head[8..12].copy_from_slice(&(body.len() as u32).to_le_bytes());
    (head[12], head[13]) = (kind, flags);
    head[16..24].copy_from_slice(&number.to_le_bytes());
    head[24..32].copy_from_slice(&synced.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[4..]);
    crc.update(&offset.to_le_bytes());
    head[..4].copy_from_slice(&crc.finalize().to_le_bytes());
    file.extend(head);
    file.extend_from_slice(body);
    file
}

/// Records to be made, and what a new log is.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let disk = MemDisk::new(1);
    drop(ControlLog::create(
        disk.clone(),
        DIRECTORY,
        &ControlState::default(),
    ));
    let file = disk.content(NAME).unwrap_or_default();
    let mut seeds: Vec<Vec<u8>> = (0..8).map(|first| [&[first][..], &file].concat()).collect();
    seeds.push(b"\0\x03\x01abc\x05\x02hello\0\x03\x02\x04zz".to_vec());
    seeds
}
