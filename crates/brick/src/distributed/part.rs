//! What the coordinator of a distributed transaction asks of one partition, and what that answers.
//!
//! In:  a part, from this brick or another one. Out: its keys; an answer as the bytes of a reply, and the same of bytes.

use super::reserved::Age;
use crate::version::Version;
use brickyard_types::{TableId, UnixMillis, ValueType, limits};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names one attempt at a transaction, of all that were ever made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TransactionId {
    /// Drawn for a life of the brick that coordinates.
    pub(crate) coordinator: u64,
    /// Counted by it.
    pub(crate) number: u64,
}

/// Bytes that are copied as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de [u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()))
    }
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// A record's flags of it.
    flags: u8,
    /// The record's expiry in milliseconds.
    pub(crate) expires_at: Option<u64>,
    pub(crate) value: Bytes,
}

impl Stored {
    pub(crate) fn new(
        value_type: ValueType,
        expires_at: Option<UnixMillis>,
        value: Vec<u8>,
    ) -> Self {
        assert_ne!(
            value_type,
            ValueType::Intent,
            "an intent is about another one"
        );
        Self {
            flags: value_type.flags(),
            expires_at: expires_at.map(|at| at.0),
            value: Bytes(value),
        }
    }

    pub(crate) const fn value_type(&self) -> ValueType {
        ValueType::of_flags(self.flags)
    }

    pub(crate) fn expires_at(&self) -> Option<UnixMillis> {
        self.expires_at.map(UnixMillis)
    }

    /// Bytes of the value.
    pub(crate) fn len(&self) -> usize {
        self.value.0.len()
    }

    /// Whether it may be what a key holds: a peer may send anything.
    fn is_value(&self) -> bool {
        let value_type = self.value_type();
        value_type != ValueType::Intent && value_type.flags() == self.flags
    }
}

/// What a key is to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum After {
    /// What it holds: it was read.
    Same,
    Gone,
    Holds(Stored),
}

/// A key that is to get an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lock {
    pub(crate) key: Bytes,
    /// What it has to be for that ([`Version::encode`]); `None`: nothing was read of it.
    pub(crate) expected: Option<[u64; 4]>,
    pub(crate) after: After,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// What keys hold, and their versions; `reserves`: others are to leave them alone for a while.
    Read { keys: Vec<Bytes>, reserves: bool },
    /// Whether keys are what they were.
    Check(Vec<(Bytes, [u64; 4])>),
    /// Keys get intents, all of them or none: the partition's vote.
    Lock(Vec<Lock>),
    /// Intents of these keys go: the keys get what they were to hold, or hold what they held.
    Resolve {
        keys: Vec<Bytes>,
        is_committed: bool,
    },
    /// What has become of the transaction; this is the partition of its anchor.
    Outcome,
    /// What intent the key holds that the part names as its anchor, whoever's it is.
    Look,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) id: TransactionId,
    pub(crate) age: Age,
    pub(crate) anchor: Bytes,
    pub(crate) ask: Ask,
    /// The anchor's table, if that is another one than the part's. It is sent beside the rest, which nodes know that know of no such part.
    #[serde(skip)]
    pub(crate) anchor_table: Option<TableId>,
}

/// What is answered; anything else is an error line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// What the keys hold, in the order in which they were asked for.
    Read(Vec<(Option<Stored>, [u64; 4])>),
    /// All is as it was; or the intents are there; or they are gone.
    Done,
    /// A key is not what it was.
    Differs(Bytes),
    /// A key has an intent of another transaction.
    Taken,
    /// Some of the keys are of another partition by now; nothing was done.
    Misplaced,
    /// The transaction goes on.
    Pending,
    /// What has become of it for good.
    Ended { is_committed: bool },
    /// Whose intent a key has, and if that is decided, of which other keys.
    Intent {
        id: TransactionId,
        anchor: Bytes,
        decided: Option<Vec<Bytes>>,
    },
    /// The same of a transaction over two tables, each key with its own.
    IntentAcross {
        id: TransactionId,
        anchor: (TableId, Bytes),
        decided: Option<Vec<(TableId, Bytes)>>,
    },
}

/// Before an answer that is no error line.
const ANSWER: u8 = b'=';

impl Answer {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(ANSWER);
        out.extend(postcard::to_allocvec(self).expect("answers are plain data"));
    }

    /// Reads a reply; `Err`: it is an error line, or no answer at all.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, &[u8]> {
        let answer = bytes
            .strip_prefix(&[ANSWER])
            .and_then(|bytes| postcard::take_from_bytes::<Self>(bytes).ok())
            .filter(|(_, rest)| rest.is_empty())
            .map(|(answer, _)| answer);
        let is_key = |key: &Bytes| key.0.len() <= limits::KEY_BYTES_MAX;
        let is_sound = |answer: &Self| match answer {
            Self::Read(all) => all.iter().flat_map(|(it, _)| it).all(Stored::is_value),
            Self::Intent {
                anchor, decided, ..
            } => is_key(anchor) && decided.iter().flatten().all(is_key),
            Self::IntentAcross {
                anchor, decided, ..
            } => is_key(&anchor.1) && decided.iter().flatten().all(|(_, key)| is_key(key)),
            _ => true,
        };
        answer.filter(is_sound).ok_or(bytes)
    }
}

impl Part {
    /// The key that says where it belongs.
    pub(crate) fn first_key(&self) -> &[u8] {
        let first = match &self.ask {
            Ask::Read { keys, .. } | Ask::Resolve { keys, .. } => keys.first(),
            Ask::Check(all) => all.first().map(|(key, _)| key),
            Ask::Lock(locks) => locks.first().map(|it| &it.key),
            Ask::Outcome | Ask::Look => Some(&self.anchor),
        };
        &first.unwrap_or(&self.anchor).0
    }

    /// Whether it changes nothing.
    pub(crate) const fn only_reads(&self) -> bool {
        !matches!(self.ask, Ask::Lock(_) | Ask::Resolve { .. })
    }

    /// Its keys.
    pub(crate) fn keys(&self) -> Vec<&[u8]> {
        match &self.ask {
            Ask::Read { keys, .. } | Ask::Resolve { keys, .. } => {
                keys.iter().map(|key| &key.0[..]).collect()
            }
            Ask::Check(all) => all.iter().map(|(key, _)| &key.0[..]).collect(),
            Ask::Lock(locks) => locks.iter().map(|it| &it.key.0[..]).collect(),
            Ask::Outcome | Ask::Look => vec![&self.anchor.0],
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.ask {
            Ask::Lock(locks) => locks.iter().map(|lock| match &lock.after {
                After::Holds(stored) => stored.len(),
                After::Same | After::Gone => 0,
            }),
            _ => return size_of::<Self>() + self.keys().iter().map(|key| key.len()).sum::<usize>(),
        };
        size_of::<Self>() + values.sum::<usize>()
    }

    /// Whether it can be carried out, whoever sent it.
    pub(crate) fn is_sound(&self) -> bool {
        let are_values = match &self.ask {
            Ask::Lock(locks) => locks.iter().all(|lock| match &lock.after {
                After::Holds(stored) => stored.is_value(),
                After::Same | After::Gone => true,
            }),
            _ => true,
        };
        let keys = self.keys();
        let are_keys = keys.iter().all(|key| key.len() <= limits::KEY_BYTES_MAX);
        // Whoever asks those says in which table.
        let is_of_anchor = matches!(self.ask, Ask::Outcome | Ask::Look);
        let is_where_it_says = self.anchor_table.is_none() || !is_of_anchor;
        are_values && are_keys && is_where_it_says && !keys.is_empty()
    }
}

impl Lock {
    /// What the key has to be.
    pub(crate) fn version(&self) -> Option<Version> {
        self.expected.map(Version::decode)
    }
}

#[cfg(test)]
#[path = "part_test.rs"]
mod part_test;
