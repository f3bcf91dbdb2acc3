//! SCAN.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::glob;
use crate::number::integer;
use brickyard_types::ValueType;

/// Keys that a call of SCAN returns, about, if it does not say.
const COUNT_DEFAULT: u64 = 10;

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE name]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanArgs<'a> {
    /// Where to go on; 0 at first.
    pub cursor: u64,
    /// Which keys; `None`: all.
    pub pattern: Option<&'a [u8]>,
    /// About how many keys to look at.
    pub count: u64,
    /// Keys of which type; `None`: of any.
    pub type_name: Option<&'a [u8]>,
    /// Where the page ends at the latest; 0: where the table does. Only bricks tell one another so.
    pub upto: Option<u64>,
}

impl<'a> ScanArgs<'a> {
    /// Reads the arguments of SCAN.
    ///
    /// # Errors
    /// Redis's errors for a cursor or count that is no number, and for unknown options.
    pub fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let parsed = Self::parse_part(args)?;
        match parsed.upto {
            None => Ok(parsed),
            Some(_) => Err(ErrorReply::SYNTAX),
        }
    }

    /// Reads what one brick asks another of: as SCAN, and up to where.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_part(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut parsed = Self {
            cursor: parse_cursor(args.at(1)).ok_or(ErrorReply::constant("ERR invalid cursor"))?,
            pattern: None,
            count: COUNT_DEFAULT,
            type_name: None,
            upto: None,
        };
        let mut options = args.from(2);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            let argument = options.next().ok_or(ErrorReply::SYNTAX)?;
            if is(b"count") {
                let count = integer(argument)?;
                if count < 1 {
                    return Err(ErrorReply::SYNTAX);
                }
                parsed.count = count.unsigned_abs();
            } else if is(b"match") {
                parsed.pattern = Some(argument).filter(|pattern| *pattern != b"*");
            } else if is(b"type") {
                parsed.type_name = Some(argument);
            } else if is(b"upto") {
                parsed.upto = Some(parse_cursor(argument).ok_or(ErrorReply::SYNTAX)?);
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(parsed)
    }

    /// Whether a key's name is one that was asked for.
    #[must_use]
    pub fn wants(&self, key: &[u8]) -> bool {
        self.pattern
            .is_none_or(|pattern| glob::matches(pattern, key, false))
    }

    /// Whether keys with such values were asked for.
    #[must_use]
    pub fn wants_type(&self, value_type: ValueType) -> bool {
        self.type_name
            .is_none_or(|name| name.eq_ignore_ascii_case(value_type.name().as_bytes()))
    }
}

/// A cursor as C's `strtoul` reads it: a sign is allowed, and nothing at all is 0.
pub(crate) fn parse_cursor(text: &[u8]) -> Option<u64> {
    let (is_negative, digits) = match text {
        [] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(if is_negative {
        number.wrapping_neg()
    } else {
        number
    })
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod scan_test;
