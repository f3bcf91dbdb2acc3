//! Writing fields: HSET, HMSET, HSETNX, HSETEX, HDEL, HGETDEL, HINCRBY, HINCRBYFLOAT.

use super::draft::{Change, Draft};
use super::fields::Field;
use super::parts::{self, Loaded, head_of};
use super::read::bulk_or_null;
use super::{Found, counted, read, with_field, with_whole};
use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::ExpiryOption;
use crate::extended::Extended;
use crate::keyspace::{Keyspace, check_length};
use crate::number::{IntegerText, integer, parse_integer};
use brickyard_types::UnixMillis;
use brickyard_wire::Reply;

/// What is at `key`, to be changed.
pub(super) fn draft<'a, K: Keyspace>(
    keyspace: &'a mut K,
    key: &[u8],
) -> Result<Draft<'a>, Failure> {
    let now = keyspace.now();
    Ok(read(keyspace, key)?.map_or_else(Draft::new, |fields| Draft::of(fields, now)))
}

/// The same for a command that touches no other fields than these: of a hash in parts it is of those that have them.
fn draft_of<'a, 'n, K: Keyspace>(
    keyspace: &'a mut K,
    key: &[u8],
    names: impl Iterator<Item = &'n [u8]>,
    loaded: &'a mut Loaded,
) -> Result<Draft<'a>, Failure> {
    if let Some((head, expires_at)) = head_of(keyspace, key)?
        && keyspace.whole_bytes_max(key).is_some()
    {
        loaded.load(keyspace, key, &head, names)?;
        return Ok(Draft::of_parts(loaded, head, expires_at)?);
    }
    draft(keyspace, key)
}

/// Names with their values.
fn pairs<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = Field<'a>> {
    std::iter::from_fn(move || {
        Some(Field {
            name: words.next()?,
            value: words.next()?,
            expires_at: None,
        })
    })
}

/// Sets one field as [`Fields::with_one`](super::fields::Fields::with_one) does; whether it is new. `None`: it is for a draft.
fn set_one<K: Keyspace>(
    key: &[u8],
    (name, value): (&[u8], &[u8]),
    keyspace: &mut K,
) -> Result<Option<bool>, Failure> {
    let set = with_whole(keyspace, key, |fields| {
        let fields = fields?;
        let (value, is_new) = fields.with_one(name, value)?;
        Some(((value, fields.key_expires_at), is_new))
    })?;
    match set {
        Found::Whole(None) => Ok(None),
        Found::Whole(Some((record, is_new))) => {
            Change::Put(record).apply(keyspace, key)?;
            Ok(Some(is_new))
        }
        Found::InParts(head) => parts::set_one(keyspace, key, head, (name, value)),
    }
}

/// Sets the pairs behind the key; returns how many are new.
fn set_pairs<K: Keyspace>(
    args: Args<'_>,
    command: &'static str,
    keyspace: &mut K,
) -> Result<i64, Failure> {
    if args.len() % 2 == 1 {
        return Err(ErrorReply::wrong_arity(command).into());
    }
    if args.len() == 4
        && let Some(is_new) = set_one(args.at(1), (args.at(2), args.at(3)), keyspace)?
    {
        return Ok(i64::from(is_new));
    }
    let mut loaded = Loaded::default();
    let (added, change) = {
        let names = args.from(2).step_by(2);
        let mut draft = draft_of(keyspace, args.at(1), names, &mut loaded)?;
        draft.expect(args.len() / 2 - 1);
        let added: i64 = pairs(args.from(2)).map(|it| i64::from(draft.set(it))).sum();
        (added, draft.change())
    };
    change.apply(keyspace, args.at(1))?;
    Ok(added)
}

pub(crate) fn hset<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let added = set_pairs(args, "hset", keyspace)?;
    reply.integer(added);
    Ok(())
}

pub(crate) fn hmset<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    set_pairs(args, "hmset", keyspace)?;
    reply.ok();
    Ok(())
}

pub(crate) fn hsetnx<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut loaded = Loaded::default();
    let (is_free, change) = {
        let names = args.from(2).take(1);
        let mut draft = draft_of(keyspace, args.at(1), names, &mut loaded)?;
        let is_free = draft.find(args.at(2)).is_none();
        if is_free {
            pairs(args.from(2)).for_each(|field| {
                draft.set(field);
            });
        }
        (is_free, draft.change())
    };
    reply.integer(i64::from(is_free));
    change.apply(keyspace, args.at(1))
}

pub(crate) fn hdel<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut loaded = Loaded::default();
    let (removed, change) = {
        let names = args.from(2);
        let mut draft = draft_of(keyspace, args.at(1), names.clone(), &mut loaded)?;
        draft.expect(args.len() - 2);
        let removed = names.filter_map(|name| draft.remove(name)).count();
        (removed, draft.change())
    };
    reply.integer(removed as i64);
    change.apply(keyspace, args.at(1))
}

/// `HGETDEL key FIELDS count field ...`
pub(crate) fn hgetdel<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let names = counted(args, 2, 1)?;
    let mut loaded = Loaded::default();
    let change = {
        let given = args.from(names.start);
        let mut draft = draft_of(keyspace, args.at(1), given, &mut loaded)?;
        draft.expect(names.len());
        reply.array(names.len());
        names.for_each(|at| bulk_or_null(draft.remove(args.at(at)), reply));
        draft.change()
    };
    change.apply(keyspace, args.at(1))
}

/// What must be there for HSETEX: of the fields that are given (Redis), of the hash itself (Valkey).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    /// `FNX`: none of those fields. `NX`: no hash.
    Missing,
    /// `FXX`: all of those fields. `XX`: the hash.
    Exist,
}

impl Condition {
    /// The one that `option` stands for, of whatever `missing` and `exist` name.
    fn named(option: &[u8], missing: &[u8], exist: &[u8]) -> Option<Self> {
        match () {
            () if option.eq_ignore_ascii_case(missing) => Some(Self::Missing),
            () if option.eq_ignore_ascii_case(exist) => Some(Self::Exist),
            () => None,
        }
    }
}

/// What becomes of the fields' expiries.
#[derive(Clone, Copy)]
enum Expiry<'a> {
    Clear,
    /// `KEEPTTL`
    Keep,
    Set(ExpiryOption<'a>),
}

/// `HSETEX key [NX|XX] [FNX|FXX] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL] FIELDS count field value ...`
pub(crate) fn hsetex<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let (mut of_hash, mut condition) = (Condition::Always, Condition::Always);
    let mut expiry = Expiry::Clear;
    let mut at = 2;
    while let Some(option) = args
        .get(at)
        .filter(|it| !it.eq_ignore_ascii_case(b"fields"))
    {
        let asked_of_fields = Condition::named(option, b"fnx", b"fxx");
        let asked_of_hash = Condition::named(option, b"nx", b"xx");
        if let (Some(asked), Condition::Always) = (asked_of_fields, condition) {
            condition = asked;
        } else if let (Some(asked), Condition::Always) = (asked_of_hash, of_hash) {
            of_hash = asked;
        } else if option.eq_ignore_ascii_case(b"keepttl") && matches!(expiry, Expiry::Clear) {
            expiry = Expiry::Keep;
        } else {
            let kind = ExpiryOption::kind(option).filter(|_| matches!(expiry, Expiry::Clear));
            at += 1;
            let (kind, text) = kind.zip(args.get(at)).ok_or(ErrorReply::SYNTAX)?;
            expiry = Expiry::Set(ExpiryOption::new(kind, text));
        }
        at += 1;
    }
    let words = counted(args, at, 2)?;
    let now = keyspace.now();
    let expires_at = match expiry {
        Expiry::Set(option) => Some(option.resolve(now, "hsetex")?),
        Expiry::Clear | Expiry::Keep => None,
    };
    let (is_met, change) = {
        let mut draft = draft(keyspace, args.at(1))?;
        draft.expect(words.len() / 2);
        let mut given = pairs(args.from(words.start));
        let is_hash_as_asked = match of_hash {
            Condition::Always => true,
            Condition::Missing => draft.is_empty(),
            Condition::Exist => !draft.is_empty(),
        };
        let is_met = is_hash_as_asked
            && match condition {
                Condition::Always => true,
                Condition::Missing => given.all(|it| draft.find(it.name).is_none()),
                Condition::Exist => given.all(|it| draft.find(it.name).is_some()),
            };
        if is_met {
            for field in pairs(args.from(words.start)) {
                let kept = draft.find(field.name).and_then(|it| it.expires_at);
                let expires_at = match expiry {
                    Expiry::Keep => kept,
                    Expiry::Clear | Expiry::Set(_) => expires_at,
                };
                if expires_at.is_some_and(|at| at <= now) {
                    draft.remove(field.name);
                } else {
                    draft.set(Field {
                        expires_at,
                        ..field
                    });
                }
            }
        }
        (is_met, draft.change())
    };
    reply.integer(i64::from(is_met));
    change.apply(keyspace, args.at(1))
}

/// Gives one field another value; it has that expiry already.
fn put_value<K: Keyspace>(
    key: &[u8],
    (name, value): (&[u8], &[u8]),
    expires_at: Option<UnixMillis>,
    keyspace: &mut K,
) -> Result<(), Failure> {
    if set_one(key, (name, value), keyspace)?.is_some() {
        return Ok(());
    }
    let mut loaded = Loaded::default();
    let change = {
        let mut draft = draft_of(keyspace, key, std::iter::once(name), &mut loaded)?;
        draft.set(Field {
            name,
            value,
            expires_at,
        });
        draft.change()
    };
    change.apply(keyspace, key)
}

pub(crate) fn hincrby<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let increment = integer(args.at(3))?;
    let (sum, expires_at) = with_field(keyspace, args.at(1), args.at(2), |field| {
        let number = field.map_or(Some(0), |it| parse_integer(it.value));
        let number = number.ok_or(ErrorReply::constant("ERR hash value is not an integer"))?;
        let sum = number.checked_add(increment).ok_or(ErrorReply::constant(
            "ERR increment or decrement would overflow",
        ))?;
        Ok::<_, ErrorReply>((sum, field.and_then(|it| it.expires_at)))
    })??;
    let text = IntegerText::new(sum);
    put_value(
        args.at(1),
        (args.at(2), text.as_bytes()),
        expires_at,
        keyspace,
    )?;
    reply.integer(sum);
    Ok(())
}

pub(crate) fn hincrbyfloat<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let increment = Extended::parse(args.at(3)).ok_or(ErrorReply::NOT_A_FLOAT)?;
    if increment.to_text().is_none() {
        return Err(ErrorReply::constant("ERR value is NaN or Infinity").into());
    }
    let (text, expires_at) = with_field(keyspace, args.at(1), args.at(2), |field| {
        let number = field.map_or(Some(Extended::ZERO), |it| Extended::parse(it.value));
        let number = number.ok_or(ErrorReply::constant("ERR hash value is not a float"))?;
        let text = number.add(increment).to_text();
        let text = text.ok_or(ErrorReply::constant(
            "ERR increment would produce NaN or Infinity",
        ))?;
        Ok::<_, ErrorReply>((text, field.and_then(|it| it.expires_at)))
    })??;
    check_length(keyspace, text.len() as u64)?;
    put_value(
        args.at(1),
        (args.at(2), text.as_bytes()),
        expires_at,
        keyspace,
    )?;
    reply.bulk(text.as_bytes());
    Ok(())
}

#[cfg(test)]
#[path = "write_test.rs"]
mod write_test;
