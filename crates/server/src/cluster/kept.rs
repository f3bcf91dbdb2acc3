//! What a node keeps on its disk while it has no cluster: whom it promised, which one it joined.

use super::storage::ClusterError;
use brickyard_node::encode;
use brickyard_node::forming::Kept;
use brickyard_store::{Disk as _, OsDisk, read_file, replace_file};
use std::io;

/// The file's name.
const NAME: &str = "forming";

/// Reads it; the default if there is none.
pub(crate) fn load(disk: &OsDisk) -> Result<Kept, ClusterError> {
    let failed = |source| ClusterError::File {
        file: disk.describe(NAME),
        source,
    };
    match read_file(disk, NAME) {
        Ok(bytes) => postcard::from_bytes(&bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(failed(error)),
    }
}

/// Replaces it; after a crash the old one is there, or the new one.
pub(crate) fn store(disk: &OsDisk, kept: &Kept) -> io::Result<()> {
    replace_file(disk, NAME, &encode(kept))
}

/// The node has a control log now, which says all.
pub(crate) fn remove(disk: &OsDisk) {
    // Left behind it is ignored.
    drop(disk.remove(NAME));
}
