//! The agreed log on this node's disk: opened, and in the words of both rooms that it stands between.

use crate::entry::Entry;
use brickyard_consensus::{self as consensus, Consensus, EntryKind, RecoveredState};
use brickyard_metadata::{Catalog, NodeKey, StoredError};
use brickyard_store::{
    ControlEntry, ControlHardState, ControlLog, ControlLogError, ControlSnapshot, ControlState,
    DirectoryId, Disk, PageCache,
};

/// Why a node cannot go on with what its directory has of the cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The control log cannot be opened or written.
    #[error(transparent)]
    Log(#[from] ControlLogError),
    /// The control log's snapshot is no catalog.
    #[error("the control log's snapshot: {0}")]
    Snapshot(#[from] StoredError),
    /// The control log contradicts itself.
    #[error("the control log contradicts itself: {0}; restore the data directory from a copy")]
    Contradiction(String),
    /// Another program wrote an entry.
    #[error(
        "entry {0} of the control log is of a kind that this program does not know: start the program \
         that wrote it"
    )]
    UnknownEntry(u64),
}

/// The data directory, for what the cluster's part keeps there. Locked by the node.
#[derive(Clone, Debug)]
pub struct Directory<D> {
    /// Its files.
    pub disk: D,
    /// Its id, which its files carry.
    pub id: DirectoryId,
    /// Whose it is.
    pub node: NodeKey,
}

/// The log, and what was in it.
#[derive(Debug)]
pub struct Stored<D: Disk> {
    /// For what comes next.
    pub log: ControlLog<D>,
    /// What the agreement begins with.
    pub recovered: RecoveredState,
    /// As of the last entry that is known to be committed; `None`: nothing came here yet.
    pub catalog: Option<Catalog>,
}

/// Opens what the directory has; `None` if it has no log.
///
/// # Errors
/// [`StorageError`]: the node cannot start with this directory.
pub fn open<D: Disk>(
    directory: &Directory<D>,
    page_cache: PageCache,
) -> Result<Option<Stored<D>>, StorageError> {
    let opened = ControlLog::open(directory.disk.clone(), directory.id, page_cache)?;
    let Some(opened) = opened else {
        return Ok(None);
    };
    if opened.cut_bytes > 0 {
        tracing::info!(
            bytes = opened.cut_bytes,
            "a torn tail of the control log was cut"
        );
    }
    let recovered = recovered(opened.state)?;
    Ok(Some(Stored {
        log: opened.log,
        catalog: catalog(&recovered)?,
        recovered,
    }))
}

/// The catalog that a log comes to, which was read without being opened; `None`: nothing came to it yet.
///
/// # Errors
/// [`StorageError`]: a node cannot start with it.
pub fn catalog_of(state: ControlState) -> Result<Option<Catalog>, StorageError> {
    catalog(&recovered(state)?)
}

/// Makes the log of a cluster of one node, whose first state is `catalog`.
///
/// # Errors
/// [`StorageError`]: there is no log.
pub fn found<D: Disk>(
    directory: &Directory<D>,
    catalog: &Catalog,
) -> Result<Stored<D>, StorageError> {
    let key = directory.node;
    let Some(node) = catalog.node_by_key(&key) else {
        let what = format!("its catalog does not have node {key}, which this directory is of");
        return Err(StorageError::Contradiction(what));
    };
    let recovered = Consensus::bootstrap(crate::raft_id(node.id), catalog.encode());
    create(directory, recovered, Some(catalog.clone()))
}

/// Makes the log of a node that was taken into a cluster, and has nothing of it yet.
///
/// # Errors
/// [`StorageError`]: there is no log.
pub fn joined<D: Disk>(directory: &Directory<D>) -> Result<Stored<D>, StorageError> {
    create(directory, RecoveredState::default(), None)
}

fn create<D: Disk>(
    directory: &Directory<D>,
    recovered: RecoveredState,
    catalog: Option<Catalog>,
) -> Result<Stored<D>, StorageError> {
    let state = ControlState {
        hard_state: hard_state(recovered.hard_state),
        snapshot: recovered.snapshot.clone().map(snapshot),
        entries: recovered.entries.clone().into_iter().map(entry).collect(),
    };
    Ok(Stored {
        log: ControlLog::create(directory.disk.clone(), directory.id, &state)?,
        recovered,
        catalog,
    })
}

/// The state machine at the last entry that is known to be committed.
fn catalog(recovered: &RecoveredState) -> Result<Option<Catalog>, StorageError> {
    let Some(snapshot) = &recovered.snapshot else {
        return Ok(None);
    };
    let mut catalog = Catalog::decode(&snapshot.data)?;
    let committed = |entry: &&consensus::LogEntry| {
        entry.index <= recovered.hard_state.commit
            && entry.kind == EntryKind::Data
            && !entry.data.is_empty()
    };
    for entry in recovered.entries.iter().filter(committed) {
        let known = Entry::decode(&entry.data).ok_or(StorageError::UnknownEntry(entry.index))?;
        // A refusal was told to whoever asked, and changes nothing.
        drop(known.apply(&mut catalog));
    }
    Ok(Some(catalog))
}

fn recovered(state: ControlState) -> Result<RecoveredState, StorageError> {
    let ControlHardState { term, vote, commit } = state.hard_state;
    let entries = state.entries.into_iter().map(|entry| {
        let kind =
            EntryKind::try_from(entry.kind).map_err(|_| StorageError::UnknownEntry(entry.index))?;
        Ok(consensus::LogEntry {
            index: entry.index,
            term: entry.term,
            kind,
            data: entry.data,
        })
    });
    Ok(RecoveredState {
        hard_state: consensus::HardState { term, vote, commit },
        snapshot: state.snapshot.map(|it| consensus::Snapshot {
            index: it.index,
            term: it.term,
            voters: it.voters,
            learners: it.learners,
            data: it.data,
        }),
        entries: entries.collect::<Result<_, StorageError>>()?,
    })
}

pub(crate) fn hard_state(state: consensus::HardState) -> ControlHardState {
    let consensus::HardState { term, vote, commit } = state;
    ControlHardState { term, vote, commit }
}

pub(crate) fn entry(entry: consensus::LogEntry) -> ControlEntry {
    ControlEntry {
        index: entry.index,
        term: entry.term,
        kind: entry.kind as u8,
        data: entry.data,
    }
}

pub(crate) fn snapshot(snapshot: consensus::Snapshot) -> ControlSnapshot {
    let consensus::Snapshot {
        index,
        term,
        voters,
        learners,
        data,
    } = snapshot;
    ControlSnapshot {
        index,
        term,
        voters,
        learners,
        data,
    }
}
