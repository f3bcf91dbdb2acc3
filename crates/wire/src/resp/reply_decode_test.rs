use super::*;
use crate::{Protocol, Reply};
use proptest::collection::vec;
use proptest::prelude::*;

/// Decodes a stream of replies that arrives in pieces, with what is left of it incomplete.
fn decode_pieces<'a>(
    limits: ReplyLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Value>, ReplyError> {
    let mut decoder = ReplyDecoder::new(limits);
    let mut buffer = Vec::new();
    let mut values = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match decoder.decode(&buffer)? {
                ReplyStep::Reply { consumed, value } => {
                    values.push(value);
                    buffer.drain(..consumed);
                }
                ReplyStep::Incomplete { need } => {
                    assert!(need > buffer.len());
                    break;
                }
            }
        }
    }
    Ok(values)
}

fn decode(stream: &[u8]) -> Result<Vec<Value>, ReplyError> {
    let whole = decode_pieces(ReplyLimits::default(), [stream]);
    let bytewise = decode_pieces(ReplyLimits::default(), stream.chunks(1));
    assert_eq!(bytewise, whole, "{}", stream.escape_ascii());
    whole
}

fn bulk(bytes: &[u8]) -> Value {
    Value::Bulk(bytes.to_vec())
}

#[test]
fn every_type_is_read() {
    for (stream, value) in [
        (&b"+OK\r\n"[..], Value::Simple(b"OK".to_vec())),
        (b"+\r\n", Value::Simple(Vec::new())),
        (b"-ERR no\r\n", Value::Error(b"ERR no".to_vec())),
        (b":-42\r\n", Value::Integer(-42)),
        (b":+42\r\n", Value::Integer(42)),
        (b"$-1\r\n", Value::Null),
        (b"*-1\r\n", Value::Null),
        (b"_\r\n", Value::Null),
        (b"$0\r\n\r\n", bulk(b"")),
        (b"$4\r\na\r\nb\r\n", bulk(b"a\r\nb")),
        (b"#t\r\n", Value::Boolean(true)),
        (b"#f\r\n", Value::Boolean(false)),
        (b",1.5\r\n", Value::Double(1.5)),
        (b",-inf\r\n", Value::Double(f64::NEG_INFINITY)),
        (b",1e17\r\n", Value::Double(1e17)),
        (b"(-123\r\n", Value::BigNumber(b"-123".to_vec())),
        (b"!6\r\nERR no\r\n", Value::Error(b"ERR no".to_vec())),
        (
            b"=7\r\ntxt:a b\r\n",
            Value::Verbatim {
                format: *b"txt",
                bytes: b"a b".to_vec(),
            },
        ),
        (b"*0\r\n", Value::Array(Vec::new())),
        (b"~0\r\n", Value::Set(Vec::new())),
        (b"%0\r\n", Value::Map(Vec::new())),
        (
            b"*2\r\n*1\r\n:1\r\n_\r\n",
            Value::Array(vec![Value::Array(vec![Value::Integer(1)]), Value::Null]),
        ),
        (
            b"%2\r\n+a\r\n:1\r\n+b\r\n*0\r\n",
            Value::Map(vec![
                (Value::Simple(b"a".to_vec()), Value::Integer(1)),
                (Value::Simple(b"b".to_vec()), Value::Array(Vec::new())),
            ]),
        ),
        (b"~1\r\n:1\r\n", Value::Set(vec![Value::Integer(1)])),
        (b">1\r\n:1\r\n", Value::Push(vec![Value::Integer(1)])),
    ] {
        assert_eq!(decode(stream), Ok(vec![value]), "{}", stream.escape_ascii());
    }
    let nan = decode_pieces(ReplyLimits::default(), [&b",nan\r\n"[..]]);
    assert!(matches!(nan.as_deref(), Ok([Value::Double(number)]) if number.is_nan()));
}

#[test]
fn attributes_are_dropped_wherever_they_stand() {
    let stream = b"|1\r\n+ttl\r\n:9\r\n*2\r\n|1\r\n+a\r\n*1\r\n:5\r\n:1\r\n|0\r\n:2\r\n";
    let expected = Value::Array(vec![Value::Integer(1), Value::Integer(2)]);
    assert_eq!(decode(stream), Ok(vec![expected]));
}

#[test]
fn pipelined_replies_are_read_one_after_the_other() {
    let stream = b"+OK\r\n$3\r\nabc\r\n-ERR x\r\n*1\r\n:1\r\n:";
    let expected = vec![
        Value::Simple(b"OK".to_vec()),
        bulk(b"abc"),
        Value::Error(b"ERR x".to_vec()),
        Value::Array(vec![Value::Integer(1)]),
    ];
    assert_eq!(decode(stream), Ok(expected));
}

#[test]
fn bytes_that_are_no_reply_are_refused() {
    let invalid = |offset, kind| ReplyError::InvalidLine { offset, kind };
    for (stream, error) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            ReplyError::UnknownType {
                offset: 0,
                got: b'H',
            },
        ),
        (
            b"*1\r\nx\r\n",
            ReplyError::UnknownType {
                offset: 4,
                got: b'x',
            },
        ),
        (b":1x\r\n", invalid(0, b':')),
        (b":\r\n", invalid(0, b':')),
        (b"$-2\r\n", invalid(0, b'$')),
        (b"%-1\r\n", invalid(0, b'%')),
        (b"$?\r\n", invalid(0, b'$')),
        (b"*1\r\n*?\r\n", invalid(4, b'*')),
        (b"#x\r\n", invalid(0, b'#')),
        (b"_x\r\n", invalid(0, b'_')),
        (b",x\r\n", invalid(0, b',')),
        (b"(1.5\r\n", invalid(0, b'(')),
        (b"(-\r\n", invalid(0, b'(')),
        (b"=2\r\nab\r\n", invalid(0, b'=')),
        (b"=5\r\ntxt;a\r\n", invalid(0, b'=')),
        (b"+OK\rX", ReplyError::MissingEnd { offset: 3 }),
        (b"$3\r\nabcde", ReplyError::MissingEnd { offset: 7 }),
    ] {
        assert_eq!(decode(stream), Err(error), "{}", stream.escape_ascii());
    }
}

#[test]
fn nesting_is_bounded() {
    let limits = ReplyLimits {
        depth_max: 3,
        ..ReplyLimits::default()
    };
    let fits = decode_pieces(limits, [&b"*1\r\n*1\r\n*1\r\n:1\r\n"[..]]);
    assert_eq!(fits.map(|values| values.len()), Ok(1));
    let error = decode_pieces(limits, [&b"*1\r\n*1\r\n*1\r\n*0\r\n"[..]]);
    assert_eq!(error, Err(ReplyError::TooDeep { offset: 12 }));
    let endless = b"*1\r\n".repeat(100_000);
    let error = decode_pieces(ReplyLimits::default(), [&endless[..]]);
    assert_eq!(error, Err(ReplyError::TooDeep { offset: 4 * 32 }));
}

#[test]
fn sizes_are_bounded_when_they_are_announced() {
    let limits = ReplyLimits {
        reply_bytes_max: 100,
        line_bytes_max: 20,
        ..ReplyLimits::default()
    };
    let decode = |stream: &[u8]| decode_pieces(limits, [stream]);
    assert_eq!(decode(b"$93\r\n"), Ok(Vec::new()));
    assert_eq!(decode(b"$94\r\n"), Err(ReplyError::TooLong { need: 101 }));
    assert_eq!(decode(b"*32\r\n"), Err(ReplyError::TooLong { need: 101 }));
    assert_eq!(
        decode(b"%9223372036854775807\r\n"),
        Err(ReplyError::TooLong { need: usize::MAX })
    );
    assert_eq!(decode(&[b'+'; 20]), Ok(Vec::new()));
    let error = Err(ReplyError::LineTooLong { offset: 0 });
    assert_eq!(decode(&[b'+'; 22]), error);
    // Many small elements add up as well.
    let mut stream = b"*30\r\n".to_vec();
    stream.extend_from_slice(&b":1234\r\n".repeat(30));
    assert!(matches!(decode(&stream), Err(ReplyError::TooLong { .. })));
}

#[test]
fn announced_elements_get_no_memory() {
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    let step = decoder.decode(b"*300000000\r\n:1\r\n");
    assert!(matches!(step, Ok(ReplyStep::Incomplete { .. })));
    assert!(decoder.open[0].elements.capacity() <= ROOM_ELEMENTS_MAX);
}

#[test]
fn elements_that_were_read_are_not_read_again() {
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    let mut input = b"*2\r\n$1\r\na\r\n$1".to_vec();
    let step = decoder.decode(&input);
    assert!(matches!(step, Ok(ReplyStep::Incomplete { .. })), "{step:?}");
    // If it parsed these again, it would stumble.
    input[..11].fill(b'?');
    input.extend_from_slice(b"\r\nb\r\n");
    let expected = ReplyStep::Reply {
        consumed: input.len(),
        value: Value::Array(vec![bulk(b"a"), bulk(b"b")]),
    };
    assert_eq!(decoder.decode(&input), Ok(expected));
}

#[test]
fn skim_steps_over_replies_and_tells_errors() {
    let stream = b"+OK\r\n-ERR x\r\n$3\r\na\rb\r\n$-1\r\n*2\r\n:1\r\n-x\r\n!1\r\nE\r\n:12\r\n";
    let expected = [false, true, false, false, false, true, false];
    for piece_len in [1, 2, 5, stream.len()] {
        let mut decoder = ReplyDecoder::new(ReplyLimits::default());
        let mut buffer = Vec::new();
        let mut errors = Vec::new();
        for piece in stream.chunks(piece_len) {
            buffer.extend_from_slice(piece);
            while let Ok(ReplyStep::Reply { consumed, value }) = decoder.skim(&buffer) {
                errors.push(value);
                buffer.drain(..consumed);
            }
        }
        assert_eq!(errors, expected, "pieces of {piece_len}");
    }
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    assert!(decoder.skim(b"HTTP/1.1\r\n").is_err());
    assert!(decoder.skim(b"$x\r\n").is_err());
}

/// Text that a line can hold.
fn line() -> impl Strategy<Value = Vec<u8>> {
    "[ -~]{0,30}".prop_map(String::into_bytes)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        line().prop_map(Value::Simple),
        line().prop_map(Value::Error),
        any::<i64>().prop_map(Value::Integer),
        vec(any::<u8>(), 0..200).prop_map(Value::Bulk),
        any::<f64>()
            .prop_filter("nan equals nothing", |number| !number.is_nan())
            .prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        vec(any::<u8>(), 0..50).prop_map(|bytes| Value::Verbatim {
            format: *b"txt",
            bytes
        }),
        any::<i128>().prop_map(|number| Value::BigNumber(number.to_string().into_bytes())),
    ];
    leaf.prop_recursive(4, 64, 8, |element| {
        prop_oneof![
            vec(element.clone(), 0..8).prop_map(Value::Array),
            vec(element.clone(), 0..8).prop_map(Value::Set),
            vec(element.clone(), 0..8).prop_map(Value::Push),
            vec((element.clone(), element), 0..8).prop_map(Value::Map),
        ]
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Writes a value as a command would.
fn write(reply: &mut Reply<'_>, value: &Value) {
    match value {
        Value::Null => reply.null(),
        Value::Simple(line) => reply.simple(text(line)),
        Value::Error(line) => reply.error(text(line)),
        Value::Integer(number) => reply.integer(*number),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Double(number) => reply.double(*number),
        Value::Boolean(is_true) => reply.boolean(*is_true),
        Value::Verbatim { format, bytes } => reply.verbatim(text(format), bytes),
        Value::BigNumber(digits) => reply.big_number(text(digits)),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            match value {
                Value::Array(_) => reply.array(elements.len()),
                Value::Set(_) => reply.set(elements.len()),
                _ => reply.push(elements.len()),
            }
            for element in elements {
                write(reply, element);
            }
        }
        Value::Map(pairs) => {
            reply.map(pairs.len());
            for (key, value) in pairs {
                write(reply, key);
                write(reply, value);
            }
        }
    }
}

/// What is left of a value once RESP2 has carried it.
fn downgraded(value: Value) -> Value {
    let all = |values: Vec<Value>| values.into_iter().map(downgraded).collect();
    match value {
        Value::Double(number) => {
            let mut out = Vec::new();
            Reply::new(&mut out, Protocol::Resp3).double(number);
            Value::Bulk(out[1..out.len() - 2].to_vec())
        }
        Value::Boolean(is_true) => Value::Integer(i64::from(is_true)),
        Value::Verbatim { bytes, .. } | Value::BigNumber(bytes) => Value::Bulk(bytes),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            Value::Array(all(elements))
        }
        Value::Map(pairs) => Value::Array(all(pairs
            .into_iter()
            .flat_map(|(key, value)| [key, value])
            .collect())),
        other => other,
    }
}

proptest! {
    #[test]
    fn replies_decode_to_what_was_encoded(
        values in vec(any_value(), 1..4),
        piece_len in 1usize..600,
        is_resp3 in any::<bool>(),
    ) {
        let protocol = if is_resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let mut stream = Vec::new();
        for value in &values {
            write(&mut Reply::new(&mut stream, protocol), value);
        }
        let expected = if is_resp3 {
            values
        } else {
            values.into_iter().map(downgraded).collect()
        };
        let decoded = decode_pieces(ReplyLimits::default(), stream.chunks(piece_len));
        prop_assert_eq!(decoded, Ok(expected));
    }

    #[test]
    fn any_bytes_decode_the_same_wherever_they_are_cut(
        tokens in vec(
            prop_oneof![
                "[-+:$*_#,(!=%~>|]",
                "[0-9a-z]{0,3}",
                Just("\r\n".to_owned()),
                Just("\r\n".to_owned()),
                Just("$1\r\na\r\n".to_owned()),
                Just("|1\r\n".to_owned()),
            ],
            0..30,
        ),
        piece_len in 1usize..9,
    ) {
        let stream = tokens.concat().into_bytes();
        let whole = decode_pieces(ReplyLimits::default(), [&stream[..]]);
        let pieces = decode_pieces(ReplyLimits::default(), stream.chunks(piece_len));
        prop_assert_eq!(pieces, whole);
    }
}
