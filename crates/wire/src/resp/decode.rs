//! Requests: where one starts and ends in a connection's input, and where its arguments are.
//!
//! In:  the bytes of a connection that no earlier request used up, as they arrive.
//! Out: [`Step::Request`] with one [`Span`] for each argument; nothing is copied.
//!
//! Invariants:
//! - Between two calls nothing is remembered but offsets, so the caller may move its buffer.
//! - A request may be decoded again by a new decoder, since the input stays as it is.
//! - An argument that has been found is not looked at again, and a line that is incomplete is not
//!   searched again from its start: the work is linear in the bytes received.
//! - Everything a client announces is checked against [`Limits`] when its line is complete, and
//!   costs memory only as its bytes arrive.
//!
//! Not here: inline words (`inline`), buffers and how they grow (`server`).
//!
//! What is accepted is what redis-server 7.0 accepts, oddities included, since clients and tests
//! lean on them: the byte after a CR and the two bytes after an argument are not looked at, a count
//! of 0 or less is an empty request, and a NUL hides the rest of its line.
//! Source: observed on redis-server 7.0.15; docs/wire.md lists the differences.

use super::inline::{self, Words};
use super::limits::{UNAUTHENTICATED_ARGUMENTS_MAX, UNAUTHENTICATED_BULK_BYTES_MAX};
use super::{Limits, decimal};
use crate::ProtocolError;
use std::ops::Range;

/// Where an argument stands in the input of the [`RequestDecoder::decode`] call that found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte, from the start of the input.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// Offsets are below [`Limits::REQUEST_BYTES_CEILING`], so 32 bits hold them.
    #[inline]
    pub(super) const fn new(start: usize, len: usize) -> Self {
        Self {
            start: start as u32,
            len: len as u32,
        }
    }

    /// The argument's bytes; `input` starts where the input of the decode call started.
    ///
    /// # Panics
    /// If `input` is not that input (a caller bug).
    #[inline]
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "another input is a caller bug")]
    pub fn of(self, input: &[u8]) -> &[u8] {
        &input[self.range()]
    }

    /// The argument's place in that input.
    #[inline]
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// What [`RequestDecoder::decode`] found at the start of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A whole request; the spans of its arguments were added.
    Request {
        /// Bytes of the input that it takes; the next request starts behind them.
        consumed: usize,
        /// How many spans were added, at least 1.
        arguments: usize,
    },
    /// The start of a request. Call again with the same bytes and more behind them.
    Incomplete {
        /// Bytes that the input has to have at least before there is anything new to find; more
        /// than it has now. Above what has arrived it is only what the client announced: let the
        /// buffer grow with the bytes that come.
        need: usize,
    },
    /// A request without a command (`*0`, an empty line), which is not answered.
    Empty {
        /// Bytes of the input that it takes.
        consumed: usize,
    },
    /// An inline request with quotes, whose words do not stand in the input as they are meant.
    /// Replace it by `request` and call again.
    ///
    /// It happens once a line, and only to lines that people type; what has been replaced may be
    /// decoded as often as any other request.
    Quoted {
        /// Bytes of the input that it takes and that `request` is to replace.
        consumed: usize,
        /// The same request in RESP.
        request: Vec<u8>,
    },
}

/// Finds requests in the input of one connection.
#[derive(Clone, Debug)]
pub struct RequestDecoder {
    limits: Limits,
    /// Arguments still to come of the request at hand; 0 when its count is not known yet.
    missing: usize,
    /// [`SHORT_ARGUMENTS_MAX`] or a lower bound in `limits`.
    short_arguments_max: usize,
    /// [`SHORT_BULK_BYTES_MAX`] or a lower bound in `limits`.
    short_bulk_bytes_max: usize,
    /// Where the next argument of the request at hand starts.
    at: usize,
    /// Bytes of the line at `at` that are known not to hold its end.
    searched: usize,
    /// Arguments found of a request that has not arrived as a whole.
    found: Vec<Span>,
}

/// Most arguments of a request that the short way through [`RequestDecoder::decode`] takes, so
/// that a count that is merely announced gets no memory worth mentioning.
const SHORT_ARGUMENTS_MAX: usize = 64;

/// Longest argument on the short way, in bytes. Together with the count it is below any
/// [`Limits::request_bytes_max`] in force and any bound on strangers' arguments.
const SHORT_BULK_BYTES_MAX: usize = UNAUTHENTICATED_BULK_BYTES_MAX;

/// Least [`Limits::request_bytes_max`] in force: what fits on the short way.
const REQUEST_BYTES_FLOOR: usize = 2 * SHORT_ARGUMENTS_MAX * SHORT_BULK_BYTES_MAX;

/// Capacity of [`RequestDecoder::found`] that is kept for the next request, in spans: idle
/// connections should not hold on to what one long request needed.
const FOUND_KEPT_MAX: usize = 64;

impl RequestDecoder {
    /// A decoder for a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut decoder = Self {
            limits,
            short_arguments_max: 0,
            short_bulk_bytes_max: 0,
            missing: 0,
            at: 0,
            searched: 0,
            found: Vec::new(),
        };
        decoder.set_limits(limits);
        decoder
    }

    /// The bounds in force.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes the bounds from the next line on, for one after the client has authenticated.
    ///
    /// A caller that decodes ahead of execution should not do so while
    /// [`Limits::unauthenticated`] is set: the requests behind an `AUTH` may be larger.
    pub fn set_limits(&mut self, limits: Limits) {
        let arguments_max = if limits.unauthenticated {
            UNAUTHENTICATED_ARGUMENTS_MAX.min(limits.arguments_max)
        } else {
            limits.arguments_max
        };
        self.limits = limits;
        self.short_arguments_max = SHORT_ARGUMENTS_MAX.min(arguments_max);
        self.short_bulk_bytes_max = SHORT_BULK_BYTES_MAX.min(limits.bulk_bytes_max);
    }

    /// Whether the start of a request is waiting for its rest (for idle timeouts).
    #[must_use]
    pub const fn is_inside_request(&self) -> bool {
        self.missing | self.searched != 0
    }

    /// Looks at the request at the start of `input`.
    ///
    /// `input` starts at the first byte that no [`Step`] has consumed. If it is a whole request,
    /// the spans of its arguments are added to `spans`, counted from the start of `input`.
    ///
    /// - Sizes: as in [`Limits`].
    /// - Time: linear in the new bytes; arguments that were found before are not looked at again.
    ///
    /// # Errors
    /// [`ProtocolError`]: answer it, close the connection and drop the decoder; the rest of the
    /// input means nothing any more.
    #[inline]
    pub fn decode(&mut self, input: &[u8], spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        if self.is_inside_request() {
            return self.resume(input, spans);
        }
        let Some((arguments, mut at)) = short_line(b'*', input) else {
            return self.begin(input, spans);
        };
        if arguments.wrapping_sub(1) >= self.short_arguments_max {
            return self.begin(input, spans);
        }
        let first = spans.len();
        spans.reserve(arguments);
        for index in 0..arguments {
            let argument = input
                .get(at..)
                .and_then(|line| short_line(b'$', line))
                .map(|(len, line_len)| (at + line_len, len))
                .filter(|(start, len)| {
                    *len <= self.short_bulk_bytes_max && start + len + 2 <= input.len()
                });
            let Some((start, len)) = argument else {
                return self.set_aside(input, spans, first, arguments - index, at);
            };
            spans.push(Span::new(start, len));
            at = start + len + 2;
        }
        Ok(Step::Request {
            consumed: at,
            arguments,
        })
    }

    /// Leaves the short way: `missing` arguments are to come at `at`, the others' spans are in
    /// `spans` from `first` on.
    #[cold]
    #[inline(never)]
    fn set_aside(
        &mut self,
        input: &[u8],
        spans: &mut Vec<Span>,
        first: usize,
        missing: usize,
        at: usize,
    ) -> Result<Step, ProtocolError> {
        self.found.extend(spans.drain(first..));
        self.missing = missing;
        self.at = at;
        self.arguments(input, spans)
    }

    /// Decodes a request from its first byte, whatever it is.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, input: &[u8], spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        self.at = 0;
        match input.first() {
            None => Ok(Step::Incomplete { need: 1 }),
            Some(b'*') => self.begin_multibulk(input, spans),
            Some(_) => self.inline(input, spans),
        }
    }

    /// Goes on with a request of which a part has been seen.
    #[cold]
    #[inline(never)]
    fn resume(&mut self, input: &[u8], spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        if self.missing == 0 {
            return self.begin(input, spans);
        }
        self.arguments(input, spans)
    }

    fn begin_multibulk(
        &mut self,
        input: &[u8],
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let line = match self.line(input, b'\r', ProtocolError::MultibulkLineTooLong)? {
            Line::Complete(line) => line,
            Line::Incomplete { need } => return Ok(Step::Incomplete { need }),
        };
        let count = number(line)
            .filter(|count| *count <= i64::from(i32::MAX))
            .ok_or(ProtocolError::InvalidMultibulkLength)?;
        let count = usize::try_from(count).unwrap_or(0);
        if self.limits.unauthenticated && count > UNAUTHENTICATED_ARGUMENTS_MAX {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        if count > self.limits.arguments_max {
            return Err(ProtocolError::InvalidMultibulkLength);
        }
        let consumed = line.len() + 2;
        if count == 0 {
            return Ok(Step::Empty { consumed });
        }
        self.at = consumed;
        self.missing = count;
        self.arguments(input, spans)
    }

    /// Finds the arguments that are still missing.
    fn arguments(&mut self, input: &[u8], spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        let request_bytes_max = self
            .limits
            .request_bytes_max
            .clamp(REQUEST_BYTES_FLOOR, Limits::REQUEST_BYTES_CEILING);
        while self.missing > 0 {
            let line = match self.line(input, b'\r', ProtocolError::BulkLineTooLong)? {
                Line::Complete(line) => line,
                Line::Incomplete { need } => return Ok(Step::Incomplete { need }),
            };
            let len = self.bulk_len(line)?;
            let start = self.at + line.len() + 2;
            let end = start + len + 2;
            if end > request_bytes_max {
                return Err(ProtocolError::RequestTooLong);
            }
            if end > input.len() {
                return Ok(Step::Incomplete { need: end });
            }
            self.found.push(Span::new(start, len));
            self.at = end;
            self.missing -= 1;
        }
        let arguments = self.found.len();
        spans.append(&mut self.found);
        if self.found.capacity() > FOUND_KEPT_MAX {
            self.found = Vec::new();
        }
        Ok(Step::Request {
            consumed: self.at,
            arguments,
        })
    }

    fn bulk_len(&self, line: &[u8]) -> Result<usize, ProtocolError> {
        match line.first() {
            Some(b'$') => {}
            // The line is empty, so what Redis shows is the CR that ends it.
            None => return Err(ProtocolError::ExpectedBulk { got: b'\r' }),
            Some(&got) => return Err(ProtocolError::ExpectedBulk { got }),
        }
        let len = number(line)
            .and_then(|len| usize::try_from(len).ok())
            .filter(|len| *len <= self.limits.bulk_bytes_max)
            .ok_or(ProtocolError::InvalidBulkLength)?;
        if self.limits.unauthenticated && len > UNAUTHENTICATED_BULK_BYTES_MAX {
            return Err(ProtocolError::UnauthenticatedBulkLength);
        }
        Ok(len)
    }

    fn inline(&mut self, input: &[u8], spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        let line = match self.line(input, b'\n', ProtocolError::InlineTooLong)? {
            Line::Complete(line) => line,
            Line::Incomplete { need } => return Ok(Step::Incomplete { need }),
        };
        let consumed = line.len() + 1;
        let words = inline::split(line.strip_suffix(b"\r").unwrap_or(line), spans)
            .ok_or(ProtocolError::UnbalancedQuotes)?;
        Ok(match words {
            Words::Plain(0) => Step::Empty { consumed },
            Words::Plain(arguments) => Step::Request {
                consumed,
                arguments,
            },
            Words::Quoted(request) => Step::Quoted { consumed, request },
        })
    }

    /// The line at `self.at`, up to `end`; behind a CR one more byte has to have arrived.
    fn line<'a>(
        &mut self,
        input: &'a [u8],
        end: u8,
        too_long: ProtocolError,
    ) -> Result<Line<'a>, ProtocolError> {
        let rest = input.get(self.at..).unwrap_or_default();
        let line_bytes_max = self.limits.inline_bytes_max;
        // An end farther away than that would not have been found had it arrived a byte later.
        let window = rest.get(..=line_bytes_max).unwrap_or(rest);
        let unsearched = window.get(self.searched..).unwrap_or_default();
        let stop = unsearched
            .iter()
            .position(|byte| *byte == end || *byte == 0)
            .map(|offset| self.searched + offset);
        let need = input.len() + 1;
        match stop {
            Some(stop) if rest.get(stop) == Some(&end) => {
                let is_complete = end != b'\r' || stop + 1 < rest.len();
                self.searched = if is_complete { 0 } else { stop };
                match rest.get(..stop) {
                    Some(line) if is_complete => Ok(Line::Complete(line)),
                    _ => Ok(Line::Incomplete { need }),
                }
            }
            // No end, or a NUL before it: only more than enough bytes end this line.
            _ if rest.len() > line_bytes_max => Err(too_long),
            _ => {
                self.searched = stop.unwrap_or(window.len());
                Ok(Line::Incomplete { need })
            }
        }
    }
}

/// What is known of a line.
enum Line<'a> {
    /// The line without its end.
    Complete(&'a [u8]),
    /// Its end has not arrived.
    Incomplete { need: usize },
}

/// The number behind a line's first byte.
fn number(line: &[u8]) -> Option<i64> {
    line.get(1..).and_then(decimal::parse)
}

/// The number on a complete line that starts with `kind`, and the line's length with its end.
///
/// Nothing if the line is anything but a type byte, up to five digits, a CR and one byte more. The
/// lengths of keys and commands have one digit or two, so each has a branch of its own that the
/// processor learns to expect.
#[inline(always)]
fn short_line(kind: u8, bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes {
        [first, ones, b'\r', _, ..] if first == kind && ones.is_ascii_digit() => {
            Some((digit(ones), 4))
        }
        [first, tens @ b'1'..=b'9', ones, b'\r', _, ..]
            if first == kind && ones.is_ascii_digit() =>
        {
            Some((10 * digit(tens) + digit(ones), 5))
        }
        [first, b'1'..=b'9', ..] if first == kind => medium_line(bytes),
        _ => None,
    }
}

/// [`short_line`] for three to five digits.
#[inline(never)]
fn medium_line(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0;
    for (index, byte) in bytes.get(1..8)?.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = 10 * number + digit(*byte),
            // The last of the seven bytes has to be the one behind the CR.
            b'\r' if index < 6 => return Some((number, index + 3)),
            _ => return None,
        }
    }
    None
}

#[inline]
const fn digit(byte: u8) -> usize {
    (byte - b'0') as usize
}

#[cfg(test)]
#[path = "decode_test.rs"]
mod decode_test;
