//! The catalog as bytes, for a disk, a snapshot or a peer.
//!
//! In: a [`Catalog`], or bytes that claim to be one. Out: the other of the two.
//!
//! Layout, little-endian:
//! ```text
//!  0  [u8; 8] magic      "BRKCATLG"
//!  8  u32     version    of the format: 1, 2 with users, 3 with users that have limits, 4 with libraries of functions,
//!                        5 with tables that keep their changes, 6 with tables that have leases, or had them,
//!                        7 with tables whose hash is keyed or in the order of keys
//! 12  u32     body_len   bytes after the header
//! 16  u32     crc        CRC-32 (IEEE) of bytes 0..16 and of the body
//! 20  body               `postcard` of the fields of [`Catalog`], in their order; from format 2 on the users follow,
//!                        from format 3 on the limits of those that have any, from format 4 on the libraries, from format 5
//!                        on how much each table keeps of its changes, of those that keep any, and from format 6 on the leases
//!                        of those tables
//! ```
//! A catalog without users is written as it was before there could be any, and so that a program which knows of none reads it;
//! so is one without limits, one without libraries, one of whose tables none keeps its changes, one without leases, and one whose tables have the
//! hash functions that there were.
//!
//! Invariants:
//! - Equal catalogs have equal bytes, and a catalog has no other bytes.
//! - What is read is checked as if this code had not written it: a catalog that its own rules could
//!   not have made is refused, whatever its checksum says.

use crate::catalog::Catalog;
use crate::libraries::Libraries;
use std::collections::BTreeSet;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"BRKCATLG";
const HEADER_BYTES: usize = 20;

/// The format of catalogs with tables whose hash is keyed or in the order of keys, the newest one. Older ones are read and written where
/// they will do.
pub const FORMAT_VERSION: u32 = 7;

/// The format of catalogs with tables that have leases, or had them.
const FORMAT_LEASES: u32 = 6;

/// The format of catalogs with tables that keep their changes.
const FORMAT_HISTORIES: u32 = 5;

/// The format of catalogs with libraries of functions, of whose tables none keeps its changes.
const FORMAT_LIBRARIES: u32 = 4;

/// The format of catalogs with users that have limits, and without libraries.
const FORMAT_LIMITS: u32 = 3;

/// The format of catalogs with users, none of whom has limits, and without libraries.
const FORMAT_USERS: u32 = 2;

/// The format of catalogs with neither users nor libraries.
const FORMAT_PLAIN: u32 = 1;

/// Why bytes are not a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoredError {
    /// They do not start as a catalog does.
    #[error(
        "not a catalog: it does not begin with {:?}; is this another file?",
        "BRKCATLG"
    )]
    Magic,
    /// A program that writes another format wrote them.
    #[error(
        "the catalog is in format {found}, and this program reads {FORMAT_PLAIN} to {FORMAT_VERSION}; use the program that wrote it"
    )]
    Format {
        /// Their format.
        found: u32,
    },
    /// There are fewer or more than the header says.
    #[error(
        "the catalog has {got} bytes and should have {expected}; it was cut off or added to, restore it from a copy"
    )]
    Length {
        /// What the header says.
        expected: usize,
        /// What there is.
        got: usize,
    },
    /// Some of them changed since they were written.
    #[error(
        "catalog checksum is {got:#010x}, expected {expected:#010x}; it was damaged, restore it from a copy"
    )]
    Checksum {
        /// What the header says.
        expected: u32,
        /// What the bytes add up to.
        got: u32,
    },
    /// The checksum is right, and no catalog can look like that.
    #[error("the catalog contradicts itself: {what}; report this, and restore it from a copy")]
    Contradiction {
        /// What is wrong.
        what: String,
    },
}

impl Catalog {
    /// The catalog as bytes; equal catalogs give equal bytes.
    ///
    /// # Panics
    /// If the catalog takes more than 4 GiB (it cannot: tables and partitions are bounded).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut body = written(self);
        let limits = self.accounts.limits();
        assert!(
            limits.is_empty() || !self.accounts.is_empty(),
            "{} have limits and nobody is a user",
            limits.len()
        );
        let (histories, leases) = (self.tables.histories(), self.tables.leases());
        let format = if self.tables.has_later_hashes() {
            FORMAT_VERSION
        } else if !leases.is_empty() {
            FORMAT_LEASES
        } else if !histories.is_empty() {
            FORMAT_HISTORIES
        } else if !self.libraries.is_empty() {
            FORMAT_LIBRARIES
        } else if !limits.is_empty() {
            FORMAT_LIMITS
        } else if !self.accounts.is_empty() {
            FORMAT_USERS
        } else {
            FORMAT_PLAIN
        };
        if format >= FORMAT_USERS {
            body.extend(written(&self.accounts));
        }
        if format >= FORMAT_LIMITS {
            body.extend(written(&limits));
        }
        if format >= FORMAT_LIBRARIES {
            body.extend(written(&self.libraries.stored()));
        }
        if format >= FORMAT_HISTORIES {
            body.extend(written(&histories));
        }
        if format >= FORMAT_LEASES {
            body.extend(written(&leases));
        }
        let body_len = u32::try_from(body.len()).expect("a catalog is far smaller than 4 GiB");
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&format.to_le_bytes());
        bytes.extend_from_slice(&body_len.to_le_bytes());
        let crc = checksum(&bytes, &body);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// [`StoredError`]; the bytes may be anything.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoredError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(StoredError::Magic);
        }
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(StoredError::Length {
                expected: HEADER_BYTES,
                got: bytes.len(),
            });
        };
        let field = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        // The version comes first: another format may keep its checksum elsewhere.
        let found = field(8);
        if !(FORMAT_PLAIN..=FORMAT_VERSION).contains(&found) {
            return Err(StoredError::Format { found });
        }
        let expected_len = HEADER_BYTES + field(12) as usize;
        if bytes.len() != expected_len {
            return Err(StoredError::Length {
                expected: expected_len,
                got: bytes.len(),
            });
        }
        let (expected, got) = (field(16), checksum(&header[..16], body));
        if got != expected {
            return Err(StoredError::Checksum { expected, got });
        }
        let (mut catalog, mut rest) =
            postcard::take_from_bytes::<Self>(body).map_err(unreadable)?;
        if found >= FORMAT_USERS {
            (catalog.accounts, rest) = postcard::take_from_bytes(rest).map_err(unreadable)?;
        }
        if found >= FORMAT_LIMITS {
            let limits;
            (limits, rest) = postcard::take_from_bytes(rest).map_err(unreadable)?;
            let accounts = &mut catalog.accounts;
            accounts.put_limits(limits).map_err(contradiction)?;
        }
        if found >= FORMAT_LIBRARIES {
            let libraries;
            (libraries, rest) = postcard::take_from_bytes(rest).map_err(unreadable)?;
            catalog.libraries = Libraries::read(libraries).map_err(contradiction)?;
        }
        if found >= FORMAT_HISTORIES {
            let histories;
            (histories, rest) = postcard::take_from_bytes(rest).map_err(unreadable)?;
            catalog
                .tables
                .put_histories(histories)
                .map_err(contradiction)?;
        }
        if found >= FORMAT_LEASES {
            let leases;
            (leases, rest) = postcard::take_from_bytes(rest).map_err(unreadable)?;
            catalog.tables.put_leases(leases).map_err(contradiction)?;
        }
        if !rest.is_empty() {
            let what = format!("{} bytes follow its last field", rest.len());
            return Err(contradiction(what));
        }
        catalog.check().map_err(contradiction)?;
        if catalog.encode() != bytes {
            let what = "it has another order or encoding than it would be written in";
            return Err(contradiction(what.to_owned()));
        }
        Ok(catalog)
    }

    /// Why its own rules could not have made it.
    fn check(&self) -> Result<(), String> {
        // A partition's id is one partition's: of a table, of one that is to be, or of one that was.
        let mut met = BTreeSet::new();
        self.nodes.check(&self.ids)?;
        self.outcomes.check(&self.nodes)?;
        self.tables
            .check(&self.nodes, &self.ids, self.version, &mut met)?;
        self.transitions.check(&self.tables, &self.ids, &mut met)?;
        self.parents.check(&self.tables, &self.ids, &mut met)?;
        self.extra_copies.check(&self.tables)?;
        self.accounts.check()
    }
}

fn written(part: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_allocvec(part).expect("a catalog has nothing that cannot be written")
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}

fn unreadable(error: postcard::Error) -> StoredError {
    contradiction(format!("its fields cannot be read ({error})"))
}

const fn contradiction(what: String) -> StoredError {
    StoredError::Contradiction { what }
}

#[cfg(test)]
#[path = "stored_test.rs"]
mod stored_test;
