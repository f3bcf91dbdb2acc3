//! Any bytes as a server's stream: no panic, the same replies however the stream is cut, and the
//! same lengths when they are only stepped over.
//!
//! The first byte chooses the size of the pieces; the rest is the stream.
use brickyard_wire::{ReplyDecoder, ReplyError, ReplyLimits, ReplyStep, Value};

/// See the module.
pub(super) fn run(data: &[u8]) {
    let Some((choice, stream)) = data.split_first() else {
        return;
    };
    let (whole, ends) = decode(stream, stream.len().max(1));
    let (pieces, _) = decode(stream, usize::from(*choice) + 1);
    // As text, since a nan is not equal to itself.
    assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
    if whole.is_ok() {
        assert_eq!(skim(stream), ends);
    }
}

/// The replies or what is wrong with them, and where each of them ends.
fn decode(stream: &[u8], piece_len: usize) -> (Result<Vec<Value>, ReplyError>, Vec<usize>) {
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    let mut values = Vec::new();
    let mut ends = Vec::new();
    let mut at = 0;
    let mut arrived = 0;
    while arrived < stream.len() {
        arrived = stream.len().min(arrived + piece_len);
        loop {
            match decoder.decode(&stream[at..arrived]) {
                Ok(ReplyStep::Reply { consumed, value }) => {
                    values.push(value);
                    at += consumed;
                    ends.push(at);
                }
                Ok(ReplyStep::Incomplete { need }) => {
                    assert!(need > arrived - at);
                    break;
                }
                Err(error) => return (Err(error), ends),
            }
        }
    }
    (Ok(values), ends)
}

fn skim(stream: &[u8]) -> Vec<usize> {
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    let mut ends = Vec::new();
    let mut at = 0;
    while let Ok(ReplyStep::Reply { consumed, .. }) = decoder.skim(&stream[at..]) {
        at += consumed;
        ends.push(at);
    }
    ends
}

/// Replies of both protocols.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let streams = [
        &b"\0+OK\r\n-ERR no\r\n:-12\r\n$5\r\nhello\r\n$-1\r\n*2\r\n:1\r\n*-1\r\n"[..],
        b"\x03_\r\n#t\r\n,1.5e3\r\n,nan\r\n(123456789012345678901234567890\r\n=7\r\ntxt:abc\r\n",
        b"\x07%1\r\n+k\r\n~2\r\n:1\r\n:2\r\n>2\r\n+a\r\n+b\r\n|1\r\n+x\r\n:1\r\n:2\r\n!5\r\nERR x\r\n",
        b"\x01*1\r\n*1\r\n*1\r\n*1\r\n$3\r\nabc\r\n",
    ];
    streams.iter().map(|stream| stream.to_vec()).collect()
}
