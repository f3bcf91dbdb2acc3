//! Messages between nodes, byte by byte.
//!
//! ```text
//!  0  u8   version, 1                   1  u8   what it is
//!  2  u8   flags                        3  u8   0
//!  4  u64  to          12  u64  from        20  u64  term
//! 28  u64  log term    36  u64  index       44  u64  commit
//! 52  u64  commit term 60  u64  reject hint 68  u64  round
//! 76  append: number of entries u32, then each: term u64, kind u8, length u32, data
//!     snapshot: index u64, term u64, voters u32, learners u32, their ids u64 each, the rest data
//! ```
//! All numbers are little-endian.
//!
//! Invariants:
//! - Decoding never panics, and reserves no more than the bytes there are.
//! - A message that decodes could have been sent: the fields that the library takes for granted are
//!   sound in themselves. Whether they fit this node's state is looked at by `plausible`.
//!
//! Not here: checksums and who really sent it (the connection's).

use crate::log::{entry_of_library, entry_to_library, snapshot_of_library, snapshot_to_library};
use crate::members::ConfChange;
use crate::refused::Rejected;
use crate::state::{EntryKind, LogEntry, Snapshot};
use raft::CAMPAIGN_TRANSFER;
use raft::eraftpb::{Message, MessageType};

/// The version that is written; a higher one is refused.
pub(crate) const VERSION: u8 = 1;

/// No term, index or id reaches this: one that does is garbage, and adding to it may not overflow.
pub(crate) const NUMBER_MAX: u64 = 1 << 60;

const ENTRY_HEAD_BYTES: usize = 13;
const FLAG_REJECT: u8 = 1;
const FLAG_TRANSFER: u8 = 2;

/// What is sent, with its number on the wire.
const KINDS: [(MessageType, u8); 10] = [
    (MessageType::MsgAppend, 1),
    (MessageType::MsgAppendResponse, 2),
    (MessageType::MsgRequestVote, 3),
    (MessageType::MsgRequestVoteResponse, 4),
    (MessageType::MsgSnapshot, 5),
    (MessageType::MsgHeartbeat, 6),
    (MessageType::MsgHeartbeatResponse, 7),
    (MessageType::MsgTimeoutNow, 8),
    (MessageType::MsgRequestPreVote, 9),
    (MessageType::MsgRequestPreVoteResponse, 10),
];

/// `None` for what this room never sends.
pub(crate) fn encode(message: &Message) -> Option<Vec<u8>> {
    let kind = message.get_msg_type();
    let (_, number) = KINDS.iter().find(|(known, _)| *known == kind)?;
    // Its receiver takes no other.
    assert!(
        message.to != 0 && message.from != 0 && message.term != 0,
        "a message of {} for {} in term {}",
        message.from,
        message.to,
        message.term
    );
    let is_transfer = message.context[..] == *CAMPAIGN_TRANSFER;
    let mut flags = 0;
    if message.reject {
        flags |= FLAG_REJECT;
    }
    if is_transfer {
        flags |= FLAG_TRANSFER;
    }
    let round = <[u8; 8]>::try_from(&message.context[..]).map_or(0, u64::from_le_bytes);
    let mut bytes = vec![VERSION, *number, flags, 0];
    for field in [
        message.to,
        message.from,
        message.term,
        message.log_term,
        message.index,
        message.commit,
        message.commit_term,
        message.reject_hint,
        round,
    ] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    match kind {
        MessageType::MsgAppend => {
            bytes.extend_from_slice(&u32::try_from(message.entries.len()).ok()?.to_le_bytes());
            for entry in message.get_entries() {
                let entry = entry_of_library(entry);
                bytes.extend_from_slice(&entry.term.to_le_bytes());
                bytes.push(entry.kind as u8);
                bytes.extend_from_slice(&u32::try_from(entry.data.len()).ok()?.to_le_bytes());
                bytes.extend_from_slice(&entry.data);
            }
        }
        MessageType::MsgSnapshot => {
            let snapshot = snapshot_of_library(message.get_snapshot());
            bytes.extend_from_slice(&snapshot.index.to_le_bytes());
            bytes.extend_from_slice(&snapshot.term.to_le_bytes());
            for ids in [&snapshot.voters, &snapshot.learners] {
                bytes.extend_from_slice(&u32::try_from(ids.len()).ok()?.to_le_bytes());
            }
            for id in snapshot.voters.iter().chain(&snapshot.learners) {
                bytes.extend_from_slice(&id.to_le_bytes());
            }
            bytes.extend_from_slice(&snapshot.data);
        }
        _ => {}
    }
    Some(bytes)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Message, Rejected> {
    let mut rest = Rest(bytes);
    match rest.u8()? {
        0 => return Err(Rejected::Malformed("version 0")),
        VERSION => {}
        newer => return Err(Rejected::Version(newer)),
    }
    let number = rest.u8()?;
    let kind = KINDS
        .iter()
        .find(|(_, known)| *known == number)
        .map(|(kind, _)| *kind)
        .ok_or(Rejected::Malformed("unknown kind"))?;
    let flags = rest.u8()?;
    if flags & !(FLAG_REJECT | FLAG_TRANSFER) != 0 || rest.u8()? != 0 {
        return Err(Rejected::Malformed("unknown flag"));
    }
    let mut message = Message::default();
    message.set_msg_type(kind);
    message.reject = flags & FLAG_REJECT != 0;
    for field in [
        &mut message.to,
        &mut message.from,
        &mut message.term,
        &mut message.log_term,
        &mut message.index,
        &mut message.commit,
        &mut message.commit_term,
        &mut message.reject_hint,
    ] {
        *field = rest.number()?;
    }
    let round = rest.number()?;
    if flags & FLAG_TRANSFER != 0 {
        message.context = CAMPAIGN_TRANSFER.to_vec().into();
    } else if round != 0 {
        message.context = round.to_le_bytes().to_vec().into();
    }
    if message.to == 0 || message.from == 0 || message.term == 0 {
        return Err(Rejected::Malformed("no sender, receiver or term"));
    }
    match kind {
        MessageType::MsgAppend => {
            let entries = decode_entries(&mut rest, &message)?;
            let entries: Vec<_> = entries.into_iter().map(entry_to_library).collect();
            message.set_entries(entries.into());
        }
        MessageType::MsgSnapshot => {
            let snapshot = decode_snapshot(&mut rest, message.term)?;
            message.set_snapshot(snapshot_to_library(snapshot));
        }
        _ => {}
    }
    if !rest.0.is_empty() {
        return Err(Rejected::Malformed("something behind it"));
    }
    Ok(message)
}

fn decode_entries(rest: &mut Rest<'_>, message: &Message) -> Result<Vec<LogEntry>, Rejected> {
    // Entry 0 is the only one of term 0: the library takes a term of 0 elsewhere for a match.
    if (message.index == 0) != (message.log_term == 0) {
        return Err(Rejected::Malformed("no term before the entries"));
    }
    let count = rest.u32()? as usize;
    let mut entries = Vec::with_capacity(count.min(rest.0.len() / ENTRY_HEAD_BYTES));
    let mut term_before = message.log_term;
    for index in (message.index + 1..).take(count) {
        let term = rest.number()?;
        let kind = EntryKind::try_from(rest.u8()?)
            .map_err(|_| Rejected::Malformed("unknown kind of entry"))?;
        let len = rest.u32()? as usize;
        let data = rest.take(len)?.to_vec();
        if term == 0 || term < term_before || term > message.term {
            return Err(Rejected::Malformed("terms out of order"));
        }
        if kind == EntryKind::Membership && ConfChange::decode(&data).is_none() {
            return Err(Rejected::Malformed("unknown change of membership"));
        }
        term_before = term;
        entries.push(LogEntry {
            index,
            term,
            kind,
            data,
        });
    }
    Ok(entries)
}

fn decode_snapshot(rest: &mut Rest<'_>, term_max: u64) -> Result<Snapshot, Rejected> {
    let (index, term) = (rest.number()?, rest.number()?);
    let (voters, learners) = (rest.u32()? as usize, rest.u32()? as usize);
    let mut ids = |count: usize| -> Result<Vec<u64>, Rejected> {
        let mut ids = Vec::with_capacity(count.min(rest.0.len() / 8));
        for _ in 0..count {
            ids.push(rest.number()?);
        }
        Ok(ids)
    };
    let (voters, learners) = (ids(voters)?, ids(learners)?);
    let data = std::mem::take(&mut rest.0).to_vec();
    let snapshot = Snapshot {
        index,
        term,
        voters,
        learners,
        data,
    };
    if index == 0 || term == 0 || term > term_max || !crate::log::members_of(&snapshot).is_sound() {
        return Err(Rejected::Malformed("a snapshot of nothing"));
    }
    Ok(snapshot)
}

/// What was not read yet.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], Rejected> {
        let split = self.0.split_at_checked(count);
        let (taken, rest) = split.ok_or(Rejected::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Rejected> {
        let split = self.0.split_first_chunk();
        let (taken, rest) = split.ok_or(Rejected::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, Rejected> {
        self.array().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, Rejected> {
        self.array().map(u32::from_le_bytes)
    }

    /// A term, index, id or the like.
    fn number(&mut self) -> Result<u64, Rejected> {
        let number = self.array().map(u64::from_le_bytes)?;
        if number >= NUMBER_MAX {
            return Err(Rejected::Malformed("a number too high"));
        }
        Ok(number)
    }
}

#[cfg(test)]
#[path = "wire_test.rs"]
mod wire_test;
