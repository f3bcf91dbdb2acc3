//! Writes of a command that may make several, until they become one record.
//!
//! In:  puts and deletes, one after the other. Out: the last one of each key, in order.
//!
//! Invariants:
//! - Finding a key's last write costs the same however many were staged: one client's MSET of half a
//!   million keys must not stop the loop for all others.
//! - What a transaction's command staged before it failed can be taken back ([`Staging::truncate`]).

use crate::log::KeyRefHasher;
use brickyard_command::NewValue;
use brickyard_routing::Location;
use brickyard_types::record::Kind;
use brickyard_types::{UnixMillis, ValueType};
use hashbrown::HashMap;
use std::hash::BuildHasherDefault;

/// With fewer entries than this a walk over them is faster than a map.
const INDEXED_FROM: usize = 16;

/// Memory kept from one command to the next, in bytes.
const KEPT_BYTES: usize = 1 << 20;

/// See the module. Reused from command to command.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    bytes: Vec<u8>,
    entries: Vec<Staged>,
    /// The newest entry by the hash of its key, once there are [`INDEXED_FROM`] entries.
    newest: HashMap<u64, u32, BuildHasherDefault<KeyRefHasher>>,
    /// Scratch for the record.
    pub(crate) encoded: Vec<u8>,
}

/// One write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Staged {
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    pub(crate) value_type: ValueType,
    pub(crate) expires_at: Option<UnixMillis>,
    key_at: usize,
    pub(crate) key_len: usize,
    value_len: usize,
    /// A later write of the same command took its place.
    is_superseded: bool,
    /// The write whose place it took.
    supersedes: Option<u32>,
    /// The entry before it whose key has the same hash.
    earlier: Option<u32>,
}

impl Staging {
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.reset();
        }
    }

    fn reset(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.newest.clear();
        self.encoded.clear();
        let is_large = self.bytes.capacity() > KEPT_BYTES
            || self.encoded.capacity() > KEPT_BYTES
            || self.entries.capacity() > KEPT_BYTES / size_of::<Staged>();
        if is_large {
            *self = Self::default();
        }
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many writes there are, superseded ones too.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The writes that count, in order.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Staged> {
        self.entries.iter().filter(|staged| !staged.is_superseded)
    }

    pub(crate) fn key(&self, staged: &Staged) -> &[u8] {
        &self.bytes[staged.key_at..staged.key_at + staged.key_len]
    }

    pub(crate) fn value(&self, staged: &Staged) -> &[u8] {
        let at = staged.key_at + staged.key_len;
        &self.bytes[at..at + staged.value_len]
    }

    /// The last write of the key.
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<&Staged> {
        self.position(hash, key).map(|at| &self.entries[at])
    }

    fn position(&self, hash: u64, key: &[u8]) -> Option<usize> {
        let is_it = |staged: &Staged| staged.location.key_hash == hash && self.key(staged) == key;
        if self.entries.len() < INDEXED_FROM {
            return self.entries.iter().rposition(is_it);
        }
        let mut at = self.newest.get(&hash).copied();
        while let Some(candidate) = at {
            let staged = &self.entries[candidate as usize];
            if is_it(staged) {
                return Some(candidate as usize);
            }
            at = staged.earlier;
        }
        None
    }

    pub(crate) fn push(&mut self, location: Location, kind: Kind, key: &[u8], put: &NewValue<'_>) {
        let before = self.position(location.key_hash, key);
        if let Some(before) = before {
            self.entries[before].is_superseded = true;
        }
        assert!(
            matches!(kind, Kind::Put | Kind::Delete),
            "{kind:?} is no write of a key"
        );
        let key_at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let mut value_len = 0;
        for piece in put.value {
            self.bytes.extend_from_slice(piece);
            value_len += piece.len();
        }
        self.entries.push(Staged {
            location,
            kind,
            value_type: put.value_type,
            expires_at: put.expires_at,
            key_at,
            key_len: key.len(),
            value_len,
            is_superseded: false,
            supersedes: before.map(|before| before as u32),
            earlier: None,
        });
        let len = self.entries.len();
        if len == INDEXED_FROM {
            (0..len).for_each(|at| self.index(at));
        } else if len > INDEXED_FROM {
            self.index(len - 1);
        }
    }

    fn index(&mut self, at: usize) {
        let staged = &mut self.entries[at];
        let hash = staged.location.key_hash;
        staged.earlier = self.newest.insert(hash, at as u32);
    }

    /// Takes back all writes but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        assert!(
            len <= self.entries.len(),
            "{len} of {} writes are to stay",
            self.entries.len()
        );
        while self.entries.len() > len
            && let Some(staged) = self.entries.pop()
        {
            self.bytes.truncate(staged.key_at);
            if let Some(before) = staged.supersedes {
                self.entries[before as usize].is_superseded = false;
            }
            match staged.earlier {
                Some(earlier) => {
                    self.newest.insert(staged.location.key_hash, earlier);
                }
                None => {
                    self.newest.remove(&staged.location.key_hash);
                }
            }
        }
        if self.entries.len() < INDEXED_FROM {
            self.newest.clear();
        }
    }
}

#[cfg(test)]
#[path = "staging_test.rs"]
mod staging_test;
