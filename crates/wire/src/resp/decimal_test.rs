use super::*;

#[test]
fn numbers_are_read_as_strictly_as_redis_reads_them() {
    for (field, number) in [
        (&b"0"[..], Some(0)),
        (b"7", Some(7)),
        (b"10", Some(10)),
        (b"-1", Some(-1)),
        (b"9223372036854775807", Some(i64::MAX)),
        (b"-9223372036854775808", Some(i64::MIN)),
        (b"9223372036854775808", None),
        (b"-9223372036854775809", None),
        (b"99999999999999999999999", None),
        (b"", None),
        (b"-", None),
        (b"-0", None),
        (b"00", None),
        (b"01", None),
        (b"+1", None),
        (b" 1", None),
        (b"1 ", None),
        (b"1a", None),
        (b"0x1", None),
    ] {
        assert_eq!(parse(field), number, "{}", field.escape_ascii());
    }
}

#[test]
fn written_numbers_read_back() {
    let mut number = 1i64;
    let mut samples = vec![0, i64::MIN, i64::MAX];
    for _ in 0..18 {
        number *= 10;
        samples.extend([number - 1, number, number + 1, -number]);
    }
    for sample in samples {
        let line = NumberLine::signed(b':', sample);
        assert_eq!(line.as_bytes(), format!(":{sample}\r\n").as_bytes());
        let digits = &line.as_bytes()[1..line.as_bytes().len() - 2];
        assert_eq!(parse(digits), Some(sample));
    }
    assert_eq!(
        NumberLine::unsigned(b'$', u64::MAX).as_bytes(),
        b"$18446744073709551615\r\n"
    );
}
