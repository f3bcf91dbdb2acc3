//! What the log holds, without what it means.

/// A node's promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlHardState {
    /// The latest term that it has seen.
    pub term: u64,
    /// Whom it voted for in that term; 0: nobody.
    pub vote: u64,
    /// Entries up to here are known to be committed.
    pub commit: u64,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlEntry {
    /// Its place; entries are consecutive.
    pub index: u64,
    /// The term of the leader that made it.
    pub term: u64,
    /// Whose business it is; the caller's affair.
    pub kind: u8,
    /// The caller's affair.
    pub data: Vec<u8>,
}

/// The state machine at an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlSnapshot {
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// Who votes.
    pub voters: Vec<u64>,
    /// Who learns.
    pub learners: Vec<u64>,
    /// The caller's affair.
    pub data: Vec<u8>,
}

/// The latest of everything. The entries are consecutive and begin behind the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlState {
    /// The promise.
    pub hard_state: ControlHardState,
    /// The snapshot, if there is one.
    pub snapshot: Option<ControlSnapshot>,
    /// The entries behind it.
    pub entries: Vec<ControlEntry>,
}

impl ControlState {
    /// Takes over entries that replace what is there from the first one's index on; `false`, and
    /// nothing happens, if they do not follow one another or what is there.
    pub(crate) fn take(&mut self, entries: Vec<ControlEntry>) -> bool {
        let Some(first) = entries.first() else {
            return true;
        };
        let base = self.snapshot.as_ref().map_or(0, |it| it.index);
        let follows = |from: u64, to: u64| from.checked_add(1) == Some(to);
        let are_consecutive = entries
            .windows(2)
            .all(|pair| follows(pair[0].index, pair[1].index));
        let Some(kept) = first
            .index
            .checked_sub(1)
            .and_then(|it| it.checked_sub(base))
        else {
            return false;
        };
        if kept > self.entries.len() as u64 || !are_consecutive {
            return false;
        }
        // At most the length.
        self.entries.truncate(kept as usize);
        self.entries.extend(entries);
        let last = self.entries.last().map(|last| last.index);
        assert_eq!(
            last,
            Some(base + self.entries.len() as u64),
            "entries follow the snapshot"
        );
        true
    }
}
