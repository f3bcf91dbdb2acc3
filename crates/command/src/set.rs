//! SET and the commands that it absorbed: SETNX, SETEX, PSETEX, GETSET.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::{Base, ExpiryOption, Unit, put_or_expire};
use crate::keyspace::{Keyspace, NewValue, check_length};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

/// Under which circumstances the key is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition<'a> {
    Always,
    /// `NX`
    Missing,
    /// `XX`
    Exists,
    /// `IFEQ`
    Equals(&'a [u8]),
}

/// What becomes of the expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry<'a> {
    Clear,
    /// `KEEPTTL`
    Keep,
    Set(ExpiryOption<'a>),
}

/// How the outcome is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// `OK` or null.
    Ok,
    /// 1 or 0.
    Number,
    /// The value that was there before, or null.
    OldValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetRequest<'a> {
    command: &'static str,
    key: &'a [u8],
    value: &'a [u8],
    condition: Condition<'a>,
    expiry: Expiry<'a>,
    outcome: Outcome,
}

impl<'a> SetRequest<'a> {
    const fn new(command: &'static str, key: &'a [u8], value: &'a [u8]) -> Self {
        Self {
            command,
            key,
            value,
            condition: Condition::Always,
            expiry: Expiry::Clear,
            outcome: Outcome::Ok,
        }
    }

    fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut request = Self::new("set", args.at(1), args.at(2));
        let mut options = args.from(3);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"nx") && matches!(request.condition, Condition::Always | Condition::Missing) {
                request.condition = Condition::Missing;
            } else if is(b"xx")
                && matches!(request.condition, Condition::Always | Condition::Exists)
            {
                request.condition = Condition::Exists;
            } else if is(b"ifeq")
                && matches!(request.condition, Condition::Always | Condition::Equals(_))
            {
                request.condition = Condition::Equals(options.next().ok_or(ErrorReply::SYNTAX)?);
            } else if is(b"get") {
                request.outcome = Outcome::OldValue;
            } else if is(b"keepttl") && !matches!(request.expiry, Expiry::Set(_)) {
                request.expiry = Expiry::Keep;
            } else {
                let kind = ExpiryOption::kind(option).ok_or(ErrorReply::SYNTAX)?;
                let is_new = match request.expiry {
                    Expiry::Clear => true,
                    Expiry::Keep => false,
                    Expiry::Set(earlier) => earlier.is(kind),
                };
                let text = options.next().filter(|_| is_new);
                let text = text.ok_or(ErrorReply::SYNTAX)?;
                request.expiry = Expiry::Set(ExpiryOption::new(kind, text));
            }
        }
        Ok(request)
    }

    fn apply<K: Keyspace>(self, keyspace: &mut K, reply: &mut Reply<'_>) -> Result<(), Failure> {
        check_length(keyspace, self.value.len() as u64)?;
        let mut expires_at = match self.expiry {
            Expiry::Set(option) => Some(option.resolve(keyspace.now(), self.command)?),
            Expiry::Clear | Expiry::Keep => None,
        };
        let is_value_needed =
            self.outcome == Outcome::OldValue || matches!(self.condition, Condition::Equals(_));
        let (found, is_equal) = if is_value_needed {
            let entry = keyspace.read(self.key)?;
            if self.outcome == Outcome::OldValue {
                match entry {
                    Some(entry) => reply.bulk(entry.value),
                    None => reply.null(),
                }
            }
            match (entry, self.condition) {
                (Some(entry), Condition::Equals(value)) => {
                    (Some(entry.expires_at), entry.value == value)
                }
                (Some(entry), _) => (Some(entry.expires_at), false),
                (None, _) => (None, false),
            }
        } else if self.condition != Condition::Always || self.expiry == Expiry::Keep {
            (
                keyspace.probe(self.key)?.map(|probe| probe.expires_at),
                false,
            )
        } else {
            (None, false)
        };
        let is_met = match self.condition {
            Condition::Always => true,
            Condition::Missing => found.is_none(),
            Condition::Exists => found.is_some(),
            Condition::Equals(_) => is_equal,
        };
        if is_met {
            if self.expiry == Expiry::Keep {
                expires_at = found.flatten();
            }
            let put = NewValue {
                value: &[self.value],
                expires_at,
                value_type: ValueType::String,
            };
            put_or_expire(keyspace, self.key, put)?;
        }
        match self.outcome {
            Outcome::Ok if is_met => reply.ok(),
            Outcome::Ok => reply.null(),
            Outcome::Number => reply.integer(i64::from(is_met)),
            Outcome::OldValue => {}
        }
        Ok(())
    }
}

#[inline]
pub(crate) fn set<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    if args.len() > 3 {
        return SetRequest::parse(args)?.apply(keyspace, reply);
    }
    // By far the most common request: nothing has to be known of the key.
    let value = args.at(2);
    check_length(keyspace, value.len() as u64)?;
    keyspace.put(
        args.at(1),
        NewValue {
            value: &[value],
            expires_at: None,
            value_type: ValueType::String,
        },
    )?;
    reply.ok();
    Ok(())
}

pub(crate) fn setnx<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut request = SetRequest::new("setnx", args.at(1), args.at(2));
    request.condition = Condition::Missing;
    request.outcome = Outcome::Number;
    request.apply(keyspace, reply)
}

pub(crate) fn setex<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    set_for(args, "setex", Unit::Seconds, keyspace, reply)
}

pub(crate) fn psetex<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    set_for(args, "psetex", Unit::Milliseconds, keyspace, reply)
}

fn set_for<K: Keyspace>(
    args: Args<'_>,
    command: &'static str,
    unit: Unit,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut request = SetRequest::new(command, args.at(1), args.at(3));
    request.expiry = Expiry::Set(ExpiryOption::new((unit, Base::Now), args.at(2)));
    request.apply(keyspace, reply)
}

pub(crate) fn getset<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut request = SetRequest::new("getset", args.at(1), args.at(2));
    request.outcome = Outcome::OldValue;
    request.apply(keyspace, reply)
}

#[cfg(test)]
#[path = "set_test.rs"]
mod set_test;
