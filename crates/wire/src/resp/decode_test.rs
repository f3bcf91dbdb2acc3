//! Frames are written as bytes, so that the wire is pinned and not our own encoder. What is
//! expected of odd ones was observed on redis-server 7.0.15; `tests/redis_differential.rs` looks
//! at a live one again.

use super::*;
use crate::encode_request;
use proptest::collection::vec;
use proptest::prelude::*;

/// One step that uses bytes up: the arguments of a request, or none for an empty one.
type Arguments = Vec<Vec<u8>>;

/// What a stream decodes to: its requests, and the error that ended it.
type Outcome = (Vec<Arguments>, Option<ProtocolError>);

/// Decodes a stream that arrives in pieces, as a server does: bytes that a step has used are gone
/// before the next one.
fn decode_pieces<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = RequestDecoder::new(limits);
    let mut buffer = Vec::new();
    let mut requests = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            // Spans that are already there must survive whatever happens.
            let mut spans = vec![Span::new(7, 7)];
            let step = match decoder.decode(&buffer, &mut spans) {
                Ok(Step::Quoted { consumed, request }) => {
                    assert_eq!(spans.len(), 1);
                    assert!(!decoder.is_inside_request());
                    buffer.splice(..consumed, request);
                    continue;
                }
                Ok(step) => step,
                Err(error) => return (requests, Some(error)),
            };
            assert_eq!(spans[0], Span::new(7, 7));
            let consumed = match step.clone() {
                Step::Incomplete { need } => {
                    assert!(need > buffer.len(), "{step:?} of {} bytes", buffer.len());
                    assert_eq!(spans.len(), 1);
                    break;
                }
                Step::Empty { consumed } => {
                    assert_eq!(spans.len(), 1);
                    requests.push(Vec::new());
                    consumed
                }
                Step::Quoted { .. } => panic!("quotes were dealt with above"),
                Step::Request {
                    consumed,
                    arguments,
                } => {
                    assert_eq!(spans.len(), 1 + arguments);
                    assert!(arguments > 0);
                    let mut again = vec![Span::new(7, 7)];
                    let step_again = RequestDecoder::new(limits).decode(&buffer, &mut again);
                    assert_eq!((step_again, &again), (Ok(step.clone()), &spans));
                    let arguments = spans[1..].iter().map(|span| span.of(&buffer).to_vec());
                    requests.push(arguments.collect());
                    consumed
                }
            };
            assert!(!decoder.is_inside_request());
            assert!(consumed > 0);
            buffer.drain(..consumed);
        }
    }
    (requests, None)
}

/// Decodes a stream in one piece and byte by byte, which has to come to the same.
fn decode_with(limits: Limits, stream: &[u8]) -> Outcome {
    let whole = decode_pieces(limits, [stream]);
    let bytewise = decode_pieces(limits, stream.chunks(1));
    assert_eq!(whole, bytewise, "{}", stream.escape_ascii());
    whole
}

fn decode(stream: &[u8]) -> Outcome {
    decode_with(Limits::default(), stream)
}

fn request(arguments: &[&[u8]]) -> Arguments {
    arguments.iter().map(|argument| argument.to_vec()).collect()
}

const UNAUTHENTICATED: Limits = Limits {
    unauthenticated: true,
    ..Limits::REDIS
};

#[test]
fn pipelined_requests_are_found_one_after_the_other() {
    let stream =
        b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n";
    let expected = vec![
        request(&[b"GET", b"key"]),
        request(&[b"PING"]),
        request(&[b"SET", b"k", b""]),
    ];
    assert_eq!(decode(stream), (expected, None));
}

#[test]
fn arguments_may_hold_any_bytes() {
    let stream = b"*2\r\n$4\r\nECHO\r\n$9\r\n\r\n*1\r\n$\0\xff\r\n";
    let expected = vec![request(&[b"ECHO", b"\r\n*1\r\n$\0\xff"])];
    assert_eq!(decode(stream), (expected, None));
}

#[test]
fn empty_requests_are_skipped() {
    for stream in [
        &b"*0\r\n"[..],
        b"*-1\r\n",
        b"*-9223372036854775808\r\n",
        b"\r\n",
        b"\n",
        b"  \t \r\n",
    ] {
        let (requests, error) = decode(stream);
        assert_eq!((requests, error), (vec![Vec::new()], None));
    }
}

#[test]
fn every_count_redis_refuses_is_refused() {
    for count in [
        "",
        " 1",
        "1 ",
        "+1",
        "-0",
        "00",
        "01",
        "x",
        "1x",
        "-",
        "2147483648",
        "99999999999999999999",
        "-9223372036854775809",
    ] {
        let stream = format!("*{count}\r\n");
        let expected = (Vec::new(), Some(ProtocolError::InvalidMultibulkLength));
        assert_eq!(
            decode_with(Limits::REDIS, stream.as_bytes()),
            expected,
            "{stream:?}"
        );
    }
    for length in ["", " 4", "4 ", "-1", "-", "04", "+4", "536870913", "x"] {
        let stream = format!("*1\r\n${length}\r\n");
        let expected = (Vec::new(), Some(ProtocolError::InvalidBulkLength));
        assert_eq!(
            decode_with(Limits::REDIS, stream.as_bytes()),
            expected,
            "{stream:?}"
        );
    }
}

#[test]
fn counts_at_their_bounds_are_accepted_and_above_refused() {
    let limits = Limits::default();
    for (stream, error) in [
        (format!("*{}\r\n", limits.arguments_max), None),
        (
            format!("*{}\r\n", limits.arguments_max + 1),
            Some(ProtocolError::InvalidMultibulkLength),
        ),
        (format!("*1\r\n${}\r\n", limits.bulk_bytes_max), None),
        (
            format!("*1\r\n${}\r\n", limits.bulk_bytes_max + 1),
            Some(ProtocolError::InvalidBulkLength),
        ),
    ] {
        assert_eq!(decode(stream.as_bytes()), (Vec::new(), error), "{stream:?}");
    }
    for stream in [&b"*2147483647\r\n"[..], b"*1\r\n$536870912\r\n"] {
        assert_eq!(decode_with(Limits::REDIS, stream), (Vec::new(), None));
    }
}

#[test]
fn small_bounds_hold_on_the_short_way_too() {
    let limits = Limits {
        bulk_bytes_max: 3,
        arguments_max: 2,
        ..Limits::default()
    };
    let fits = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
    let expected = vec![request(&[b"GET", b"k"])];
    assert_eq!(decode_with(limits, fits), (expected, None));
    let (_, error) = decode_with(limits, b"*1\r\n$4\r\nPING\r\n");
    assert_eq!(error, Some(ProtocolError::InvalidBulkLength));
    let (_, error) = decode_with(limits, b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
    assert_eq!(error, Some(ProtocolError::InvalidMultibulkLength));
}

#[test]
fn argument_without_dollar_is_refused_once_its_line_is_complete() {
    for incomplete in [&b"*1\r\nfoo"[..], b"*1\r\nfoo\r", b"*1\r\n"] {
        assert_eq!(decode(incomplete), (Vec::new(), None));
    }
    for (stream, got) in [
        (&b"*1\r\nfoo\r\n"[..], b'f'),
        (b"*1\r\n:3\r\n", b':'),
        (b"*1\r\n\r\n", b'\r'),
        (b"*1\r\n\n\r\n", b'\n'),
        (b"*1\r\n\xff\r\n", 0xff),
    ] {
        let expected = (Vec::new(), Some(ProtocolError::ExpectedBulk { got }));
        assert_eq!(decode(stream), expected, "{}", stream.escape_ascii());
    }
}

#[test]
fn bytes_where_a_line_feed_should_be_are_not_looked_at() {
    let stream = b"*1\rx$4\ryPINGzz*1\r\n$4\r\nPING\r\n";
    let expected = vec![request(&[b"PING"]), request(&[b"PING"])];
    assert_eq!(decode(stream), (expected, None));
}

#[test]
fn requests_before_an_error_are_found() {
    let stream = b"PING\r\n*1\r\n$4\r\nPING\r\n*x\r\nPING\r\n";
    let expected = vec![request(&[b"PING"]), request(&[b"PING"])];
    let error = Some(ProtocolError::InvalidMultibulkLength);
    assert_eq!(decode(stream), (expected, error));
}

#[test]
fn strangers_get_ten_arguments_of_16_kib() {
    let argument = |len: usize| {
        let mut stream = Vec::new();
        encode_request(&mut stream, &[vec![b'x'; len]]);
        stream
    };
    let many = |count: usize| {
        let mut stream = Vec::new();
        encode_request(&mut stream, &vec![b"x"; count]);
        stream
    };
    for (stream, error) in [
        (many(10), None),
        (
            many(11),
            Some(ProtocolError::UnauthenticatedMultibulkLength),
        ),
        (argument(16_384), None),
        (
            argument(16_385),
            Some(ProtocolError::UnauthenticatedBulkLength),
        ),
        (
            b"*2147483648\r\n".to_vec(),
            Some(ProtocolError::InvalidMultibulkLength),
        ),
        (
            b"*1\r\n$536870913\r\n".to_vec(),
            Some(ProtocolError::InvalidBulkLength),
        ),
    ] {
        let (requests, got) = decode_with(UNAUTHENTICATED, &stream);
        assert_eq!(got, error);
        assert_eq!(requests.len(), usize::from(error.is_none()));
        if stream.len() > 32 {
            assert_eq!(decode_with(Limits::REDIS, &stream).1, None);
        }
    }
}

#[test]
fn bounds_change_with_the_next_request_after_authentication() {
    let mut decoder = RequestDecoder::new(UNAUTHENTICATED);
    let mut stream = Vec::new();
    encode_request(&mut stream, &[b"x"; 11]);
    decoder.set_limits(Limits::REDIS);
    let step = decoder.decode(&stream, &mut Vec::new());
    assert!(
        matches!(step, Ok(Step::Request { arguments: 11, .. })),
        "{step:?}"
    );
}

#[test]
fn lines_end_within_64_kib_or_not_at_all() {
    let max = Limits::default().inline_bytes_max;
    let line = |first: &[u8], len: usize, end: &[u8]| {
        let mut stream = first.to_vec();
        stream.resize(len, b'1');
        stream.extend_from_slice(end);
        stream
    };
    let bulk_line = |len: usize, end: &[u8]| {
        let mut stream = b"*1\r\n".to_vec();
        stream.extend(line(b"$", len, end));
        stream
    };
    for (stream, error) in [
        (line(b"*", max, b""), None),
        (
            line(b"*", max, b"\r\n"),
            Some(ProtocolError::InvalidMultibulkLength),
        ),
        (
            line(b"*", max + 1, b""),
            Some(ProtocolError::MultibulkLineTooLong),
        ),
        (
            line(b"*", max + 1, b"\r\n"),
            Some(ProtocolError::MultibulkLineTooLong),
        ),
        (bulk_line(max, b""), None),
        (
            bulk_line(max, b"\r\n"),
            Some(ProtocolError::InvalidBulkLength),
        ),
        (
            bulk_line(max + 1, b"\r\n"),
            Some(ProtocolError::BulkLineTooLong),
        ),
        (line(b"a", max, b""), None),
        (line(b"a", max + 1, b""), Some(ProtocolError::InlineTooLong)),
        (
            line(b"a", max + 1, b"\n"),
            Some(ProtocolError::InlineTooLong),
        ),
    ] {
        let name = stream[..8].escape_ascii().to_string();
        let whole = decode_pieces(Limits::default(), [&stream[..]]);
        assert_eq!(whole, (Vec::new(), error), "{name} {}", stream.len());
        let bytewise = decode_pieces(Limits::default(), stream.chunks(4093));
        assert_eq!(bytewise, whole, "{name} {}", stream.len());
    }
    let longest = line(b"a", max, b"\n");
    assert_eq!(decode_pieces(Limits::default(), [&longest[..]]).0.len(), 1);
}

#[test]
fn nul_hides_the_rest_of_its_line() {
    for stream in [
        &b"*1\0\r\n$4\r\nPING\r\n"[..],
        b"*1\r\n\0\r\n",
        b"PING a\0b\r\nPING\r\n",
        b"\0PING\r\n",
    ] {
        assert_eq!(
            decode(stream),
            (Vec::new(), None),
            "{}",
            stream.escape_ascii()
        );
    }
    let mut stream = b"PING\0\r\n".to_vec();
    stream.resize(Limits::default().inline_bytes_max + 1, b'\n');
    let (_, error) = decode_pieces(Limits::default(), stream.chunks(1000));
    assert_eq!(error, Some(ProtocolError::InlineTooLong));
}

#[test]
fn inline_requests_end_with_lf_or_crlf() {
    let stream = b"PING\nSET k 'a b'\r\nPING\r\r\n\"GET\" \"\\x6b\"\n";
    let expected = vec![
        request(&[b"PING"]),
        request(&[b"SET", b"k", b"a b"]),
        request(&[b"PING"]),
        request(&[b"GET", b"k"]),
    ];
    assert_eq!(decode(stream), (expected, None));
    let (requests, error) = decode(b"GET \"unbalanced\r\nPING\r\n");
    assert_eq!(requests, Vec::<Arguments>::new());
    assert_eq!(error, Some(ProtocolError::UnbalancedQuotes));
}

#[test]
fn request_as_a_whole_is_bounded() {
    let limits = Limits {
        request_bytes_max: 3 * 1024 * 1024,
        ..Limits::default()
    };
    let announced = format!("*2\r\n${}\r\n", limits.request_bytes_max);
    let (_, error) = decode_with(limits, announced.as_bytes());
    assert_eq!(error, Some(ProtocolError::RequestTooLong));

    // Small arguments add up to it as well.
    let mut stream = b"*1000\r\n".to_vec();
    for _ in 0..1000 {
        stream.extend_from_slice(b"$4000\r\n");
        stream.resize(stream.len() + 4000, b'x');
        stream.extend_from_slice(b"\r\n");
    }
    let (_, error) = decode_pieces(limits, stream.chunks(16 * 1024));
    assert_eq!(error, Some(ProtocolError::RequestTooLong));
}

#[test]
fn incomplete_request_tells_how_much_it_needs() {
    let mut decoder = RequestDecoder::new(Limits::default());
    let need =
        |decoder: &mut RequestDecoder, input: &[u8]| match decoder.decode(input, &mut Vec::new()) {
            Ok(Step::Incomplete { need }) => need,
            other => panic!("{other:?}"),
        };
    assert_eq!(need(&mut decoder, b""), 1);
    assert_eq!(need(&mut decoder, b"*2\r\n$3\r\nGET\r\n$100\r\n"), 19 + 102);
    assert_eq!(
        need(&mut decoder, b"*2\r\n$3\r\nGET\r\n$100\r\nx"),
        19 + 102
    );
}

#[test]
fn arguments_that_were_found_are_not_looked_at_again() {
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut spans = Vec::new();
    let mut input = b"*3\r\n$3\r\nSET\r\n$20000\r\n".to_vec();
    input.resize(input.len() + 20_002, b'x');
    input.extend_from_slice(b"$5\r");
    let step = decoder.decode(&input, &mut spans);
    assert!(matches!(step, Ok(Step::Incomplete { .. })), "{step:?}");
    // If it parsed these again, it would stumble.
    input[..13].fill(b'?');
    input.extend_from_slice(b"\nvalue\r\n");
    let step = decoder.decode(&input, &mut spans);
    assert_eq!(
        step,
        Ok(Step::Request {
            consumed: input.len(),
            arguments: 3
        })
    );
    assert_eq!(spans[2].of(&input), b"value");
}

#[test]
fn line_without_end_is_not_searched_again() {
    for (start, end) in [(&b"PING"[..], b'\n'), (b"*1", b'\r'), (b"*1\r\n$1", b'\r')] {
        let mut decoder = RequestDecoder::new(Limits::default());
        let mut input = start.to_vec();
        input.extend_from_slice(b"0000");
        let mut decode = |input: &[u8]| decoder.decode(input, &mut Vec::new());
        let step = decode(&input);
        assert!(matches!(step, Ok(Step::Incomplete { .. })), "{step:?}");
        let searched = input.len() - 2;
        input[searched] = end;
        let step = decode(&input);
        assert!(matches!(step, Ok(Step::Incomplete { .. })), "{step:?}");
    }
}

#[test]
fn largest_value_arrives_in_small_pieces() {
    let len = Limits::default().bulk_bytes_max;
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut spans = Vec::new();
    let mut input = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${len}\r\n").into_bytes();
    let total = input.len() + len + 2;
    while input.len() < total {
        let step = decoder.decode(&input, &mut spans);
        assert_eq!(step, Ok(Step::Incomplete { need: total }));
        input.resize(total.min(input.len() + 16 * 1024), b'v');
    }
    let step = decoder.decode(&input, &mut spans);
    assert_eq!(
        step,
        Ok(Step::Request {
            consumed: total,
            arguments: 3
        })
    );
    assert_eq!(spans[2].of(&input).len(), len);
}

#[test]
fn announced_counts_get_no_memory() {
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut spans = Vec::new();
    for stream in [&b"*1048576\r\n$1\r\nx\r\n"[..], b"*64\r\n$1\r\nx\r\n"] {
        let step = decoder.decode(stream, &mut spans);
        assert!(matches!(step, Ok(Step::Incomplete { .. })), "{step:?}");
        assert!(spans.capacity() <= 64, "{}", spans.capacity());
        assert!(decoder.found.capacity() <= 64);
        decoder = RequestDecoder::new(Limits::default());
    }
}

#[test]
fn memory_of_a_long_request_is_given_back() {
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut input = Vec::new();
    encode_request(&mut input, &vec![b"x"; 5000]);
    let mut spans = Vec::new();
    let step = decoder.decode(&input, &mut spans);
    assert!(
        matches!(
            step,
            Ok(Step::Request {
                arguments: 5000,
                ..
            })
        ),
        "{step:?}"
    );
    assert_eq!(decoder.found.capacity(), 0);
}

/// Arguments of all the lengths that take different ways through the decoder.
fn any_arguments() -> impl Strategy<Value = Arguments> {
    let argument = prop_oneof![
        20 => vec(any::<u8>(), 0..20),
        4 => vec(any::<u8>(), 90..120),
        1 => (990usize..1010).prop_map(|len| vec![b'v'; len]),
        1 => (16_380usize..16_390).prop_map(|len| vec![b'\r'; len]),
    ];
    prop_oneof![
        20 => vec(argument.clone(), 1..6),
        1 => vec(argument, 60..70),
    ]
}

/// A stream cut at places that are given as fractions of its length.
fn cut<'a>(stream: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &stream[pair[0]..pair[1]])
        .collect()
}

/// An inline line of printable words, quoted where they have to be.
fn inline_line(arguments: &Arguments) -> Vec<u8> {
    let mut line = Vec::new();
    for argument in arguments {
        line.push(b'"');
        for byte in argument {
            line.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
        line.extend_from_slice(b"\" ");
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Bytes that look enough like requests to get deep into the decoder.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(&b"*"[..]),
        Just(&b"$"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"\n"[..]),
        Just(&b"0"[..]),
        Just(&b"1"[..]),
        Just(&b"2"[..]),
        Just(&b"-1"[..]),
        Just(&b"16385"[..]),
        Just(&b"*1\r\n$4\r\nPING\r\n"[..]),
        Just(&b"*2\r\n$3\r\n"[..]),
        Just(&b"PING"[..]),
        Just(&b" \"\\x41'"[..]),
        Just(&b"'"[..]),
        Just(&b"\\"[..]),
        Just(&b"\0"[..]),
        Just(&b"\xff"[..]),
    ];
    prop_oneof![
        4 => vec(token, 0..24).prop_map(|tokens| tokens.concat()),
        1 => vec(any::<u8>(), 0..64),
    ]
}

proptest! {
    #[test]
    fn requests_decode_to_what_was_encoded_wherever_they_are_cut(
        requests in vec((any_arguments(), any::<bool>()), 1..8),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut stream = Vec::new();
        for (arguments, is_inline) in &requests {
            let bytes: usize = arguments.iter().map(Vec::len).sum();
            if *is_inline && bytes < 10_000 {
                stream.extend(inline_line(arguments));
            } else {
                encode_request(&mut stream, arguments);
            }
        }
        let expected: Vec<Arguments> = requests.into_iter().map(|(arguments, _)| arguments).collect();
        let (decoded, error) = decode_pieces(Limits::default(), cut(&stream, &cuts));
        prop_assert_eq!(error, None);
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn any_bytes_decode_the_same_wherever_they_are_cut(
        stream in any_stream(),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
        unauthenticated in any::<bool>(),
    ) {
        let limits = Limits { unauthenticated, inline_bytes_max: 32, ..Limits::default() };
        let whole = decode_pieces(limits, [&stream[..]]);
        prop_assert_eq!(&decode_pieces(limits, cut(&stream, &cuts)), &whole);
        prop_assert_eq!(&decode_pieces(limits, stream.chunks(1)), &whole);
    }
}
