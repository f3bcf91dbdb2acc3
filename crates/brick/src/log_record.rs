//! What recovery finds in the log, one by one in log order: records, records that hint files know, damage.

use brickyard_types::record::{self, Header, Kind, Record, flag};
use brickyard_types::{Op, PartitionId, Position, UnixMillis};
use std::borrow::Cow;

/// A record of the log.
#[derive(Debug)]
pub enum LogRecord<'a> {
    /// A whole one.
    Whole {
        /// The record.
        record: Record<'a>,
        /// Where it starts.
        position: Position,
    },
    /// One of a `disk` table, known from a hint file: no value.
    Hint {
        /// Its fields.
        header: Header,
        /// The reply to its request.
        outcome: Option<&'a [u8]>,
        /// What it does: one thing, or as many as a batch has entries.
        items: &'a [HintItem<'a>],
        /// Where it starts.
        position: Position,
    },
}

/// What a hint file knows of one put or delete.
#[derive(Debug, Clone)]
pub struct HintItem<'a> {
    /// What is done.
    pub kind: Kind,
    /// Flags of the record and of the entry.
    pub flags: u8,
    /// Its key.
    pub key: Cow<'a, [u8]>,
    /// Length of its value in bytes.
    pub value_len: u32,
    /// When the key is gone.
    pub expires_at: Option<UnixMillis>,
}

/// A part of the log that recovery could not read.
#[derive(Debug, Clone)]
pub struct LogDamage {
    /// Where.
    pub position: Position,
    /// Bytes that are unreadable.
    pub len: u64,
    /// The partitions that may have had records there, and below which op their keys are unsure
    /// (`None`: not known, so all ops so far).
    pub partitions: Vec<(PartitionId, Option<Op>)>,
    /// It is not known that any of them had one: the records before and behind it may show that it had none.
    pub is_suspicion: bool,
    /// For the log and the operator.
    pub text: String,
}

impl LogRecord<'_> {
    pub(crate) fn header(&self) -> &Header {
        match self {
            Self::Whole { record, .. } => &record.header,
            Self::Hint { header, .. } => header,
        }
    }

    pub(crate) fn position(&self) -> Position {
        match self {
            Self::Whole { position, .. } | Self::Hint { position, .. } => *position,
        }
    }

    pub(crate) fn outcome(&self) -> Option<&[u8]> {
        match self {
            Self::Whole { record, .. } => record.outcome,
            Self::Hint { outcome, .. } => *outcome,
        }
    }

    /// The value of a control record; hint files have those whole.
    pub(crate) fn value(&self) -> &[u8] {
        match self {
            Self::Whole { record, .. } => record.value,
            Self::Hint { .. } => &[],
        }
    }

    /// Calls `f` with each thing that the record does: its header as if it were a record of its own, its key, its value
    /// or else the length of that. Nothing: the record is there for its number or its request alone.
    pub(crate) fn for_items(&self, mut f: impl FnMut(&Header, &[u8], Result<&[u8], usize>)) {
        match self {
            Self::Whole { record, .. } if record.header.kind != Kind::Batch => {
                f(&record.header, record.key, Ok(record.value));
            }
            Self::Whole { record, .. } => {
                for entry in record::entries(record.value).map_while(Result::ok) {
                    let header = Header {
                        kind: entry.kind,
                        flags: (record.header.flags & (flag::MOVED | flag::COPIED)) | entry.flags,
                        expires_at: entry.expires_at,
                        ..record.header
                    };
                    f(&header, entry.key, Ok(entry.value));
                }
            }
            Self::Hint { header, items, .. } => {
                for item in *items {
                    let header = Header {
                        kind: item.kind,
                        flags: item.flags,
                        expires_at: item.expires_at,
                        ..*header
                    };
                    f(&header, &item.key, Err(item.value_len as usize));
                }
            }
        }
    }

    /// Whether the record is there for its number or its request alone.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Whole { record, .. } => {
                record.header.kind == Kind::Batch && record.value.is_empty()
            }
            Self::Hint { items, .. } => items.is_empty(),
        }
    }
}
