//! A node's disk: the store's control log on a disk in memory, whose power can be cut.

use super::Random;
use crate::{EntryKind, HardState, LogEntry, Persist, RecoveredState, Snapshot};
use brickyard_store::{
    ControlEntry, ControlHardState, ControlLog, ControlSnapshot, ControlState, DirectoryId,
    MemDisk, PageCache,
};

const DIRECTORY: DirectoryId = DirectoryId(*b"agreement-tests-");

pub(crate) struct Disk {
    disk: MemDisk,
    /// `None`: the node is down.
    log: Option<ControlLog<MemDisk>>,
}

impl Disk {
    pub(crate) fn new(seed: u64, recovered: RecoveredState) -> Self {
        let disk = MemDisk::new(seed);
        let state = state_of(recovered);
        ControlLog::create(disk.clone(), DIRECTORY, &state).unwrap();
        Self { disk, log: None }
    }

    pub(crate) fn write(&mut self, persist: Persist) {
        let must_sync = persist.must_sync;
        self.write_unsynced(persist);
        if must_sync {
            self.log.as_mut().unwrap().sync().unwrap();
        }
    }

    /// The power goes, while `writing` is on its way.
    pub(crate) fn power_cut(&mut self, writing: Vec<Persist>, random: &mut Random) {
        let begun = random.below(writing.len() as u64 + 1);
        for persist in writing.into_iter().take(usize::try_from(begun).unwrap()) {
            self.write_unsynced(persist);
        }
        self.log = None;
        self.disk.power_cut();
    }

    pub(crate) fn recover(&mut self) -> RecoveredState {
        let opened = ControlLog::open(self.disk.clone(), DIRECTORY, PageCache::MaybeLost);
        let opened = opened.unwrap().unwrap();
        self.log = Some(opened.log);
        recovered_of(opened.state)
    }

    fn write_unsynced(&mut self, persist: Persist) {
        let log = self.log.as_mut().unwrap();
        let Some(snapshot) = persist.snapshot else {
            let entries: Vec<_> = persist.entries.into_iter().map(entry_of).collect();
            let hard_state = persist.hard_state.map(hard_state_of);
            return log.append(hard_state, &entries).unwrap();
        };
        let state = state_of(RecoveredState {
            hard_state: persist.hard_state.unwrap(),
            snapshot: Some(snapshot),
            entries: persist.entries,
        });
        log.replace(&state).unwrap();
    }
}

fn hard_state_of(hard_state: HardState) -> ControlHardState {
    let HardState { term, vote, commit } = hard_state;
    ControlHardState { term, vote, commit }
}

fn entry_of(entry: LogEntry) -> ControlEntry {
    ControlEntry {
        index: entry.index,
        term: entry.term,
        kind: entry.kind as u8,
        data: entry.data,
    }
}

fn state_of(recovered: RecoveredState) -> ControlState {
    ControlState {
        hard_state: hard_state_of(recovered.hard_state),
        snapshot: recovered.snapshot.map(|it| ControlSnapshot {
            index: it.index,
            term: it.term,
            voters: it.voters,
            learners: it.learners,
            data: it.data,
        }),
        entries: recovered.entries.into_iter().map(entry_of).collect(),
    }
}

fn recovered_of(state: ControlState) -> RecoveredState {
    let ControlHardState { term, vote, commit } = state.hard_state;
    RecoveredState {
        hard_state: HardState { term, vote, commit },
        snapshot: state.snapshot.map(|it| Snapshot {
            index: it.index,
            term: it.term,
            voters: it.voters,
            learners: it.learners,
            data: it.data,
        }),
        entries: state
            .entries
            .into_iter()
            .map(|it| LogEntry {
                index: it.index,
                term: it.term,
                kind: EntryKind::try_from(it.kind).unwrap(),
                data: it.data,
            })
            .collect(),
    }
}
