//! When a key is to expire, as the options of SET and GETEX say it.
//!
//! In:  `EX 10`, `PXAT 1700000000000`, ... Out: a point in Unix time, or Redis's error.
//!
//! Not here: `EXPIRE` and its kin (`expire`), whose numbers may be negative.

use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use crate::number::integer;
use brickyard_types::UnixMillis;

/// What a time is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
}

/// What a time is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The moment of the request: `EX`, `PX`.
    Now,
    /// The Unix epoch: `EXAT`, `PXAT`.
    Epoch,
}

/// The point in time that `number` says, in milliseconds from the Unix epoch; `None` if no 64 bits hold it.
pub(crate) fn point_in_time(number: i64, unit: Unit, base: Base, now: UnixMillis) -> Option<i64> {
    let number = match unit {
        Unit::Seconds => number.checked_mul(1000)?,
        Unit::Milliseconds => number,
    };
    match base {
        Base::Now => signed(now).checked_add(number),
        Base::Epoch => Some(number),
    }
}

/// An expiry as a request gives it; the number has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpiryOption<'a> {
    pub(crate) unit: Unit,
    pub(crate) base: Base,
    pub(crate) text: &'a [u8],
}

impl<'a> ExpiryOption<'a> {
    /// The kind of expiry that `option` announces, if it is one of the four words.
    pub(crate) fn kind(option: &[u8]) -> Option<(Unit, Base)> {
        const WORDS: [(&[u8], Unit, Base); 4] = [
            (b"ex", Unit::Seconds, Base::Now),
            (b"px", Unit::Milliseconds, Base::Now),
            (b"exat", Unit::Seconds, Base::Epoch),
            (b"pxat", Unit::Milliseconds, Base::Epoch),
        ];
        WORDS
            .iter()
            .find(|(word, ..)| option.eq_ignore_ascii_case(word))
            .map(|&(_, unit, base)| (unit, base))
    }

    /// An expiry of the kind `(unit, base)`.
    pub(crate) const fn new((unit, base): (Unit, Base), text: &'a [u8]) -> Self {
        Self { unit, base, text }
    }

    /// Whether this is of the kind `(unit, base)`: a repeated option replaces the earlier one, a
    /// different one is a syntax error.
    pub(crate) fn is(&self, (unit, base): (Unit, Base)) -> bool {
        self.unit == unit && self.base == base
    }

    /// The point in time, which may have passed.
    pub(crate) fn resolve(self, now: UnixMillis, command: &str) -> Result<UnixMillis, ErrorReply> {
        let invalid = || ErrorReply::invalid_expiry(command);
        let number = integer(self.text)?;
        if number <= 0 {
            return Err(invalid());
        }
        let at = point_in_time(number, self.unit, self.base, now).ok_or_else(invalid)?;
        Ok(UnixMillis(at.unsigned_abs()))
    }
}

/// A time as the signed number that Redis's arithmetic is done in.
pub(crate) fn signed(at: UnixMillis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// Puts, unless the put would have expired already: then the key goes.
#[inline]
pub(crate) fn put_or_expire<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    put: NewValue<'_>,
) -> Result<(), Failure> {
    match put.expires_at {
        Some(at) if at < keyspace.now() => keyspace.delete(key).map(|_| ()),
        _ => keyspace.put(key, put),
    }
}
