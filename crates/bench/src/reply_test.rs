use super::{Outcome, Protocol, error_kind, error_text, skip};

/// Checks that `reply` is stepped over exactly, that no part of it is, and that a second reply
/// behind it does not matter.
fn check(protocol: Protocol, reply: &[u8], outcome: Outcome) {
    for end in 0..reply.len() {
        assert_eq!(
            skip(protocol, &reply[..end]).unwrap(),
            None,
            "{end} bytes of {reply:?}"
        );
    }
    for tail in [&b""[..], b"+OK\r\n", b"*3"] {
        let input = [reply, tail].concat();
        let skipped = skip(protocol, &input).unwrap().unwrap();
        assert_eq!(
            (skipped.bytes, skipped.outcome),
            (reply.len(), outcome),
            "{reply:?}"
        );
    }
}

#[test]
fn resp_replies_are_stepped_over_whole() {
    use Outcome::{Done, Hit, Miss, Refused};
    for (reply, outcome) in [
        (&b"+OK\r\n"[..], Done),
        (b"+PONG\r\n", Done),
        (b":-12\r\n", Done),
        (b"$0\r\n\r\n", Hit),
        (b"$5\r\na\r\nbc\r\n", Hit),
        (b"$-1\r\n", Miss),
        (b"_\r\n", Miss),
        (b"*-1\r\n", Miss),
        (b"*0\r\n", Done),
        (b"*2\r\n*2\r\n:1\r\n$1\r\nx\r\n$-1\r\n", Done),
        (b"%1\r\n+a\r\n*1\r\n#t\r\n", Done),
        (b"|1\r\n+ttl\r\n:3\r\n:7\r\n", Done),
        (b"-ERR no\r\n", Refused),
        (b"!6\r\nERR no\r\n", Refused),
        (b"=7\r\ntxt:abc\r\n", Hit),
        (b",1.5\r\n", Done),
    ] {
        check(Protocol::Resp, reply, outcome);
    }
}

#[test]
fn memcached_replies_are_stepped_over_whole() {
    use Outcome::{Done, Hit, Miss, Refused};
    for (reply, outcome) in [
        (&b"STORED\r\n"[..], Done),
        (b"END\r\n", Miss),
        (b"VALUE k 0 4\r\na\r\nb\r\nEND\r\n", Hit),
        (b"VALUE k 0 0\r\n\r\nEND\r\n", Hit),
        (b"SERVER_ERROR out of memory storing object\r\n", Refused),
        (b"ERROR\r\n", Refused),
    ] {
        check(Protocol::Memcached, reply, outcome);
    }
}

#[test]
fn bytes_of_another_protocol_are_an_error() {
    assert!(skip(Protocol::Resp, b"HTTP/1.1 400 Bad Request\r\n").is_err());
    assert!(skip(Protocol::Resp, b"$abc\r\n").is_err());
    assert!(skip(Protocol::Resp, b"$99999999999\r\n").is_err());
    assert!(skip(Protocol::Memcached, b"+OK\r\n").is_err());
    assert!(skip(Protocol::Resp, &vec![b'+'; 70_000]).is_err());
}

#[test]
fn errors_are_counted_by_their_first_word() {
    assert_eq!(error_kind(b"-BUSY queue is full\r\n"), "BUSY");
    assert_eq!(error_text(b"-BUSY queue is full\r\n"), "BUSY queue is full");
    assert_eq!(error_kind(b"!9\r\nOOM limit\r\n"), "OOM");
    assert_eq!(error_kind(b"SERVER_ERROR no memory\r\n"), "SERVER_ERROR");
    assert_eq!(error_kind(b"-\r\n"), "(empty)");
}
