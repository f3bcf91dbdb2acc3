use super::*;

fn header() -> Header {
    Header {
        kind: Kind::Put,
        flags: flag::RAW,
        table: TableId(3),
        partition: PartitionId(77),
        view: View(2),
        op: Op(1 << 40),
        expires_at: Some(UnixMillis(1_700_000_000_000)),
        request: Some(RequestId {
            client: 9,
            sequence: 10,
        }),
        origin: Some(SegmentId(4)),
        committed: Some(Op(7)),
    }
}

#[test]
fn record_reads_back_as_written() {
    let mut out = b"before".to_vec();
    let len = encode(&mut out, &header(), b"key", &[b"va", b"lue"]);
    let record = decode(&out[6..]).unwrap();
    assert_eq!(record.len, len);
    assert_eq!((record.key, record.value), (&b"key"[..], &b"value"[..]));
    let flags = flag::RAW | flag::REQUEST_ID | flag::ORIGIN | flag::COMMITTED;
    assert_eq!(record.header, Header { flags, ..header() });
}

#[test]
fn every_kind_reads_back_with_every_combination_of_flags() {
    for kind in (0..=u8::MAX).filter_map(Kind::from_byte) {
        for flags in 0..=u8::MAX {
            let header = Header {
                kind,
                flags,
                request: header().request.filter(|_| flags & flag::REQUEST_ID != 0),
                origin: header().origin.filter(|_| flags & flag::ORIGIN != 0),
                committed: header().committed.filter(|_| flags & flag::COMMITTED != 0),
                ..header()
            };
            let outcome = (flags & flag::OUTCOME != 0).then_some(&b":12\r\n"[..]);
            let mut out = Vec::new();
            let len = encode_with(&mut out, &header, outcome, b"key", &[b"value"]);
            let record = decode(&out).unwrap();
            assert_eq!((record.header, record.len), (header, len));
            assert_eq!(record.outcome, outcome);
            assert_eq!((record.key, record.value), (&b"key"[..], &b"value"[..]));
            assert_eq!(decode_header(&out).unwrap().len, len);
        }
    }
}

#[test]
fn kinds_of_a_newer_format_are_refused() {
    let mut out = Vec::new();
    encode(&mut out, &header(), b"key", &[b"value"]);
    for unknown in [0, 10, 128] {
        let mut bytes = out.clone();
        bytes[12] = unknown;
        let crc = crc32fast::hash(&bytes[4..HEADER_BYTES]);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(decode(&bytes), Err(DecodeError::Field { what: "kind" }));
    }
}

#[test]
fn optional_fields_stand_before_the_key_in_the_order_of_their_flags() {
    let mut out = Vec::new();
    encode_with(&mut out, &header(), Some(b"+OK"), b"key", &[b"value"]);
    let mut body = Vec::new();
    body.extend_from_slice(&9_u64.to_le_bytes());
    body.extend_from_slice(&10_u64.to_le_bytes());
    body.extend_from_slice(&4_u32.to_le_bytes());
    body.extend_from_slice(&7_u64.to_le_bytes());
    body.extend_from_slice(b"\x03+OKkeyvalue");
    assert_eq!(&out[HEADER_BYTES..], body);
}

#[test]
fn record_layout_is_as_documented() {
    let mut out = Vec::new();
    let plain = Header {
        flags: 0,
        request: None,
        origin: None,
        committed: None,
        expires_at: None,
        ..header()
    };
    encode(&mut out, &plain, b"k", &[b"v"]);
    assert_eq!(out.len(), encoded_len(1, 1));
    assert_eq!(&out[8..20], [2, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0]);
    assert_eq!(&out[20..32], [3, 0, 0, 0, 77, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(
        &out[32..48],
        [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(&out[48..], b"kv");
}

#[test]
fn every_flipped_bit_is_found() {
    let mut out = Vec::new();
    encode(&mut out, &header(), b"key", &[b"value"]);
    for bit in 0..out.len() * 8 {
        let mut bytes = out.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn outcome_that_does_not_fit_is_an_error() {
    let mut out = Vec::new();
    encode_with(&mut out, &header(), Some(b"+OK"), b"", &[]);
    out[HEADER_BYTES + 28] = 200;
    let crc = crc32fast::hash(&out[HEADER_BYTES..]);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&out[4..HEADER_BYTES]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(decode(&out), Err(DecodeError::Field { what: "outcome" }));
}

#[test]
fn every_shorter_prefix_is_short() {
    let mut out = Vec::new();
    encode(&mut out, &header(), b"key", &[b"value"]);
    for len in 0..out.len() {
        assert!(
            matches!(decode(&out[..len]), Err(DecodeError::Short { .. })),
            "{len} bytes"
        );
    }
}

#[test]
fn damaged_body_still_names_its_partition_and_op() {
    let mut out = Vec::new();
    encode(&mut out, &header(), b"key", &[b"value"]);
    *out.last_mut().unwrap() ^= 1;
    let error = decode(&out).unwrap_err();
    assert!(
        matches!(error, DecodeError::Body { partition: PartitionId(77), len, .. } if len == out.len()),
        "{error:?}"
    );
}

#[test]
fn batch_entries_read_back_and_a_cut_one_is_an_error() {
    let put = BatchEntry {
        kind: Kind::Put,
        flags: 0,
        key: b"a",
        value: b"1",
        expires_at: Some(UnixMillis(5)),
    };
    let delete = BatchEntry {
        kind: Kind::Delete,
        flags: 0,
        key: b"b",
        value: b"",
        expires_at: None,
    };
    let mut value = Vec::new();
    encode_entry(&mut value, &put);
    encode_entry(&mut value, &delete);
    let read: Result<Vec<_>, _> = entries(&value).collect();
    assert_eq!(read.unwrap(), [put, delete]);
    value.pop();
    assert!(entries(&value).any(|entry| entry.is_err()));
}
