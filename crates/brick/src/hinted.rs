//! Hands records to a brick as hint files know them, for tests that have no files.

use crate::log_record::{HintItem, LogRecord};
use crate::recovery::LogReplay;
use brickyard_types::Position;
use brickyard_types::record::{self, Kind, Record};
use std::borrow::Cow;

/// Whether a hint file is read instead of a sealed segment.
pub(crate) fn is_hinted(recovery: &LogReplay, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Ok(record) = record::decode(rest) {
        if recovery.needs_values(record.header.partition) {
            return false;
        }
        rest = &rest[record.len..];
    }
    true
}

/// What a hint file knows of a record.
pub(crate) fn recover(recovery: &mut LogReplay, record: &Record<'_>, position: Position) {
    let header = record.header;
    if matches!(
        header.kind,
        Kind::ViewStart | Kind::Cut | Kind::Baseline | Kind::Drop
    ) {
        let record = *record;
        return recovery.on_record(&LogRecord::Whole { record, position });
    }
    let item = |kind, flags, key, len: usize, expires_at| HintItem {
        kind,
        flags,
        key: Cow::Borrowed(key),
        value_len: len as u32,
        expires_at,
    };
    let items: Vec<HintItem<'_>> = if header.kind == Kind::Batch {
        let entries = record::entries(record.value).map_while(Result::ok);
        entries
            .map(|it| {
                let flags = header.flags | it.flags;
                item(it.kind, flags, it.key, it.value.len(), it.expires_at)
            })
            .collect()
    } else {
        let (flags, len) = (header.flags, record.value.len());
        vec![item(header.kind, flags, record.key, len, header.expires_at)]
    };
    recovery.on_record(&LogRecord::Hint {
        header,
        outcome: record.outcome,
        items: &items,
        position,
    });
}
