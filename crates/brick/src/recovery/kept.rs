//! A record that may be part of a suffix, while it is not known whether it has committed.

use crate::log_record::{HintItem, LogRecord};
use crate::tables::Tables;
use brickyard_types::record::{self, Header, Kind, Record};
use brickyard_types::{PartitionId, Position};
use std::borrow::Cow;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    body: Body,
    position: Position,
}

#[derive(Clone, Debug)]
enum Body {
    Record(Vec<u8>),
    /// Known from a hint file alone.
    Hint {
        header: Header,
        outcome: Option<Vec<u8>>,
        items: Vec<HintItem<'static>>,
    },
}

impl Kept {
    pub(super) fn new(recovered: &LogRecord<'_>) -> Self {
        let body = match recovered {
            LogRecord::Whole { record, .. } => Body::Record(whole(record)),
            LogRecord::Hint {
                header,
                outcome,
                items,
                ..
            } => Body::Hint {
                header: *header,
                outcome: outcome.map(<[u8]>::to_vec),
                items: items.iter().map(owned).collect(),
            },
        };
        Self {
            body,
            position: recovered.position(),
        }
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Its bytes; `None`: it is known from a hint file alone.
    pub(super) fn raw(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Record(raw) => Some(raw),
            Body::Hint { .. } => None,
        }
    }

    /// The record was read whole.
    pub(super) fn complete(&mut self, record: &Record<'_>) {
        self.body = Body::Record(whole(record));
    }

    /// As it was found.
    pub(super) fn recovered(&self) -> Option<LogRecord<'_>> {
        let position = self.position;
        match &self.body {
            Body::Record(raw) => {
                let record = record::decode(raw).ok()?;
                Some(LogRecord::Whole { record, position })
            }
            Body::Hint {
                header,
                outcome,
                items,
            } => Some(LogRecord::Hint {
                header: *header,
                outcome: outcome.as_deref(),
                items,
                position,
            }),
        }
    }

    /// The record as it is one of a part of its partition: what it does to others' keys is left out.
    pub(super) fn part(&self, child: PartitionId, tables: &Tables) -> Self {
        let body = match &self.body {
            Body::Record(raw) => {
                let part = record::decode(raw).map(|record| part_of(&record, child, tables));
                Body::Record(part.unwrap_or_default())
            }
            Body::Hint {
                header,
                outcome,
                items,
            } => {
                let is_its = |key: &[u8]| {
                    let owner = tables.child(header.table, header.partition, key);
                    owner == Some(child)
                };
                Body::Hint {
                    header: Header {
                        partition: child,
                        ..*header
                    },
                    outcome: outcome.clone(),
                    items: items.iter().filter(|it| is_its(&it.key)).cloned().collect(),
                }
            }
        };
        Self {
            body,
            position: self.position,
        }
    }
}

fn owned(item: &HintItem<'_>) -> HintItem<'static> {
    HintItem {
        kind: item.kind,
        flags: item.flags,
        key: Cow::Owned(item.key.to_vec()),
        value_len: item.value_len,
        expires_at: item.expires_at,
    }
}

fn part_of(record: &Record<'_>, child: PartitionId, tables: &Tables) -> Vec<u8> {
    let header = record.header;
    let key = match header.kind {
        Kind::Put | Kind::Delete => Some(record.key),
        // All keys of a batch are in one slot, and so in one part.
        Kind::Batch => record::entries(record.value)
            .next()
            .and_then(Result::ok)
            .map(|entry| entry.key),
        _ => None,
    };
    let owner = key.and_then(|key| tables.child(header.table, header.partition, key));
    let mut part = Record {
        header: Header {
            partition: child,
            ..header
        },
        ..*record
    };
    if owner.is_some_and(|owner| owner != child) {
        part.header.kind = Kind::Batch;
        part.header.flags = 0;
        part.header.expires_at = None;
        part.key = b"";
        part.value = b"";
    }
    whole(&part)
}

/// The record's bytes.
fn whole(record: &Record<'_>) -> Vec<u8> {
    let mut raw = Vec::with_capacity(record.len);
    let Record {
        header,
        outcome,
        key,
        value,
        ..
    } = record;
    record::encode_with(&mut raw, header, *outcome, key, &[value]);
    raw
}
