use super::*;
use crate::disk::{Access, Disk};
use crate::mem_disk::MemDisk;

const SEGMENT: SegmentId = SegmentId(5);

/// Where its records end.
const END: u32 = 1_000;

fn range(partition: u32) -> PartitionRange {
    PartitionRange {
        table: TableId(1),
        partition: PartitionId(partition),
        view_max: View(3),
        op_min: Op(10),
        op_max: Op(1 << 40),
        records: 7,
        bytes: 400,
        has_values: partition.is_multiple_of(2),
    }
}

fn file(footer: &[u8]) -> MemDisk {
    let disk = MemDisk::new(1);
    disk.put("f", &[&[0; END as usize], footer].concat());
    disk
}

fn read_back(disk: &MemDisk) -> FooterState {
    let file = disk.open("f", Access::Read).unwrap();
    read(&file, SEGMENT, file.byte_len().unwrap()).unwrap()
}

#[test]
fn reads_back_what_it_wrote() {
    let ranges = vec![range(1), range(2)];
    for was_damaged in [false, true] {
        let expected = Footer {
            records_end: END,
            records: 14,
            was_damaged,
            ranges: ranges.clone(),
        };
        let disk = file(&encode(SEGMENT, END, was_damaged, &ranges));
        assert_eq!(read_back(&disk), FooterState::Sound(expected));
    }
}

#[test]
fn any_flipped_byte_is_found() {
    let bytes = encode(SEGMENT, END, false, &[range(1), range(2)]);
    let trailer_at = bytes.len() - TRAILER_BYTES;
    for at in 0..bytes.len() {
        let disk = file(&bytes);
        disk.flip("f", END as usize + at, 0x04);
        let expected = if at < trailer_at {
            FooterState::Damaged { records_end: END }
        } else {
            FooterState::Absent
        };
        assert_eq!(read_back(&disk), expected, "byte {at}");
        assert!(
            is_whole(&disk.content("f").unwrap()[END as usize..]),
            "byte {at}"
        );
        assert!(!is_whole(&bytes[..at]), "byte {at}");
    }
}

#[test]
fn footer_of_another_segment_or_a_shorter_file_is_none() {
    let bytes = encode(SegmentId(6), END, false, &[]);
    assert_eq!(read_back(&file(&bytes)), FooterState::Absent);
    let bytes = encode(SEGMENT, END, false, &[]);
    assert_eq!(
        read_back(&file(&bytes[..bytes.len() - 1])),
        FooterState::Absent
    );
}

#[test]
fn ranges_that_no_writer_counts_are_damage_under_right_checksums() {
    let fields: [(usize, u64); 4] = [
        // More ops at its beginning than at its end, no record, too many bytes, and the same for the sum.
        (16, u64::MAX),
        (32, 0),
        (40, u64::from(END)),
        (40, u64::MAX),
    ];
    for (field, value) in fields {
        let mut bytes = encode(SEGMENT, END, false, &[range(1), range(2)]);
        put_u64(&mut bytes, HEAD_BYTES + field, value);
        let trailer_at = bytes.len() - TRAILER_BYTES;
        let crc = crc32fast::hash(&bytes[..trailer_at]);
        let trailer = &mut bytes[trailer_at..];
        put_u32(trailer, 8, crc);
        let crc = crc32fast::hash(&trailer[..20]);
        put_u32(trailer, 20, crc);
        let damaged = FooterState::Damaged { records_end: END };
        assert_eq!(read_back(&file(&bytes)), damaged, "field {field}");
    }
}

#[test]
fn partition_has_one_range() {
    assert!(is_sound(END, &[range(1), range(2)]));
    assert!(!is_sound(END, &[range(1), range(1)]));
    assert!(!is_sound(END, &[range(2), range(1)]));
}

#[test]
fn zeros_are_no_footer_that_rotted() {
    assert!(!is_whole(&[0; 4_096]));
    let mut bytes = [0; 4_096];
    bytes[100] = 1;
    assert!(is_whole(&bytes), "two ranges of none fit");
}
