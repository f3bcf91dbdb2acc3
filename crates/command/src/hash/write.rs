//! Writing fields: HSET, HMSET, HSETNX, HSETEX, HDEL, HGETDEL, HINCRBY, HINCRBYFLOAT.

use super::draft::{Change, Draft};
use super::fields::Field;
use super::parts::{self, Loaded, head_of};
use super::read::bulk_or_null;
use super::{Found, counted, read, with_whole};
use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::expiry::ExpiryOption;
use crate::extended::Extended;
use crate::keyspace::Keyspace;
use crate::number::{IntegerText, integer, parse_integer};
use brickyard_wire::Reply;

/// What is at `key`, to be changed.
fn draft<'a, K: Keyspace>(keyspace: &'a mut K, key: &[u8]) -> Result<Draft<'a>, Failure> {
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
    if let Some((head, key_expires_at)) = head_of(keyspace, key)?
        && keyspace.whole_bytes_max(key).is_some()
    {
        let now = keyspace.now();
        loaded.load(keyspace, key, &head, names)?;
        return Ok(Draft::of_parts(loaded, (head, key_expires_at), now)?);
    }
    draft(keyspace, key)
}

/// The same for a command that may give them expiries.
pub(super) fn timed_draft_of<'a, 'n, K: Keyspace>(
    keyspace: &'a mut K,
    key: &[u8],
    names: impl Iterator<Item = &'n [u8]>,
    loaded: &'a mut Loaded,
) -> Result<Draft<'a>, Failure> {
    match keyspace.has_timed_parts() {
        true => draft_of(keyspace, key, names, loaded),
        false => draft(keyspace, key),
    }
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

/// Gives one field the value that `next` makes of it, as [`Fields::with_one`](super::fields::Fields::with_one) does; what it made, and
/// whether the field is new. `None`: it is for a draft.
fn set_one<K: Keyspace, T: AsRef<[u8]>>(
    key: &[u8],
    name: &[u8],
    keyspace: &mut K,
    next: impl Fn(Option<Field<'_>>) -> Result<T, ErrorReply>,
) -> Result<Option<(T, bool)>, Failure> {
    let set = with_whole(keyspace, key, |fields| {
        let Some(fields) = fields else {
            return Ok(None);
        };
        let set = fields.with_one(name, &next)?;
        Ok::<_, ErrorReply>(
            set.map(|(value, made, is_new)| ((value, fields.key_expires_at), (made, is_new))),
        )
    })?;
    match set {
        Found::InParts(head) => parts::set_one(keyspace, key, head, name, next),
        Found::Whole(set) => {
            let Some((record, outcome)) = set? else {
                return Ok(None);
            };
            Change::Put(record).apply(keyspace, key)?;
            Ok(Some(outcome))
        }
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
        && let Some((_, is_new)) = set_one(args.at(1), args.at(2), keyspace, |_| Ok(args.at(3)))?
    {
        return Ok(i64::from(is_new));
    }
    let mut loaded = Loaded::default();
    let (added, change) = {
        let names = args.from(2).step_by(2);
        let mut draft = draft_of(keyspace, args.at(1), names, &mut loaded)?;
        draft.expect(args.len() / 2 - 1);
        let added: i64 = pairs(args.from(2)).map(|it| i64::from(draft.set(it))).sum();
        (added, draft.change()?)
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
        (is_free, draft.change()?)
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
        (removed, draft.change()?)
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
        draft.change()?
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
    let mut loaded = Loaded::default();
    let (is_met, change) = {
        let names = args.from(words.start).step_by(2);
        let mut draft = timed_draft_of(keyspace, args.at(1), names, &mut loaded)?;
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
        (is_met, draft.change()?)
    };
    reply.integer(i64::from(is_met));
    change.apply(keyspace, args.at(1))
}

/// Gives one field the value that `next` makes of it; its expiry stays.
fn update<K: Keyspace, T: AsRef<[u8]>>(
    key: &[u8],
    name: &[u8],
    keyspace: &mut K,
    next: impl Fn(Option<Field<'_>>) -> Result<T, ErrorReply>,
) -> Result<T, Failure> {
    if let Some((made, _)) = set_one(key, name, keyspace, &next)? {
        return Ok(made);
    }
    let mut loaded = Loaded::default();
    let (made, change) = {
        let mut draft = draft_of(keyspace, key, std::iter::once(name), &mut loaded)?;
        let field = draft.find(name);
        let made = next(field)?;
        draft.set(Field {
            name,
            value: made.as_ref(),
            expires_at: field.and_then(|it| it.expires_at),
        });
        let change = draft.change()?;
        (made, change)
    };
    change.apply(keyspace, key)?;
    Ok(made)
}

pub(crate) fn hincrby<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let increment = integer(args.at(3))?;
    let sum = update(args.at(1), args.at(2), keyspace, |field| {
        let number = field.map_or(Some(0), |it| parse_integer(it.value));
        let number = number.ok_or(ErrorReply::constant("ERR hash value is not an integer"))?;
        let sum = number.checked_add(increment).ok_or(ErrorReply::constant(
            "ERR increment or decrement would overflow",
        ))?;
        Ok(Sum(sum, IntegerText::new(sum)))
    })?;
    reply.integer(sum.0);
    Ok(())
}

/// A number and how it is written.
struct Sum(i64, IntegerText);

impl AsRef<[u8]> for Sum {
    fn as_ref(&self) -> &[u8] {
        self.1.as_bytes()
    }
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
    let value_bytes_max = keyspace.value_bytes_max();
    let text = update(args.at(1), args.at(2), keyspace, |field| {
        let number = field.map_or(Some(Extended::ZERO), |it| Extended::parse(it.value));
        let number = number.ok_or(ErrorReply::constant("ERR hash value is not a float"))?;
        let text = number.add(increment).to_text();
        let text = text.ok_or(ErrorReply::constant(
            "ERR increment would produce NaN or Infinity",
        ))?;
        match text.len() > value_bytes_max {
            true => Err(ErrorReply::TOO_LONG),
            false => Ok(text),
        }
    })?;
    reply.bulk(text.as_bytes());
    Ok(())
}

#[cfg(test)]
#[path = "write_test.rs"]
mod write_test;
