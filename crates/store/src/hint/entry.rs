//! One record of a hint file.

use super::HINT_ENTRY_BYTES;
use crate::bytes::{u16_at, u32_at, u64_at};
use brickyard_types::record::{
    ENTRY_HEADER_BYTES, HEADER_BYTES, Header, Kind, Record, RequestId, entries, flag,
};
use brickyard_types::{Op, PartitionId, SegmentId, TableId, UnixMillis, View};

/// A record without its value, unless it is one of the replicator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintRecord<'a> {
    /// Everything but key and value.
    pub header: Header,
    /// The key; empty for a batch, a clear and a watermark.
    pub key: &'a [u8],
    /// Length in bytes of the value in the segment.
    pub value_len: usize,
    /// The reply to the record's request, if it was kept.
    pub outcome: Option<&'a [u8]>,
    /// Length in bytes of the whole record in the segment.
    pub len: usize,
    /// What stands for the value: a batch's entries without their values, all of a control record's.
    rest: &'a [u8],
}

/// One put or delete of a batch, without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintEntry<'a> {
    /// [`Kind::Put`] or [`Kind::Delete`].
    pub kind: Kind,
    /// Of [`flag::TYPES`].
    pub flags: u8,
    /// The key.
    pub key: &'a [u8],
    /// Length in bytes of the value in the segment.
    pub value_len: usize,
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
}

impl<'a> HintRecord<'a> {
    /// The whole record, if it is of a kind whose value the hint has too.
    #[must_use]
    pub fn control(&self) -> Option<Record<'a>> {
        is_control(self.header.kind).then_some(Record {
            header: self.header,
            key: self.key,
            value: self.rest,
            outcome: self.outcome,
            len: self.len,
        })
    }

    /// The entries of a batch; nothing for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = HintEntry<'a>> + use<'a> {
        let mut rest = match self.header.kind {
            Kind::Batch => self.rest,
            _ => &[],
        };
        std::iter::from_fn(move || {
            let (head, after) = rest.split_first_chunk::<ENTRY_HEADER_BYTES>()?;
            let (key, after) = after.split_at_checked(usize::from(u16_at(head, 2)))?;
            rest = after;
            Some(HintEntry {
                kind: if head[0] == Kind::Put as u8 {
                    Kind::Put
                } else {
                    Kind::Delete
                },
                flags: head[1],
                key,
                value_len: u32_at(head, 4) as usize,
                expires_at: expiry(u64_at(head, 8)),
            })
        })
    }
}

/// Whether the value says what a replica holds: short, and no restart can do without it.
const fn is_control(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ViewStart | Kind::Cut | Kind::Baseline | Kind::Drop
    )
}

/// Appends a record's hint to `out`.
pub(crate) fn encode(out: &mut Vec<u8>, offset: u32, record: &Record<'_>) {
    let header = &record.header;
    assert!(
        u16::try_from(record.key.len()).is_ok(),
        "a key of {} bytes",
        record.key.len()
    );
    assert!(
        u32::try_from(record.value.len()).is_ok(),
        "a value of {} bytes",
        record.value.len()
    );
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&(record.value.len() as u32).to_le_bytes());
    out.extend_from_slice(&(record.key.len() as u16).to_le_bytes());
    out.push(header.kind as u8);
    out.push(header.flags);
    out.extend_from_slice(&header.table.0.to_le_bytes());
    out.extend_from_slice(&header.partition.0.to_le_bytes());
    out.extend_from_slice(&header.view.0.to_le_bytes());
    out.extend_from_slice(&header.op.0.to_le_bytes());
    out.extend_from_slice(&header.expires_at.map_or(0, |at| at.0).to_le_bytes());
    if let Some(request) = header.request {
        out.extend_from_slice(&request.client.to_le_bytes());
        out.extend_from_slice(&request.sequence.to_le_bytes());
    }
    if let Some(origin) = header.origin {
        out.extend_from_slice(&origin.0.to_le_bytes());
    }
    if let Some(committed) = header.committed {
        out.extend_from_slice(&committed.0.to_le_bytes());
    }
    if let Some(outcome) = record.outcome {
        // A record has no longer one.
        assert!(
            u8::try_from(outcome.len()).is_ok(),
            "an outcome of {} bytes",
            outcome.len()
        );
        out.push(outcome.len() as u8);
        out.extend_from_slice(outcome);
    }
    if header.kind == Kind::Batch {
        let len_at = out.len();
        out.extend_from_slice(&[0; 4]);
        // An entry that does not fit ends the batch; replay of the record itself does the same.
        for entry in entries(record.value).map_while(Result::ok) {
            out.push(entry.kind as u8);
            out.push(entry.flags);
            out.extend_from_slice(&(entry.key.len() as u16).to_le_bytes());
            out.extend_from_slice(&(entry.value.len() as u32).to_le_bytes());
            out.extend_from_slice(&entry.expires_at.map_or(0, |at| at.0).to_le_bytes());
            out.extend_from_slice(entry.key);
        }
        let len = (out.len() - len_at - 4) as u32;
        out[len_at..len_at + 4].copy_from_slice(&len.to_le_bytes());
    } else {
        out.extend_from_slice(record.key);
        if is_control(header.kind) {
            out.extend_from_slice(record.value);
        }
    }
}

/// Reads the hint at the start of `bytes`: the record's offset, the record, and the rest.
///
/// `None` if it does not fit or is of a kind that there is not. No panic on any
/// input: a checksum is no proof against a program that wrote nonsense.
pub(crate) fn decode(bytes: &[u8]) -> Option<(u32, HintRecord<'_>, &[u8])> {
    let (head, mut rest) = bytes.split_first_chunk::<HINT_ENTRY_BYTES>()?;
    let kind = kind(head[10])?;
    let flags = head[11];
    let mut extras_len = 0;
    let mut request = None;
    if flags & flag::REQUEST_ID != 0 {
        let (id, after) = rest.split_first_chunk::<16>()?;
        request = Some(RequestId {
            client: u64_at(id, 0),
            sequence: u64_at(id, 8),
        });
        rest = after;
        extras_len += 16;
    }
    let mut origin = None;
    if flags & flag::ORIGIN != 0 {
        let (id, after) = rest.split_first_chunk::<4>()?;
        origin = Some(SegmentId(u32_at(id, 0)));
        rest = after;
        extras_len += 4;
    }
    let mut committed = None;
    if flags & flag::COMMITTED != 0 {
        let (op, after) = rest.split_first_chunk::<8>()?;
        committed = Some(Op(u64_at(op, 0)));
        rest = after;
        extras_len += 8;
    }
    let mut outcome = None;
    if flags & flag::OUTCOME != 0 {
        let ([len], after) = rest.split_first_chunk::<1>()?;
        let (kept, after) = after.split_at_checked(usize::from(*len))?;
        outcome = Some(kept);
        rest = after;
        extras_len += 1 + kept.len();
    }
    let key_len = usize::from(u16_at(head, 8));
    let value_len = u32_at(head, 4) as usize;
    let (key, value, rest) = if kind == Kind::Batch {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (stripped, after) = after.split_at_checked(u32_at(len, 0) as usize)?;
        (&[][..], stripped, after)
    } else {
        let (key, after) = rest.split_at_checked(key_len)?;
        let kept = if is_control(kind) { value_len } else { 0 };
        let (value, after) = after.split_at_checked(kept)?;
        (key, value, after)
    };
    let record = HintRecord {
        header: Header {
            kind,
            flags,
            table: TableId(u32_at(head, 12)),
            partition: PartitionId(u32_at(head, 16)),
            view: View(u32_at(head, 20)),
            op: Op(u64_at(head, 24)),
            expires_at: expiry(u64_at(head, 32)),
            request,
            origin,
            committed,
        },
        key,
        value_len,
        outcome,
        len: HEADER_BYTES + extras_len + key.len() + value_len,
        rest: value,
    };
    Some((u32_at(head, 0), record, rest))
}

const fn kind(byte: u8) -> Option<Kind> {
    match byte {
        1 => Some(Kind::Put),
        2 => Some(Kind::Delete),
        3 => Some(Kind::Batch),
        4 => Some(Kind::Clear),
        5 => Some(Kind::Watermark),
        6 => Some(Kind::ViewStart),
        7 => Some(Kind::Cut),
        8 => Some(Kind::Baseline),
        9 => Some(Kind::Drop),
        _ => None,
    }
}

const fn expiry(at: u64) -> Option<UnixMillis> {
    match at {
        0 => None,
        at => Some(UnixMillis(at)),
    }
}
