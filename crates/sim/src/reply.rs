//! Replies as clients read them: as much of RESP2 and 3 as the simulator's clients are told.

use std::fmt;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Number(i64),
    Bulk(Vec<u8>),
    Nil,
    List(Vec<Self>),
    /// What answers nothing.
    Push(Vec<Self>),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(line) => write!(f, "{}", line.escape_ascii()),
            Self::Error(line) => write!(f, "error {}", line.escape_ascii()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bulk(value) => write!(f, "\"{}\"", value.escape_ascii()),
            Self::Nil => f.write_str("nothing"),
            Self::List(items) | Self::Push(items) => f.debug_list().entries(items).finish(),
        }
    }
}

/// The first reply, and its length; `None` if it is not whole yet.
pub(crate) fn read_reply(bytes: &[u8]) -> Option<(Reply, usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let (first, line) = bytes.get(..end)?.split_first()?;
    let end = end + 2;
    let number = || std::str::from_utf8(line).ok()?.parse::<i64>().ok();
    Some(match first {
        b'+' => (Reply::Simple(line.to_vec()), end),
        b'-' => (Reply::Error(line.to_vec()), end),
        b':' => (Reply::Number(number()?), end),
        b'$' => match usize::try_from(number()?) {
            Ok(len) => {
                let value = bytes.get(end..end + len)?.to_vec();
                bytes.get(end + len..end + len + 2)?;
                (Reply::Bulk(value), end + len + 2)
            }
            Err(_) => (Reply::Nil, end),
        },
        b'_' => (Reply::Nil, end),
        b'*' | b'>' | b'%' => {
            let Ok(count) = usize::try_from(number()?) else {
                return Some((Reply::Nil, end));
            };
            // A map has twice as many.
            let count = if *first == b'%' { 2 * count } else { count };
            let mut items = Vec::new();
            let mut at = end;
            for _ in 0..count {
                let (item, len) = read_reply(bytes.get(at..)?)?;
                items.push(item);
                at += len;
            }
            match first {
                b'>' => (Reply::Push(items), at),
                _ => (Reply::List(items), at),
            }
        }
        _ => (Reply::Error(bytes.to_vec()), bytes.len()),
    })
}
