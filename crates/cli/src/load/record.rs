//! What readers produce: records, and lines that are none.

use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use std::io;

/// One record of a file, to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// It is the payload of a value that is no string, as DUMP has it.
    pub(crate) is_payload: bool,
    /// When it is gone; `None` means never.
    pub(crate) expiry: Option<Expiry>,
    /// The line on which it starts, from 1.
    pub(crate) line: u64,
}

/// When a record is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// So many milliseconds after it was written.
    In(u64),
    /// At this time, in milliseconds since 1970.
    At(u64),
}

/// Why a reader did not produce a record.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// This piece of the file is no record; the reader goes on behind it.
    BadLine(BadLine),
    /// The file cannot be read any further.
    Unreadable(io::Error),
}

/// A piece of a file that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// The line on which it starts, from 1.
    pub(crate) line: u64,
    /// What is wrong with it.
    pub(crate) reason: String,
}

impl Trouble {
    pub(crate) fn bad_line(line: u64, reason: impl Into<String>) -> Self {
        Self::BadLine(BadLine {
            line,
            reason: reason.into(),
        })
    }
}

/// What a reader is: records and troubles, in the order of the file.
pub(crate) type Records = Box<dyn Iterator<Item = Result<Record, Trouble>>>;

impl Record {
    /// Passes the record on if it has a name and a server could store it.
    ///
    /// A field without text is more likely a mistake in the file than the name of a record.
    pub(crate) fn checked(self) -> Result<Self, Trouble> {
        if self.key.is_empty() {
            return Err(Trouble::bad_line(self.line, "the key is empty"));
        }
        self.storable()
    }

    /// Passes the record on if a server could store it. The empty key is a key like any other.
    pub(crate) fn storable(self) -> Result<Self, Trouble> {
        let (key, value) = (self.key.len(), self.value.len());
        if key > KEY_BYTES_MAX {
            let reason = format!("the key has {key} bytes, more than the {KEY_BYTES_MAX} allowed");
            return Err(Trouble::bad_line(self.line, reason));
        }
        if value > VALUE_BYTES_MAX {
            let reason =
                format!("the value has {value} bytes, more than the {VALUE_BYTES_MAX} allowed");
            return Err(Trouble::bad_line(self.line, reason));
        }
        Ok(self)
    }
}
