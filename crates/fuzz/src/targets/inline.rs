//! Any bytes as an inline line: no panic, the same words however it is cut, and words that are
//! quoted again read back as they were.
use brickyard_wire::{Limits, RequestDecoder, Step};

/// See the module.
pub(super) fn run(line: &[u8]) {
    // A first byte of `*` would make it another kind of request.
    let mut stream = b" ".to_vec();
    stream.extend(line.iter().filter(|byte| !matches!(byte, 0 | b'\n')));
    stream.push(b'\n');
    let Some(words) = words(&stream) else {
        return;
    };
    let mut quoted = b" ".to_vec();
    for word in &words {
        quoted.push(b'"');
        for byte in word {
            quoted.extend_from_slice(format!("\\x{byte:02X}").as_bytes());
        }
        quoted.extend_from_slice(b"\" ");
    }
    quoted.extend_from_slice(b"\r\n");
    assert_eq!(self::words(&quoted).as_ref(), Some(&words));
}

fn words(stream: &[u8]) -> Option<Vec<Vec<u8>>> {
    let limits = Limits {
        inline_bytes_max: 1024 * 1024,
        ..Limits::default()
    };
    let mut decoder = RequestDecoder::new(limits);
    let mut spans = Vec::new();
    let (head, _) = stream.split_at(stream.len() / 2);
    let step = decoder.decode(head, &mut spans);
    assert!(matches!(step, Ok(Step::Incomplete { .. })), "{step:?}");
    let mut input = stream.to_vec();
    let mut step = decoder.decode(&input, &mut spans);
    if let Ok(Step::Quoted { consumed, request }) = step {
        assert_eq!(consumed, stream.len());
        input = request;
        step = decoder.decode(&input, &mut spans);
    }
    match step {
        Ok(Step::Request { consumed, .. }) => {
            assert_eq!(consumed, input.len());
            Some(spans.iter().map(|span| span.of(&input).to_vec()).collect())
        }
        Ok(Step::Empty { consumed }) => {
            assert_eq!(consumed, input.len());
            Some(Vec::new())
        }
        Ok(step) => panic!("the line has an end: {step:?}"),
        Err(_) => None,
    }
}

/// Lines as people type them.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        &b"SET key value"[..],
        b"set \"a b\" 'c \\' d' \"\\x41\\n\\t\\\\\"",
        b"  \t ping\r",
        b"\"unbalanced",
        b"'a'b",
    ];
    lines.iter().map(|line| line.to_vec()).collect()
}
