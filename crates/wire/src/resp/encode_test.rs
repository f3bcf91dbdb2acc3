use super::*;

/// The bytes that `write` produces in each protocol.
fn both(write: impl Fn(&mut Reply<'_>)) -> (String, String) {
    let render = |protocol| {
        let mut out = Vec::new();
        write(&mut Reply::new(&mut out, protocol));
        out.escape_ascii().to_string()
    };
    (render(Protocol::Resp2), render(Protocol::Resp3))
}

fn assert_both(write: impl Fn(&mut Reply<'_>), resp2: &str, resp3: &str) {
    let (got2, got3) = both(write);
    let expected = (resp2.to_owned(), resp3.to_owned());
    assert_eq!((got2, got3), expected);
}

fn assert_same(write: impl Fn(&mut Reply<'_>), bytes: &str) {
    assert_both(write, bytes, bytes);
}

#[test]
fn plain_types_look_the_same_in_both_protocols() {
    assert_same(|reply| reply.ok(), r"+OK\r\n");
    assert_same(|reply| reply.simple("PONG"), r"+PONG\r\n");
    assert_same(
        |reply| reply.error("ERR syntax error"),
        r"-ERR syntax error\r\n",
    );
    assert_same(|reply| reply.integer(0), r":0\r\n");
    assert_same(|reply| reply.integer(9), r":9\r\n");
    assert_same(|reply| reply.integer(10), r":10\r\n");
    assert_same(|reply| reply.integer(-1), r":-1\r\n");
    assert_same(
        |reply| reply.integer(i64::MIN),
        r":-9223372036854775808\r\n",
    );
    assert_same(|reply| reply.integer(i64::MAX), r":9223372036854775807\r\n");
    assert_same(|reply| reply.bulk(b""), r"$0\r\n\r\n");
    assert_same(|reply| reply.bulk(b"a\r\nb\0"), r"$5\r\na\r\nb\x00\r\n");
    assert_same(|reply| reply.bulk_parts(&[]), r"$0\r\n\r\n");
    assert_same(
        |reply| reply.bulk_parts(&[b"ab", b"", b"c"]),
        r"$3\r\nabc\r\n",
    );
    assert_same(|reply| reply.array(0), r"*0\r\n");
    assert_same(|reply| reply.array(12), r"*12\r\n");
}

#[test]
fn typed_replies_fall_back_to_what_resp2_has() {
    assert_both(|reply| reply.null(), r"$-1\r\n", r"_\r\n");
    assert_both(|reply| reply.null_array(), r"*-1\r\n", r"_\r\n");
    assert_both(|reply| reply.map(3), r"*6\r\n", r"%3\r\n");
    assert_both(|reply| reply.set(3), r"*3\r\n", r"~3\r\n");
    assert_both(|reply| reply.push(3), r"*3\r\n", r">3\r\n");
    assert_both(|reply| reply.boolean(true), r":1\r\n", r"#t\r\n");
    assert_both(|reply| reply.boolean(false), r":0\r\n", r"#f\r\n");
    assert_both(
        |reply| reply.verbatim("txt", b"a b"),
        r"$3\r\na b\r\n",
        r"=7\r\ntxt:a b\r\n",
    );
    assert_both(
        |reply| reply.big_number("12345678901234567890123"),
        r"$23\r\n12345678901234567890123\r\n",
        r"(12345678901234567890123\r\n",
    );
}

#[test]
fn doubles_are_written_in_the_fewest_digits() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (3.1, "3.1"),
        (-2.5, "-2.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e16, "10000000000000000"),
        (1e17, "1e17"),
        (1.5e300, "1.5e300"),
        (1e-5, "0.00001"),
        (2e-7, "2e-7"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ] {
        let resp2 = format!(r"${}\r\n{text}\r\n", text.len());
        let resp3 = format!(r",{text}\r\n");
        assert_both(|reply| reply.double(number), &resp2, &resp3);
    }
}

#[test]
fn line_ends_in_messages_cannot_end_the_line() {
    assert_same(
        |reply| reply.error("ERR unknown command 'a\r\n+OK'"),
        r"-ERR unknown command \'a  +OK\'\r\n",
    );
    assert_same(|reply| reply.error("\r\nERR x\r\n"), r"-ERR x\r\n");
    assert_same(|reply| reply.simple("a\nb"), r"+a b\r\n");
    assert_same(|reply| reply.error(""), r"-\r\n");
}

#[test]
fn protocol_errors_read_as_redis_writes_them() {
    for (error, line) in [
        (
            ProtocolError::InvalidMultibulkLength,
            &b"-ERR Protocol error: invalid multibulk length\r\n"[..],
        ),
        (
            ProtocolError::UnauthenticatedMultibulkLength,
            b"-ERR Protocol error: unauthenticated multibulk length\r\n",
        ),
        (
            ProtocolError::ExpectedBulk { got: b'f' },
            b"-ERR Protocol error: expected '$', got 'f'\r\n",
        ),
        (
            ProtocolError::ExpectedBulk { got: b'\r' },
            b"-ERR Protocol error: expected '$', got ' '\r\n",
        ),
        (
            ProtocolError::ExpectedBulk { got: 0xff },
            b"-ERR Protocol error: expected '$', got '\xff'\r\n",
        ),
        (
            ProtocolError::InvalidBulkLength,
            b"-ERR Protocol error: invalid bulk length\r\n",
        ),
        (
            ProtocolError::UnauthenticatedBulkLength,
            b"-ERR Protocol error: unauthenticated bulk length\r\n",
        ),
        (
            ProtocolError::MultibulkLineTooLong,
            b"-ERR Protocol error: too big mbulk count string\r\n",
        ),
        (
            ProtocolError::BulkLineTooLong,
            b"-ERR Protocol error: too big bulk count string\r\n",
        ),
        (
            ProtocolError::InlineTooLong,
            b"-ERR Protocol error: too big inline request\r\n",
        ),
        (
            ProtocolError::UnbalancedQuotes,
            b"-ERR Protocol error: unbalanced quotes in request\r\n",
        ),
        (
            ProtocolError::RequestTooLong,
            b"-ERR Protocol error: too big request\r\n",
        ),
    ] {
        let mut out = Vec::new();
        Reply::new(&mut out, Protocol::Resp2).protocol_error(&error);
        assert_eq!(out, line, "{}", out.escape_ascii());
    }
}

#[test]
fn reply_can_be_taken_back() {
    let mut out = b"+OK\r\n".to_vec();
    let mut reply = Reply::new(&mut out, Protocol::Resp2);
    let position = reply.position();
    reply.bulk(b"too late");
    reply.truncate(position);
    reply.error("ERR no");
    assert_eq!(out, b"+OK\r\n-ERR no\r\n");
}

#[test]
fn lengths_of_all_sizes_are_written_in_full() {
    for len in [0, 9, 10, 99, 100, 999, 1000, 16_384, 1_048_576] {
        let mut out = Vec::new();
        Reply::new(&mut out, Protocol::Resp2).bulk(&vec![b'v'; len]);
        let head = format!("${len}\r\n");
        assert!(out.starts_with(head.as_bytes()), "{len}");
        assert_eq!(out.len(), head.len() + len + 2);
    }
}

#[test]
fn request_is_an_array_of_strings() {
    let mut out = Vec::new();
    encode_request(&mut out, &["SET", "key", ""]);
    assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
}
