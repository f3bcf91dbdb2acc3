//! What a value is.
//!
//! In:  a record's flags. Out: [`ValueType`], and the flags again.

use crate::record::flag;

/// What a value is: which commands may use it, and what its bytes mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Bytes.
    #[default]
    String,
    /// Bytes, built by a partial write (APPEND, SETRANGE, ...): `OBJECT ENCODING` is `raw`, whatever they are.
    BuiltString,
    /// Fields with values of their own.
    Hash,
    /// What a transaction over several partitions is about to make of the key, and what the key holds until that is decided.
    Intent,
}

impl ValueType {
    /// What a record's or entry's flags say.
    #[inline]
    #[must_use]
    pub const fn of_flags(flags: u8) -> Self {
        match (flags & flag::HASH != 0, flags & flag::RAW != 0) {
            (false, false) => Self::String,
            (false, true) => Self::BuiltString,
            (true, false) => Self::Hash,
            (true, true) => Self::Intent,
        }
    }

    /// The flags that say so.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u8 {
        match self {
            Self::String => 0,
            Self::BuiltString => flag::RAW,
            Self::Hash => flag::HASH,
            Self::Intent => flag::HASH | flag::RAW,
        }
    }

    /// Whether it is bytes, for the commands that take them.
    #[inline]
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(self, Self::String | Self::BuiltString)
    }

    /// Redis's word for it, which `TYPE` answers; of an intent nobody is told.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String | Self::BuiltString => "string",
            Self::Hash => "hash",
            Self::Intent => "none",
        }
    }
}

#[cfg(test)]
mod value_type_test {
    use super::*;

    #[test]
    fn flags_say_what_a_value_is() {
        for it in [
            ValueType::String,
            ValueType::BuiltString,
            ValueType::Hash,
            ValueType::Intent,
        ] {
            assert_eq!(ValueType::of_flags(it.flags() | flag::MOVED), it);
        }
    }
}
