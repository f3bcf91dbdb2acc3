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
}

impl ValueType {
    /// What a record's or entry's flags say. Flags that say two things at once are refused where records are read
    /// ([`flag::are_of_one_type`]).
    #[inline]
    #[must_use]
    pub const fn of_flags(flags: u8) -> Self {
        if flags & flag::HASH != 0 {
            Self::Hash
        } else if flags & flag::RAW != 0 {
            Self::BuiltString
        } else {
            Self::String
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
        }
    }

    /// Whether it is bytes, for the commands that take them.
    #[inline]
    #[must_use]
    pub const fn is_string(self) -> bool {
        !matches!(self, Self::Hash)
    }

    /// Redis's word for it, which `TYPE` answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String | Self::BuiltString => "string",
            Self::Hash => "hash",
        }
    }
}

#[cfg(test)]
mod value_type_test {
    use super::*;

    #[test]
    fn flags_say_what_a_value_is() {
        for it in [ValueType::String, ValueType::BuiltString, ValueType::Hash] {
            assert_eq!(ValueType::of_flags(it.flags() | flag::MOVED), it);
            assert!(flag::are_of_one_type(it.flags()));
        }
        assert!(!flag::are_of_one_type(flag::RAW | flag::HASH));
    }
}
