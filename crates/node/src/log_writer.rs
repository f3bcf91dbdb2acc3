//! Writes what the agreement wants stored to the control log, in order.
//!
//! In:  entries and states to store. Out: a log that has them. When to sync, and what to do when the disk refuses, is
//! the caller's: a thread in the server, a step of virtual time in the simulator.

use crate::storage::{entry, hard_state, snapshot};
use brickyard_consensus::{HardState, Persist};
use brickyard_store::{ControlHardState, ControlLog, ControlLogError, ControlState, Disk};

/// What became of what was to be stored.
#[derive(Debug)]
pub enum Report {
    /// Everything up to this number is stored.
    Stored(u64),
    /// The disk takes nothing now, and why; it is tried again.
    Refused(String),
}

/// See the module.
#[derive(Debug)]
pub struct LogWriter<D: Disk> {
    log: ControlLog<D>,
    /// The last that was written: a snapshot takes it along.
    hard_state: ControlHardState,
}

impl<D: Disk> LogWriter<D> {
    /// Goes on with a log that was opened, and whose hard state is that one.
    #[must_use]
    pub fn new(log: ControlLog<D>, state: HardState) -> Self {
        Self {
            log,
            hard_state: hard_state(state),
        }
    }

    /// Writes; nothing of it is lost if the process ends, and all of it may be in a power cut until
    /// [`Self::sync`].
    ///
    /// # Errors
    /// [`ControlLogError::Full`] and [`ControlLogError::Io`]: nothing was written, try again. Others end the
    /// use of the log.
    pub fn write(&mut self, persist: &Persist) -> Result<(), ControlLogError> {
        let state = persist.hard_state.map(hard_state);
        if let Some(state) = state {
            self.hard_state = state;
        }
        let entries: Vec<_> = persist.entries.iter().cloned().map(entry).collect();
        match &persist.snapshot {
            Some(base) => self.log.replace(&ControlState {
                hard_state: self.hard_state,
                snapshot: Some(snapshot(base.clone())),
                entries,
            }),
            None => self.log.append(state, &entries),
        }
    }

    /// Makes everything that was written survive a power cut.
    ///
    /// # Errors
    /// The log ends: what was promised may be lost.
    pub fn sync(&mut self) -> Result<(), ControlLogError> {
        self.log.sync()
    }

    /// Ends the use of the log.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub fn close(self) -> Result<(), ControlLogError> {
        self.log.close()
    }
}
