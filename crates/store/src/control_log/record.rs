//! The records of the file.
//!
//! ```text
//!  0  u32  CRC-32 of bytes 4..32 and of the record's offset in the file (u64)
//!  4  u32  CRC-32 of the body
//!  8  u32  length of the body
//! 12  u8   kind: 1 append, 2 snapshot
//! 13  u8   flags: 1 an append begins with a hard state
//! 14  u16  0
//! 16  u64  number: 0, 1, 2 ... in the file
//! 24  u64  synced: everything before this offset was synced when this was written
//! 32       body
//! ```
//! Append: term u64, vote u64, commit u64 (with flag 1); then entries until the end: index u64, term
//! u64, length u32, kind u8, three 0, data. Without either it is a mark: only `synced` counts.
//! Snapshot: index u64, term u64, voters u32, learners u32, their ids u64 each; the rest is data.
//!
//! The offset in the checksum makes a record count only where it was written: what entries and
//! snapshots contain, or what an older file left on the disk, is never taken for one.

use super::error::ControlLogError;
use super::state::{ControlEntry, ControlHardState, ControlSnapshot};
use crate::bytes::{put_u32, put_u64, u32_at, u64_at};

pub(super) const HEAD_BYTES: usize = 32;
const HARD_STATE_BYTES: usize = 24;
const ENTRY_HEAD_BYTES: usize = 24;
const SNAPSHOT_HEAD_BYTES: usize = 24;
pub(super) const KIND_APPEND: u8 = 1;
pub(super) const KIND_SNAPSHOT: u8 = 2;
const FLAG_HARD_STATE: u8 = 1;

/// Where a record is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Appending {
    pub(super) offset: u64,
    pub(super) number: u64,
    pub(super) synced: u64,
}

/// A record's first bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    body_crc: u32,
    pub(super) body_len: u32,
    pub(super) kind: u8,
    flags: u8,
    pub(super) number: u64,
    pub(super) synced: u64,
}

/// What a record says.
pub(super) enum Body {
    Append(Option<ControlHardState>, Vec<ControlEntry>),
    Snapshot(ControlSnapshot),
}

pub(super) fn append(
    hard_state: Option<ControlHardState>,
    entries: &[ControlEntry],
    place: Appending,
) -> Result<Vec<u8>, ControlLogError> {
    let mut bytes = vec![0; HEAD_BYTES];
    let mut flags = 0;
    if let Some(hard_state) = hard_state {
        flags = FLAG_HARD_STATE;
        for field in [hard_state.term, hard_state.vote, hard_state.commit] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
    }
    assert!(
        entries
            .windows(2)
            .all(|pair| pair[0].index + 1 == pair[1].index),
        "entries follow one another"
    );
    for entry in entries {
        bytes.extend_from_slice(&entry.index.to_le_bytes());
        bytes.extend_from_slice(&entry.term.to_le_bytes());
        bytes.extend_from_slice(&length(entry.data.len())?.to_le_bytes());
        bytes.extend_from_slice(&[entry.kind, 0, 0, 0]);
        bytes.extend_from_slice(&entry.data);
    }
    seal(bytes, KIND_APPEND, flags, place)
}

pub(super) fn snapshot(
    snapshot: &ControlSnapshot,
    place: Appending,
) -> Result<Vec<u8>, ControlLogError> {
    let mut bytes = vec![0; HEAD_BYTES];
    bytes.extend_from_slice(&snapshot.index.to_le_bytes());
    bytes.extend_from_slice(&snapshot.term.to_le_bytes());
    for ids in [&snapshot.voters, &snapshot.learners] {
        bytes.extend_from_slice(&length(ids.len())?.to_le_bytes());
    }
    for id in snapshot.voters.iter().chain(&snapshot.learners) {
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes.extend_from_slice(&snapshot.data);
    seal(bytes, KIND_SNAPSHOT, 0, place)
}

fn length(bytes: usize) -> Result<u32, ControlLogError> {
    u32::try_from(bytes).map_err(|_| ControlLogError::TooLarge {
        bytes: bytes as u64,
    })
}

fn seal(
    mut bytes: Vec<u8>,
    kind: u8,
    flags: u8,
    place: Appending,
) -> Result<Vec<u8>, ControlLogError> {
    assert!(
        place.synced <= place.offset,
        "synced through {}, and a record at {}",
        place.synced,
        place.offset
    );
    let (head, body) = bytes.split_at_mut(HEAD_BYTES);
    put_u32(head, 4, crc32fast::hash(body));
    put_u32(head, 8, length(body.len())?);
    head[12] = kind;
    head[13] = flags;
    put_u64(head, 16, place.number);
    put_u64(head, 24, place.synced);
    let crc = head_crc(head, place.offset);
    put_u32(head, 0, crc);
    Ok(bytes)
}

fn head_crc(head: &[u8], offset: u64) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[4..HEAD_BYTES]);
    crc.update(&offset.to_le_bytes());
    crc.finalize()
}

impl Head {
    /// The head at this offset, if there is a sound one.
    pub(super) fn at(bytes: &[u8], offset: u64) -> Option<Self> {
        let start = usize::try_from(offset).ok()?;
        let head = bytes.get(start..)?.get(..HEAD_BYTES)?;
        let kind = head[12];
        // Most places are dismissed by this alone.
        if !(KIND_APPEND..=KIND_SNAPSHOT).contains(&kind)
            || head[13] & !FLAG_HARD_STATE != 0
            || head[14..16] != [0, 0]
            || head_crc(head, offset) != u32_at(head, 0)
        {
            return None;
        }
        Some(Self {
            body_crc: u32_at(head, 4),
            body_len: u32_at(head, 8),
            kind,
            flags: head[13],
            number: u64_at(head, 16),
            synced: u64_at(head, 24),
        })
    }

    pub(super) fn is_of(&self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.body_crc
    }

    /// What the body says; `None` if it is none of ours.
    pub(super) fn read(&self, body: &[u8]) -> Option<Body> {
        match self.kind {
            KIND_SNAPSHOT => read_snapshot(body).map(Body::Snapshot),
            _ => self.read_append(body),
        }
    }

    fn read_append(&self, mut body: &[u8]) -> Option<Body> {
        let mut hard_state = None;
        if self.flags & FLAG_HARD_STATE != 0 {
            let (fields, rest) = body.split_at_checked(HARD_STATE_BYTES)?;
            hard_state = Some(ControlHardState {
                term: u64_at(fields, 0),
                vote: u64_at(fields, 8),
                commit: u64_at(fields, 16),
            });
            body = rest;
        }
        let mut entries = Vec::new();
        while !body.is_empty() {
            let (head, rest) = body.split_at_checked(ENTRY_HEAD_BYTES)?;
            let (data, rest) = rest.split_at_checked(u32_at(head, 16) as usize)?;
            if head[21..24] != [0, 0, 0] {
                return None;
            }
            entries.push(ControlEntry {
                index: u64_at(head, 0),
                term: u64_at(head, 8),
                kind: head[20],
                data: data.to_vec(),
            });
            body = rest;
        }
        Some(Body::Append(hard_state, entries))
    }
}

fn read_snapshot(body: &[u8]) -> Option<ControlSnapshot> {
    let (head, rest) = body.split_at_checked(SNAPSHOT_HEAD_BYTES)?;
    let ids_of = |count: u32, from: &[u8]| -> Option<(Vec<u64>, usize)> {
        let len = (count as usize).checked_mul(8)?;
        let ids = from.get(..len)?.chunks_exact(8);
        Some((ids.map(|id| u64_at(id, 0)).collect(), len))
    };
    let (voters, len) = ids_of(u32_at(head, 16), rest)?;
    let rest = &rest[len..];
    let (learners, len) = ids_of(u32_at(head, 20), rest)?;
    Some(ControlSnapshot {
        index: u64_at(head, 0),
        term: u64_at(head, 8),
        voters,
        learners,
        data: rest[len..].to_vec(),
    })
}
