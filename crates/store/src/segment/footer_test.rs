use super::*;
use crate::disk::{Access, Disk};
use crate::mem_disk::MemDisk;

const SEGMENT: SegmentId = SegmentId(5);

fn range(partition: u32) -> PartitionRange {
    PartitionRange {
        table: TableId(1),
        partition: PartitionId(partition),
        view_max: View(3),
        op_min: Op(10),
        op_max: Op(1 << 40),
        records: 7,
        bytes: 1 << 33,
        has_tombstones: partition.is_multiple_of(2),
    }
}

fn file(footer: &[u8]) -> MemDisk {
    let disk = MemDisk::new(1);
    disk.put("f", &[&[0; 100], footer].concat());
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
            records_end: 100,
            records: 14,
            was_damaged,
            ranges: ranges.clone(),
        };
        let disk = file(&encode(SEGMENT, 100, was_damaged, &ranges));
        assert_eq!(read_back(&disk), FooterState::Sound(expected));
    }
}

#[test]
fn any_flipped_byte_is_found() {
    let bytes = encode(SEGMENT, 100, false, &[range(1), range(2)]);
    let trailer_at = bytes.len() - TRAILER_BYTES;
    for at in 0..bytes.len() {
        let disk = file(&bytes);
        disk.flip("f", 100 + at, 0x04);
        let expected = if at < trailer_at {
            FooterState::Damaged { records_end: 100 }
        } else {
            FooterState::Absent
        };
        assert_eq!(read_back(&disk), expected, "byte {at}");
        assert!(is_whole(&disk.content("f").unwrap()[100..]), "byte {at}");
        assert!(!is_whole(&bytes[..at]), "byte {at}");
    }
}

#[test]
fn footer_of_another_segment_or_a_shorter_file_is_none() {
    let bytes = encode(SegmentId(6), 100, false, &[]);
    assert_eq!(read_back(&file(&bytes)), FooterState::Absent);
    let bytes = encode(SEGMENT, 100, false, &[]);
    assert_eq!(
        read_back(&file(&bytes[..bytes.len() - 1])),
        FooterState::Absent
    );
}
