//! The log record: what one operation on one partition looks like on disk and between bricks.
//!
//! In:  [`Header`] and the parts of the body. Out: bytes ([`encode`]), or a checked [`Record`]
//! ([`decode`]); [`VerifiedRecords`] carry that they were checked.
//!
//! Invariants:
//! - The header has a checksum of its own, so that damage in a body is still attributed to its
//!   partition and op (rule `a damaged header taints its segment`'s narrower case).
//! - A record carries the operation's full outcome, never a delta (rule `records carry full outcomes`).
//! - Records are ordered by (view, op), never by op alone.
//!
//! Layout, little-endian, 48 bytes of header (docs/data-file.md has the same table):
//! ```text
//!  0  u32 header_crc   CRC-32 (IEEE) of bytes 4..48
//!  4  u32 body_crc     CRC-32 of the body
//!  8  u32 body_len     bytes after the header
//! 12  u8  kind         1 put, 2 delete, 3 batch, 4 clear, 5 watermark, 6 view start, 7 cut, 8 base, 9 drop
//! 13  u8  flags        1 moved, 2 raw, 4 request id, 8 origin, 16 committed, 32 outcome, 64 copied, 128 hash, 130 intent
//! 14  u16 key_len
//! 16  u32 value_len
//! 20  u32 table
//! 24  u32 partition
//! 28  u32 view
//! 32  u64 op
//! 40  u64 expires_at_ms   0: never
//! 48  body: [client u64, sequence u64 if flag 4] [origin segment u32 if flag 8]
//!     [committed op u64 if flag 16] [length u8 and outcome if flag 32] key value
//! ```
//! A batch's key is empty and its value is a run of entries, each
//! `kind u8, flags u8, key_len u16, value_len u32, expires_at_ms u64, key, value`. A batch without entries and
//! with a request id says that the request was executed and changed nothing.

mod verified;

pub use verified::{Verified, VerifiedRecords, verify};

use crate::{Op, PartitionId, SegmentId, TableId, UnixMillis, View};

/// Bytes of a record before its body.
pub const HEADER_BYTES: usize = 48;

/// Bytes of a batch entry before its key.
pub const ENTRY_HEADER_BYTES: usize = 16;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `key` has `value` from this op on.
    Put = 1,
    /// `key` is gone from this op on (a tombstone).
    Delete = 2,
    /// Several puts and deletes of one partition that happen together or not at all.
    Batch = 3,
    /// Every key of the partition is gone from this op on.
    Clear = 4,
    /// Tombstones at or below this op may be missing from here on (rule `tombstones reach down to the watermark`).
    Watermark = 5,
    /// A view of the partition begins; the value names its predecessor (rule `a cut is a record`).
    ViewStart = 6,
    /// Ops above this record's were cut from the partition's log before this point (rule `a cut is a record`).
    Cut = 7,
    /// The replica holds everything up to this op (rule `log summaries begin at a baseline`).
    Baseline = 8,
    /// This brick holds the partition no more: whatever the log has of it before this is dead (rule
    /// `forced recovery begins a generation`).
    Drop = 9,
}

impl Kind {
    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Put),
            2 => Some(Self::Delete),
            3 => Some(Self::Batch),
            4 => Some(Self::Clear),
            5 => Some(Self::Watermark),
            6 => Some(Self::ViewStart),
            7 => Some(Self::Cut),
            8 => Some(Self::Baseline),
            9 => Some(Self::Drop),
            _ => None,
        }
    }
}

/// Bits of [`Header::flags`].
pub mod flag {
    /// The cleaner moved this record: its low (view, op) does not mean that the log was cut.
    pub const MOVED: u8 = 1;
    /// The value was built by a partial write (APPEND, SETRANGE, ...): `OBJECT ENCODING` is `raw`.
    pub const RAW: u8 = 2;
    /// A request id (client, sequence) stands before the key.
    pub const REQUEST_ID: u8 = 4;
    /// The segment in which a moved tombstone was first written stands before the key.
    pub const ORIGIN: u8 = 8;
    /// What the primary knew to be committed stands before the key: the record is a replicated
    /// partition's, and may be cut as long as nothing says that it committed.
    pub const COMMITTED: u8 = 16;
    /// The reply to the request stands before the key.
    pub const OUTCOME: u8 = 32;
    /// Another brick has copied this record here: a deletion of its key may stand before it.
    pub const COPIED: u8 = 64;
    /// The value is a hash, or with [`RAW`] an intent.
    pub const HASH: u8 = 128;
    /// The bits that say what the value is: [`ValueType`](crate::ValueType).
    pub const TYPES: u8 = RAW | HASH;
}

/// Longest reply that a record keeps.
pub const OUTCOME_BYTES_MAX: usize = u8::MAX as usize;

/// Who asked for a write and as which of its requests; retries carry the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The client, drawn at random by it. 0 is nobody: such a record says that ids up to its sequence may have
    /// been forgotten.
    pub client: u64,
    /// Rises from each of the client's writes to the next; about the time, in microseconds since 1970.
    pub sequence: u64,
}

/// The fields of a record besides its key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the record says.
    pub kind: Kind,
    /// [`flag`] bits; [`encode`] sets `REQUEST_ID`, `ORIGIN` and `COMMITTED` from the fields below, and
    /// `OUTCOME` if it is given one.
    pub flags: u8,
    /// The table of the partition.
    pub table: TableId,
    /// The partition in whose log this is.
    pub partition: PartitionId,
    /// The view in which the op was prepared.
    pub view: View,
    /// The op's number.
    pub op: Op,
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The request that this record answers, if it has an id.
    pub request: Option<RequestId>,
    /// Where a moved tombstone was first written.
    pub origin: Option<SegmentId>,
    /// In a replicated partition: the highest op that the primary knew to be committed when it prepared
    /// this one.
    pub committed: Option<Op>,
}

/// A checked record that borrows the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Everything but key and value.
    pub header: Header,
    /// The key; empty for a batch, a clear and a watermark.
    pub key: &'a [u8],
    /// The value; a batch's entries.
    pub value: &'a [u8],
    /// The reply to the request, as it was sent, if it was kept.
    pub outcome: Option<&'a [u8]>,
    /// Length of the whole record in bytes.
    pub len: usize,
}

/// One put or delete of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry<'a> {
    /// [`Kind::Put`] or [`Kind::Delete`].
    pub kind: Kind,
    /// Of [`flag::TYPES`].
    pub flags: u8,
    /// The key.
    pub key: &'a [u8],
    /// The value; empty for a delete.
    pub value: &'a [u8],
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There are fewer bytes than the record needs; a torn tail looks like this.
    Short {
        /// Bytes that the record needs, as far as is known.
        need: usize,
    },
    /// The header's checksum does not match: nothing of it can be believed.
    Header {
        /// What the header says.
        expected: u32,
        /// What its bytes add up to.
        got: u32,
    },
    /// The header is sound and the body is not.
    Body {
        /// The sound header's partition, op and length.
        partition: PartitionId,
        /// The op whose outcome is unreadable.
        op: Op,
        /// Length of the whole record: where the next one starts.
        len: usize,
        /// What the header says.
        expected: u32,
        /// What the body's bytes add up to.
        got: u32,
    },
    /// The checksums match and the fields contradict one another or are of a newer format.
    Field {
        /// Which field.
        what: &'static str,
    },
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short { need } => write!(f, "the record needs {need} bytes and there are fewer"),
            Self::Header { expected, got } => {
                write!(
                    f,
                    "header checksum is {got:#010x}, expected {expected:#010x}"
                )
            }
            Self::Body {
                partition,
                op,
                expected,
                got,
                ..
            } => write!(
                f,
                "body checksum is {got:#010x}, expected {expected:#010x} (partition {partition} op {op})"
            ),
            Self::Field { what } => write!(f, "field {what} is impossible in this format"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Length in bytes of a record without request id, origin and committed op.
#[inline]
#[must_use]
pub const fn encoded_len(key_len: usize, value_len: usize) -> usize {
    HEADER_BYTES + key_len + value_len
}

/// Appends the record to `out` and returns its length in bytes.
///
/// `value` may come in pieces, which are written one after the other.
///
/// # Panics
/// If the key is longer than 65,535 bytes or the value than `u32::MAX` (a caller bug: requests are
/// bounded before).
#[inline]
pub fn encode(out: &mut Vec<u8>, header: &Header, key: &[u8], value: &[&[u8]]) -> usize {
    encode_with(out, header, None, key, value)
}

/// The same, with the reply to the request that the record answers.
///
/// # Panics
/// As [`encode`]; and if the outcome is longer than [`OUTCOME_BYTES_MAX`].
#[inline]
pub fn encode_with(
    out: &mut Vec<u8>,
    header: &Header,
    outcome: Option<&[u8]>,
    key: &[u8],
    value: &[&[u8]],
) -> usize {
    let value_len: usize = value.iter().map(|piece| piece.len()).sum();
    let key_len = u16::try_from(key.len()).expect("key length is bounded at the wire");
    let value_len = u32::try_from(value_len).expect("value length is bounded at the wire");
    const FROM_FIELDS: u8 = flag::REQUEST_ID | flag::ORIGIN | flag::COMMITTED | flag::OUTCOME;
    let mut flags = header.flags & !FROM_FIELDS;
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    if let Some(request) = header.request {
        flags |= flag::REQUEST_ID;
        out.extend_from_slice(&request.client.to_le_bytes());
        out.extend_from_slice(&request.sequence.to_le_bytes());
    }
    if let Some(origin) = header.origin {
        flags |= flag::ORIGIN;
        out.extend_from_slice(&origin.0.to_le_bytes());
    }
    if let Some(committed) = header.committed {
        flags |= flag::COMMITTED;
        out.extend_from_slice(&committed.0.to_le_bytes());
    }
    if let Some(outcome) = outcome {
        flags |= flag::OUTCOME;
        out.push(u8::try_from(outcome.len()).expect("a longer reply is not kept"));
        out.extend_from_slice(outcome);
    }
    out.extend_from_slice(key);
    for piece in value {
        out.extend_from_slice(piece);
    }
    let record = &mut out[start..];
    let body_crc = crc32fast::hash(&record[HEADER_BYTES..]);
    let body_len = (record.len() - HEADER_BYTES) as u32;
    record[4..8].copy_from_slice(&body_crc.to_le_bytes());
    record[8..12].copy_from_slice(&body_len.to_le_bytes());
    record[12] = header.kind as u8;
    record[13] = flags;
    record[14..16].copy_from_slice(&key_len.to_le_bytes());
    record[16..20].copy_from_slice(&value_len.to_le_bytes());
    record[20..24].copy_from_slice(&header.table.0.to_le_bytes());
    record[24..28].copy_from_slice(&header.partition.0.to_le_bytes());
    record[28..32].copy_from_slice(&header.view.0.to_le_bytes());
    record[32..40].copy_from_slice(&header.op.0.to_le_bytes());
    record[40..48].copy_from_slice(&header.expires_at.map_or(0, |at| at.0).to_le_bytes());
    let header_crc = crc32fast::hash(&record[4..HEADER_BYTES]);
    record[0..4].copy_from_slice(&header_crc.to_le_bytes());
    record.len()
}

/// Appends one entry to a batch's value.
///
/// # Panics
/// As [`encode`].
pub fn encode_entry(out: &mut Vec<u8>, entry: &BatchEntry<'_>) {
    let key_len = u16::try_from(entry.key.len()).expect("key length is bounded at the wire");
    let value_len = u32::try_from(entry.value.len()).expect("value length is bounded at the wire");
    out.push(entry.kind as u8);
    out.push(entry.flags);
    out.extend_from_slice(&key_len.to_le_bytes());
    out.extend_from_slice(&value_len.to_le_bytes());
    out.extend_from_slice(&entry.expires_at.map_or(0, |at| at.0).to_le_bytes());
    out.extend_from_slice(entry.key);
    out.extend_from_slice(entry.value);
}

/// Reads and checks the record at the start of `bytes`.
///
/// # Errors
/// [`DecodeError`]; `bytes` may come from a damaged disk or another machine and is believed in
/// nothing that no checksum covers.
pub fn decode(bytes: &[u8]) -> Result<Record<'_>, DecodeError> {
    verify(bytes).map(|verified| verified.record())
}

/// Reads what stands behind a record's header, whose checksum matched as the header's own did.
fn read_body<'a>(head: &CheckedHeader, body: &'a [u8]) -> Result<Record<'a>, DecodeError> {
    let mut header = head.header;
    let mut rest = body;
    if header.flags & flag::REQUEST_ID != 0 {
        let (client, after) = take::<8>(rest)?;
        let (sequence, after) = take::<8>(after)?;
        header.request = Some(RequestId {
            client: u64::from_le_bytes(client),
            sequence: u64::from_le_bytes(sequence),
        });
        rest = after;
    }
    if header.flags & flag::ORIGIN != 0 {
        let (origin, after) = take::<4>(rest)?;
        header.origin = Some(SegmentId(u32::from_le_bytes(origin)));
        rest = after;
    }
    if header.flags & flag::COMMITTED != 0 {
        let (committed, after) = take::<8>(rest)?;
        header.committed = Some(Op(u64::from_le_bytes(committed)));
        rest = after;
    }
    let mut outcome = None;
    if header.flags & flag::OUTCOME != 0 {
        let ([len], after) = take::<1>(rest)?;
        let (kept, after) = after
            .split_at_checked(usize::from(len))
            .ok_or(DecodeError::Field { what: "outcome" })?;
        outcome = Some(kept);
        rest = after;
    }
    let (key, value) = rest
        .split_at_checked(head.key_len)
        .ok_or(DecodeError::Field { what: "key_len" })?;
    if value.len() != head.value_len {
        return Err(DecodeError::Field { what: "value_len" });
    }
    Ok(Record {
        header,
        key,
        value,
        outcome,
        len: head.len,
    })
}

/// A header whose own checksum matched; the body behind it has not been looked at.
#[derive(Clone, Copy, Debug)]
pub struct CheckedHeader {
    /// The fields; `request`, `origin` and `committed` are in the body and so not yet known.
    pub header: Header,
    /// Length of the key in bytes.
    pub key_len: usize,
    /// Length of the value in bytes.
    pub value_len: usize,
    /// Length of the whole record in bytes.
    pub len: usize,
    body_crc: u32,
}

/// Reads and checks the header at the start of `bytes`, without its body.
///
/// # Errors
/// [`DecodeError::Short`], [`DecodeError::Header`] or [`DecodeError::Field`].
pub fn decode_header(bytes: &[u8]) -> Result<CheckedHeader, DecodeError> {
    let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(DecodeError::Short { need: HEADER_BYTES });
    };
    let [a, b, c, d, ..] = *bytes;
    let expected = u32::from_le_bytes([a, b, c, d]);
    let got = crc32fast::hash(&bytes[4..]);
    if got != expected {
        return Err(DecodeError::Header { expected, got });
    }
    read_header(bytes)
}

/// Reads a header whose checksum matched.
fn read_header(bytes: &[u8; HEADER_BYTES]) -> Result<CheckedHeader, DecodeError> {
    let u32_at =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | (u64::from(u32_at(at + 4)) << 32);
    let kind = Kind::from_byte(bytes[12]).ok_or(DecodeError::Field { what: "kind" })?;
    let flags = bytes[13];
    let expires_at = match u64_at(40) {
        0 => None,
        at => Some(UnixMillis(at)),
    };
    Ok(CheckedHeader {
        header: Header {
            kind,
            flags,
            table: TableId(u32_at(20)),
            partition: PartitionId(u32_at(24)),
            view: View(u32_at(28)),
            op: Op(u64_at(32)),
            expires_at,
            request: None,
            origin: None,
            committed: None,
        },
        key_len: usize::from(u16::from_le_bytes([bytes[14], bytes[15]])),
        value_len: u32_at(16) as usize,
        len: HEADER_BYTES + u32_at(8) as usize,
        body_crc: u32_at(4),
    })
}

/// Reads the entries of a batch's value, one after the other.
///
/// The value's checksum was checked with its record; an entry that does not fit ends the run with
/// [`DecodeError::Field`].
pub fn entries(value: &[u8]) -> impl Iterator<Item = Result<BatchEntry<'_>, DecodeError>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = decode_entry(rest);
        match entry {
            Ok((entry, after)) => {
                rest = after;
                Some(Ok(entry))
            }
            Err(error) => {
                rest = &[];
                Some(Err(error))
            }
        }
    })
}

fn decode_entry(bytes: &[u8]) -> Result<(BatchEntry<'_>, &[u8]), DecodeError> {
    const WHAT: DecodeError = DecodeError::Field {
        what: "batch entry",
    };
    let (head, rest) = take::<ENTRY_HEADER_BYTES>(bytes)?;
    let kind = match Kind::from_byte(head[0]) {
        Some(kind @ (Kind::Put | Kind::Delete)) => kind,
        _ => return Err(WHAT),
    };
    let flags = head[1] & flag::TYPES;
    let key_len = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let value_len = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    let expires_at = match u64::from_le_bytes([
        head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15],
    ]) {
        0 => None,
        at => Some(UnixMillis(at)),
    };
    let (key, rest) = rest.split_at_checked(key_len).ok_or(WHAT)?;
    let (value, rest) = rest.split_at_checked(value_len).ok_or(WHAT)?;
    Ok((
        BatchEntry {
            kind,
            flags,
            key,
            value,
            expires_at,
        },
        rest,
    ))
}

fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), DecodeError> {
    let (head, rest) = bytes
        .split_first_chunk::<N>()
        .ok_or(DecodeError::Field { what: "body_len" })?;
    Ok((*head, rest))
}

#[cfg(test)]
#[path = "record_test.rs"]
mod record_test;
