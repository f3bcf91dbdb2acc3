use super::*;

#[test]
fn only_canonical_integers_are_read() {
    for text in [
        "0",
        "1",
        "-1",
        "42",
        "9223372036854775807",
        "-9223372036854775808",
    ] {
        assert_eq!(parse_integer(text.as_bytes()), text.parse().ok(), "{text}");
    }
    let others = [
        "",
        "-",
        "+1",
        "-0",
        "00",
        "01",
        " 1",
        "1 ",
        "1.0",
        "0x1",
        "a",
        "1a",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551617",
        "99999999999999999999999",
    ];
    for text in others {
        assert_eq!(parse_integer(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn integers_are_written_as_they_are_read() {
    for number in [0, 1, -1, 9, 10, -10, 12_345, i64::MAX, i64::MIN] {
        let text = IntegerText::new(number);
        assert_eq!(text.as_bytes(), number.to_string().as_bytes());
        assert_eq!(parse_integer(text.as_bytes()), Some(number));
    }
}

#[test]
fn a_32_bit_integer_out_of_range_has_an_error_of_its_own() {
    assert_eq!(integer_32(b"-5"), Ok(-5));
    assert_eq!(integer_32(b"x"), Err(ErrorReply::NOT_AN_INTEGER));
    let error = integer_32(b"2147483648").unwrap_err();
    assert!(error.text().contains("between -2147483648 and 2147483647"));
}
