use super::super::control_log_test::{DIRECTORY, begun, entry, hard_state, open};
use super::super::{ControlLog, ControlLogError};
use super::*;
use crate::mem_disk::MemDisk;

const BOTH: [PageCache; 2] = [PageCache::Intact, PageCache::MaybeLost];

/// A log of three synced appends and, unless it was closed, an unsynced one, with its file.
fn log(is_closed: bool) -> (MemDisk, Vec<u8>, ControlState) {
    let disk = MemDisk::new(1);
    let mut state = begun();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &state).unwrap();
    for index in 12..15 {
        log.append(Some(hard_state(index, 11)), &[entry(index, 4)])
            .unwrap();
        log.sync().unwrap();
        assert!(state.take(vec![entry(index, 4)]));
        state.hard_state = hard_state(index, 11);
    }
    if is_closed {
        log.close().unwrap();
    } else {
        log.append(None, &[entry(15, 4)]).unwrap();
    }
    let bytes = disk.content("control").unwrap();
    (disk, bytes, state)
}

fn scan(bytes: &[u8], page_cache: PageCache) -> Result<ControlScan, ControlDamage> {
    scan_control_log(bytes, DIRECTORY, page_cache)
}

/// The bytes are for ever: the dump in the format document is what is written, and can be read.
#[test]
fn document_shows_the_real_bytes() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data-file.md");
    let text = std::fs::read_to_string(document).unwrap();
    let mut dumps = text
        .split("```hex\n")
        .map(|it| it.split("```").next().unwrap());
    let dump = dumps
        .find(|it| it.starts_with("0000") && it.contains("BRKYCTRL"))
        .unwrap();
    let lines = dump.lines().map(|it| it.split_once("  ").unwrap().1);
    let bytes = lines.flat_map(|it| it.split('|').next().unwrap().split_whitespace());
    let shown: Vec<u8> = bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();

    let disk = MemDisk::new(1);
    let mut state = begun();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &state).unwrap();
    log.append(Some(hard_state(5, 11)), &[entry(12, 5)])
        .unwrap();
    assert_eq!(disk.content("control").unwrap(), shown);
    state.hard_state = hard_state(5, 11);
    assert!(state.take(vec![entry(12, 5)]));
    let scan = scan(&shown, PageCache::Intact).unwrap();
    assert_eq!((scan.state, scan.records), (state, 3));
}

#[test]
fn whatever_byte_rots_nothing_synced_is_silently_lost() {
    for (is_closed, page_cache) in [(true, BOTH[0]), (true, BOTH[1]), (false, BOTH[1])] {
        let (_, bytes, state) = log(is_closed);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut rotten = bytes.clone();
                rotten[at] ^= 1 << bit;
                if let Ok(scan) = scan(&rotten, page_cache) {
                    // Only what was not synced, or a mark, may be cut.
                    assert_eq!(scan.state, state, "byte {at}");
                }
            }
        }
    }
}

#[test]
fn damage_names_file_and_offset_and_the_way_out() {
    let (disk, bytes, _) = log(true);
    let mut starts = Vec::new();
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        starts.push(at);
        at += HEAD_BYTES + Head::at(&bytes, at as u64).unwrap().body_len as usize;
    }
    let rotten = starts[3];
    disk.flip("control", rotten + 40, 1);
    for page_cache in BOTH {
        let refused = ControlLog::open(disk.clone(), DIRECTORY, page_cache);
        let error = refused.unwrap_err();
        let damage = ControlDamage::Damaged {
            offset: rotten as u64,
            what: "a record's body does not match its checksum",
        };
        let ControlLogError::Unusable {
            file,
            damage: found,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((file.as_str(), *found), ("control", damage));
        let text = error.to_string();
        assert!(
            text.contains(&format!("damaged at offset {rotten}")),
            "{text}"
        );
        assert!(text.contains("joins as a new node"), "{text}");
    }
    // It is still there.
    assert_eq!(disk.content("control").unwrap().len(), bytes.len());
}

#[test]
fn torn_tail_is_cut() {
    let (disk, bytes, state) = log(false);
    let sound = scan(&bytes, PageCache::Intact).unwrap();
    assert_eq!(sound.state.entries.len(), state.entries.len() + 1);
    let last = HEAD_BYTES + 24 + 15;
    for cut in 1..last {
        let torn = &bytes[..bytes.len() - cut];
        for page_cache in BOTH {
            assert_eq!(scan(torn, page_cache).unwrap().state, state);
        }
    }
    // One record less, and it was synced; but nothing says so.
    disk.put("control", &bytes[..bytes.len() - 20]);
    let opened = open(&disk, PageCache::Intact);
    assert_eq!((opened.state, opened.cut_bytes), (state, last as u64 - 20));
}

#[test]
fn holes_are_a_tear_only_if_writes_may_have_been_lost() {
    let (_, mut bytes, state) = log(false);
    let end = bytes.len();
    bytes[end - 10..].fill(0);
    assert_eq!(scan(&bytes, PageCache::MaybeLost).unwrap().state, state);
    let refused = scan(&bytes, PageCache::Intact).unwrap_err();
    assert!(matches!(refused, ControlDamage::Damaged { .. }));
}

#[test]
fn a_record_counts_only_where_it_was_written() {
    let (_, bytes, state) = log(false);
    // The whole log again, as the data of an entry that is torn: it says that much was synced.
    let disk = MemDisk::new(1);
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &begun()).unwrap();
    let mut within = entry(12, 3);
    within.data = bytes;
    log.append(None, &[within]).unwrap();
    let bytes = disk.content("control").unwrap();
    let torn = scan(&bytes[..bytes.len() - 1], PageCache::MaybeLost).unwrap();
    assert_eq!(torn.state, begun());
    assert_ne!(torn.state, state);
}

#[test]
fn other_formats_and_directories_are_refused() {
    let (_, mut bytes, _) = log(true);
    let other = DirectoryId(*b"another-another-");
    let expected = other;
    let found = DIRECTORY;
    let refused = scan_control_log(&bytes, other, PageCache::Intact);
    assert_eq!(refused, Err(ControlDamage::Foreign { found, expected }));
    bytes[8] = 2;
    let crc = crc32fast::hash(&bytes[..60]);
    bytes[60..64].copy_from_slice(&crc.to_le_bytes());
    let refused = Err(ControlDamage::OtherFormat { found: 2 });
    assert_eq!(scan(&bytes, PageCache::Intact), refused);
}

#[test]
fn what_was_there_when_it_was_opened_is_never_a_torn_tail() {
    let (disk, _, state) = log(false);
    let bytes_of = || disk.content("control").unwrap();
    open(&disk, PageCache::MaybeLost);
    let bytes = bytes_of();
    for page_cache in BOTH {
        for at in HEADER_BYTES..bytes.len() {
            let mut rotten = bytes.clone();
            rotten[at] ^= 1;
            assert!(scan(&rotten, page_cache).is_err(), "rot at {at}");
            assert!(scan(&bytes[..at], page_cache).is_err(), "cut at {at}");
        }
    }
    assert_eq!(
        scan(&bytes, PageCache::Intact).unwrap().state.hard_state,
        state.hard_state
    );
}

#[test]
fn entries_follow_one_another_and_what_is_there() {
    let takes = |indexes: &[u64]| {
        let mut state = begun();
        state.take(indexes.iter().map(|it| entry(*it, 4)).collect())
    };
    assert!(takes(&[12, 13]) && takes(&[11, 12]) && takes(&[]));
    assert!(!takes(&[13, 14]), "behind the end");
    assert!(!takes(&[12, 14]), "with a gap");
    assert!(!takes(&[10]), "within the snapshot");
}
