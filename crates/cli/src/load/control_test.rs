use super::super::record::Trouble;
use super::Paragraphs;

fn read(text: &str) -> Vec<Result<(String, String), String>> {
    Paragraphs::new(text.as_bytes(), "Package".to_owned())
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
fn a_paragraph_is_a_record_with_its_continuation_lines() {
    let text = "\n\nPackage: bash\nDescription: shell\n many lines\n .\n more\n\n\n\
                # a comment\npackage:  zsh \nVersion: 5\n";
    assert_eq!(
        read(text),
        [
            Ok((
                "bash".into(),
                "Package: bash\nDescription: shell\n many lines\n .\n more".into()
            )),
            Ok(("zsh".into(), "package:  zsh \nVersion: 5".into())),
        ]
    );
}

#[test]
fn bad_paragraphs_name_their_line_and_are_skipped_whole() {
    let text = "Package: a\n\nVersion: 1\n\nPackage: b\nwhat is this\nVersion: 2\n\n\x20starts indented\nPackage: c\n\nPackage: d\nPackage: e\n\nPackage: f\n";
    let records = read(text);
    assert_eq!(records.len(), 6);
    assert_eq!(records[0].as_ref().unwrap().0, "a");
    assert_eq!(
        records[1].as_ref().unwrap_err(),
        "3: the paragraph has no field 'Package'"
    );
    assert_eq!(
        records[2].as_ref().unwrap_err(),
        "6: 'what is this' is neither 'Field: value' nor a continuation line \
         (in the paragraph that starts on line 5)"
    );
    assert!(
        records[3]
            .as_ref()
            .unwrap_err()
            .starts_with("9: a continuation line without")
    );
    assert!(
        records[4]
            .as_ref()
            .unwrap_err()
            .starts_with("13: field 'Package' occurs twice")
    );
    assert_eq!(records[5].as_ref().unwrap().0, "f");
}
