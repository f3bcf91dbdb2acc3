//! Why a table cannot take a record.

/// Nothing changed: the record is not in the table, and what was there before still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Full {
    /// The table's records on this brick fill the space that the index can refer to.
    #[error(
        "the table has 32 GiB of records on this brick, the most there can be; \
         give it more bricks or the medium disk"
    )]
    Arena,
    /// The operating system gave no more memory.
    #[error("the operating system has no memory left; set a lower MAXMEMORY or free some")]
    Memory,
    /// The table's records are spread over more segments of the log than the table can tell apart.
    #[error(
        "the table has live records in 65536 segments of the log, the most there can be; \
         let the cleaner catch up or use larger segments"
    )]
    Segments,
}
