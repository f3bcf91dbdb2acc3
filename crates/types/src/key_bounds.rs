//! The lowest and the highest key that a table in the order of its keys is told of.
//!
//! In:  two keys, as text. Out: the same, in a value of fixed size.
//!
//! Invariant: the first is before the second, and both are printable ASCII without spaces: they stand in commands, in replies and in
//! the manifests of backups.
//!
//! Not here: what becomes of keys between them, and outside of them (`routing`).

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use thiserror::Error;

/// The longest of the two, in bytes: with it a table's hash functions are a value of fixed size, which is copied.
pub const BOUND_BYTES_MAX: usize = 32;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(Bound, Bound)", into = "(Bound, Bound)")]
pub struct KeyBounds {
    from: Bound,
    to: Bound,
}

/// Why two words are no bounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyBoundsError {
    /// One of them is no key that can be told.
    #[error(
        "{name} is '{got}'; use a key of 1 to {BOUND_BYTES_MAX} printable characters, without spaces"
    )]
    Bound {
        /// Which one.
        name: &'static str,
        /// What it is.
        got: String,
    },
    /// They are in the other order, or equal.
    #[error(
        "FROM is '{from}' and TO is '{to}'; FROM is the lowest key and TO the highest, byte by byte"
    )]
    Order {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
}

impl KeyBounds {
    /// Bounds of these two keys.
    ///
    /// # Errors
    /// [`KeyBoundsError`].
    pub fn new(from: &str, to: &str) -> Result<Self, KeyBoundsError> {
        let bound = |name, text: &str| {
            Bound::new(text).ok_or_else(|| KeyBoundsError::Bound {
                name,
                got: text.to_owned(),
            })
        };
        Self::of(bound("FROM", from)?, bound("TO", to)?)
    }

    fn of(from: Bound, to: Bound) -> Result<Self, KeyBoundsError> {
        match from.as_bytes() < to.as_bytes() {
            true => Ok(Self { from, to }),
            false => Err(KeyBoundsError::Order {
                from: from.to_string(),
                to: to.to_string(),
            }),
        }
    }

    /// The lowest key.
    #[must_use]
    pub fn from(&self) -> &str {
        self.from.as_str()
    }

    /// The highest key.
    #[must_use]
    pub fn to(&self) -> &str {
        self.to.as_str()
    }
}

impl TryFrom<(Bound, Bound)> for KeyBounds {
    type Error = KeyBoundsError;

    fn try_from((from, to): (Bound, Bound)) -> Result<Self, KeyBoundsError> {
        Self::of(from, to)
    }
}

impl From<KeyBounds> for (Bound, Bound) {
    fn from(bounds: KeyBounds) -> Self {
        (bounds.from, bounds.to)
    }
}

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Bound {
    len: u8,
    bytes: [u8; BOUND_BYTES_MAX],
}

impl Bound {
    fn new(text: &str) -> Option<Self> {
        let is_key = (1..=BOUND_BYTES_MAX).contains(&text.len());
        if !is_key || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut bytes = [0; BOUND_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Some(Self {
            len: text.len() as u8,
            bytes,
        })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("printable ASCII was checked")
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        Self::new(text).ok_or_else(|| D::Error::custom("a bound that no table has"))
    }
}

#[cfg(test)]
#[path = "key_bounds_test.rs"]
mod key_bounds_test;
