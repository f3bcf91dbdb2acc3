use super::Value;

/// Every type, alone and nested.
const REPLIES: &[(&[u8], &str)] = &[
    (b"+OK\r\n", "+OK"),
    (b"-ERR no\r\n", "-ERR no"),
    (b":-5\r\n", ":-5"),
    (b"$5\r\na\r\nbc\r\n", r#""a\r\nbc""#),
    (b"$0\r\n\r\n", "\"\""),
    (b"$-1\r\n", "$-1"),
    (b"*-1\r\n", "*-1"),
    (b"_\r\n", "_"),
    (b"#t\r\n", "#true"),
    (b",1.5\r\n", ",1.5"),
    (b"=5\r\ntxt:a\r\n", "=\"txt:a\""),
    (b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", "[:1, [\"x\"]]"),
    (b"%1\r\n+k\r\n~1\r\n:1\r\n", "%{+k: ~[:1]}"),
    (b">1\r\n+x\r\n", ">[+x]"),
];

#[test]
fn replies_of_every_type_are_decoded() {
    for (bytes, text) in REPLIES {
        let (value, len) = Value::decode(bytes)
            .expect("well-formed")
            .expect("complete");
        assert_eq!(value.to_string(), *text);
        assert_eq!(len, bytes.len());
    }
}

#[test]
fn no_part_of_a_reply_is_taken_for_a_whole_one() {
    for (bytes, _) in REPLIES {
        for len in 0..bytes.len() {
            assert_eq!(
                Value::decode(&bytes[..len]),
                Ok(None),
                "{}",
                bytes[..len].escape_ascii()
            );
        }
    }
}

#[test]
fn what_is_no_reply_is_refused() {
    for bytes in [
        &b"hello\r\n"[..],
        b"+OK\n",
        b":x\r\n",
        b"$-2\r\n",
        b"$1\r\nabc",
        b"\r\n",
        b"#x\r\n",
    ] {
        assert!(Value::decode(bytes).is_err(), "{}", bytes.escape_ascii());
    }
}
