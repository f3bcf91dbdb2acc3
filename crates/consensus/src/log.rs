//! The log in memory, as the library reads it.
//!
//! In:  what was handed out to be stored. Out: entries, terms and snapshots for followers.
//!
//! Invariants:
//! - The entries are consecutive and begin behind `trimmed`, which is at or below the snapshot.
//! - A snapshot is only given to a node that it knows as a member: others would not take it.
//!
//! Not here: the log on the disk (the caller's).

use crate::members::Members;
use crate::state::{EntryKind, LogEntry, RecoveredState, Snapshot};
use raft::eraftpb::{self, EntryType, HardState};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};
use std::cell::Cell;
use std::collections::VecDeque;

pub(crate) struct Log {
    /// For the library's start alone.
    first: RaftState,
    snapshot: Option<eraftpb::Snapshot>,
    /// Index and term of the entry before the first that is kept.
    trimmed: (u64, u64),
    entries: VecDeque<eraftpb::Entry>,
    /// Set when a follower needs a snapshot that is not there.
    is_snapshot_missing: Cell<bool>,
}

impl Log {
    pub(crate) fn new(recovered: RecoveredState) -> Self {
        let members = recovered.snapshot.as_ref().map(members_of);
        let mut hard_state = HardState::default();
        hard_state.term = recovered.hard_state.term;
        hard_state.vote = recovered.hard_state.vote;
        hard_state.commit = recovered.hard_state.commit;
        let trimmed = recovered
            .snapshot
            .as_ref()
            .map_or((0, 0), |snapshot| (snapshot.index, snapshot.term));
        Self {
            first: RaftState::new(hard_state, members.unwrap_or_default().library()),
            snapshot: recovered.snapshot.map(snapshot_to_library),
            trimmed,
            entries: recovered
                .entries
                .into_iter()
                .map(entry_to_library)
                .collect(),
            is_snapshot_missing: Cell::new(false),
        }
    }

    pub(crate) fn first(&self) -> u64 {
        self.trimmed.0 + 1
    }

    pub(crate) fn last(&self) -> u64 {
        self.trimmed.0 + self.entries.len() as u64
    }

    pub(crate) fn snapshot_index(&self) -> u64 {
        self.snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.get_metadata().index)
    }

    /// Whether a follower needed a snapshot that was not there since this was asked last.
    pub(crate) fn take_snapshot_missing(&self) -> bool {
        self.is_snapshot_missing.take()
    }

    /// The entries behind `index`.
    pub(crate) fn after(&self, index: u64) -> impl Iterator<Item = &eraftpb::Entry> {
        let skipped = (index + 1).saturating_sub(self.first());
        self.entries
            .iter()
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
    }

    /// Replaces what is there from the first one's index on.
    pub(crate) fn append(&mut self, entries: &[eraftpb::Entry]) {
        let Some(first) = entries.first() else {
            return;
        };
        assert!(
            (self.first()..=self.last() + 1).contains(&first.index),
            "entry {} does not follow entries {} to {}",
            first.index,
            self.first(),
            self.last()
        );
        let last = first.index + entries.len() as u64 - 1;
        self.entries
            .truncate(usize::try_from(first.index - self.first()).unwrap_or(usize::MAX));
        self.entries.extend(entries.iter().cloned());
        assert_eq!(self.last(), last, "the log ends with what was appended");
        self.check();
    }

    /// Begins anew from a leader's snapshot.
    pub(crate) fn restore(&mut self, snapshot: eraftpb::Snapshot) {
        let metadata = snapshot.get_metadata();
        assert!(
            metadata.index >= self.snapshot_index(),
            "a leader's snapshot of {} is before that of {}",
            metadata.index,
            self.snapshot_index()
        );
        self.trimmed = (metadata.index, metadata.term);
        self.entries.clear();
        self.snapshot = Some(snapshot);
        self.check();
    }

    /// Takes the state machine's own snapshot and forgets entries before it, but for `kept`.
    pub(crate) fn compact(&mut self, snapshot: Snapshot, kept: u64) {
        assert!(
            (self.snapshot_index()..=self.last()).contains(&snapshot.index),
            "a snapshot of {}, after one of {} of a log that ends at {}",
            snapshot.index,
            self.snapshot_index(),
            self.last()
        );
        let until = snapshot.index.saturating_sub(kept);
        while self.trimmed.0 < until {
            let Some(entry) = self.entries.pop_front() else {
                break;
            };
            self.trimmed = (entry.index, entry.term);
        }
        self.snapshot = Some(snapshot_to_library(snapshot));
        self.check();
    }

    fn check(&self) {
        assert!(
            self.trimmed.0 <= self.snapshot_index(),
            "entries up to {} are gone, and the snapshot is of {}",
            self.trimmed.0,
            self.snapshot_index()
        );
        if let (Some(first), Some(last)) = (self.entries.front(), self.entries.back()) {
            assert_eq!(first.index, self.first(), "the first entry");
            assert_eq!(last.index, self.last(), "an entry is missing");
            assert!(
                self.trimmed.1 <= first.term && first.term <= last.term,
                "terms go down: {}, {}, {}",
                self.trimmed.1,
                first.term,
                last.term
            );
        }
    }

    pub(crate) fn term_at(&self, index: u64) -> Result<u64, StorageError> {
        if index == self.trimmed.0 {
            return Ok(self.trimmed.1);
        }
        if index < self.first() {
            return Err(StorageError::Compacted);
        }
        let place = usize::try_from(index - self.first()).unwrap_or(usize::MAX);
        let entry = self.entries.get(place).ok_or(StorageError::Unavailable)?;
        Ok(entry.term)
    }
}

impl Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(self.first.clone())
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        bytes_max: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        if low < self.first() {
            return Err(Error::Store(StorageError::Compacted));
        }
        if high > self.last() + 1 {
            return Err(Error::Store(StorageError::Unavailable));
        }
        let bytes_max = bytes_max.into().unwrap_or(u64::MAX);
        let mut bytes = 0u64;
        let wanted = self.after(low - 1).take_while(|entry| entry.index < high);
        // At least one, however long it is.
        let fitting = wanted.take_while(|entry| {
            let is_first = bytes == 0;
            bytes += entry.data.len() as u64 + ENTRY_OVERHEAD_BYTES;
            is_first || bytes <= bytes_max
        });
        Ok(fitting.cloned().collect())
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        self.term_at(index).map_err(Error::Store)
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<eraftpb::Snapshot> {
        let fitting = self.snapshot.as_ref().filter(|snapshot| {
            let metadata = snapshot.get_metadata();
            metadata.index >= request_index && Members::of(metadata.get_conf_state()).contains(to)
        });
        fitting.cloned().ok_or_else(|| {
            self.is_snapshot_missing.set(true);
            Error::Store(StorageError::SnapshotTemporarilyUnavailable)
        })
    }
}

/// What an entry takes besides its data, about.
const ENTRY_OVERHEAD_BYTES: u64 = 32;

pub(crate) fn members_of(snapshot: &Snapshot) -> Members {
    Members {
        voters: snapshot.voters.clone(),
        learners: snapshot.learners.clone(),
    }
}

/// The library sees that an entry is about membership, and keeps our encoding of the change in
/// the context: so nothing is ever decoded from the library's own encoding.
pub(crate) fn entry_to_library(entry: LogEntry) -> eraftpb::Entry {
    let mut library = eraftpb::Entry {
        index: entry.index,
        term: entry.term,
        ..eraftpb::Entry::default()
    };
    match entry.kind {
        EntryKind::Data => library.data = entry.data.into(),
        EntryKind::Membership => {
            library.set_entry_type(EntryType::EntryConfChangeV2);
            library.context = entry.data.into();
        }
    }
    library
}

pub(crate) fn entry_of_library(entry: &eraftpb::Entry) -> LogEntry {
    let (kind, data) = match entry.get_entry_type() {
        EntryType::EntryNormal => (EntryKind::Data, &entry.data),
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
            (EntryKind::Membership, &entry.context)
        }
    };
    LogEntry {
        index: entry.index,
        term: entry.term,
        kind,
        data: data.to_vec(),
    }
}

pub(crate) fn snapshot_to_library(snapshot: Snapshot) -> eraftpb::Snapshot {
    let members = members_of(&snapshot);
    let mut library = eraftpb::Snapshot::default();
    let metadata = library.mut_metadata();
    metadata.index = snapshot.index;
    metadata.term = snapshot.term;
    metadata.set_conf_state(members.library());
    library.data = snapshot.data.into();
    library
}

pub(crate) fn snapshot_of_library(library: &eraftpb::Snapshot) -> Snapshot {
    let metadata = library.get_metadata();
    let members = Members::of(metadata.get_conf_state());
    Snapshot {
        index: metadata.index,
        term: metadata.term,
        voters: members.voters,
        learners: members.learners,
        data: library.data.to_vec(),
    }
}

#[cfg(test)]
#[path = "log_test.rs"]
mod log_test;
