//! One key while something is to be done of it.
//!
//! In:  changes, and word that what the key has does not follow from the stream. Out: the next change.
//!
//! Invariants:
//! - One change is under way at a time.
//! - What waits is as short as it can be: a value puts away whatever waits before it.

use brickyard_rdb::RdbValue;
use std::collections::VecDeque;

/// Touches of a dirty key that are told apart; more are counted as the last one.
const TOUCHES_MAX: usize = 64;

/// A key of a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPlace {
    /// The database of the source.
    pub database: u32,
    /// The key.
    pub key: Vec<u8>,
}

/// What is to become of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// It has this value, until this time.
    Set {
        /// The value.
        value: RdbValue,
        /// When it is gone, in milliseconds since 1970; `None` means never.
        expires_at: Option<u64>,
    },
    /// It is gone.
    Delete,
    /// If it is there, it is gone at this time.
    ExpireAt(u64),
    /// If it is there, it stays.
    Persist,
    /// The target executes this command, once.
    Execute(Vec<Vec<u8>>),
}

/// A change that waits, and the offset of the command from which it is.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) start: u64,
    pub(crate) change: KeyChange,
}

/// What is known of a key.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The offset of what is under way.
    pub(crate) under_way: Option<u64>,
    pub(crate) waiting: VecDeque<Waiting>,
    /// The commands, by their first and last offset, of which the outcome is not known; what stands for them holds `held`.
    pub(crate) touches: VecDeque<(u64, u64)>,
    /// The offset that the first touch holds.
    pub(crate) held: Option<u64>,
    /// It is being read at the source.
    pub(crate) is_read: bool,
    /// It stands in the line of keys that are to be read.
    pub(crate) is_to_be_read: bool,
    /// It stands in the line of keys with something that waits.
    pub(crate) is_ready: bool,
    /// Commands up to here are in the value that was read.
    pub(crate) fresh_until: u64,
}

impl State {
    pub(crate) fn is_dirty(&self) -> bool {
        self.held.is_some()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_none()
            && self.waiting.is_empty()
            && self.held.is_none()
            && !self.is_read
            && !self.is_to_be_read
            && !self.is_ready
            && self.fresh_until == 0
    }

    pub(crate) fn touch(&mut self, start: u64, end: u64) {
        if self.touches.len() >= TOUCHES_MAX
            && let Some(last) = self.touches.back_mut()
        {
            last.1 = end;
            return;
        }
        self.touches.push_back((start, end));
    }
}
