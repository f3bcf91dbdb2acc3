//! A server's reply as it was on the wire: every RESP2 and RESP3 type stays what it was.
//!
//! In:  bytes received so far. Out: one [`Value`] and how many bytes it took, or "not yet".
//!
//! Two replies are equal as values exactly if they are equal as bytes, except for attributes, which no
//! server here sends.

use std::fmt;

/// One reply.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `+text`
    Simple(Vec<u8>),
    /// `-text`
    Error(Vec<u8>),
    /// `:number`
    Integer(i64),
    /// `$bytes`
    Bulk(Vec<u8>),
    /// `$-1`, RESP2's missing value.
    NullBulk,
    /// `*items`
    Array(Vec<Self>),
    /// `*-1`, RESP2's missing list.
    NullArray,
    /// `_`, RESP3's missing anything.
    Null,
    /// `#t` or `#f`
    Boolean(bool),
    /// `,text`: kept as text, since its form is compared.
    Double(Vec<u8>),
    /// `(text`
    BigNumber(Vec<u8>),
    /// `=txt:bytes`, with the three letters of the format.
    Verbatim(Vec<u8>),
    /// `%pairs`
    Map(Vec<(Self, Self)>),
    /// `~items`
    Set(Vec<Self>),
    /// `>items`
    Push(Vec<Self>),
}

/// Bytes that are no RESP reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server sent no RESP reply: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Value {
    /// Decodes the reply at the start of `input`; `None` while it is incomplete.
    ///
    /// # Errors
    /// [`Malformed`] if no continuation could make a reply of it.
    pub fn decode(input: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut at = 0;
        Ok(decode(input, &mut at)?.map(|value| (value, at)))
    }

    /// The bytes of a bulk, simple or verbatim string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bulk(bytes) | Self::Simple(bytes) => Some(bytes),
            Self::Verbatim(bytes) => bytes.get(4..),
            _ => None,
        }
    }

    /// The text of a string reply, or the reply as [`fmt::Display`] shows it.
    #[must_use]
    pub fn text(&self) -> String {
        match self.as_bytes() {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => self.to_string(),
        }
    }

    /// The number of an integer reply.
    #[must_use]
    pub const fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The items of an array or set.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) | Self::Set(items) | Self::Push(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs of a map, or of an array that stands for one in RESP2.
    #[must_use]
    pub fn pairs(&self) -> Option<Vec<(Self, Self)>> {
        match self {
            Self::Map(pairs) => Some(pairs.clone()),
            Self::Array(items) if items.len().is_multiple_of(2) => {
                let pair = |pair: &[Self]| (pair[0].clone(), pair[1].clone());
                Some(items.chunks_exact(2).map(pair).collect())
            }
            _ => None,
        }
    }

    /// Whether this is any of the three forms of "nothing".
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null | Self::NullBulk | Self::NullArray)
    }

    /// Whether this is an error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// Whether this is an error that starts with `prefix`.
    #[must_use]
    pub fn is_error_with(&self, prefix: &str) -> bool {
        matches!(self, Self::Error(text) if text.starts_with(prefix.as_bytes()))
    }

    /// Whether this is `+OK`.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Simple(text) if text == b"OK")
    }

    /// The kind of reply in one word, for comparisons of shape alone.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Simple(_) => "simple string",
            Self::Error(_) => "error",
            Self::Integer(_) => "integer",
            Self::Bulk(_) => "bulk string",
            Self::NullBulk => "null bulk string",
            Self::Array(_) => "array",
            Self::NullArray => "null array",
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Double(_) => "double",
            Self::BigNumber(_) => "big number",
            Self::Verbatim(_) => "verbatim string",
            Self::Map(_) => "map",
            Self::Set(_) => "set",
            Self::Push(_) => "push",
        }
    }
}

/// The line at `at`, without its CRLF; moves `at` past it.
fn line<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<&'a [u8]>, Malformed> {
    let rest = &input[*at..];
    let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let Some(line) = rest[..end].strip_suffix(b"\r") else {
        return Err(Malformed(format!(
            "a line ends without CR: {}",
            escaped(&rest[..end])
        )));
    };
    *at += end + 1;
    Ok(Some(line))
}

fn number(text: &[u8]) -> Result<i64, Malformed> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Malformed(format!("'{}' is no number", escaped(text))))
}

/// A length; `None` for the -1 of RESP2's nulls.
fn length(text: &[u8]) -> Result<Option<usize>, Malformed> {
    match number(text)? {
        -1 => Ok(None),
        number => usize::try_from(number)
            .map(Some)
            .map_err(|_| Malformed(format!("{number} is no length"))),
    }
}

fn payload(input: &[u8], at: &mut usize, len: usize) -> Result<Option<Vec<u8>>, Malformed> {
    let Some(bytes) = input.get(*at..*at + len + 2) else {
        return Ok(None);
    };
    let Some(bytes) = bytes.strip_suffix(b"\r\n") else {
        return Err(Malformed("a bulk string does not end in CRLF".to_owned()));
    };
    *at += len + 2;
    Ok(Some(bytes.to_vec()))
}

fn sequence(input: &[u8], at: &mut usize, len: usize) -> Result<Option<Vec<Value>>, Malformed> {
    let mut items = Vec::new();
    for _ in 0..len {
        match decode(input, at)? {
            Some(item) => items.push(item),
            None => return Ok(None),
        }
    }
    Ok(Some(items))
}

fn decode(input: &[u8], at: &mut usize) -> Result<Option<Value>, Malformed> {
    let Some(line) = line(input, at)? else {
        return Ok(None);
    };
    let Some((&marker, rest)) = line.split_first() else {
        return Err(Malformed("an empty line".to_owned()));
    };
    let value = match marker {
        b'+' => Value::Simple(rest.to_vec()),
        b'-' => Value::Error(rest.to_vec()),
        b':' => Value::Integer(number(rest)?),
        b'_' => Value::Null,
        b',' => Value::Double(rest.to_vec()),
        b'(' => Value::BigNumber(rest.to_vec()),
        b'#' => match rest {
            b"t" => Value::Boolean(true),
            b"f" => Value::Boolean(false),
            _ => return Err(Malformed(format!("'{}' is no boolean", escaped(rest)))),
        },
        b'$' | b'=' => {
            let Some(len) = length(rest)? else {
                return Ok(Some(Value::NullBulk));
            };
            let Some(bytes) = payload(input, at, len)? else {
                return Ok(None);
            };
            if marker == b'$' {
                Value::Bulk(bytes)
            } else {
                Value::Verbatim(bytes)
            }
        }
        b'*' | b'~' | b'>' => {
            let Some(len) = length(rest)? else {
                return Ok(Some(Value::NullArray));
            };
            let Some(items) = sequence(input, at, len)? else {
                return Ok(None);
            };
            match marker {
                b'*' => Value::Array(items),
                b'~' => Value::Set(items),
                _ => Value::Push(items),
            }
        }
        b'%' => {
            let pairs = length(rest)?.unwrap_or(0);
            let Some(items) = sequence(input, at, pairs * 2)? else {
                return Ok(None);
            };
            let pair = |pair: &[Value]| (pair[0].clone(), pair[1].clone());
            Value::Map(items.chunks_exact(2).map(pair).collect())
        }
        _ => {
            return Err(Malformed(format!(
                "a reply starts with '{}'",
                escaped(&[marker])
            )));
        }
    };
    Ok(Some(value))
}

/// Bytes as readable text; anything unusual as `\xNN`, long strings cut in the middle.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    const SHOWN: usize = 300;
    if bytes.len() > SHOWN {
        let (head, tail) = (&bytes[..SHOWN / 2], &bytes[bytes.len() - 20..]);
        return format!(
            "{}...{} ({} bytes)",
            escaped(head),
            escaped(tail),
            bytes.len()
        );
    }
    bytes.escape_ascii().to_string()
}

/// As it is displayed: a failed assertion should show text, not lists of byte values.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, open: &str, items: &[Self], close: &str| {
            f.write_str(open)?;
            for (index, item) in items.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{item}")?;
            }
            f.write_str(close)
        };
        match self {
            Self::Simple(text) => write!(f, "+{}", escaped(text)),
            Self::Error(text) => write!(f, "-{}", escaped(text)),
            Self::Integer(number) => write!(f, ":{number}"),
            Self::Bulk(bytes) => write!(f, "\"{}\"", escaped(bytes)),
            Self::NullBulk => f.write_str("$-1"),
            Self::NullArray => f.write_str("*-1"),
            Self::Null => f.write_str("_"),
            Self::Boolean(value) => write!(f, "#{value}"),
            Self::Double(text) => write!(f, ",{}", escaped(text)),
            Self::BigNumber(text) => write!(f, "({}", escaped(text)),
            Self::Verbatim(bytes) => write!(f, "=\"{}\"", escaped(bytes)),
            Self::Array(items) => list(f, "[", items, "]"),
            Self::Set(items) => list(f, "~[", items, "]"),
            Self::Push(items) => list(f, ">[", items, "]"),
            Self::Map(pairs) => {
                f.write_str("%{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
#[path = "value_test.rs"]
mod value_test;
