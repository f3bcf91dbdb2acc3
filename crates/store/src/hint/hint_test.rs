use super::reader::HintError;
use super::*;
use crate::fixture::header;
use brickyard_types::record::{self, BatchEntry, Header, Kind, Record, RequestId, flag};
use brickyard_types::{Op, Position, SegmentId, UnixMillis};

const SEGMENT: SegmentId = SegmentId(4);

fn batch() -> Vec<u8> {
    let mut value = Vec::new();
    for (kind, key, bytes) in [
        (Kind::Put, &b"a"[..], &b"xyz"[..]),
        (Kind::Delete, b"bb", b""),
    ] {
        record::encode_entry(
            &mut value,
            &BatchEntry {
                kind,
                flags: flag::RAW,
                key,
                value: bytes,
                expires_at: Some(UnixMillis(5)),
            },
        );
    }
    value
}

/// One record of each kind, with every optional field somewhere.
fn records() -> Vec<Vec<u8>> {
    let request = Some(RequestId {
        client: 11,
        sequence: 12,
    });
    let with = |header: Header, key: &[u8], value: &[u8]| {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, &header, key, &[value]);
        bytes
    };
    vec![
        with(header(Kind::Put, 1, 1), b"key", b"value"),
        with(
            Header {
                request,
                expires_at: Some(UnixMillis(77)),
                ..header(Kind::Put, 1, 2)
            },
            b"k",
            b"",
        ),
        with(
            Header {
                flags: flag::MOVED,
                origin: Some(SegmentId(2)),
                request,
                ..header(Kind::Delete, 2, 9)
            },
            b"gone",
            b"",
        ),
        with(header(Kind::Batch, 1, 3), b"", &batch()),
        with(header(Kind::Clear, 1, 4), b"", b""),
        with(header(Kind::Watermark, 2, 8), b"", b""),
        with(committed(header(Kind::Put, 1, 5)), b"key", b"value"),
        with(committed(header(Kind::Batch, 1, 6)), b"", &batch()),
        with(committed(header(Kind::ViewStart, 1, 7)), b"", &[1; 16]),
        with(header(Kind::Cut, 1, 6), b"", b""),
        with(header(Kind::Baseline, 1, 7), b"", &[2; 30]),
        with(header(Kind::Drop, 1, 7), b"", b""),
        with_outcome(
            Header {
                request,
                ..committed(header(Kind::Batch, 1, 8))
            },
            b"",
        ),
        with_outcome(
            Header {
                request,
                ..committed(header(Kind::Put, 1, 9))
            },
            b"key",
        ),
    ]
}

fn with_outcome(header: Header, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::encode_with(&mut bytes, &header, Some(b":1\r\n"), key, &[]);
    bytes
}

const COUNT: u64 = 14;

fn committed(header: Header) -> Header {
    Header {
        committed: Some(Op(header.op.0 - 1)),
        ..header
    }
}

fn file() -> Vec<u8> {
    let mut writer = HintWriter::new();
    for (index, bytes) in records().iter().enumerate() {
        writer.add(index as u32 * 100, &record::decode(bytes).unwrap());
    }
    writer.finish(SEGMENT, 9000)
}

#[test]
fn everything_but_the_values_comes_back() {
    let bytes = file();
    let encoded = records();
    let expected: Vec<Record<'_>> = encoded
        .iter()
        .map(|bytes| record::decode(bytes).unwrap())
        .collect();
    let hints = Hints::check_for(&bytes, SEGMENT, 9000, COUNT).unwrap();
    let found: Vec<_> = hints.records().collect();
    assert_eq!(found.len() as u64, COUNT);
    for (index, ((position, hint), record)) in found.iter().zip(&expected).enumerate() {
        let offset = index as u32 * 100;
        assert_eq!(
            *position,
            Position {
                segment: SEGMENT,
                offset
            }
        );
        assert_eq!(hint.header, record.header);
        assert_eq!(hint.key, record.key);
        assert_eq!(hint.outcome, record.outcome);
        assert_eq!((hint.value_len, hint.len), (record.value.len(), record.len));
        // No restart can do without what these say.
        let is_control = record.header.kind as u8 >= Kind::ViewStart as u8;
        assert_eq!(hint.control(), is_control.then_some(*record));
    }
    let entries: Vec<_> = found[3].1.entries().collect();
    let expected: Vec<_> = record::entries(expected[3].value)
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries.len(), 2);
    for (hint, entry) in entries.iter().zip(&expected) {
        assert_eq!(
            (hint.kind, hint.flags, hint.key),
            (entry.kind, entry.flags, entry.key)
        );
        assert_eq!(
            (hint.value_len, hint.expires_at),
            (entry.value.len(), entry.expires_at)
        );
    }
}

#[test]
fn any_flipped_byte_makes_the_file_useless() {
    let bytes = file();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        assert!(
            Hints::check_for(&flipped, SEGMENT, 9000, COUNT).is_err(),
            "byte {at}"
        );
        assert!(
            Hints::check_for(&bytes[..at], SEGMENT, 9000, COUNT).is_err(),
            "cut at {at}"
        );
    }
}

#[test]
fn hints_of_another_segment_or_state_are_passed_over() {
    let bytes = file();
    let other = |segment, end, records| Hints::check_for(&bytes, segment, end, records).err();
    assert_eq!(other(SegmentId(5), 9000, COUNT), Some(HintError::Other));
    assert_eq!(other(SEGMENT, 9001, COUNT), Some(HintError::Other));
    assert_eq!(other(SEGMENT, 9000, COUNT + 1), Some(HintError::Other));
}

#[test]
fn decoder_survives_nonsense_under_a_right_checksum() {
    let bytes = file();
    for at in crate::segment::header::SEGMENT_HEADER_BYTES..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let entries = crc32fast::hash(&flipped[64..]);
        crate::bytes::put_u32(&mut flipped, 20, entries);
        let head = crc32fast::hash(&flipped[..60]);
        crate::bytes::put_u32(&mut flipped, 60, head);
        read_hints(&flipped, &mut |_, record| {
            let _ = record.entries().count();
        })
        .unwrap();
    }
}
