//! Finds where a reply ends and how it came out, without building a value from it.
//!
//! In:  bytes from a server, starting at a reply. Out: its length and [`Outcome`].
//!
//! A load generator must cost less than what it measures, so this reads the lengths that RESP
//! and memcached's text protocol announce and steps over the rest. A whole decoder, for programs
//! that want the values, is in `wire`.
//!
//! Invariants:
//! - Nothing is consumed of a reply that is not whole; the same bytes and more may be given again.
//! - No input panics, and nothing is allocated.

use crate::Error;

/// Longest line that may announce a reply; longer, and the peer does not speak the protocol.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Which language a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Redis's protocol, versions 2 and 3.
    Resp,
    /// memcached's text protocol.
    Memcached,
}

/// How a request came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A value was returned.
    Hit,
    /// There was no value.
    Miss,
    /// Acknowledged, with a status, a number or a list.
    Done,
    /// An error reply.
    Refused,
}

/// One whole reply at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Its length, in bytes.
    pub(crate) bytes: usize,
    /// How the request came out.
    pub(crate) outcome: Outcome,
}

/// Steps over the reply at the start of `input`; `None` if it is not whole yet.
///
/// # Errors
/// [`Error::Reply`] if the bytes are not a reply of `protocol`.
#[inline]
pub(crate) fn skip(protocol: Protocol, input: &[u8]) -> Result<Option<Skipped>, Error> {
    match protocol {
        Protocol::Resp => skip_resp(input),
        Protocol::Memcached => skip_memcached(input),
    }
}

/// The first word of an error reply, such as `BUSY`: what errors are counted by.
#[must_use]
pub fn error_kind(reply: &[u8]) -> String {
    let text = error_text(reply);
    text.split_ascii_whitespace()
        .next()
        .unwrap_or("(empty)")
        .to_owned()
}

/// The text of an error reply, without its mark and line end.
#[must_use]
pub fn error_text(reply: &[u8]) -> String {
    let body = match reply.first() {
        Some(b'-') => &reply[1..],
        // A RESP3 bulk error: the text follows the line that announces its length.
        Some(b'!') => line_end(reply).map_or(reply, |end| &reply[end..]),
        _ => reply,
    };
    let line = body
        .split(|byte| *byte == b'\r' || *byte == b'\n')
        .next()
        .unwrap_or_default();
    String::from_utf8_lossy(line).into_owned()
}

fn skip_resp(input: &[u8]) -> Result<Option<Skipped>, Error> {
    // Nearly every reply of a write workload.
    if input.starts_with(b"+OK\r\n") {
        return Ok(Some(Skipped {
            bytes: 5,
            outcome: Outcome::Done,
        }));
    }
    let Some(&mark) = input.first() else {
        return Ok(None);
    };
    let mut outcome = match mark {
        b'$' | b'=' => Outcome::Hit,
        b'_' => Outcome::Miss,
        b'-' | b'!' => Outcome::Refused,
        _ => Outcome::Done,
    };
    // Replies nest, but only their number matters for the length: `wanted` counts the elements
    // still to be stepped over, so a deep reply needs no stack.
    let mut wanted: u64 = 1;
    let mut position = 0;
    while wanted > 0 {
        let rest = &input[position..];
        let Some(end) = line_end(rest) else {
            return if rest.len() > LINE_BYTES_MAX {
                Err(Error::reply(rest))
            } else {
                Ok(None)
            };
        };
        wanted -= 1;
        position += end;
        match rest[0] {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
            b'$' | b'!' | b'=' => match announced(rest, end)? {
                Some(len) => position += len as usize + 2,
                None if position == end => outcome = Outcome::Miss,
                None => {}
            },
            b'*' | b'~' | b'>' => match announced(rest, end)? {
                Some(count) => wanted += count,
                None if position == end => outcome = Outcome::Miss,
                None => {}
            },
            // An attribute comes before the reply that it describes.
            b'|' => wanted += 2 * announced(rest, end)?.unwrap_or(0) + 1,
            b'%' => wanted += 2 * announced(rest, end)?.unwrap_or(0),
            _ => return Err(Error::reply(rest)),
        }
        if position > input.len() {
            return Ok(None);
        }
    }
    Ok(Some(Skipped {
        bytes: position,
        outcome,
    }))
}

fn skip_memcached(input: &[u8]) -> Result<Option<Skipped>, Error> {
    if input.starts_with(b"STORED\r\n") {
        return Ok(Some(Skipped {
            bytes: 8,
            outcome: Outcome::Done,
        }));
    }
    let Some(end) = line_end(input) else {
        return if input.len() > LINE_BYTES_MAX {
            Err(Error::reply(input))
        } else {
            Ok(None)
        };
    };
    let line = &input[..end - 2];
    let outcome = match line {
        b"END" => Outcome::Miss,
        b"NOT_FOUND" => Outcome::Miss,
        b"DELETED" | b"OK" | b"TOUCHED" => Outcome::Done,
        b"NOT_STORED" | b"EXISTS" | b"ERROR" => Outcome::Refused,
        _ if line.starts_with(b"VALUE ") => {
            // `VALUE key flags bytes`, the value, an empty line end, and `END` for a get of one key.
            let number = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
            let len = parse_number(number).ok_or_else(|| Error::reply(input))?;
            let bytes = end + len as usize + b"\r\nEND\r\n".len();
            let whole = (bytes <= input.len()).then_some(Skipped {
                bytes,
                outcome: Outcome::Hit,
            });
            return Ok(whole);
        }
        _ if line.starts_with(b"VERSION ") => Outcome::Done,
        _ if line.starts_with(b"CLIENT_ERROR") => Outcome::Refused,
        _ if line.starts_with(b"SERVER_ERROR") => Outcome::Refused,
        _ => return Err(Error::reply(input)),
    };
    Ok(Some(Skipped {
        bytes: end,
        outcome,
    }))
}

/// Where the first line ends, its line end included.
#[inline]
fn line_end(input: &[u8]) -> Option<usize> {
    let newline = input
        .iter()
        .take(LINE_BYTES_MAX)
        .position(|byte| *byte == b'\n')?;
    (newline >= 1 && input[newline - 1] == b'\r').then_some(newline + 1)
}

/// The length or count on the line `rest[..end]`; `None` stands for the null that `-1` means.
#[inline]
fn announced(rest: &[u8], end: usize) -> Result<Option<u64>, Error> {
    let digits = &rest[1..end - 2];
    if digits == b"-1" {
        return Ok(None);
    }
    parse_number(digits)
        .map(Some)
        .ok_or_else(|| Error::reply(rest))
}

#[inline]
fn parse_number(digits: &[u8]) -> Option<u64> {
    // Ten digits are more than any length a server may send, and cannot overflow.
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u64::from(byte - b'0'))
    })
}

#[cfg(test)]
#[path = "reply_test.rs"]
mod reply_test;
