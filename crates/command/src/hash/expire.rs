//! When fields expire: HEXPIRE and its kin, HTTL and its kin, HPERSIST, HGETEX.

use super::counted;
use super::fields::Field;
use super::parts::Loaded;
use super::read::{each_named, several};
use super::write::timed_draft_of;
use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expire::Conditions;
use crate::expiry::{Base, ExpiryOption, Unit, point_in_time, signed};
use crate::keyspace::Keyspace;
use crate::number::integer;
use brickyard_types::UnixMillis;
use brickyard_wire::Reply;

/// There is no such field, or no such key.
const NO_FIELD: i64 = -2;

/// The field has no expiry.
const NO_EXPIRY: i64 = -1;

/// What became of a field that was to get an expiry.
const NOT_MET: i64 = 0;
const SET: i64 = 1;
const REMOVED: i64 = 2;

/// `HEXPIRE key time [NX|XX|GT|LT] FIELDS count field ...`; HPEXPIRE, HEXPIREAT, HPEXPIREAT.
pub(crate) fn hexpire<K: Keyspace>(
    args: Args<'_>,
    command: &'static str,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let now = keyspace.now();
    let at = time(args.at(2), command, unit, base, now)?;
    let conditions = match args.at(3) {
        word if is_condition(word) => Some(Conditions::of(std::iter::once(word))?),
        _ => None,
    };
    let names = counted(args, 3 + usize::from(conditions.is_some()), 1)?;
    let conditions = conditions.unwrap_or_default();
    let mut loaded = Loaded::default();
    let change = {
        let given = args.from(names.start);
        let mut draft = timed_draft_of(keyspace, args.at(1), given, &mut loaded)?;
        draft.expect(names.len());
        reply.array(names.len());
        for name in names {
            let outcome = match draft.find(args.at(name)) {
                None => NO_FIELD,
                Some(field) if !conditions.allow(field.expires_at, signed(at)) => NOT_MET,
                Some(field) if at <= now => {
                    draft.remove(field.name);
                    REMOVED
                }
                Some(field) => {
                    let expires_at = Some(at);
                    draft.set(Field {
                        expires_at,
                        ..field
                    });
                    SET
                }
            };
            reply.integer(outcome);
        }
        draft.change()?
    };
    change.apply(keyspace, args.at(1))
}

fn is_condition(word: &[u8]) -> bool {
    let words: [&[u8]; 4] = [b"nx", b"xx", b"gt", b"lt"];
    words.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// The point in time that a request gives.
fn time(
    text: &[u8],
    command: &str,
    unit: Unit,
    base: Base,
    now: UnixMillis,
) -> Result<UnixMillis, ErrorReply> {
    /// Redis's fields know no later time.
    const LATEST: i64 = (1 << 46) - 1;
    let number = integer(text)?;
    if number < 0 {
        return Err(ErrorReply::constant(
            "ERR invalid expire time, must be >= 0",
        ));
    }
    let at = point_in_time(number, unit, base, now);
    let at = at.filter(|at| *at <= LATEST);
    let at = at.ok_or_else(|| ErrorReply::invalid_expiry(command))?;
    Ok(UnixMillis(at.unsigned_abs()))
}

/// `HTTL key FIELDS count field ...`; HPTTL, HEXPIRETIME, HPEXPIRETIME.
pub(crate) fn httl<K: Keyspace>(
    args: Args<'_>,
    unit: Unit,
    base: Base,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let names = counted(args, 2, 1)?;
    let now = keyspace.now();
    let count = names.len();
    let names = args.from(names.start);
    let start = reply.position();
    reply.array(count);
    let told = each_named(args.at(1), names, keyspace, |field| {
        reply.integer(match field.map(|it| it.expires_at) {
            None => NO_FIELD,
            Some(None) => NO_EXPIRY,
            Some(Some(at)) => {
                let milliseconds = match base {
                    Base::Now => at.0.saturating_sub(now.0),
                    Base::Epoch => at.0,
                };
                let number = match unit {
                    Unit::Milliseconds => milliseconds,
                    Unit::Seconds => milliseconds.div_ceil(1000),
                };
                number.cast_signed()
            }
        });
    });
    if told.is_err() {
        reply.truncate(start);
    }
    told
}

/// `HPERSIST key FIELDS count field ...`
pub(crate) fn hpersist<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let names = counted(args, 2, 1)?;
    let mut loaded = Loaded::default();
    let change = {
        let given = args.from(names.start);
        let mut draft = timed_draft_of(keyspace, args.at(1), given, &mut loaded)?;
        draft.expect(names.len());
        reply.array(names.len());
        for name in names {
            reply.integer(match draft.find(args.at(name)) {
                None => NO_FIELD,
                Some(field) if field.expires_at.is_none() => NO_EXPIRY,
                Some(field) => {
                    draft.set(Field {
                        expires_at: None,
                        ..field
                    });
                    SET
                }
            });
        }
        draft.change()?
    };
    change.apply(keyspace, args.at(1))
}

/// `HGETEX key [EX s|PX ms|EXAT s|PXAT ms|PERSIST] FIELDS count field ...`
pub(crate) fn hgetex<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let now = keyspace.now();
    let option = args.at(2);
    // `None`: they stay as they are; else what they get.
    let (change, at) = if option.eq_ignore_ascii_case(b"fields") {
        (None, 2)
    } else if option.eq_ignore_ascii_case(b"persist") {
        (Some(None), 3)
    } else {
        let kind = ExpiryOption::kind(option).zip(args.get(3));
        let (kind, text) = kind.ok_or(ErrorReply::SYNTAX)?;
        let at = ExpiryOption::new(kind, text).resolve(now, "hgetex")?;
        (Some(Some(at)), 4)
    };
    let names = counted(args, at, 1)?;
    several(args.at(1), args.from(names.start), keyspace, reply)?;
    let Some(expires_at) = change else {
        return Ok(());
    };
    let mut loaded = Loaded::default();
    let change = {
        let given = args.from(names.start);
        let mut draft = timed_draft_of(keyspace, args.at(1), given, &mut loaded)?;
        draft.expect(names.len());
        for name in names {
            let Some(field) = draft.find(args.at(name)) else {
                continue;
            };
            if field.expires_at == expires_at {
                continue;
            }
            if expires_at.is_some_and(|at| at <= now) {
                draft.remove(field.name);
            } else {
                draft.set(Field {
                    expires_at,
                    ..field
                });
            }
        }
        draft.change()?
    };
    change.apply(keyspace, args.at(1))
}

#[cfg(test)]
#[path = "expire_test.rs"]
mod expire_test;
