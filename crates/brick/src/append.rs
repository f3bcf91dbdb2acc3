//! A batch of records on its way to the log.

use std::sync::Arc;

/// Numbers the batches of one brick's log, from 1, in the order in which they are appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// One batch of records for the log, whole records in op order a partition.
#[derive(Debug, Clone)]
pub struct Append {
    /// The batch's number.
    pub id: BatchId,
    /// The encoded records, back to back. Shared: the brick still reads prepared values from it.
    pub bytes: Arc<Vec<u8>>,
    /// The brick's count of refusals when the batch was made. The log refuses, unseen, a batch
    /// whose epoch is older than that of its last failure: it may have been decided against what
    /// was refused.
    pub epoch: u64,
    /// Some op in it may be acknowledged only when synced: sync as soon as it is written.
    pub sync: bool,
    /// Everything in it makes room (deletes, cleaner): may use the reserve of a full disk.
    pub frees_space: bool,
}
