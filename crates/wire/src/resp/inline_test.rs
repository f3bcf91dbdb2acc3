use super::*;

/// The words of a line, or nothing if its quotes are unbalanced.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut spans = Vec::new();
    match split(line, &mut spans)? {
        Words::Plain(count) => {
            assert_eq!(count, spans.len());
            Some(spans.iter().map(|span| span.of(line).to_vec()).collect())
        }
        Words::Quoted(request) => {
            assert_eq!(spans, [], "a quoted line gives no spans");
            let words = split_words(line)?;
            let mut expected = Vec::new();
            encode_request(&mut expected, &words);
            assert_eq!(request, expected);
            Some(words)
        }
    }
}

fn assert_words(line: &[u8], expected: &[&[u8]]) {
    let words = words(line).unwrap_or_else(|| panic!("{} is balanced", line.escape_ascii()));
    assert_eq!(words, expected, "{}", line.escape_ascii());
}

#[test]
fn words_are_separated_by_blanks() {
    assert_words(b"", &[]);
    assert_words(b" \t\r\x0b\x0c ", &[]);
    assert_words(b"PING", &[b"PING"]);
    assert_words(b"  set  key\tvalue ", &[b"set", b"key", b"value"]);
    assert_words(b"PING a\rb", &[b"PING", b"a", b"b"]);
}

#[test]
fn vertical_tab_separates_words_only_where_none_has_begun() {
    assert_words(b"\x0bPING a\x0bb", &[b"PING", b"a\x0bb"]);
    assert_words(b"\"a\"\x0cb", &[b"a", b"b"]);
}

#[test]
fn double_quotes_know_escapes() {
    assert_words(b"\"a b\" c", &[b"a b", b"c"]);
    assert_words(b"\"\\n\\r\\t\\b\\a\\\"\\\\\\q\"", &[b"\n\r\t\x08\x07\"\\q"]);
    assert_words(b"\"\\x00\\xfF\\x41\"", &[b"\x00\xffA"]);
    assert_words(b"\"\\xzz \\x4 \\x\"", &[b"xzz x4 x"]);
    assert_words(b"\"\" ''", &[b"", b""]);
}

#[test]
fn single_quotes_know_only_the_escaped_quote() {
    assert_words(b"'a\\'b' 'a\\nb' 'a\"b'", &[b"a'b", b"a\\nb", b"a\"b"]);
}

#[test]
fn quote_may_open_inside_a_word_and_must_close_at_its_end() {
    assert_words(b"a\"b c\" d'e f'", &[b"ab c", b"de f"]);
    assert_eq!(words(b"\"a\"b"), None);
    assert_eq!(words(b"'a'b"), None);
    assert_eq!(words(b"\"a\"\"b\""), None);
}

#[test]
fn unclosed_quote_is_refused_and_leaves_no_spans() {
    for line in [
        &b"ok \"a"[..],
        b"ok 'a",
        b"ok \"a\\\"",
        b"ok \"\\",
        b"ok a\"",
        b"ok 'a\\'",
    ] {
        let mut spans = vec![Span::new(1, 2)];
        assert_eq!(split(line, &mut spans), None);
        assert_eq!(spans, [Span::new(1, 2)], "{}", line.escape_ascii());
    }
}

#[test]
fn backslash_outside_of_quotes_stands_for_itself() {
    assert_words(b"a\\ b \\x41 \\n", &[b"a\\", b"b", b"\\x41", b"\\n"]);
    assert_words(b"a\\ \\\"c\"", &[b"a\\", b"\\c"]);
}

#[test]
fn quoted_line_becomes_a_request_in_resp() {
    let mut spans = Vec::new();
    let request = b"*2\r\n$3\r\nGET\r\n$2\r\na\n\r\n".to_vec();
    let words = split(b"GET \"a\\n\"", &mut spans);
    assert_eq!(words, Some(Words::Quoted(request)));
}
