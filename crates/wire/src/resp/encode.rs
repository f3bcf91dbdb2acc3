//! Replies: values as bytes at the end of a connection's output.
//!
//! In:  a command's answer, one call a value, an aggregate's header before its elements.
//! Out: RESP2 or RESP3, whichever the connection speaks; commands need not know which.
//!
//! Invariants:
//! - Text that could hold a CR or LF cannot end a line early: statuses and errors are cleaned.
//! - Each call appends and never changes what is before it.
//!
//! Not here: which reply a command gives (`command`), when it may leave (`brick`).
//! Source: the RESP3 specification; RESP2 forms as redis-server 7.0 downgrades them.

use super::Protocol;
use super::decimal::{LINE_BYTES_MAX, NumberLine};
use crate::ProtocolError;

/// Writes replies onto a connection's output.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// Replies that are added to `out` in `protocol`.
    #[inline]
    #[must_use]
    pub const fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// The protocol that this writes.
    #[inline]
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How long the output is, as a place to come back to with [`Self::truncate`].
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written since [`Self::position`] said `position`.
    #[inline]
    pub fn truncate(&mut self, position: usize) {
        self.out.truncate(position);
    }

    /// `+OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// A status of one line, such as `PONG`; CR and LF in it become spaces.
    #[inline]
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: its whole line with the prefix, such as `ERR syntax error`, without the `-`.
    ///
    /// CR and LF at its ends are dropped and those inside become spaces, so a message may quote
    /// what a client sent.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.trim_matches(['\r', '\n']).as_bytes());
    }

    /// As [`Self::error`], for a text that quotes bytes which may be no UTF-8.
    pub fn error_bytes(&mut self, text: &[u8]) {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let len = text
            .iter()
            .rposition(|byte| !is_end(byte))
            .map_or(0, |last| last + 1);
        self.line(b'-', text.get(..len).unwrap_or_default());
    }

    /// The error that a client gets before its connection is closed, byte for byte as Redis says it.
    pub fn protocol_error(&mut self, error: &ProtocolError) {
        self.out.extend_from_slice(b"-ERR ");
        self.out.extend_from_slice(error.text().as_bytes());
        if let ProtocolError::ExpectedBulk { got } = error {
            self.out.extend_from_slice(&[one_line(*got), b'\'']);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, number: i64) {
        if let Ok(number @ 0..=9) = u8::try_from(number) {
            self.out
                .extend_from_slice(&[b':', b'0' + number, b'\r', b'\n']);
        } else {
            self.number(b':', number);
        }
    }

    /// A string of bytes.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + LENGTH_LINE_ROOM);
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A string of bytes that is given in parts.
    pub fn bulk_parts(&mut self, parts: &[&[u8]]) {
        let len = parts.iter().map(|part| part.len()).sum();
        self.out.reserve(len + LENGTH_LINE_ROOM);
        self.length(b'$', len);
        for part in parts {
            self.out.extend_from_slice(part);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// "There is no such value" where a string could be: `$-1`, in RESP3 `_`.
    #[inline]
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// "There is no such value" where an array could be: `*-1`, in RESP3 `_`.
    #[inline]
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The header of an array; its `count` elements are to follow.
    #[inline]
    pub fn array(&mut self, count: usize) {
        self.length(b'*', count);
    }

    /// The header of a map; `count` pairs are to follow. In RESP2 an array of twice as many.
    #[inline]
    pub fn map(&mut self, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.length(b'*', 2 * count),
            Protocol::Resp3 => self.length(b'%', count),
        }
    }

    /// The header of a set; its `count` elements are to follow. In RESP2 an array.
    #[inline]
    pub fn set(&mut self, count: usize) {
        self.resp3_length(b'~', count);
    }

    /// The header of a message that answers no request; `count` elements are to follow. In RESP2
    /// an array.
    #[inline]
    pub fn push(&mut self, count: usize) {
        self.resp3_length(b'>', count);
    }

    /// A floating point number, in the fewest digits that read back as the same. In RESP2 a string.
    pub fn double(&mut self, number: f64) {
        let text = double_text(number);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// A truth value. In RESP2 the integer 1 or 0.
    #[inline]
    pub fn boolean(&mut self, is_true: bool) {
        self.out.extend_from_slice(match (self.protocol, is_true) {
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
        });
    }

    /// Text for people, with its format (`txt` or `mkd`). In RESP2 a string.
    ///
    /// # Panics
    /// If `format` has not exactly three bytes.
    pub fn verbatim(&mut self, format: &str, bytes: &[u8]) {
        assert_eq!(format.len(), 3, "a verbatim string's format has 3 bytes");
        match self.protocol {
            Protocol::Resp2 => self.bulk(bytes),
            Protocol::Resp3 => {
                self.length(b'=', bytes.len() + 4);
                self.out.extend_from_slice(format.as_bytes());
                self.out.push(b':');
                self.out.extend_from_slice(bytes);
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// A reply that is encoded already.
    pub fn raw(&mut self, encoded: &[u8]) {
        self.out.extend_from_slice(encoded);
    }

    /// An integer of any size, in decimal. In RESP2 a string.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    #[inline]
    fn resp3_length(&mut self, kind: u8, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.length(b'*', count),
            Protocol::Resp3 => self.length(kind, count),
        }
    }

    /// A line of `kind` and a length. Each number of digits up to four is one store of fixed size.
    #[inline]
    fn length(&mut self, kind: u8, len: usize) {
        length_line(self.out, kind, len);
    }

    fn number(&mut self, kind: u8, number: i64) {
        let line = NumberLine::signed(kind, number);
        self.out.extend_from_slice(line.as_bytes());
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.reserve(text.len() + 3);
        self.out.push(kind);
        if text.iter().any(|byte| one_line(*byte) != *byte) {
            self.out.extend(text.iter().map(|byte| one_line(*byte)));
        } else {
            self.out.extend_from_slice(text);
        }
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Appends a request of `arguments` to `out`, as a client sends it.
pub fn encode_request<A: AsRef<[u8]>>(out: &mut Vec<u8>, arguments: &[A]) {
    length_line(out, b'*', arguments.len());
    for argument in arguments {
        let bytes = argument.as_ref();
        length_line(out, b'$', bytes.len());
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
    }
}

/// Bytes that a string takes beside its own: its length's line and CR LF.
const LENGTH_LINE_ROOM: usize = LINE_BYTES_MAX + 2;

#[inline]
fn length_line(out: &mut Vec<u8>, kind: u8, len: usize) {
    let ascii = |number: usize| b'0' + (number % 10) as u8;
    match len {
        0..10 => out.extend_from_slice(&[kind, ascii(len), b'\r', b'\n']),
        10..100 => out.extend_from_slice(&[kind, ascii(len / 10), ascii(len), b'\r', b'\n']),
        100..1000 => out.extend_from_slice(&[
            kind,
            ascii(len / 100),
            ascii(len / 10),
            ascii(len),
            b'\r',
            b'\n',
        ]),
        _ => out.extend_from_slice(NumberLine::unsigned(kind, len as u64).as_bytes()),
    }
}

/// A byte as it may stand inside a line.
const fn one_line(byte: u8) -> u8 {
    match byte {
        b'\r' | b'\n' => b' ',
        other => other,
    }
}

fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // Within these bounds no digit is written that is not one of the number's own.
    let is_plain = number == 0.0 || (1e-5..1e17).contains(&number.abs());
    if is_plain {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
#[path = "encode_test.rs"]
mod encode_test;
