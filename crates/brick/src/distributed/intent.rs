//! An intent: what a distributed transaction is about to make of a key, as the key's value has it.
//!
//! In:  a transaction, what the key holds, and what it is to hold. Out: bytes, and the same of bytes.
//!
//! Layout, little-endian (docs/data-file.md):
//! ```text
//!  0  u8  form: 1, or 2 where the transaction is over two tables
//!  1  u8  flags: 1 decided, 2 it held something, 4 it is to hold something, 8 it is to hold what it held
//!  2  u64 coordinator, u64 number     of the transaction
//! 18  name of the anchor              the key that decides
//!     [u32 count, of each the name]                 decided: the other keys of the transaction
//!     [stored]                        what it held, if flag 2
//!     [stored]                        what it is to hold, if flag 4 and not 8
//! name:   [u32 table, in form 2], u16 length, key
//! stored: u8 type (flags of a record), u64 expiry in ms (0: none), u32 length, bytes
//! ```
//!
//! Invariants:
//! - An intent has all that its key is to hold, whatever becomes of the transaction: resolving it asks for nothing but the outcome.
//! - The intent of an anchor is always decided: it is written by the operation that commits.
//! - What a peer or a disk has is believed in nothing before it was read as a whole.

use super::part::{Stored, TransactionId};
use brickyard_types::{TableId, UnixMillis, ValueType};

/// All keys of the transaction are of one table.
const FORM: u8 = 1;

/// Each key is named with its table.
const FORM_ACROSS: u8 = 2;

const DECIDED: u8 = 1;
const BEFORE: u8 = 2;
const AFTER: u8 = 4;
const SAME: u8 = 8;

/// A key of a transaction, as an intent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Participant {
    /// `None`: the table of the key that has the intent, as of all keys of the transaction.
    pub(crate) table: Option<TableId>,
    pub(crate) key: Vec<u8>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) id: TransactionId,
    /// The key that says what has become of the transaction.
    pub(crate) anchor: Participant,
    /// This is the anchor, and the transaction has committed: its other keys that have intents.
    pub(crate) decided: Option<Vec<Participant>>,
    /// What the key holds if the transaction is aborted.
    pub(crate) before: Option<Stored>,
    /// What it holds if it commits.
    pub(crate) after: Option<Stored>,
}

impl Intent {
    /// Whether the transaction is over two tables.
    pub(crate) const fn is_across(&self) -> bool {
        self.anchor.table.is_some()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let is_anchors = self.decided.is_some();
        assert!(
            !is_anchors || self.before.is_none(),
            "what was decided cannot be taken back"
        );
        let is_same = self.before == self.after;
        let bytes = [&self.before, &self.after].map(|it| it.as_ref().map_or(0, Stored::len));
        let mut others = self.decided.iter().flatten();
        assert!(
            others.all(|it| it.table.is_some() == self.is_across()),
            "some keys are named with tables: {self:?}"
        );
        let mut out = Vec::with_capacity(64 + self.anchor.key.len() + bytes[0] + bytes[1]);
        let mut flags = 0;
        for (flag, is_set) in [
            (DECIDED, self.decided.is_some()),
            (BEFORE, self.before.is_some()),
            (AFTER, self.after.is_some()),
            (SAME, is_same),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        let form = if self.is_across() { FORM_ACROSS } else { FORM };
        out.extend_from_slice(&[form, flags]);
        out.extend_from_slice(&self.id.coordinator.to_le_bytes());
        out.extend_from_slice(&self.id.number.to_le_bytes());
        put_name(&mut out, &self.anchor);
        if let Some(others) = &self.decided {
            out.extend_from_slice(&(others.len() as u32).to_le_bytes());
            others.iter().for_each(|it| put_name(&mut out, it));
        }
        let after = self.after.as_ref().filter(|_| !is_same);
        for stored in self.before.iter().chain(after) {
            out.push(stored.value_type().flags());
            let expires_at = stored.expires_at.unwrap_or(0);
            out.extend_from_slice(&expires_at.to_le_bytes());
            out.extend_from_slice(&(stored.value.0.len() as u32).to_le_bytes());
            out.extend_from_slice(&stored.value.0);
        }
        out
    }

    /// Reads [`Self::encode`]; `None`: these bytes are no intent.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut left = Left(bytes);
        let [form, flags] = left.array()?;
        let is_across = match form {
            FORM => false,
            FORM_ACROSS => true,
            _ => return None,
        };
        if flags & !(DECIDED | BEFORE | AFTER | SAME) != 0 {
            return None;
        }
        let id = TransactionId {
            coordinator: u64::from_le_bytes(left.array()?),
            number: u64::from_le_bytes(left.array()?),
        };
        let anchor = left.name(is_across)?;
        let decided = match flags & DECIDED {
            0 => None,
            _ => {
                let count = u32::from_le_bytes(left.array()?);
                let others = (0..count).map(|_| left.name(is_across));
                Some(others.collect::<Option<Vec<_>>>()?)
            }
        };
        let before = match flags & BEFORE {
            0 => None,
            _ => Some(left.stored()?),
        };
        let after = match flags & (AFTER | SAME) {
            AFTER => Some(left.stored()?),
            0 => None,
            _ => before.clone(),
        };
        let is_whole = left.0.is_empty() && (flags & AFTER != 0) == after.is_some();
        let is_final = decided.is_none() || before.is_none();
        (is_whole && is_final).then_some(Self {
            id,
            anchor,
            decided,
            before,
            after,
        })
    }
}

/// Whether a key with this intent holds such a value, or may in a moment.
pub(crate) fn may_become(intent: &[u8], is_wanted: impl Fn(ValueType) -> bool) -> bool {
    let Some(intent) = Intent::decode(intent) else {
        return true;
    };
    let mut both = [intent.before, intent.after].into_iter().flatten();
    both.any(|stored| is_wanted(stored.value_type()))
}

fn put_name(out: &mut Vec<u8>, Participant { table, key }: &Participant) {
    if let Some(table) = table {
        out.extend_from_slice(&table.0.to_le_bytes());
    }
    assert!(
        key.len() <= usize::from(u16::MAX),
        "a key of {} bytes",
        key.len()
    );
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(key);
}

/// What is left to read.
struct Left<'a>(&'a [u8]);

impl Left<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, len: usize) -> Option<Vec<u8>> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first.to_vec())
    }

    fn name(&mut self, is_across: bool) -> Option<Participant> {
        let table = match is_across {
            true => Some(TableId(u32::from_le_bytes(self.array()?))),
            false => None,
        };
        let len = u16::from_le_bytes(self.array()?);
        let key = self.bytes(len.into())?;
        Some(Participant { table, key })
    }

    fn stored(&mut self) -> Option<Stored> {
        let [flags] = self.array()?;
        let value_type = ValueType::of_flags(flags);
        let expires_at = u64::from_le_bytes(self.array()?);
        let expires_at = (expires_at != 0).then_some(UnixMillis(expires_at));
        let len = u32::from_le_bytes(self.array()?);
        let value = self.bytes(len as usize)?;
        let is_value = value_type != ValueType::Intent && flags == value_type.flags();
        is_value.then(|| Stored::new(value_type, expires_at, value))
    }
}

#[cfg(test)]
#[path = "intent_test.rs"]
mod intent_test;
