use super::super::record::Trouble;
use super::Lines;
use std::io::BufReader;

/// Reads through a tiny buffer, so that every line is put together from pieces.
fn lines(text: &str, bytes_max: usize) -> Vec<Result<(u64, String), u64>> {
    let mut lines = Lines::new(BufReader::with_capacity(3, text.as_bytes()), bytes_max);
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        out.push(match line {
            Ok(line) => Ok((line.number, String::from_utf8(line.bytes.to_vec()).unwrap())),
            Err(Trouble::BadLine(bad)) => Err(bad.line),
            Err(Trouble::Unreadable(error)) => panic!("{error}"),
        });
    }
    out
}

#[test]
fn lines_are_numbered_from_one_and_lose_their_ends() {
    let expected = vec![
        Ok((1, "one".into())),
        Ok((2, String::new())),
        Ok((3, "three".into())),
    ];
    assert_eq!(lines("one\n\r\nthree", 100), expected);
    assert_eq!(lines("one\n\nthree\n", 100), expected);
    assert_eq!(lines("", 100), vec![]);
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_reading_goes_on() {
    let text = format!("a\n{}\nb\n", "x".repeat(50));
    assert_eq!(
        lines(&text, 10),
        vec![Ok((1, "a".into())), Err(2), Ok((3, "b".into()))]
    );
    assert_eq!(lines(&"x".repeat(50), 10), vec![Err(1)]);
}
