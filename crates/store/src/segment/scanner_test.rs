use super::*;
use crate::disk::{Access, Disk};
use crate::fixture::put;
use crate::mem_disk::MemDisk;

/// What a scan found, in short.
fn scan(bytes: &[u8], partitions: Option<Vec<PartitionId>>) -> Vec<String> {
    let disk = MemDisk::new(1);
    disk.put("f", bytes);
    let file = disk.open("f", Access::Read).unwrap();
    let end = bytes.len() as u64;
    let mut scanner = match partitions {
        Some(partitions) => Scanner::sealed(&file, 0, end, Some(partitions)),
        None => Scanner::active(&file, 0, end),
    };
    let mut found = Vec::new();
    while let Some(next) = scanner.next().unwrap() {
        found.push(match next {
            Found::Record { offset, record, .. } => format!("op {} at {offset}", record.header.op),
            Found::Synced(position) => format!("synced {position}"),
            Found::End { records_end } => format!("end {records_end}"),
            Found::Damage(bad) => format!("damage {}+{} {:?}", bad.offset, bad.len, bad.known),
            Found::Tail(bad) => format!("tail {}+{}", bad.offset, bad.len),
            Found::Unwritten(bad) => format!("unwritten {}+{}", bad.offset, bad.len),
            Found::Footer { offset } => format!("footer {offset}"),
        });
    }
    found
}

#[test]
fn records_and_marks_come_in_order() {
    let synced = Mark::Synced(Position {
        segment: brickyard_types::SegmentId(1),
        offset: 51,
    });
    let bytes = [
        put(1, 1, b"a", b"bc"),
        synced.encode().to_vec(),
        put(1, 2, b"a", b""),
        Mark::End(brickyard_types::SegmentId(1)).encode().to_vec(),
        b"whatever a torn footer is".to_vec(),
    ]
    .concat();
    let expected = [
        "op 1 at 0",
        "synced segment 1 offset 51",
        "op 2 at 99",
        "end 196",
    ];
    assert_eq!(scan(&bytes, None), expected);
}

#[test]
fn sound_header_leads_past_a_damaged_body() {
    let mut bytes = [put(1, 1, b"a", &[1; 100]), put(1, 2, b"a", b"")].concat();
    bytes[60] ^= 1;
    let expected = ["damage 0+149 Some((PartitionId(1), Op(1)))", "op 2 at 149"];
    assert_eq!(scan(&bytes, None), expected);
}

#[test]
fn next_record_is_searched_past_a_damaged_header() {
    let mut bytes = [put(1, 1, b"a", &[1; 100]), put(1, 2, b"a", b"")].concat();
    bytes[20] ^= 1;
    assert_eq!(scan(&bytes, None), ["damage 0+149 None", "op 2 at 149"]);
}

#[test]
fn tail_is_what_nothing_follows() {
    let bytes = [put(1, 1, b"a", b"b"), put(1, 2, b"a", &[0; 100])].concat();
    for cut in 51..bytes.len() {
        assert_eq!(
            scan(&bytes[..cut], None),
            ["op 1 at 0".to_owned(), format!("tail 50+{}", cut - 50)]
        );
    }
    assert_eq!(scan(&[7; 3000], None), ["tail 0+3000"]);
}

#[test]
fn record_inside_a_value_is_not_taken_for_one_of_the_log() {
    // Somebody stored a log in a value, and that value's own header is damaged.
    let stored = put(77, 1, b"not", b"ours");
    let mut bytes = [put(1, 1, b"backup", &stored), put(1, 2, b"a", b"")].concat();
    bytes[0] ^= 1;
    let end = bytes.len() - 49;
    let found = scan(&bytes, Some(vec![PartitionId(1)]));
    assert_eq!(
        found,
        [format!("damage 0+{end} None"), format!("op 2 at {end}")]
    );
}

#[test]
fn record_larger_than_the_buffer_is_read_whole() {
    let bytes = [
        put(1, 1, b"a", &vec![1; 3 * READ_BYTES]),
        put(1, 2, b"a", &vec![1; READ_BYTES - 40]),
        put(1, 3, b"a", b""),
    ]
    .concat();
    let ops: Vec<_> = scan(&bytes, None);
    assert_eq!(ops.len(), 3);
    // Damaged, so that the search slides over all of it.
    let mut damaged = bytes.clone();
    damaged[3] ^= 1;
    let first = 49 + 3 * READ_BYTES;
    assert_eq!(scan(&damaged, None)[0], format!("damage 0+{first} None"));
}

#[test]
fn every_byte_is_in_exactly_one_stretch() {
    let bytes = [
        put(1, 1, b"a", &[1; 30]),
        put(1, 2, b"b", &[2; 30]),
        put(1, 3, b"c", b""),
    ]
    .concat();
    for at in 0..bytes.len() {
        for mask in [1, 0x80] {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            let mut ends = 0;
            let covered = crate::segment::scan_bytes(&flipped, &mut |offset, record| {
                assert!(offset as usize >= ends);
                ends = offset as usize + record.len;
            });
            assert!(covered > 0, "byte {at}");
        }
    }
}

#[test]
fn record_with_a_long_key_is_found_past_a_damaged_header() {
    // The lengths of keys stand beside the flags that a search looks at first.
    for len in [64, 255, 1_000] {
        let mut bytes = [put(1, 1, b"a", &[1; 100]), put(1, 2, &vec![7; len], b"")].concat();
        bytes[20] ^= 1;
        let found = scan(&bytes, None);
        assert_eq!(
            found,
            ["damage 0+149 None", "op 2 at 149"],
            "a key of {len}"
        );
    }
}

#[test]
fn nothing_of_sound_bytes_is_unreadable() {
    let bytes = [put(1, 1, b"a", b"bc"), put(1, 2, b"a", b"")].concat();
    let mut count = 0;
    let unreadable = crate::segment::scan_bytes(&bytes, &mut |_, _| count += 1);
    assert_eq!((unreadable, count), (0, 2));
}

#[test]
fn outcome_is_what_the_record_has() {
    let header = Header {
        request: Some(record::RequestId {
            client: 7,
            sequence: 9,
        }),
        ..crate::fixture::header(record::Kind::Put, 1, 1)
    };
    let mut bytes = Vec::new();
    record::encode_with(&mut bytes, &header, Some(b"outcome"), b"key", &[b"value"]);
    let disk = MemDisk::new(1);
    disk.put("f", &bytes);
    let file = disk.open("f", Access::Read).unwrap();
    let mut scanner = Scanner::active(&file, 0, bytes.len() as u64);
    let Some(Found::Record { record, .. }) = scanner.next().unwrap() else {
        panic!("no record");
    };
    assert_eq!(record.outcome, Some(&b"outcome"[..]));
}

#[test]
fn scan_that_is_to_be_short_reads_no_more_at_once() {
    let ops = 1..=40;
    let bytes: Vec<u8> = ops.flat_map(|op| put(1, op, b"key", &[7; 100])).collect();
    let disk = MemDisk::new(1);
    disk.put("f", &bytes);
    let file = disk.open("f", Access::Read).unwrap();
    let mut scanner = Scanner::active(&file, 0, bytes.len() as u64).reading(1000);
    let (mut records, mut held_max) = (0, 0);
    while scanner.next().unwrap().is_some() {
        records += 1;
        held_max = held_max.max(scanner.filled);
    }
    assert_eq!((records, held_max), (40, 1000));
}

#[test]
fn only_records_are_put_there_and_each_once() {
    let mark = Mark::Synced(Position {
        segment: brickyard_types::SegmentId(1),
        offset: 51,
    });
    let [first, second, third] = [1, 2, 3].map(|op| put(1, op, b"key", b"value"));
    let mut damaged = second.clone();
    // So that what comes next is searched for, and found twice.
    damaged[0] ^= 1;
    let bytes = [&first[..], &mark.encode(), &damaged, &third].concat();
    let disk = MemDisk::new(1);
    disk.put("f", &bytes);
    let file = disk.open("f", Access::Read).unwrap();
    let mut scanner = Scanner::active(&file, 0, bytes.len() as u64);
    let mut verified = VerifiedRecords::default();
    while scanner.next_into(Some(&mut verified)).unwrap().is_some() {}
    let found: Vec<_> = verified.iter().map(|(at, it)| (at, it.header.op)).collect();
    let at = (bytes.len() - third.len()) as u32;
    assert_eq!(found, [(0, Op(1)), (at, Op(3))]);
}

/// A seal that was under way ends what can be read, also behind damage.
#[test]
fn footer_ends_an_active_segment_and_is_nothing_within_a_sealed_one() {
    let footer = [&FOOTER_MAGIC[..], &[0; 60]].concat();
    let bytes = [put(1, 1, b"a", b"bc"), footer.clone()].concat();
    let end = bytes.len() - footer.len();
    assert_eq!(
        scan(&bytes, None),
        ["op 1 at 0".to_owned(), format!("footer {end}")]
    );
    let mut damaged = bytes.clone();
    damaged[3] ^= 1;
    assert_eq!(
        scan(&damaged, None),
        [format!("damage 0+{end} None"), format!("footer {end}")]
    );
    let sealed = scan(&bytes, Some(vec![PartitionId(1)]));
    let damage = format!("damage {end}+{} None", footer.len());
    assert_eq!(sealed, ["op 1 at 0".to_owned(), damage]);
}

#[test]
fn zeros_behind_the_records_are_unwritten_and_those_of_a_value_are_its_own() {
    let record = put(1, 1, b"a", &[0; 100]);
    let len = record.len();
    for zeros in [1, 47, 48, 5_000, 2 * READ_BYTES] {
        let bytes = [record.clone(), vec![0; zeros]].concat();
        let expected = ["op 1 at 0".to_owned(), format!("unwritten {len}+{zeros}")];
        assert_eq!(scan(&bytes, None), expected);
    }
    // In a sealed segment nothing is unwritten.
    let bytes = [record, vec![0; 60]].concat();
    let found = scan(&bytes, Some(vec![PartitionId(1)]));
    assert_eq!(found, ["op 1 at 0", &format!("damage {len}+60 None")]);
}

#[test]
fn record_whose_end_is_zero_and_should_not_be_ends_early() {
    let whole = put(1, 1, b"a", &[1; 100]);
    let first = put(1, 2, b"b", b"first");
    let at = first.len();
    for written in 1..whole.len() {
        let bytes = [&first[..], &whole[..written], &[0; 400][..]].concat();
        let disk = MemDisk::new(1);
        disk.put("f", &bytes);
        let file = disk.open("f", Access::Read).unwrap();
        let mut scanner = Scanner::active(&file, at as u64, bytes.len() as u64);
        let Some(Found::Tail(tail)) = scanner.next().unwrap() else {
            panic!("{written} bytes of a record");
        };
        assert_eq!(
            (tail.offset as usize, tail.len as usize),
            (at, bytes.len() - at)
        );
        assert!(
            matches!(tail.cause, DecodeError::Short { .. }),
            "{written}: {:?}",
            tail.cause
        );
        assert!(scanner.next().unwrap().is_none());
    }
}

#[test]
fn whole_record_that_rotted_before_zeros_is_damage() {
    let mut bytes = put(1, 1, b"a", &[1; 100]);
    let len = bytes.len();
    bytes[60] ^= 4;
    bytes.extend([0; 200]);
    let expected = [
        format!("damage 0+{len} Some((PartitionId(1), Op(1)))"),
        format!("unwritten {len}+200"),
    ];
    assert_eq!(scan(&bytes, None), expected);
}
