use super::*;
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Op, PartitionId, Position, SegmentId, TableId, View};

fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let header = Header {
        kind: Kind::Put,
        flags: 0,
        table: TableId(3),
        partition: PartitionId(70_000),
        view: View(2),
        op: Op(5_000_000_000),
        expires_at: None,
        request: None,
        origin: None,
        committed: None,
    };
    let mut bytes = Vec::new();
    record::encode(&mut bytes, &header, key, &[value]);
    bytes
}

#[test]
fn any_byte_of_a_header_is_set_right_and_no_byte_of_a_body() {
    let sound = put(b"key", b"value");
    for at in 0..sound.len() {
        for flipped in [1, 0x80, 0xff, 0x5a] {
            let mut bytes = sound.clone();
            bytes[at] ^= flipped;
            let rotten = bytes.clone();
            let is_mended = mend(&mut bytes);
            assert_eq!(is_mended, at < HEADER_BYTES, "byte {at} by {flipped}");
            let expected = if is_mended { &sound } else { &rotten };
            assert_eq!(&bytes, expected, "byte {at} by {flipped}");
        }
    }
}

#[test]
fn two_wrong_bytes_stay() {
    let sound = put(b"key", b"value");
    for (one, other) in [(0, 40), (13, 14), (24, 60 - 10), (8, 9)] {
        let mut bytes = sound.clone();
        bytes[one] ^= 0x10;
        bytes[other] ^= 0x01;
        let rotten = bytes.clone();
        assert!(!mend(&mut bytes), "bytes {one} and {other}");
        assert_eq!(bytes, rotten);
    }
}

/// What follows it may be what a value contained: then it is not the record that begins here.
#[test]
fn record_has_to_fill_the_bytes() {
    for surplus in [-1_i32, 1, 48] {
        let mut bytes = put(b"key", b"value");
        bytes[30] ^= 1;
        let len = bytes.len() as i32 + surplus;
        bytes.resize(len as usize, 0);
        assert!(!mend(&mut bytes), "{surplus}");
    }
    assert!(!mend(&mut [0; 10]));
}

#[test]
fn mark_is_set_right() {
    let position = Position {
        segment: SegmentId(9),
        offset: 77,
    };
    let sound = Mark::Synced(position).encode();
    for at in 0..MARK_BYTES {
        let mut bytes = sound;
        bytes[at] ^= 0x24;
        assert!(mend(&mut bytes), "byte {at}");
        assert_eq!(bytes, sound);
    }
}

/// A record of a header alone has one checksum only to say what it was.
#[test]
fn record_without_a_body_stays() {
    let mut bytes = put(b"", b"");
    assert_eq!(bytes.len(), HEADER_BYTES);
    bytes[20] ^= 1;
    assert!(!mend(&mut bytes));
}
