//! A keyspace in memory, for tests: of the commands here, and of what is built on them.

use crate::args::{Args, OwnedArgs};
use crate::error::{ErrorReply, Failure};
use crate::execute::execute;
use crate::hash::{Head, Whole};
use crate::keyspace::{KeyValue, Keyspace, NewValue, Probe};
use crate::resolve::resolve;
use brickyard_types::part::{PartName, is_part};
use brickyard_types::{Op, UnixMillis, ValueType};
use brickyard_wire::{Protocol, Reply};
use std::collections::BTreeMap;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    value: Vec<u8>,
    expires_at: Option<UnixMillis>,
    op: Op,
    value_type: ValueType,
}

/// Keys and values in memory, with a clock that stands still until it is set.
#[derive(Clone, Debug)]
pub struct MemoryKeyspace {
    /// The time that commands see.
    pub now: UnixMillis,
    /// Longest value in bytes.
    pub value_bytes_max: usize,
    /// A hash with more bytes than this has parts.
    pub whole_bytes_max: Option<usize>,
    /// Whether fields of a hash in parts may have expiries.
    pub has_timed_parts: bool,
    /// A hash that was read as one value, though it is in parts.
    whole: Vec<u8>,
    /// Keys whose values are "on disk": reading one suspends the command.
    pub cold: Vec<Vec<u8>>,
    /// The cold keys that were read, in order.
    pub suspended: Vec<Vec<u8>>,
    held: BTreeMap<Vec<u8>, Held>,
    op: Op,
    random: u64,
    /// Bytes that replies had beside the values that were read.
    pub reserved: usize,
    /// Bytes of values that were put.
    pub written: usize,
    /// What the running request has overwritten, in order.
    overwritten: Vec<(Vec<u8>, Option<Held>)>,
    /// The number of another table that is within reach.
    pub other: Option<u16>,
    held_across: BTreeMap<Vec<u8>, Held>,
}

impl Default for MemoryKeyspace {
    fn default() -> Self {
        Self {
            now: UnixMillis(1_000_000),
            value_bytes_max: 64 * 1024 * 1024,
            whole_bytes_max: None,
            has_timed_parts: false,
            whole: Vec::new(),
            cold: Vec::new(),
            suspended: Vec::new(),
            held: BTreeMap::new(),
            op: Op(0),
            random: 1,
            reserved: 0,
            written: 0,
            overwritten: Vec::new(),
            other: None,
            held_across: BTreeMap::new(),
        }
    }
}

impl MemoryKeyspace {
    fn find(&self, key: &[u8]) -> Option<&Held> {
        self.held
            .get(key)
            .filter(|held| held.expires_at.is_none_or(|at| at >= self.now))
    }

    /// The value of a key.
    #[must_use]
    pub fn value(&self, key: &[u8]) -> Option<&[u8]> {
        self.find(key).map(|held| held.value.as_slice())
    }

    /// When a key expires.
    #[must_use]
    pub fn expires_at(&self, key: &[u8]) -> Option<UnixMillis> {
        self.find(key).and_then(|held| held.expires_at)
    }

    /// The value and the expiry of a key of the other table.
    #[must_use]
    pub fn across(&self, key: &[u8]) -> Option<(&[u8], Option<UnixMillis>)> {
        let held = self.held_across.get(key)?;
        Some((&held.value, held.expires_at))
    }

    /// How many records there are of parts, and how many of them belong to the value that a key has.
    #[must_use]
    pub fn parts(&self) -> (usize, usize) {
        let parts = self.held.keys().filter_map(|name| PartName::decode(name));
        let is_of_head = |part: &PartName<'_>| {
            let held = self.find(part.key);
            let head = held.and_then(|held| Head::read(&held.value));
            head.is_some_and(|head| head.value == part.value && part.number < head.parts)
        };
        (parts.clone().count(), parts.filter(is_of_head).count())
    }

    /// Loses all parts.
    pub fn lose_parts(&mut self) {
        self.held.retain(|name, _| !is_part(name));
    }

    /// Each part gets what the next one has.
    pub fn swap_parts(&mut self) {
        let parts = self.held.iter_mut().filter(|(name, _)| is_part(name));
        let mut values: Vec<&mut Vec<u8>> = parts.map(|(_, held)| &mut held.value).collect();
        for at in 1..values.len() {
            let (before, after) = values.split_at_mut(at);
            std::mem::swap(&mut *before[at - 1], &mut *after[0]);
        }
    }

    /// Removes every key.
    pub fn clear(&mut self) {
        self.held.clear();
    }

    /// Runs a request and returns its reply, errors rendered; what a failed one put is dropped.
    ///
    /// # Panics
    /// If the request suspends.
    pub fn run(&mut self, protocol: Protocol, request: &OwnedArgs) -> Vec<u8> {
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, protocol);
        match self.try_run(request.as_args(), &mut reply) {
            Ok(()) => {}
            Err(Failure::Error(error)) => reply.error(&error.text()),
            Err(Failure::Suspend) => panic!("the request reads a value that is on disk"),
        }
        out
    }

    /// Runs a request of words separated by spaces and returns its RESP2 reply as text.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn run_line(&mut self, line: &str) -> String {
        let request: OwnedArgs = line.split(' ').collect();
        let reply = self.run(Protocol::Resp2, &request);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// Runs a request as a brick does: with nothing changed if it fails.
    ///
    /// # Errors
    /// Those of [`resolve`] and [`execute`].
    pub fn try_run(&mut self, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Failure> {
        let spec = resolve(args)?;
        self.overwritten.clear();
        let outcome = execute(spec.id, args, self, reply);
        if outcome == Err(Failure::Suspend) {
            let changes = self.overwritten.len();
            assert!(changes == 0, "{} suspended after a put", spec.name);
        }
        if outcome.is_err() {
            while let Some((key, held)) = self.overwritten.pop() {
                match held {
                    Some(held) => self.held.insert(key, held),
                    None => self.held.remove(&key),
                };
            }
        }
        outcome
    }
}

impl Keyspace for MemoryKeyspace {
    fn now(&self) -> UnixMillis {
        self.now
    }

    fn read_any(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        let held = self.read_stored(key)?;
        let head = held.and_then(|held| Some((held.expires_at, held.op, Head::read(held.value)?)));
        let Some((expires_at, op, head)) = head else {
            return self.read_stored(key);
        };
        let mut whole = Whole::new(head);
        for number in 0..head.parts {
            whole.add(self.read_part(head.part(key, number))?)?;
        }
        self.whole = whole.finish()?;
        Ok(Some(KeyValue {
            value: &self.whole,
            expires_at,
            op,
            value_type: ValueType::Hash,
        }))
    }

    fn read_stored(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        if self.cold.iter().any(|cold| cold == key) {
            self.suspended.push(key.to_vec());
            return Err(Failure::Suspend);
        }
        Ok(self.find(key).map(|held| KeyValue {
            value: &held.value,
            expires_at: held.expires_at,
            op: held.op,
            value_type: held.value_type,
        }))
    }

    fn whole_bytes_max(&self, _: &[u8]) -> Option<usize> {
        self.whole_bytes_max
    }

    fn has_timed_parts(&self) -> bool {
        self.has_timed_parts
    }

    fn next_value(&self) -> u64 {
        self.op.next().0
    }

    fn read_part(&mut self, part: PartName<'_>) -> Result<&[u8], Failure> {
        let held = self.read_stored(&part.encode())?;
        Ok(held.ok_or_else(|| ErrorReply::no_part(part))?.value)
    }

    fn put_part(&mut self, part: PartName<'_>, value: &[u8]) -> Result<(), Failure> {
        let put = NewValue {
            value: &[value],
            expires_at: None,
            value_type: ValueType::Hash,
        };
        self.put(&part.encode(), put)
    }

    fn delete_part(&mut self, part: PartName<'_>) -> Result<(), Failure> {
        self.delete(&part.encode())?;
        Ok(())
    }

    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        Ok(self.find(key).map(|held| Probe {
            value_len: held.value.len(),
            expires_at: held.expires_at,
            op: held.op,
            value_type: held.value_type,
        }))
    }

    fn put(&mut self, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        self.op = self.op.next();
        let held = Held {
            value: put.value.concat(),
            expires_at: put.expires_at,
            op: self.op,
            value_type: put.value_type,
        };
        self.written += held.value.len();
        let before = self.held.insert(key.to_vec(), held);
        self.overwritten.push((key.to_vec(), before));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        self.op = self.op.next();
        let was_there = self.find(key).is_some();
        let before = self.held.remove(key);
        self.overwritten.push((key.to_vec(), before));
        Ok(was_there)
    }

    fn value_bytes_max(&self) -> usize {
        self.value_bytes_max
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.reserved += bytes;
        Ok(())
    }

    fn random(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.random
    }

    fn database(&self) -> Option<u16> {
        Some(0)
    }

    fn is_there_across(&mut self, database: u16, key: &[u8]) -> Result<bool, Failure> {
        match self.other == Some(database) {
            true => Ok(self.held_across.contains_key(key)),
            false => Err(ErrorReply::OUT_OF_REACH.into()),
        }
    }

    fn put_across(&mut self, database: u16, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        if self.other != Some(database) {
            return Err(ErrorReply::OUT_OF_REACH.into());
        }
        self.op = self.op.next();
        let held = Held {
            value: put.value.concat(),
            expires_at: put.expires_at,
            op: self.op,
            value_type: put.value_type,
        };
        self.held_across.insert(key.to_vec(), held);
        Ok(())
    }
}
