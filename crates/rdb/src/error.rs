//! Why a snapshot is not read any further.
//!
//! In:  an offset, and what stands there. Out: [`RdbError`].

/// Why a snapshot is not read any further.
#[derive(Debug, thiserror::Error)]
pub enum RdbError {
    /// The bytes could not be had.
    #[error("cannot read the snapshot at byte {offset}: {source}")]
    Io {
        /// Where in the snapshot.
        offset: u64,
        /// What happened.
        source: std::io::Error,
    },
    /// It ends before its end mark.
    #[error("the snapshot ends at byte {offset}, before its end mark; copy it anew")]
    Cut {
        /// Where it ends.
        offset: u64,
    },
    /// The bytes make no sense.
    #[error("the snapshot is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where in the snapshot.
        offset: u64,
        /// What stands there.
        what: String,
    },
    /// It is of a version, or has a type, that is not known here.
    #[error("the snapshot has at byte {offset} {what}, which this program does not know")]
    Unknown {
        /// Where in the snapshot.
        offset: u64,
        /// What stands there.
        what: String,
    },
}
