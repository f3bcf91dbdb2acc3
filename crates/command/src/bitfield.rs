//! BITFIELD and BITFIELD_RO: integers of any width inside a value.
//!
//! In:  a run of operations on fields of 1 to 64 bits. Out: one reply an operation.
//!
//! Invariants:
//! - Nothing is read before every operation has been understood.

use crate::args::Args;
use crate::bit::offset;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue, check_growth};
use crate::number::{integer, parse_integer};
use brickyard_types::ValueType;
use brickyard_wire::Reply;

/// An integer's form: its width in bits and whether it has a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoding {
    bits: u8,
    is_signed: bool,
}

impl Encoding {
    fn parse(text: &[u8]) -> Result<Self, ErrorReply> {
        let parsed = match text {
            [b'i', bits @ ..] => parse_integer(bits).map(|bits| (bits, true, 64)),
            [b'u', bits @ ..] => parse_integer(bits).map(|bits| (bits, false, 63)),
            _ => None,
        };
        match parsed {
            Some((bits, is_signed, bits_max)) if (1..=bits_max).contains(&bits) => Ok(Self {
                bits: bits as u8,
                is_signed,
            }),
            _ => Err(ErrorReply::constant(
                "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not \
                 supported but i64 is.",
            )),
        }
    }

    /// Smallest and largest number of this form.
    const fn bounds(self) -> (i64, i64) {
        if self.is_signed {
            let spare = 64 - self.bits;
            (i64::MIN >> spare, i64::MAX >> spare)
        } else {
            (0, i64::MAX >> (63 - self.bits))
        }
    }

    /// The number that `value`'s lowest bits are in this form.
    const fn wrap(self, value: i64) -> i64 {
        let spare = 64 - self.bits as u32;
        if self.is_signed {
            value << spare >> spare
        } else {
            ((value as u64) << spare >> spare) as i64
        }
    }

    /// The number at bit `offset` of `value`.
    fn load(self, value: &[u8], offset: u64) -> i64 {
        let mut number: u64 = 0;
        for at in offset..offset + u64::from(self.bits) {
            let byte = value.get((at / 8) as usize).copied().unwrap_or(0);
            number = number << 1 | u64::from(byte >> (7 - at % 8) & 1);
        }
        self.wrap(number as i64)
    }

    /// Writes the lowest bits of `number` at bit `offset` of `value`, which is long enough.
    fn store(self, value: &mut [u8], offset: u64, number: i64) {
        for bit in 0..self.bits {
            let at = offset + u64::from(bit);
            let mask = 0x80 >> (at % 8);
            let byte = &mut value[(at / 8) as usize];
            if number >> (self.bits - 1 - bit) & 1 == 1 {
                *byte |= mask;
            } else {
                *byte &= !mask;
            }
        }
    }
}

/// What to do with a number that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

impl Overflow {
    fn parse(text: &[u8]) -> Result<Self, ErrorReply> {
        if text.eq_ignore_ascii_case(b"wrap") {
            Ok(Self::Wrap)
        } else if text.eq_ignore_ascii_case(b"sat") {
            Ok(Self::Saturate)
        } else if text.eq_ignore_ascii_case(b"fail") {
            Ok(Self::Fail)
        } else {
            Err(ErrorReply::constant("ERR Invalid OVERFLOW type specified"))
        }
    }

    /// Makes `exact` fit `encoding`; `None` if it must not be written.
    fn apply(self, encoding: Encoding, exact: i128) -> Option<i64> {
        let (least, most) = encoding.bounds();
        if exact >= i128::from(least) && exact <= i128::from(most) {
            return Some(exact as i64);
        }
        match self {
            Self::Wrap => Some(encoding.wrap(exact as i64)),
            Self::Saturate if exact > i128::from(most) => Some(most),
            Self::Saturate => Some(least),
            Self::Fail => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operation {
    action: Action,
    encoding: Encoding,
    offset: u64,
}

impl Operation {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.encoding.bits)
    }
}

fn parse<K: Keyspace>(args: Args<'_>, keyspace: &K) -> Result<Vec<Operation>, ErrorReply> {
    let mut operations = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut at = 2;
    while let Some(name) = args.get(at) {
        let following = args.len() - at - 1;
        let is = |word: &[u8], arguments: usize| {
            following >= arguments && name.eq_ignore_ascii_case(word)
        };
        if is(b"overflow", 1) {
            overflow = Overflow::parse(args.at(at + 1))?;
            at += 2;
            continue;
        }
        let is_get = is(b"get", 2);
        let is_set = is(b"set", 3);
        if !is_get && !is_set && !is(b"incrby", 3) {
            return Err(ErrorReply::SYNTAX);
        }
        let encoding = Encoding::parse(args.at(at + 1))?;
        let offset = offset(args.at(at + 2), Some(encoding.bits), keyspace)?;
        let action = if is_get {
            Action::Get
        } else if is_set {
            Action::Set(integer(args.at(at + 3))?, overflow)
        } else {
            Action::Add(integer(args.at(at + 3))?, overflow)
        };
        operations.push(Operation {
            action,
            encoding,
            offset,
        });
        at += if is_get { 3 } else { 4 };
    }
    Ok(operations)
}

pub(crate) fn bitfield<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let operations = parse(args, keyspace)?;
    if operations.iter().all(|one| one.action == Action::Get) {
        return reply_fields(args.at(1), &operations, keyspace, reply);
    }
    let bits = operations
        .iter()
        .filter(|one| one.action != Action::Get)
        .map(Operation::end)
        .max()
        .unwrap_or(0);
    let len = bits.div_ceil(8);
    check_growth(keyspace, args.at(1), len)?;
    let entry = keyspace.read(args.at(1))?;
    let expires_at = entry.and_then(|entry| entry.expires_at);
    // A value that has to grow is written even if every operation fails, as in Redis.
    let is_longer = entry.is_none_or(|entry| (entry.value.len() as u64) < len);
    let mut value = entry.map_or_else(Vec::new, |entry| entry.value.to_vec());
    if is_longer {
        value.resize(len as usize, 0);
    }
    let mut is_changed = is_longer;
    reply.array(operations.len());
    for one in &operations {
        let old = one.encoding.load(&value, one.offset);
        let (new, shown) = match one.action {
            Action::Get => (None, Some(old)),
            Action::Set(number, overflow) => {
                let new = set_number(one.encoding, number, overflow);
                (new, new.map(|_| old))
            }
            Action::Add(number, overflow) => {
                let exact = i128::from(old) + i128::from(number);
                let new = overflow.apply(one.encoding, exact);
                (new, new)
            }
        };
        match shown {
            Some(number) => reply.integer(number),
            None => reply.null(),
        }
        if let Some(new) = new {
            is_changed |= new != old;
            one.encoding.store(&mut value, one.offset, new);
        }
    }
    if is_changed {
        let put = NewValue {
            value: &[&value],
            expires_at,
            value_type: ValueType::BuiltString,
        };
        keyspace.put(args.at(1), put)?;
    }
    Ok(())
}

/// The number that SET writes.
///
/// Redis's arithmetic has two corners that are kept. For an unsigned field it takes the argument's
/// 64 bits as an unsigned number, so that a negative one is too large and not too small. And a
/// number so far below a signed field that its distance to the field's largest overflows counts as
/// too large too.
fn set_number(encoding: Encoding, number: i64, overflow: Overflow) -> Option<i64> {
    if !encoding.is_signed {
        return overflow.apply(encoding, i128::from(number as u64));
    }
    let (_, most) = encoding.bounds();
    let is_far_below = encoding.bits < 64 && number < 0 && most.checked_sub(number).is_none();
    if is_far_below && overflow == Overflow::Saturate {
        return Some(most);
    }
    overflow.apply(encoding, i128::from(number))
}

pub(crate) fn bitfield_ro<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let operations = parse(args, keyspace)?;
    if operations.iter().any(|one| one.action != Action::Get) {
        return Err(
            ErrorReply::constant("ERR BITFIELD_RO only supports the GET subcommand").into(),
        );
    }
    reply_fields(args.at(1), &operations, keyspace, reply)
}

fn reply_fields<K: Keyspace>(
    key: &[u8],
    operations: &[Operation],
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let entry = keyspace.read(key)?;
    let value = entry.map_or(&[][..], |entry| entry.value);
    reply.array(operations.len());
    for one in operations {
        reply.integer(one.encoding.load(value, one.offset));
    }
    Ok(())
}

#[cfg(test)]
#[path = "bitfield_test.rs"]
mod bitfield_test;
