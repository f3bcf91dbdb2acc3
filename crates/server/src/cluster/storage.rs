//! What the data directory has of a cluster.

use super::{Directory, directory_of};
use crate::control::{CatalogError, CatalogFile};
use brickyard_metadata::Catalog;
use brickyard_node::forming::{Kept, kept};
use brickyard_node::storage::{self, StorageError};
use brickyard_store::{DataDir, Disk as _, OsDisk};

/// Why a node cannot go on with what its directory has of the cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The control log cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The file of a version that kept the catalog alone.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A file beside the control log cannot be read or written.
    #[error("cannot use {file}: {source}")]
    File {
        /// Which file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The control log, and what was in it.
pub(crate) type Stored = storage::Stored<OsDisk>;

/// Opens what the directory has; `None` if it is of no cluster yet.
pub(crate) fn open(directory: &DataDir) -> Result<Option<Stored>, ClusterError> {
    let own = directory_of(directory);
    if let Some(stored) = storage::open(&own, directory.page_cache())? {
        return Ok(Some(stored));
    }
    // A version before this one kept the catalog alone. It had one node, which was a cluster of its own.
    match CatalogFile::new(directory.disk().clone()).load()? {
        Some(catalog) if catalog.nodes().len() == 1 => Ok(Some(found(&own, &catalog)?)),
        Some(_) => {
            let what = "it is missing, and a copy of a catalog of several nodes is there";
            Err(StorageError::Contradiction(what.to_owned()).into())
        }
        None => Ok(None),
    }
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

/// Makes the log of a node that was taken into a cluster, and has nothing of it yet.
pub(crate) fn joined(directory: &Directory) -> Result<Stored, ClusterError> {
    Ok(storage::joined(directory)?)
}
