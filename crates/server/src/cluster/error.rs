//! Why a node cannot go on in its cluster.

use brickyard_node::storage::StorageError;

/// Why a node cannot go on with what its directory has of the cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The control log cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file beside the control log cannot be read or written.
    #[error("cannot use {file}: {source}")]
    File {
        /// Which file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}
