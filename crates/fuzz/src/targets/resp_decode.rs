//! Any bytes as a client's stream: no panic, and the same requests however the stream is cut.
//!
//! The first byte chooses the bounds and the size of the pieces; the rest is the stream.

use brickyard_wire::{Limits, ProtocolError, RequestDecoder, Step};

type Outcome = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

/// See the module.
pub(super) fn run(data: &[u8]) {
    let Some((choice, stream)) = data.split_first() else {
        return;
    };
    let limits = Limits {
        unauthenticated: choice & 1 != 0,
        inline_bytes_max: if choice & 2 != 0 { 24 } else { 64 * 1024 },
        ..Limits::default()
    };
    let piece_len = usize::from(choice >> 2) + 1;
    let whole = decode(limits, stream, stream.len().max(1));
    assert_eq!(decode(limits, stream, piece_len), whole);
}

fn decode(limits: Limits, stream: &[u8], piece_len: usize) -> Outcome {
    let mut decoder = RequestDecoder::new(limits);
    let mut requests = Vec::new();
    let mut input = Vec::new();
    let mut spans = Vec::new();
    for piece in stream.chunks(piece_len) {
        input.extend_from_slice(piece);
        loop {
            spans.clear();
            match decoder.decode(&input, &mut spans) {
                Ok(Step::Incomplete { need }) => {
                    assert!(need > input.len());
                    assert!(spans.is_empty());
                    break;
                }
                Ok(Step::Empty { consumed }) => {
                    input.drain(..consumed);
                }
                Ok(Step::Request {
                    consumed,
                    arguments,
                }) => {
                    assert_eq!(spans.len(), arguments);
                    requests.push(spans.iter().map(|span| span.of(&input).to_vec()).collect());
                    input.drain(..consumed);
                }
                Ok(Step::Quoted { consumed, request }) => {
                    assert!(spans.is_empty());
                    input.splice(..consumed, request);
                }
                Err(error) => return (requests, Some(error)),
            }
            // Spans get room for what has arrived, not for what was announced.
            assert!(spans.capacity() <= 64 + stream.len());
        }
    }
    (requests, None)
}

/// Requests of clients, whole and wrong.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let streams = [
        &b"\0*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\n*1\r\n$4\r\nPING\r\n"[..],
        b"\x05PING\r\nSET k \"a b\\x00\\n\"\r\n\r\n*0\r\n*-1\r\n",
        b"\x02*2\r\n$3\r\nGET\r\n$0\r\n\r\n*1\r\n$-1\r\n",
        b"\x01*1048577\r\n",
        b"\x09*1\r\n$536870913\r\n",
    ];
    streams.iter().map(|stream| stream.to_vec()).collect()
}
