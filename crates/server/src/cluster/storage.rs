//! What the data directory has of a cluster.

use super::error::ClusterError;
use crate::control::CatalogFile;
use brickyard_metadata::Catalog;
use brickyard_node::discovery::{Kept, kept};
use brickyard_node::storage::{self, StorageError};
use brickyard_store::{DataDir, Disk as _, OsDisk};

/// The data directory, for what the cluster's part keeps there. Locked by the node.
pub(crate) type Directory = storage::Directory<OsDisk>;

/// The part of it that is needed here.
pub(crate) fn directory_of(directory: &DataDir) -> Directory {
    Directory {
        disk: directory.disk().clone(),
        id: directory.directory(),
        node: directory.node(),
    }
}

/// The control log, and what was in it.
pub(crate) type Stored = storage::Stored<OsDisk>;

/// Opens what the directory has; `None` if it is of no cluster yet.
pub(crate) fn open(directory: &DataDir) -> Result<Option<Stored>, ClusterError> {
    let own = directory_of(directory);
    let stored = storage::open(&own, directory.page_cache())?;
    if stored.is_none() && CatalogFile::new(directory.disk().clone()).is_there()? {
        // The copy is written after the log: what this node promised as a voter is lost.
        let what = "it is missing, and a copy of its catalog is there";
        return Err(StorageError::Contradiction(what.to_owned()).into());
    }
    Ok(stored)
}

/// What it has while it is of no cluster.
pub(crate) fn load_kept(disk: &OsDisk) -> Result<Kept, ClusterError> {
    kept::load(disk).map_err(|source| ClusterError::File {
        file: disk.describe(kept::NAME),
        source,
    })
}

/// Makes the log of a cluster of one node, whose first state is `catalog`.
pub(crate) fn found(directory: &Directory, catalog: &Catalog) -> Result<Stored, ClusterError> {
    Ok(storage::found(directory, catalog)?)
}
