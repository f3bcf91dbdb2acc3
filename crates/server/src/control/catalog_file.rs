//! The catalog's file in the data directory: a copy for tools that look at it.
//!
//! The node goes by its control log. It reads this file only where there is none: a version before this one
//! kept nothing else.

use brickyard_metadata::{Catalog, StoredError};
use brickyard_store::{Disk as _, OsDisk, read_file, replace_file};
use std::io;

/// Its name.
const NAME: &str = "catalog";

/// Why the catalog cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The operating system refused.
    #[error("cannot read {file}: {source}")]
    Io {
        /// Which file.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// It is not a catalog that this version can read.
    #[error("{file}: {source}")]
    Stored {
        /// Which file.
        file: String,
        /// Why not.
        source: StoredError,
    },
}

/// Where the catalog is kept.
#[derive(Clone, Debug)]
pub(crate) struct CatalogFile {
    disk: OsDisk,
}

impl CatalogFile {
    pub(crate) fn new(disk: OsDisk) -> Self {
        Self { disk }
    }

    /// The directory that it is in.
    pub(crate) fn disk(&self) -> &OsDisk {
        &self.disk
    }

    /// Reads the catalog; `None` if there is none yet.
    pub(crate) fn load(&self) -> Result<Option<Catalog>, CatalogError> {
        let file = self.disk.describe(NAME);
        match read_file(&self.disk, NAME) {
            Ok(bytes) => match Catalog::decode(&bytes) {
                Ok(catalog) => Ok(Some(catalog)),
                Err(source) => Err(CatalogError::Stored { file, source }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(CatalogError::Io { file, source }),
        }
    }

    /// Replaces the catalog; after a crash the old one is there, or the new one.
    pub(crate) fn store(&self, catalog: &Catalog) -> io::Result<()> {
        replace_file(&self.disk, NAME, &catalog.encode())
    }
}
