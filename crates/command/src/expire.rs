//! Setting and reading when a key expires: EXPIRE and its kin, PERSIST, TTL and its kin.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::{Base, Unit, signed};
use crate::keyspace::Keyspace;
use crate::number::integer;
use brickyard_types::UnixMillis;
use brickyard_wire::Reply;

/// Which expiry the key must have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conditions {
    /// `NX`: none.
    missing: bool,
    /// `XX`: one.
    exists: bool,
    /// `GT`: an earlier one.
    greater: bool,
    /// `LT`: a later one, or none.
    less: bool,
}

impl Conditions {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut conditions = Self::default();
        for option in args.from(3) {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"nx") {
                conditions.missing = true;
            } else if is(b"xx") {
                conditions.exists = true;
            } else if is(b"gt") {
                conditions.greater = true;
            } else if is(b"lt") {
                conditions.less = true;
            } else {
                return Err(ErrorReply::new(
                    [b"ERR Unsupported option ", until_nul(option)].concat(),
                ));
            }
        }
        if conditions.missing && (conditions.exists || conditions.greater || conditions.less) {
            return Err(ErrorReply::constant(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.greater && conditions.less {
            return Err(ErrorReply::constant(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// Whether a key with the expiry `current` may get the expiry `at`, in signed milliseconds.
    fn allow(self, current: Option<UnixMillis>, at: i64) -> bool {
        let Some(current) = current.map(signed) else {
            // No expiry counts as one that never comes.
            return !self.exists && !self.greater;
        };
        !self.missing && (!self.greater || at > current) && (!self.less || at < current)
    }
}

/// The part of an argument before its first zero byte, which is where Redis's messages end it.
pub(crate) fn until_nul(argument: &[u8]) -> &[u8] {
    argument.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT.
pub(crate) fn expire<K: Keyspace>(
    args: Args<'_>,
    command: &'static str,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let conditions = Conditions::parse(args)?;
    let invalid = || ErrorReply::invalid_expiry(command);
    let number = integer(args.at(2))?;
    let number = match unit {
        Unit::Seconds => number.checked_mul(1000).ok_or_else(invalid)?,
        Unit::Milliseconds => number,
    };
    let now = signed(keyspace.now());
    let at = match base {
        Base::Now => number.checked_add(now).ok_or_else(invalid)?,
        Base::Epoch => number,
    };
    let key = args.at(1);
    let is_set = match keyspace.probe(key)? {
        Some(probe) if conditions.allow(probe.expires_at, at) => {
            if at <= now {
                keyspace.delete(key)?
            } else {
                keyspace.set_expiry(key, Some(UnixMillis(at.unsigned_abs())))?
            }
        }
        _ => false,
    };
    reply.integer(i64::from(is_set));
    Ok(())
}

pub(crate) fn persist<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let key = args.at(1);
    let has_expiry = keyspace
        .probe(key)?
        .is_some_and(|probe| probe.expires_at.is_some());
    reply.integer(i64::from(has_expiry && keyspace.set_expiry(key, None)?));
    Ok(())
}

/// TTL, PTTL, EXPIRETIME, PEXPIRETIME: -2 for no key, -1 for no expiry.
pub(crate) fn ttl<K: Keyspace>(
    args: Args<'_>,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let now = signed(keyspace.now());
    let number = match keyspace.probe(args.at(1))? {
        None => -2,
        Some(probe) => match probe.expires_at.map(signed) {
            None => -1,
            Some(at) => {
                let milliseconds = match base {
                    Base::Now => (at - now).max(0),
                    Base::Epoch => at,
                };
                match unit {
                    Unit::Milliseconds => milliseconds,
                    // Rounded to the nearest second.
                    Unit::Seconds => ((milliseconds.unsigned_abs() + 500) / 1000).cast_signed(),
                }
            }
        },
    };
    reply.integer(number);
    Ok(())
}

#[cfg(test)]
#[path = "expire_test.rs"]
mod expire_test;
