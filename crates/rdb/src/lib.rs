//! Redis's serialization: a snapshot's records, one at a time (RDB, versions 1 to 12, and Valkey's 80), and single values.
//!
//! In:  the bytes of a snapshot, from a file or a replication stream; payloads. Out: [`Item`]s: strings and hashes with their
//!      expiry, of every other type the name alone; values ([`restore`]), and payloads of them ([`dump_string`], [`dump_hash`]); payloads of
//!      libraries of functions ([`dump_libraries`], [`restore_libraries`]); snapshots of payloads ([`RdbWriter`]).
//!
//! Invariants:
//! - At most one value is in memory, and no more of it than has arrived.
//! - The checksum at the end is compared, unless the file says that it has none.
//! - Bytes behind the end are not taken: they belong to the stream.
//!
//! Source: `rdb.h` and `rdb.c` name the opcodes and types; written anew from the files that servers make.

mod crc64;
mod error;
mod input;
mod libraries;
mod lzf;
mod pack;
mod payload;
mod skip;
mod value;
mod version;
mod writer;

pub use error::RdbError;
pub use libraries::{LibrariesError, dump_libraries, restore_libraries};
pub use payload::{PayloadError, dump_hash, dump_string, restore};
pub use value::{FieldRef, RdbField, RdbValue};
pub use writer::RdbWriter;

use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use input::{Input, Text};
use std::io::Read;
use value::Taken;
use version::{VALKEY_VERSIONS, VERSION_MAX};

/// Longest name or value beside the records that is looked at.
const AUX_BYTES_MAX: usize = 64 * 1024;

/// One piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A key with a value of a type that there is here.
    Record(RdbRecord),
    /// A key with a value of another type.
    Other {
        /// The database that it is in.
        database: u32,
        /// The type's name.
        kind: &'static str,
    },
    /// A key that is, or whose value is, longer than a table takes.
    TooLong {
        /// The database that it is in.
        database: u32,
        /// The longer one's length in bytes.
        bytes: u64,
    },
    /// How many keys follow in this database, as the server estimates.
    Announced {
        /// The database.
        database: u32,
        /// Its keys.
        keys: u64,
    },
    /// The end; the checksum was right.
    End,
}

/// One key of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdbRecord {
    /// The database that it is in.
    pub database: u32,
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: RdbValue,
    /// When it is gone, in milliseconds since 1970; `None` means never.
    pub expires_at: Option<u64>,
}

/// Reads a snapshot.
#[derive(Debug)]
pub struct RdbReader<R> {
    input: Input<R>,
    version: u32,
    is_valkey: bool,
    database: u32,
    is_over: bool,
}

mod op {
    pub(super) const SLOT_IMPORT: u8 = 0xf3;
    pub(super) const SLOT_INFO: u8 = 0xf4;
    pub(super) const FUNCTION: u8 = 0xf5;
    pub(super) const MODULE_AUX: u8 = 0xf7;
    pub(super) const IDLE: u8 = 0xf8;
    pub(super) const FREQ: u8 = 0xf9;
    pub(super) const AUX: u8 = 0xfa;
    pub(super) const RESIZE: u8 = 0xfb;
    pub(super) const EXPIRES_MS: u8 = 0xfc;
    pub(super) const EXPIRES_S: u8 = 0xfd;
    pub(super) const SELECT: u8 = 0xfe;
    pub(super) const END: u8 = 0xff;
}

impl<R: Read> RdbReader<R> {
    /// Looks at the first bytes.
    ///
    /// # Errors
    /// [`RdbError::Unknown`] if they are not those of a snapshot of a version that is known.
    pub fn new(reader: R) -> Result<Self, RdbError> {
        let mut input = Input::new(reader);
        let magic: [u8; 9] = input.array()?;
        let unknown = || RdbError::Unknown {
            offset: 0,
            what: format!("the beginning '{}'", String::from_utf8_lossy(&magic)),
        };
        let is_valkey = magic.starts_with(b"VALKEY");
        let digits = match (magic.strip_prefix(b"REDIS"), magic.strip_prefix(b"VALKEY")) {
            (Some(digits), _) | (None, Some(digits)) => digits,
            (None, None) => return Err(unknown()),
        };
        let digits = std::str::from_utf8(digits).ok();
        let version = digits.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let version: u32 = version.and_then(|it| it.parse().ok()).ok_or_else(unknown)?;
        let is_known = if is_valkey {
            VALKEY_VERSIONS.contains(&version)
        } else {
            (1..=VERSION_MAX).contains(&version)
        };
        if !is_known {
            return Err(unknown());
        }
        Ok(Self {
            input,
            version,
            is_valkey,
            database: 0,
            is_over: false,
        })
    }

    /// The next piece.
    ///
    /// # Errors
    /// [`RdbError`]: nothing more can be read.
    pub fn next_item(&mut self) -> Result<Item, RdbError> {
        if self.is_over {
            return Ok(Item::End);
        }
        let mut expires_at = None;
        loop {
            let at = self.input.offset();
            match self.input.byte()? {
                op::END => {
                    self.check_sum()?;
                    self.is_over = true;
                    return Ok(Item::End);
                }
                op::SELECT => {
                    let number = self.input.length()?;
                    self.database = u32::try_from(number)
                        .map_err(|_| self.input.damaged(at, format!("database {number}")))?;
                }
                op::RESIZE => {
                    let keys = self.input.length()?;
                    self.input.length()?;
                    let database = self.database;
                    return Ok(Item::Announced { database, keys });
                }
                op::AUX => {
                    self.input.text(AUX_BYTES_MAX)?;
                    self.input.text(AUX_BYTES_MAX)?;
                }
                op::EXPIRES_MS => expires_at = Some(u64::from_le_bytes(self.input.array()?)),
                op::EXPIRES_S => {
                    let seconds = u32::from_le_bytes(self.input.array()?);
                    expires_at = Some(u64::from(seconds) * 1000);
                }
                op::IDLE => {
                    self.input.length()?;
                }
                op::FREQ => {
                    self.input.byte()?;
                }
                op::FUNCTION => self.input.skip_text()?,
                op::MODULE_AUX => {
                    for _ in 0..3 {
                        self.input.length()?;
                    }
                    self.input.skip_module()?;
                }
                op::SLOT_INFO => {
                    for _ in 0..3 {
                        self.input.length()?;
                    }
                }
                op::SLOT_IMPORT => {
                    self.input.skip_text()?;
                    for _ in 0..self.input.length()? {
                        self.input.length()?;
                        self.input.length()?;
                    }
                }
                kind => return self.record(kind, at, expires_at),
            }
        }
    }

    fn record(&mut self, kind: u8, at: u64, expires_at: Option<u64>) -> Result<Item, RdbError> {
        let database = self.database;
        let name = skip::name(kind, self.is_valkey).ok_or_else(|| RdbError::Unknown {
            offset: at,
            what: format!("the type {kind}"),
        })?;
        let key = self.input.text(KEY_BYTES_MAX)?;
        if !value::is_read(kind, self.is_valkey) {
            self.input.skip_value(kind, self.is_valkey)?;
            return Ok(Item::Other {
                database,
                kind: name,
            });
        }
        let value = value::read(&mut self.input, kind, self.is_valkey, VALUE_BYTES_MAX)?;
        Ok(match (key, value) {
            (Text::Whole(key), Taken::Whole(value)) => Item::Record(RdbRecord {
                database,
                key,
                value,
                expires_at,
            }),
            (Text::TooLong(bytes), _) | (_, Taken::TooLong(bytes)) => {
                Item::TooLong { database, bytes }
            }
        })
    }

    fn check_sum(&mut self) -> Result<(), RdbError> {
        // The first four versions have none.
        if self.version < 5 && !self.is_valkey {
            return Ok(());
        }
        let (computed, at) = (self.input.sum(), self.input.offset());
        let told = u64::from_le_bytes(self.input.array()?);
        if told == 0 || told == computed {
            return Ok(());
        }
        let what = format!("its checksum is {told:016x}, and its bytes have {computed:016x}");
        Err(self.input.damaged(at, what))
    }

    /// How many bytes were taken.
    pub const fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Where the bytes come from. What is read from it past the reader is missing here.
    pub const fn get_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// The reader, and bytes that were read from it and not taken: they stand behind the snapshot.
    pub fn into_rest(self) -> (Vec<u8>, R) {
        self.input.into_rest()
    }
}

#[cfg(test)]
#[path = "rdb_test.rs"]
mod rdb_test;
