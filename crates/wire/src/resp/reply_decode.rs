//! Replies: a server's bytes as values, for our own tools.
//!
//! In:  the bytes of a connection that no earlier reply used up, as they arrive.
//! Out: [`ReplyStep::Reply`] with a [`Value`], or, for tools that only count, without one
//!      ([`ReplyDecoder::skim`]).
//!
//! Invariants:
//! - Elements that have been read are not read again when more bytes arrive.
//! - Memory grows with the bytes that have arrived, not with the counts they announce.
//! - Nesting is held on a stack of our own, [`ReplyLimits::depth_max`] deep.
//!
//! Not here: RESP3's strings and aggregates of unknown length, which no Redis sends. Attributes
//! are read and dropped.
//! Source: the RESP3 specification.

use super::{ReplyLimits, Value, decimal};
use crate::ReplyError;

/// What a [`ReplyDecoder`] found at the start of its input.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyStep<V = Value> {
    /// A whole reply.
    Reply {
        /// Bytes of the input that it takes; the next reply starts behind them.
        consumed: usize,
        /// The reply.
        value: V,
    },
    /// The start of a reply. Call again with the same bytes and more behind them.
    Incomplete {
        /// Bytes that the input has to have at least before there is anything new to find.
        need: usize,
    },
}

/// Reads the replies of one connection.
#[derive(Clone, Debug, Default)]
pub struct ReplyDecoder {
    limits: ReplyLimits,
    /// Where the next element of the reply at hand starts.
    at: usize,
    /// Bytes of the line at `at` that are known not to hold its end.
    searched: usize,
    /// Aggregates whose elements have not all been read, outermost first.
    open: Vec<Aggregate>,
}

/// An aggregate that is being read.
#[derive(Clone, Debug)]
struct Aggregate {
    kind: u8,
    missing: usize,
    elements: Vec<Value>,
}

/// One element: a value, the header of an aggregate that has elements, or an empty attribute.
enum Element {
    Value(Value),
    Open(Aggregate),
    Nothing,
    Incomplete { need: usize },
}

/// Fewest bytes of an element: a type byte and CR LF.
const ELEMENT_BYTES_MIN: usize = 3;

/// Most elements that are given room before they have arrived.
const ROOM_ELEMENTS_MAX: usize = 256;

impl ReplyDecoder {
    /// A decoder for a new connection.
    #[must_use]
    pub const fn new(limits: ReplyLimits) -> Self {
        Self {
            limits,
            at: 0,
            searched: 0,
            open: Vec::new(),
        }
    }

    /// Reads the reply at the start of `input`, which starts at the first byte that no
    /// [`ReplyStep`] has consumed.
    ///
    /// # Errors
    /// [`ReplyError`]: close the connection and drop the decoder.
    pub fn decode(&mut self, input: &[u8]) -> Result<ReplyStep, ReplyError> {
        loop {
            let mut value = match self.element(input)? {
                Element::Incomplete { need } => return Ok(ReplyStep::Incomplete { need }),
                Element::Open(aggregate) => {
                    self.open.push(aggregate);
                    continue;
                }
                Element::Nothing => continue,
                Element::Value(value) => value,
            };
            // The value may be the last of its aggregate, and that the last of its own.
            loop {
                let Some(mut aggregate) = self.open.pop() else {
                    let consumed = std::mem::take(&mut self.at);
                    return Ok(ReplyStep::Reply { consumed, value });
                };
                aggregate.elements.push(value);
                aggregate.missing -= 1;
                if aggregate.missing > 0 {
                    self.open.push(aggregate);
                    break;
                }
                match aggregate.close() {
                    Some(closed) => value = closed,
                    None => break,
                }
            }
        }
    }

    /// [`Self::decode`] for callers who only need to know whether the reply is an error: strings
    /// and lines are stepped over without being copied.
    ///
    /// The reply's value is true for an error. Nothing else is checked of a line that is skipped.
    ///
    /// # Errors
    /// As [`Self::decode`].
    #[inline]
    pub fn skim(&mut self, input: &[u8]) -> Result<ReplyStep<bool>, ReplyError> {
        if self.open.is_empty()
            && self.searched == 0
            && let Some(consumed) = single_len(input)
        {
            return Ok(ReplyStep::Reply {
                consumed,
                value: input.first() == Some(&b'-'),
            });
        }
        Ok(match self.decode(input)? {
            ReplyStep::Reply { consumed, value } => ReplyStep::Reply {
                consumed,
                value: matches!(value, Value::Error(_)),
            },
            ReplyStep::Incomplete { need } => ReplyStep::Incomplete { need },
        })
    }

    /// Reads the element at `self.at` and, unless it is incomplete, steps over it.
    fn element(&mut self, input: &[u8]) -> Result<Element, ReplyError> {
        let offset = self.at;
        if offset > self.limits.reply_bytes_max {
            return Err(ReplyError::TooLong { need: offset });
        }
        let rest = input.get(offset..).unwrap_or_default();
        let Some(&kind) = rest.first() else {
            let need = offset + ELEMENT_BYTES_MIN;
            return Ok(Element::Incomplete { need });
        };
        let is_known = matches!(
            kind,
            b'+' | b'-'
                | b':'
                | b'$'
                | b'*'
                | b'_'
                | b'#'
                | b','
                | b'('
                | b'!'
                | b'='
                | b'%'
                | b'~'
                | b'>'
                | b'|'
        );
        if !is_known {
            return Err(ReplyError::UnknownType { offset, got: kind });
        }
        let Some(line) = self.line(rest)? else {
            let need = input.len() + 1;
            return Ok(Element::Incomplete { need });
        };
        let next = offset + 1 + line.len() + 2;
        let invalid = ReplyError::InvalidLine { offset, kind };
        let value = match kind {
            b'+' => Value::Simple(line.to_vec()),
            b'-' => Value::Error(line.to_vec()),
            b':' => Value::Integer(integer(line).ok_or(invalid)?),
            b'_' if line.is_empty() => Value::Null,
            b'#' if line == b"t" => Value::Boolean(true),
            b'#' if line == b"f" => Value::Boolean(false),
            b',' => Value::Double(double(line).ok_or(invalid)?),
            b'(' if is_big_number(line) => Value::BigNumber(line.to_vec()),
            b'$' | b'!' | b'=' => {
                let Some(len) = self.announced(line, 1, next).transpose()? else {
                    return self.null_or(kind, line, next, invalid);
                };
                return self.string(kind, input, next, len);
            }
            b'*' | b'%' | b'~' | b'>' | b'|' => {
                let width = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                let least = width * ELEMENT_BYTES_MIN;
                let Some(count) = self.announced(line, least, next).transpose()? else {
                    return self.null_or(kind, line, next, invalid);
                };
                return self.aggregate(kind, offset, next, count * width);
            }
            _ => return Err(invalid),
        };
        self.at = next;
        Ok(Element::Value(value))
    }

    /// A count or length of things that take `least` bytes each from `next` on; nothing if the
    /// line is no such number.
    fn announced(
        &self,
        line: &[u8],
        least: usize,
        next: usize,
    ) -> Option<Result<usize, ReplyError>> {
        let count = usize::try_from(decimal::parse(line)?).ok()?;
        // A string has its line end besides.
        let end = if least == 1 { 2 } else { 0 };
        let need = count.saturating_mul(least).saturating_add(next + end);
        if need > self.limits.reply_bytes_max {
            return Some(Err(ReplyError::TooLong { need }));
        }
        Some(Ok(count))
    }

    /// A length that is none: -1 is RESP2's null.
    fn null_or(
        &mut self,
        kind: u8,
        line: &[u8],
        next: usize,
        invalid: ReplyError,
    ) -> Result<Element, ReplyError> {
        if line != b"-1" || !matches!(kind, b'$' | b'*') {
            return Err(invalid);
        }
        self.at = next;
        Ok(Element::Value(Value::Null))
    }

    /// The string of `len` bytes at `start`. Until it is whole its length line is read again: that
    /// is cheaper than remembering it.
    fn string(
        &mut self,
        kind: u8,
        input: &[u8],
        start: usize,
        len: usize,
    ) -> Result<Element, ReplyError> {
        let end = start + len;
        let Some(bytes) = input.get(start..end + 2) else {
            return Ok(Element::Incomplete { need: end + 2 });
        };
        let Some(bytes) = bytes.strip_suffix(b"\r\n") else {
            return Err(ReplyError::MissingEnd { offset: end });
        };
        let value = match kind {
            b'$' => Value::Bulk(bytes.to_vec()),
            b'!' => Value::Error(bytes.to_vec()),
            _ => match bytes.split_first_chunk::<4>() {
                Some(([a, b, c, b':'], text)) => Value::Verbatim {
                    format: [*a, *b, *c],
                    bytes: text.to_vec(),
                },
                _ => {
                    let offset = self.at;
                    return Err(ReplyError::InvalidLine { offset, kind });
                }
            },
        };
        self.at = end + 2;
        Ok(Element::Value(value))
    }

    fn aggregate(
        &mut self,
        kind: u8,
        offset: usize,
        next: usize,
        count: usize,
    ) -> Result<Element, ReplyError> {
        if self.open.len() >= self.limits.depth_max {
            return Err(ReplyError::TooDeep { offset });
        }
        self.at = next;
        let aggregate = Aggregate {
            kind,
            missing: count,
            elements: Vec::with_capacity(count.min(ROOM_ELEMENTS_MAX)),
        };
        if count > 0 {
            return Ok(Element::Open(aggregate));
        }
        Ok(aggregate.close().map_or(Element::Nothing, Element::Value))
    }

    /// The line that `rest` starts with, without its type byte and its end; nothing if its end has
    /// not arrived.
    fn line<'a>(&mut self, rest: &'a [u8]) -> Result<Option<&'a [u8]>, ReplyError> {
        let offset = self.at;
        let unsearched = rest.get(self.searched..).unwrap_or_default();
        let stop = unsearched
            .iter()
            .position(|byte| *byte == b'\r')
            .map_or(rest.len(), |found| self.searched + found);
        if stop > self.limits.line_bytes_max {
            return Err(ReplyError::LineTooLong { offset });
        }
        match rest.get(stop + 1) {
            Some(b'\n') => {
                self.searched = 0;
                Ok(rest.get(1..stop))
            }
            Some(_) => Err(ReplyError::MissingEnd {
                offset: offset + stop,
            }),
            None => {
                self.searched = stop;
                Ok(None)
            }
        }
    }
}

impl Aggregate {
    /// The aggregate as a value; nothing for an attribute, which only describes the next value.
    fn close(self) -> Option<Value> {
        Some(match self.kind {
            b'*' => Value::Array(self.elements),
            b'~' => Value::Set(self.elements),
            b'>' => Value::Push(self.elements),
            b'%' => {
                let mut pairs = Vec::with_capacity(self.elements.len() / 2);
                let mut elements = self.elements.into_iter();
                while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
                    pairs.push((key, value));
                }
                Value::Map(pairs)
            }
            _ => return None,
        })
    }
}

/// Length of a whole reply that is one line or one string; nothing if it is anything else.
#[inline]
fn single_len(input: &[u8]) -> Option<usize> {
    let line_end = input.iter().take(64).position(|byte| *byte == b'\r')?;
    let next = line_end + 2;
    let end = match input.first()? {
        b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => next,
        b'$' => match decimal::parse(input.get(1..line_end)?)? {
            -1 => next,
            len => next
                .checked_add(usize::try_from(len).ok()?)?
                .checked_add(2)?,
        },
        _ => return None,
    };
    (end <= input.len()).then_some(end)
}

/// RESP allows the plus sign that our own numbers do without.
fn integer(line: &[u8]) -> Option<i64> {
    decimal::parse(line.strip_prefix(b"+").unwrap_or(line))
}

fn double(line: &[u8]) -> Option<f64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

fn is_big_number(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"-").unwrap_or(line);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
#[path = "reply_decode_test.rs"]
mod reply_decode_test;
