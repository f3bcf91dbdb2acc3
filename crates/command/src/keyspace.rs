//! How commands see the data: the newest state of one partition.
//!
//! In:  calls of the commands. Out: values and metadata; puts and deletes that the implementor makes
//!      one operation of.
//!
//! Invariants, of commands (an implementor may rely on them):
//! - Every read of a command comes before its first put or delete, so that a command that fails or
//!   suspends has changed nothing.
//! - A command whose read was suspended may go on to read other keys before it returns
//!   [`Failure::Suspend`], so that everything it needs can be fetched at once.
//! - A command that returns an error has changed nothing that matters: the implementor drops what
//!   was put.
//!
//! Invariants, of implementors (the commands rely on them):
//! - Expired keys are not there: a key is expired when `now() > expires_at`, as in Redis, and `now`
//!   does not move while a command runs.
//! - A read after a put of the same request sees the put (commands of one transaction).
//! - No command sees an intent ([`ValueType::Intent`]): it waits until that is resolved.

use crate::error::{ErrorReply, Failure};
use brickyard_types::part::PartName;
use brickyard_types::{Op, UnixMillis, ValueType};

/// A key's value and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValue<'a> {
    /// The value.
    pub value: &'a [u8],
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The operation that wrote it: its version.
    pub op: Op,
    /// What the value is.
    pub value_type: ValueType,
}

/// What is known of a key without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Length of the value in bytes.
    pub value_len: usize,
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The operation that wrote it: its version.
    pub op: Op,
    /// What the value is.
    pub value_type: ValueType,
}

/// What a key is to hold.
#[derive(Clone, Copy, Debug)]
pub struct NewValue<'a> {
    /// The value in pieces, one after the other.
    pub value: &'a [&'a [u8]],
    /// When the key is to go; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// What the value is.
    pub value_type: ValueType,
}

/// One partition's newest state, prepared operations included.
pub trait Keyspace {
    /// The time of this request.
    fn now(&self) -> UnixMillis;

    /// Returns the key's entry, whatever its type, `None` if it does not exist.
    ///
    /// # Errors
    /// [`Failure::Suspend`] while the value is being fetched from disk, or an error reply.
    fn read_any(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure>;

    /// The same as it is stored: of a hash in parts its [head](crate::hash::Head) alone, where [`Self::read_any`] has all fields.
    ///
    /// # Errors
    /// As [`Self::read_any`].
    fn read_stored(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        self.read_any(key)
    }

    /// Bytes up to which a hash at `key` is one value; `None`: however many they are, and no part is read or put.
    fn whole_bytes_max(&self, key: &[u8]) -> Option<usize> {
        let _ = key;
        None
    }

    /// Whether fields of a hash in parts may have expiries; else such a hash is one value.
    fn has_timed_parts(&self) -> bool {
        false
    }

    /// A number that no value of a key has had that was put in an earlier operation.
    fn next_value(&self) -> u64 {
        0
    }

    /// A part of a value that is there.
    ///
    /// # Errors
    /// As [`Self::read_any`]; an error reply, if there is no such part.
    fn read_part(&mut self, part: PartName<'_>) -> Result<&[u8], Failure> {
        Err(ErrorReply::no_part(part).into())
    }

    /// Sets a part. The key whose value it belongs to is put after it.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn put_part(&mut self, part: PartName<'_>, value: &[u8]) -> Result<(), Failure> {
        let _ = value;
        Err(ErrorReply::no_part(part).into())
    }

    /// Removes a part, as [`Self::put_part`].
    ///
    /// # Errors
    /// As [`Self::put`].
    fn delete_part(&mut self, part: PartName<'_>) -> Result<(), Failure> {
        Err(ErrorReply::no_part(part).into())
    }

    /// The same, of a key that must hold a string if it exists.
    ///
    /// # Errors
    /// As [`Self::read_any`]; [`ErrorReply::WRONG_TYPE`] if it holds something else.
    #[inline]
    fn read(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        match self.read_any(key)? {
            Some(entry) if !entry.value_type.is_string() => Err(ErrorReply::WRONG_TYPE.into()),
            entry => Ok(entry),
        }
    }

    /// Returns what is known of the key without its value; never waits for a disk.
    ///
    /// # Errors
    /// An error reply, if the partition cannot answer.
    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure>;

    /// The same, of a key that must hold a string if it exists.
    ///
    /// # Errors
    /// As [`Self::probe`]; [`ErrorReply::WRONG_TYPE`] if it holds something else.
    fn probe_string(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        match self.probe(key)? {
            Some(probe) if !probe.value_type.is_string() => Err(ErrorReply::WRONG_TYPE.into()),
            probe => Ok(probe),
        }
    }

    /// Sets the key.
    ///
    /// # Errors
    /// An error reply, if the write is refused (no memory, no disk).
    fn put(&mut self, key: &[u8], put: NewValue<'_>) -> Result<(), Failure>;

    /// Removes the key and says whether it was there.
    ///
    /// # Errors
    /// An error reply, if the write is refused.
    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure>;

    /// Says that the reply is to have so many bytes more than the values that were read: a request can name a field again
    /// and again. To be said before anything is put.
    ///
    /// # Errors
    /// [`Failure::Suspend`], if the client has no room for them yet; an error reply, if no reply may be so long.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure>;

    /// A number drawn at random.
    fn random(&mut self) -> u64;

    /// Longest value in bytes; what would be longer is refused with Redis's text.
    fn value_bytes_max(&self) -> usize;

    /// Bytes of memory that a key takes with everything around it, for `MEMORY USAGE`.
    ///
    /// # Errors
    /// As [`Self::probe`].
    fn memory_bytes(&mut self, key: &[u8]) -> Result<Option<usize>, Failure> {
        let probe = self.probe(key)?;
        Ok(probe.map(|probe| key.len() + probe.value_len))
    }

    /// For how many milliseconds the client may keep what it has just read of the key, which is gone at that time if it has one;
    /// 0: not at all.
    fn lease(&mut self, key: &[u8], expires_at: Option<UnixMillis>) -> u64 {
        let _ = (key, expires_at);
        0
    }

    /// Seconds since the key was last used, for `OBJECT IDLETIME`, where that is tracked.
    fn idle_seconds(&mut self, key: &[u8]) -> u64 {
        let _ = key;
        0
    }

    /// The number by which `SELECT` chooses this table, if it has one: what `COPY .. DB n` says of it is said of no other table.
    fn database(&self) -> Option<u16> {
        None
    }

    /// Whether a key of another table exists: of the one that `SELECT` chooses by that number.
    ///
    /// # Errors
    /// As [`Self::probe`]; an error reply where other tables are out of reach.
    fn is_there_across(&mut self, database: u16, key: &[u8]) -> Result<bool, Failure> {
        let _ = (database, key);
        Err(ErrorReply::OUT_OF_REACH.into())
    }

    /// Sets a key of such a table.
    ///
    /// # Errors
    /// As [`Self::put`]; an error reply where other tables are out of reach.
    fn put_across(&mut self, database: u16, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        let _ = (database, key, put);
        Err(ErrorReply::OUT_OF_REACH.into())
    }
}

/// Reads every key, whatever its type, before it gives up on those whose values are on disk: `use_entry` gets what is
/// there, by position, and is not to be believed if the result is [`Failure::Suspend`].
pub(crate) fn read_all<'a, K: Keyspace>(
    keys: impl Iterator<Item = &'a [u8]>,
    keyspace: &mut K,
    mut use_entry: impl FnMut(usize, Option<KeyValue<'_>>) -> Result<(), ErrorReply>,
) -> Result<(), Failure> {
    let mut is_suspended = false;
    for (at, key) in keys.enumerate() {
        match keyspace.read_any(key) {
            Ok(entry) => use_entry(at, entry)?,
            Err(Failure::Suspend) => is_suspended = true,
            Err(error) => return Err(error),
        }
    }
    if is_suspended {
        return Err(Failure::Suspend);
    }
    Ok(())
}

/// Refuses a value of `len` bytes if it is too long for `keyspace`.
#[inline]
pub(crate) fn check_length<K: Keyspace>(keyspace: &K, len: u64) -> Result<(), Failure> {
    if len > keyspace.value_bytes_max() as u64 {
        return Err(ErrorReply::TOO_LONG.into());
    }
    Ok(())
}

/// The same of a string that is to grow: that the key holds none is said first, as in Redis.
pub(crate) fn check_growth<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    len: u64,
) -> Result<(), Failure> {
    let checked = check_length(keyspace, len);
    if checked.is_err() {
        keyspace.probe_string(key)?;
    }
    checked
}
