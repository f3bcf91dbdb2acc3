use super::super::record::Trouble;
use super::JsonLines;

fn read(text: &str, key: Option<&str>) -> Vec<Result<(String, String), String>> {
    JsonLines::new(text.as_bytes(), key.map(str::to_owned))
        .map(|result| match result {
            Ok(record) => Ok((
                String::from_utf8(record.key).unwrap(),
                String::from_utf8(record.value).unwrap(),
            )),
            Err(Trouble::BadLine(bad)) => Err(format!("{}: {}", bad.line, bad.reason)),
            Err(Trouble::Unreadable(error)) => panic!("{error}"),
        })
        .collect()
}

#[test]
fn the_first_field_is_the_key_unless_one_is_named() {
    let text = "{\"id\": 7, \"name\": \"ann\"}\n\n{\"id\":true,\"name\":\"b\\u00f6b\"}\n";
    let keys = |key| -> Vec<String> {
        read(text, key)
            .into_iter()
            .map(|record| record.unwrap().0)
            .collect()
    };
    assert_eq!(keys(None), ["7", "true"]);
    assert_eq!(keys(Some("name")), ["ann", "böb"]);
    assert_eq!(
        read(text, None)[0].as_ref().unwrap().1,
        "{\"id\": 7, \"name\": \"ann\"}"
    );
}

#[test]
fn bad_lines_say_what_is_wrong_and_reading_goes_on() {
    let text =
        "{\"id\":1}\n{\"id\":\n[1]\n{}\n{\"id\":{}}\n{\"id\":1} x\n{\"id\":2,\"id\":3}\n{\"id\":4}";
    let records = read(text, Some("id"));
    let reasons: Vec<_> = records
        .iter()
        .filter_map(|record| record.as_ref().err())
        .collect();
    assert_eq!(records.len() - reasons.len(), 2);
    for (reason, expected) in reasons.iter().zip([
        "2: not JSON: EOF while parsing a value at column",
        "3: not a JSON object",
        "4: the object has no field 'id'",
        "5: the key field 'id' is not text or a number",
        "6: not JSON: trailing characters",
        "7: not a JSON object: field 'id' occurs twice",
    ]) {
        assert!(
            reason.starts_with(expected),
            "'{reason}' does not start with '{expected}'"
        );
    }
}
