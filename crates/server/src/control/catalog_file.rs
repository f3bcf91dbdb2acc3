//! The catalog's file in the data directory: a copy for tools that look at it.
//!
//! The node goes by its control log, and never by this file.

use crate::cluster::ClusterError;
use brickyard_metadata::Catalog;
use brickyard_store::{Disk as _, OsDisk, read_file, replace_file};
use std::io;

/// Its name.
const NAME: &str = "catalog";

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

    /// Whether there is a copy.
    pub(crate) fn is_there(&self) -> Result<bool, ClusterError> {
        match read_file(&self.disk, NAME) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(ClusterError::File {
                file: self.disk.describe(NAME),
                source,
            }),
        }
    }

    /// Replaces the catalog; after a crash the old one is there, or the new one.
    pub(crate) fn store(&self, catalog: &Catalog) -> io::Result<()> {
        replace_file(&self.disk, NAME, &catalog.encode())
    }
}
