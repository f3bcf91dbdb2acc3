//! A reply as a value, for the programs that read replies.

/// One reply of a server, RESP2 or RESP3.
///
/// RESP2's two nulls are both [`Self::Null`], and a blob error is an [`Self::Error`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is no such value.
    Null,
    /// A status line, such as `OK`.
    Simple(Vec<u8>),
    /// An error line without its `-`; [`fate`](crate::fate) tells what it promises.
    Error(Vec<u8>),
    /// An integer.
    Integer(i64),
    /// A string of bytes.
    Bulk(Vec<u8>),
    /// An array.
    Array(Vec<Self>),
    /// A map, in the order in which it was sent (RESP3).
    Map(Vec<(Self, Self)>),
    /// A set, in the order in which it was sent (RESP3).
    Set(Vec<Self>),
    /// A message that answers no request (RESP3).
    Push(Vec<Self>),
    /// A floating point number (RESP3).
    Double(f64),
    /// A truth value (RESP3).
    Boolean(bool),
    /// Text for people with its format, `txt` or `mkd` (RESP3).
    Verbatim {
        /// Three bytes that name the format.
        format: [u8; 3],
        /// The text.
        bytes: Vec<u8>,
    },
    /// An integer of any size, in decimal (RESP3).
    BigNumber(Vec<u8>),
}

impl Value {
    /// The bytes of a string, status, verbatim string or big number.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bulk(bytes)
            | Self::Simple(bytes)
            | Self::Verbatim { bytes, .. }
            | Self::BigNumber(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The line of an error, without its `-`.
    #[must_use]
    pub fn error(&self) -> Option<&[u8]> {
        match self {
            Self::Error(line) => Some(line),
            _ => None,
        }
    }

    /// The number of an integer.
    #[must_use]
    pub const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of an array, set or push.
    #[must_use]
    pub fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) | Self::Set(elements) | Self::Push(elements) => Some(elements),
            _ => None,
        }
    }

    /// The value of `name` in a map, or in an array of alternating names and values: what a
    /// server sends for a map in RESP2.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        let is_name = |key: &Self| key.bytes() == Some(name.as_bytes());
        match self {
            Self::Map(pairs) => pairs
                .iter()
                .find(|(key, _)| is_name(key))
                .map(|(_, value)| value),
            Self::Array(elements) => elements.chunks_exact(2).find_map(|pair| match pair {
                [key, value] if is_name(key) => Some(value),
                _ => None,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "value_test.rs"]
mod value_test;
