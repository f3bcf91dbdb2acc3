use super::super::record::Trouble;
use super::Rows;
use std::io::{Read, repeat};

fn read(text: &[u8], key: Option<&str>, value: Option<&str>) -> Vec<Result<String, String>> {
    Rows::new(text, key, value)
        .unwrap()
        .map(|result| match result {
            Ok(record) => Ok(format!(
                "{}={}",
                String::from_utf8(record.key).unwrap(),
                String::from_utf8(record.value).unwrap()
            )),
            Err(Trouble::BadLine(bad)) => Err(format!("{}: {}", bad.line, bad.reason)),
            Err(Trouble::Unreadable(error)) => Err(format!("unreadable: {error}")),
        })
        .collect()
}

#[test]
fn a_row_becomes_an_object_in_the_order_of_the_columns() {
    let text = b"id,name,note\n1,ann,\"a \"\"b\"\",\nc\"\n2,bob,\n";
    assert_eq!(
        read(text, None, None),
        [
            Ok("1={\"id\":\"1\",\"name\":\"ann\",\"note\":\"a \\\"b\\\",\\nc\"}".to_owned()),
            Ok("2={\"id\":\"2\",\"name\":\"bob\",\"note\":\"\"}".to_owned()),
        ]
    );
    assert_eq!(
        read(text, Some("name"), Some("id")),
        [Ok("ann=1".into()), Ok("bob=2".into())]
    );
}

#[test]
fn bad_rows_name_their_line_and_reading_goes_on() {
    let records = read(b"id,name\n1,ann\n2\n3,\xff\n,dora\n5,eve\n", None, None);
    assert_eq!(records.len(), 5);
    assert_eq!(records[1], Err("3: 1 fields, the header has 2".into()));
    assert_eq!(
        records[2],
        Err("4: the field \"name\" is not UTF-8 text".into())
    );
    assert_eq!(records[3], Err("5: the key is empty".into()));
    assert!(records[4].is_ok());
}

#[test]
fn a_quote_left_open_is_guessed_at() {
    let records = read(b"id,name,age\n1,\"ann\n2,bob,5\n3,cid,6\n", None, None);
    let last = records.last().unwrap().as_ref().unwrap_err();
    assert!(last.contains("is a quote left open?"), "{last}");
}

#[test]
fn an_endless_row_ends_the_reading_and_not_the_memory() {
    let endless = b"id,name\n1,\"".chain(repeat(b'x'));
    let mut rows = Rows::new(endless, None, None).unwrap();
    assert!(matches!(rows.next(), Some(Err(Trouble::Unreadable(_)))));
    assert!(rows.next().is_none());
}

#[test]
fn a_missing_column_is_an_error_that_lists_those_that_exist() {
    let error = Rows::new(&b"id,name\n"[..], Some("key"), None)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(error, "the CSV file has no column 'key'; it has id, name");
}
