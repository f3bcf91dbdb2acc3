//! A record as a reader sees it.
//!
//! In:  nothing. Out: [`Found`], [`ValueRef`]: borrowed from the table, so that nothing is copied.

use brickyard_types::{Op, Position, UnixMillis, ValueType};

/// A record's value: here, or in the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRef<'a> {
    /// The bytes.
    Hot(&'a [u8]),
    /// They are to be read from the record at its position in the log.
    Cold {
        /// How many bytes the value has.
        len: usize,
    },
}

impl ValueRef<'_> {
    /// Length in bytes, wherever they are.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Hot(bytes) => bytes.len(),
            Self::Cold { len } => *len,
        }
    }

    /// Whether the value is the empty string.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A key's record as it is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The value, or how long it is.
    pub value: ValueRef<'a>,
    /// When the key is gone; it may be past. `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The op that wrote the record.
    pub op: Op,
    /// What the value is.
    pub value_type: ValueType,
    /// Where the record is in the log; of a table of medium `ram` the segment only.
    pub position: Position,
}
