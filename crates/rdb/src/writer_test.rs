use super::*;
use crate::{Item, RdbReader, RdbValue, dump_hash, dump_string};

fn written(records: &[(&[u8], Vec<u8>, Option<u64>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RdbWriter::new(&mut out).unwrap();
    for (key, payload, expires_at) in records {
        writer.record(key, payload, *expires_at).unwrap();
    }
    writer.finish().unwrap();
    out
}

#[test]
fn what_is_written_is_read() {
    let fields: [crate::FieldRef<'_>; 2] = [(b"a", b"1", None), (b"b", b"2", Some(77_000))];
    let long = vec![b'k'; 20_000];
    let records = [
        (&b"plain"[..], dump_string(b"value"), None),
        (&b"12"[..], dump_string(b"-7"), Some(5_000)),
        (&long[..], dump_string(&long), None),
        (&b"hash"[..], dump_hash(fields.into_iter()), Some(9)),
    ];
    let bytes = written(&records);
    let mut reader = RdbReader::new(&bytes[..]).unwrap();
    let mut seen = Vec::new();
    loop {
        match reader.next_item().unwrap() {
            Item::Record(record) => {
                assert_eq!(record.database, 0);
                seen.push((record.key, record.value, record.expires_at));
            }
            Item::End => break,
            other => panic!("{other:?}"),
        }
    }
    let expected =
        records.map(|(key, payload, at)| (key.to_vec(), crate::restore(&payload).unwrap(), at));
    assert_eq!(seen, expected);
    assert!(matches!(&seen[3].1, RdbValue::Hash(fields) if fields.len() == 2));
}

#[test]
fn a_snapshot_of_nothing_is_one() {
    let bytes = written(&[]);
    let mut reader = RdbReader::new(&bytes[..]).unwrap();
    assert_eq!(reader.next_item().unwrap(), Item::End);
}

#[test]
fn a_damaged_payload_is_refused() {
    let mut payload = dump_string(b"value");
    payload[2] ^= 1;
    let mut writer = RdbWriter::new(Vec::new()).unwrap();
    let error = writer.record(b"k", &payload, None).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
