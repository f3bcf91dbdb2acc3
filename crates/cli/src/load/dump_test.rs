use super::super::record::{Expiry, Record, Trouble};
use super::{Dump, DumpLine};

#[test]
fn what_is_written_is_read_back() {
    let records = [
        (&b"plain"[..], &b"value"[..], None),
        (b"quote\"\n\r\x00", "b\u{f6}b".as_bytes(), Some(1500)),
        (b"\xff\xfe", b"\x80", Some(1)),
        (b"empty", b"", None),
        (b"", b"of the empty key", None),
    ];
    let text: String = records
        .iter()
        .map(|(key, value, ttl)| {
            serde_json::to_string(&DumpLine::new(key, value, *ttl)).unwrap() + "\n"
        })
        .collect();
    let back: Vec<Record> = Dump::new(text.as_bytes())
        .map(|record| record.unwrap())
        .collect();
    for (record, (key, value, ttl)) in back.iter().zip(records) {
        assert_eq!(
            (&record.key[..], &record.value[..], record.expiry),
            (key, value, ttl.map(Expiry::In))
        );
    }
    assert_eq!(back.len(), records.len());
    assert!(
        text.starts_with("{\"key\":\"plain\",\"value\":\"value\"}\n"),
        "{text}"
    );
}

#[test]
fn other_objects_are_not_taken_for_a_dump() {
    assert!(DumpLine::matches(
        b"{\"key\":\"a\",\"value_base64\":\"/w==\",\"ttl_ms\":5}"
    ));
    assert!(DumpLine::matches(b"{\"key\":\"\",\"value\":\"\"}"));
    assert!(!DumpLine::matches(
        b"{\"key\":\"a\",\"value\":\"b\",\"other\":1}"
    ));
    assert!(!DumpLine::matches(b"{\"key\":\"a\"}"));
    assert!(!DumpLine::matches(b"{\"key\":\"a\",\"value\":7}"));
}

#[test]
fn bad_lines_say_what_is_wrong() {
    let text = "{\"key\":\"a\",\"key_base64\":\"\",\"value\":\"\"}\n{\"key\":\"a\"}\n{]\n";
    let reasons: Vec<String> = Dump::new(text.as_bytes())
        .map(|record| match record {
            Err(Trouble::BadLine(bad)) => format!("{}: {}", bad.line, bad.reason),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reasons[0], "1: both 'key' and 'key_base64' are given");
    assert_eq!(reasons[1], "2: neither 'value' nor 'value_base64' is given");
    assert!(reasons[2].starts_with("3: not a line of a dump"));
}
