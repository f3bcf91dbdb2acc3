//! The agreed log on this node's disk: opened, and in the words of both rooms that it stands between.

use super::Directory;
use super::entry::Entry;
use crate::control::{CatalogError, CatalogFile};
use brickyard_consensus::{self as consensus, Consensus, EntryKind, Recovered};
use brickyard_metadata::{Catalog, NodeKey, StoredError};
use brickyard_store::{
    ControlEntry, ControlHardState, ControlLog, ControlLogError, ControlSnapshot, ControlState,
    DataDir, OsDisk,
};

/// Why a node cannot go on with what its directory has of the cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The control log cannot be opened or written.
    #[error(transparent)]
    Log(#[from] ControlLogError),
    /// The file of a version that kept the catalog alone.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The control log's snapshot is no catalog.
    #[error("the control log's snapshot: {0}")]
    Snapshot(#[from] StoredError),
    /// The control log contradicts itself.
    #[error("the control log contradicts itself: {0}; restore the data directory from a copy")]
    Contradiction(String),
    /// A newer program wrote an entry.
    #[error(
        "entry {0} of the control log is of a kind that this version does not know: start the version \
         that wrote it, or a newer one"
    )]
    Newer(u64),
    /// A file beside the control log cannot be read or written.
    #[error("cannot use {file}: {source}")]
    File {
        /// Which file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The log, and what was in it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) log: ControlLog<OsDisk>,
    pub(crate) recovered: Recovered,
    /// As of the last entry that is known to be committed; `None`: nothing came here yet.
    pub(crate) catalog: Option<Catalog>,
}

/// Opens what the directory has; `None` if it is of no cluster yet.
pub(crate) fn open(directory: &DataDir) -> Result<Option<Stored>, ClusterError> {
    let disk = directory.disk().clone();
    let opened = ControlLog::open(disk, directory.directory(), directory.page_cache())?;
    if let Some(opened) = opened {
        if opened.cut_bytes > 0 {
            tracing::info!(
                bytes = opened.cut_bytes,
                "a torn tail of the control log was cut"
            );
        }
        let recovered = recovered(opened.state)?;
        return Ok(Some(Stored {
            log: opened.log,
            catalog: catalog(&recovered)?,
            recovered,
        }));
    }
    // A version before this one kept the catalog alone. It had one node, which was a cluster of its own.
    match CatalogFile::new(directory.disk().clone()).load()? {
        Some(catalog) if catalog.nodes().len() == 1 => {
            Ok(Some(found(&Directory::of(directory), &catalog)?))
        }
        Some(_) => {
            let what = "it is missing, and a copy of a catalog of several nodes is there";
            Err(ClusterError::Contradiction(what.to_owned()))
        }
        None => Ok(None),
    }
}

/// Makes the log of a cluster of one node, whose first state is `catalog`.
pub(crate) fn found(directory: &Directory, catalog: &Catalog) -> Result<Stored, ClusterError> {
    let key = NodeKey(directory.node.0);
    let Some(node) = catalog.node_by_key(&key) else {
        let what = format!("its catalog does not have node {key}, which this directory is of");
        return Err(ClusterError::Contradiction(what));
    };
    let recovered = Consensus::bootstrap(super::raft_id(node.id), catalog.encode());
    create(directory, recovered, Some(catalog.clone()))
}

/// Makes the log of a node that was taken into a cluster, and has nothing of it yet.
pub(crate) fn joined(directory: &Directory) -> Result<Stored, ClusterError> {
    create(directory, Recovered::default(), None)
}

fn create(
    directory: &Directory,
    recovered: Recovered,
    catalog: Option<Catalog>,
) -> Result<Stored, ClusterError> {
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
fn catalog(recovered: &Recovered) -> Result<Option<Catalog>, ClusterError> {
    let Some(snapshot) = &recovered.snapshot else {
        return Ok(None);
    };
    let mut catalog = Catalog::decode(&snapshot.data)?;
    let committed = |entry: &&consensus::Entry| {
        entry.index <= recovered.hard_state.commit
            && entry.kind == EntryKind::Data
            && !entry.data.is_empty()
    };
    for entry in recovered.entries.iter().filter(committed) {
        let known = Entry::decode(&entry.data).ok_or(ClusterError::Newer(entry.index))?;
        // A refusal was told to whoever asked, and changes nothing.
        drop(known.apply(&mut catalog));
    }
    Ok(Some(catalog))
}

fn recovered(state: ControlState) -> Result<Recovered, ClusterError> {
    let ControlHardState { term, vote, commit } = state.hard_state;
    let entries = state.entries.into_iter().map(|entry| {
        let kind = EntryKind::try_from(entry.kind).map_err(|_| ClusterError::Newer(entry.index))?;
        Ok(consensus::Entry {
            index: entry.index,
            term: entry.term,
            kind,
            data: entry.data,
        })
    });
    Ok(Recovered {
        hard_state: consensus::HardState { term, vote, commit },
        snapshot: state.snapshot.map(|it| consensus::Snapshot {
            index: it.index,
            term: it.term,
            voters: it.voters,
            learners: it.learners,
            data: it.data,
        }),
        entries: entries.collect::<Result<_, ClusterError>>()?,
    })
}

pub(super) fn hard_state(state: consensus::HardState) -> ControlHardState {
    let consensus::HardState { term, vote, commit } = state;
    ControlHardState { term, vote, commit }
}

pub(super) fn entry(entry: consensus::Entry) -> ControlEntry {
    ControlEntry {
        index: entry.index,
        term: entry.term,
        kind: entry.kind as u8,
        data: entry.data,
    }
}

pub(super) fn snapshot(snapshot: consensus::Snapshot) -> ControlSnapshot {
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
