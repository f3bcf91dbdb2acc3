//! Appends batches in order, and after a failure refuses what was sent behind it.
//!
//! Invariant: after a batch failed, no batch that the brick made before it heard of the failure is
//! written: its operations may have been decided against the failed ones. The brick stamps every
//! batch with its epoch and begins a new one when it hears of a failure; the rest of an epoch is refused.

use brickyard_brick::Append;
use brickyard_store::{AppendError, Appended, Appender, Disk, Purpose};

/// What the loop asks of the worker that appends.
#[derive(Debug)]
pub enum AppendOrder {
    /// Write this.
    Batch(Append),
    /// Have everything that was ordered before synced, and, unless this is [`super::SYNC_ONLY`], the segment that it is
    /// in sealed.
    Checkpoint(u64),
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the log.
    Appended(Appended),
    /// Nothing of it is, nor of what was sent behind it.
    Failed(String),
    /// The log is not to be used any more.
    Poisoned(String),
}

/// See the module.
pub struct Appending<D: Disk> {
    /// The end of the log; after each call its [`Appender::take_rolled`] is to be looked at.
    pub appender: Appender<D>,
    /// Epochs up to this one are refused, for this reason.
    refused: Option<(u64, String)>,
}

impl<D: Disk> Appending<D> {
    /// Goes on with a log.
    #[must_use]
    pub fn new(appender: Appender<D>) -> Self {
        Self {
            appender,
            refused: None,
        }
    }

    /// Why the batch is refused without a look at the disk; `None` if it is not.
    #[must_use]
    pub fn refusal(&self, append: &Append) -> Option<&str> {
        let (refused, reason) = self.refused.as_ref()?;
        (append.epoch <= *refused).then_some(reason.as_str())
    }

    /// Writes a batch, unless its epoch is refused.
    pub fn append(&mut self, append: &Append) -> Outcome {
        if let Some(reason) = self.refusal(append) {
            return Outcome::Failed(reason.to_owned());
        }
        let purpose = if append.frees_space {
            Purpose::Reclaim
        } else {
            Purpose::Store
        };
        match self.appender.append(&append.bytes, purpose) {
            Ok(appended) => Outcome::Appended(appended),
            Err(AppendError::Poisoned(poisoned)) => Outcome::Poisoned(poisoned.to_string()),
            Err(error) => {
                let reason = error.to_string();
                self.refused = Some((append.epoch, reason.clone()));
                Outcome::Failed(reason)
            }
        }
    }
}
