//! A key with an intent that nobody has resolved, as the brick that looks into it knows it ([`crate::coordinate`]).

use super::part::TransactionId;
use brickyard_types::TableId;

/// A key with an intent that is being looked into.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) table: TableId,
    pub(crate) key: Vec<u8>,
    /// The table of the transaction's anchor, if that is another one.
    pub(crate) anchor_table: Option<TableId>,
    pub(crate) stage: Stage,
    /// Answers that are missing.
    pub(crate) missing: usize,
    pub(crate) has_failed: bool,
}

/// What has been asked.
#[derive(Debug)]
pub(crate) enum Stage {
    /// What intent the key has.
    Looking,
    /// What has become of its transaction.
    Asking(TransactionId),
    /// That the other keys of an anchor are resolved.
    Resolving(TransactionId),
    /// That the key is.
    Closing,
}

impl Stage {
    /// Its number among the stages, for answers.
    pub(crate) const fn round(&self) -> u64 {
        match self {
            Self::Looking => 1,
            Self::Asking(_) => 2,
            Self::Resolving(_) => 3,
            Self::Closing => 4,
        }
    }
}
