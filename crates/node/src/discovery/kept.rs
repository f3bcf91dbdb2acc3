//! What a node keeps on its disk while it has no cluster: whom it promised, which one it joined.

use crate::discovery::Kept;
use crate::encode;
use brickyard_store::{Disk, read_file, replace_file};
use std::io;

/// The file's name.
pub const NAME: &str = "forming";

/// Reads it; the default if there is none.
///
/// # Errors
/// It cannot be read, or is none.
pub fn load<D: Disk>(disk: &D) -> io::Result<Kept> {
    match read_file(disk, NAME) {
        Ok(bytes) => postcard::from_bytes(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(error),
    }
}

/// Replaces it; after a crash the old one is there, or the new one.
///
/// # Errors
/// The old one is there.
pub fn store<D: Disk>(disk: &D, kept: &Kept) -> io::Result<()> {
    replace_file(disk, NAME, &encode(kept))
}

/// The node has a control log now, which says all.
pub fn remove<D: Disk>(disk: &D) {
    // Left behind it is ignored.
    drop(disk.remove(NAME));
}
