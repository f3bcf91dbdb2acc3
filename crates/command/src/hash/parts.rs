//! Hashes in parts: too large for one record, so that a command costs what the fields cost that it touches.
//!
//! In:  a key, changed fields. Out: the records of the parts that have them, and of the *head*, the record of the key itself.
//!
//! A part is a run of fields, as a whole hash is one ([`super::fields`]); which field is in which says [`super::place`]. The head is
//! written by every command that changes the hash, so its version is that of the hash. What a head does not speak of any more,
//! the keyspace removes when it comes to it.
//!
//! Invariants:
//! - A head and the parts that it speaks of are written in one operation.
//! - No field of a hash in parts has an expiry of its own: such a hash is one record, however large.
//! - All parts together would be one value of a length that is allowed: what is about the whole hash reads it as that.

use super::fields::{DAMAGED, Field, Fields, HEADER_BYTES, TOO_LARGE, write};
use super::head::Head;
use super::place::{buddy, part_of, place};
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use brickyard_types::{UnixMillis, ValueType};
use std::collections::BTreeMap;

/// Of the longest value that is one record, a part has so much on average.
const PARTS_OF_WHOLE: usize = 4;

/// A value longer than this stays one record, however small the changes are that follow: it came as one, and its parts would not
/// fit into one operation.
const SPLIT_BYTES_MAX: usize = 16 << 20;

/// A hash in parts that is read as if it were one value.
#[derive(Debug)]
pub struct Whole {
    head: Head,
    fields: usize,
    value: Vec<u8>,
}

impl Whole {
    /// Nothing of it yet.
    #[must_use]
    pub fn new(head: Head) -> Self {
        // What a head says is not believed before it was read.
        const RESERVED: usize = 1 << 20;
        let mut value = write(None, [].iter());
        value.reserve(head.whole_len().min(RESERVED));
        Self {
            head,
            fields: 0,
            value,
        }
    }

    /// The next part.
    ///
    /// # Errors
    /// It is none.
    pub fn add(&mut self, part: &[u8]) -> Result<(), ErrorReply> {
        let fields = Fields::of_part(part)?;
        self.fields += fields.count_max();
        self.value.extend_from_slice(fields.run());
        if self.value.len() > self.head.whole_len() {
            return Err(DAMAGED);
        }
        Ok(())
    }

    /// The value, when all parts are in.
    ///
    /// # Errors
    /// The parts are not those of the head.
    pub fn finish(mut self) -> Result<Vec<u8>, ErrorReply> {
        if self.value.len() != self.head.whole_len() || self.fields != self.head.fields as usize {
            return Err(DAMAGED);
        }
        self.value[2..HEADER_BYTES].copy_from_slice(&self.head.fields.to_le_bytes());
        Ok(self.value)
    }
}

/// The head of the hash at `key` and the key's expiry, if it is in parts.
pub(super) fn head_of<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
) -> Result<Option<(Head, Option<UnixMillis>)>, Failure> {
    let Some(entry) = keyspace.read_stored(key)? else {
        return Ok(None);
    };
    if entry.value_type != ValueType::Hash {
        return Err(ErrorReply::WRONG_TYPE.into());
    }
    let head = Head::read(entry.value);
    Ok(head.map(|head| (head, entry.expires_at)))
}

/// Sets one field of a hash in parts, of which nothing else changes; whether it is new. `None`: the number of its parts changes, too.
pub(super) fn set_one<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    (mut head, expires_at): (Head, Option<UnixMillis>),
    (name, value): (&[u8], &[u8]),
) -> Result<Option<bool>, Failure> {
    let Some(whole_bytes_max) = keyspace.whole_bytes_max(key) else {
        return Ok(None);
    };
    let part = head.part_with(key, name);
    let fields = Fields::of_part(keyspace.read_part(part)?)?;
    let before = fields.bytes() as u64;
    let Some((run, is_new)) = fields.with_one(name, value) else {
        return Ok(None);
    };
    let after = (run.len() - HEADER_BYTES) as u64;
    let bytes = head.bytes.checked_sub(before).ok_or(DAMAGED)? + after;
    (head.bytes, head.fields) = (bytes, head.fields + u32::from(is_new));
    let stays = Next::of(&head, whole_bytes_max) == Next::Stays;
    if !stays || head.whole_len() >= keyspace.value_bytes_max() {
        return Ok(None);
    }
    keyspace.put_part(part, &run)?;
    put_head(keyspace, key, &head, expires_at)?;
    Ok(Some(is_new))
}

/// What becomes of the form of a hash in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Stays,
    /// It gets more parts, or fewer.
    Parts(u32),
    Whole,
}

impl Next {
    /// What is right for a hash with this head.
    fn of(head: &Head, whole_bytes_max: usize) -> Self {
        // Well below the bound, or a hash would change its form with every other command.
        if head.whole_len() <= whole_bytes_max / 2 {
            return Self::Whole;
        }
        let wanted = parts_for(head, whole_bytes_max);
        let is_right = (wanted..=wanted.saturating_mul(2)).contains(&head.parts);
        if is_right {
            Self::Stays
        } else {
            Self::Parts(wanted)
        }
    }
}

/// Copies of parts, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Loaded(BTreeMap<u32, Vec<u8>>);

impl Loaded {
    /// Reads the parts that have these fields, or would have them.
    pub(super) fn load<'n, K: Keyspace>(
        &mut self,
        keyspace: &mut K,
        key: &[u8],
        head: &Head,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Result<(), Failure> {
        let numbers = names.map(|name| part_of(place(name), head.parts));
        self.load_parts(keyspace, key, head, numbers)
    }

    fn load_parts<K: Keyspace>(
        &mut self,
        keyspace: &mut K,
        key: &[u8],
        head: &Head,
        numbers: impl Iterator<Item = u32>,
    ) -> Result<(), Failure> {
        let mut is_suspended = false;
        for number in numbers {
            if self.0.contains_key(&number) {
                continue;
            }
            match keyspace.read_part(head.part(key, number)) {
                Ok(run) => {
                    self.0.insert(number, run.to_vec());
                }
                // All that it needs is read at once.
                Err(Failure::Suspend) => is_suspended = true,
                Err(error) => return Err(error),
            }
        }
        match is_suspended {
            true => Err(Failure::Suspend),
            false => Ok(()),
        }
    }

    /// The fields of all of them, each of which is where it belongs.
    pub(super) fn fields(&self, head: &Head) -> Result<Vec<Field<'_>>, ErrorReply> {
        let mut all = Vec::new();
        for (&number, run) in &self.0 {
            for field in Fields::of_part(run)? {
                if part_of(place(field.name), head.parts) != number {
                    return Err(DAMAGED);
                }
                all.push(field);
            }
        }
        Ok(all)
    }

    /// What becomes of them when these are their fields.
    pub(super) fn changed<'f>(
        &self,
        head: Head,
        expires_at: Option<UnixMillis>,
        fields: impl Iterator<Item = &'f Field<'f>>,
    ) -> PartsChange {
        let mut dealt: BTreeMap<u32, Vec<&Field<'_>>> = BTreeMap::new();
        for field in fields {
            let number = part_of(place(field.name), head.parts);
            assert!(
                self.0.contains_key(&number),
                "a field of part {number}, which was not loaded"
            );
            dealt.entry(number).or_default().push(field);
        }
        let mut change = PartsChange {
            head,
            expires_at,
            runs: BTreeMap::new(),
            before: Tally::default(),
            after: Tally::default(),
        };
        for (&number, before) in &self.0 {
            let fields = dealt.remove(&number).unwrap_or_default();
            let bytes = run_of(fields.iter().copied());
            change.before.add(before);
            change.after.add(&bytes);
            let is_changed = bytes != *before;
            change.runs.insert(number, Run { bytes, is_changed });
        }
        change
    }
}

/// How many fields there are in some parts, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    fields: u32,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, part: &[u8]) {
        if let Ok(fields) = Fields::of_part(part) {
            self.fields += fields.count_max() as u32;
            self.bytes += fields.bytes() as u64;
        }
    }
}

/// What a command makes of a hash in parts.
#[derive(Debug)]
pub(super) struct PartsChange {
    head: Head,
    expires_at: Option<UnixMillis>,
    /// The parts that were read.
    runs: BTreeMap<u32, Run>,
    /// What was in them, and what is.
    before: Tally,
    after: Tally,
}

#[derive(Debug)]
struct Run {
    bytes: Vec<u8>,
    is_changed: bool,
}

impl Run {
    const fn changed(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_changed: true,
        }
    }
}

impl PartsChange {
    /// Does it to `key`; `whole_bytes_max` is the keyspace's.
    pub(super) fn apply<K: Keyspace>(
        mut self,
        keyspace: &mut K,
        key: &[u8],
        whole_bytes_max: usize,
    ) -> Result<(), Failure> {
        let head = &mut self.head;
        let fields = head.fields.checked_sub(self.before.fields);
        let bytes = head.bytes.checked_sub(self.before.bytes);
        (head.fields, head.bytes) = fields.zip(bytes).ok_or(DAMAGED)?;
        head.fields += self.after.fields;
        head.bytes += self.after.bytes;
        if self.head.fields == 0 {
            return keyspace.delete(key).map(|_| ());
        }
        if self.head.whole_len() >= keyspace.value_bytes_max() {
            return Err(TOO_LARGE.into());
        }
        let before = self.head;
        match Next::of(&before, whole_bytes_max) {
            Next::Stays => {}
            Next::Parts(wanted) if wanted > before.parts => self.grow(keyspace, key, wanted)?,
            Next::Parts(wanted) => self.shrink(keyspace, key, wanted)?,
            Next::Whole => return self.become_whole(keyspace, key),
        }
        for (&number, run) in &self.runs {
            if run.is_changed {
                keyspace.put_part(self.head.part(key, number), &run.bytes)?;
            }
        }
        for number in self.head.parts..before.parts {
            keyspace.delete_part(self.head.part(key, number))?;
        }
        put_head(keyspace, key, &self.head, self.expires_at)
    }

    /// Reads parts of the hash as it is stored, which has `parts` of them.
    fn load<K: Keyspace>(
        &mut self,
        keyspace: &mut K,
        key: &[u8],
        numbers: impl Iterator<Item = u32>,
    ) -> Result<(), Failure> {
        let numbers = numbers.filter(|number| !self.runs.contains_key(number));
        let numbers: Vec<u32> = numbers.collect();
        let mut loaded = Loaded::default();
        loaded.load_parts(keyspace, key, &self.head, numbers.into_iter())?;
        let runs = loaded.0.into_iter().map(|(number, bytes)| {
            let is_changed = false;
            (number, Run { bytes, is_changed })
        });
        self.runs.extend(runs);
        Ok(())
    }

    /// It gets as many parts as that.
    fn grow<K: Keyspace>(
        &mut self,
        keyspace: &mut K,
        key: &[u8],
        wanted: u32,
    ) -> Result<(), Failure> {
        let stored = self.head.parts;
        let sources = (stored..wanted).map(buddy).filter(|it| *it < stored);
        self.load(keyspace, key, sources)?;
        for number in stored..wanted {
            let source = buddy(number);
            let run = self.runs.remove(&source).ok_or(DAMAGED)?;
            let fields = Fields::of_part(&run.bytes)?.collect::<Vec<_>>();
            let goes = |field: &&Field<'_>| part_of(place(field.name), number + 1) == number;
            let leaving = run_of(fields.iter().filter(goes));
            let staying = run_of(fields.iter().filter(|field| !goes(field)));
            self.runs.insert(number, Run::changed(leaving));
            self.runs.insert(source, Run::changed(staying));
            self.head.parts = number + 1;
        }
        Ok(())
    }

    /// It has only as many parts as that.
    fn shrink<K: Keyspace>(
        &mut self,
        keyspace: &mut K,
        key: &[u8],
        wanted: u32,
    ) -> Result<(), Failure> {
        let stored = self.head.parts;
        let involved = (wanted..stored).flat_map(|number| [number, buddy(number)]);
        self.load(keyspace, key, involved)?;
        for number in (wanted..stored).rev() {
            let mut pair = [number, buddy(number)].map(|it| self.runs.remove(&it));
            let (Some(leaving), Some(staying)) = (pair[0].take(), pair[1].take()) else {
                return Err(DAMAGED.into());
            };
            let mut fields = Fields::of_part(&staying.bytes)?.collect::<Vec<_>>();
            fields.extend(Fields::of_part(&leaving.bytes)?);
            let joined = run_of(fields.iter());
            self.runs.insert(buddy(number), Run::changed(joined));
            self.head.parts = number;
        }
        Ok(())
    }

    /// It is small enough to be one value again.
    fn become_whole<K: Keyspace>(mut self, keyspace: &mut K, key: &[u8]) -> Result<(), Failure> {
        let head = self.head;
        self.load(keyspace, key, 0..head.parts)?;
        let mut whole = Whole::new(head);
        for run in self.runs.values() {
            whole.add(&run.bytes)?;
        }
        let value = whole.finish()?;
        for number in 0..head.parts {
            keyspace.delete_part(head.part(key, number))?;
        }
        let put = NewValue {
            value: &[&value],
            expires_at: self.expires_at,
            value_type: ValueType::Hash,
        };
        keyspace.put(key, put)
    }
}

/// Whether a whole hash can have parts.
pub(super) fn is_for_parts(value: &[u8]) -> bool {
    // Of one field there is nothing to part.
    value.len() <= SPLIT_BYTES_MAX
        && Fields::of_part(value).is_ok_and(|fields| fields.count_max() > 1)
}

/// Stores a whole hash in parts.
pub(super) fn put_in_parts<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    (value, expires_at): (&[u8], Option<UnixMillis>),
    whole_bytes_max: usize,
) -> Result<(), Failure> {
    let fields = Fields::of_part(value)?;
    let mut head = Head {
        fields: fields.count_max() as u32,
        value: keyspace.next_value(),
        parts: 1,
        bytes: fields.bytes() as u64,
    };
    head.parts = parts_for(&head, whole_bytes_max);
    let mut dealt: Vec<Vec<Field<'_>>> = vec![Vec::new(); head.parts as usize];
    for field in fields {
        dealt[part_of(place(field.name), head.parts) as usize].push(field);
    }
    for (number, fields) in dealt.iter().enumerate() {
        let part = head.part(key, number as u32);
        keyspace.put_part(part, &run_of(fields.iter()))?;
    }
    put_head(keyspace, key, &head, expires_at)
}

fn put_head<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    head: &Head,
    expires_at: Option<UnixMillis>,
) -> Result<(), Failure> {
    let put = NewValue {
        value: &[&head.encode()],
        expires_at,
        value_type: ValueType::Hash,
    };
    keyspace.put(key, put)
}

/// How many parts are right for so many bytes and fields.
fn parts_for(head: &Head, whole_bytes_max: usize) -> u32 {
    let part = (whole_bytes_max / PARTS_OF_WHOLE).max(1) as u64;
    let parts = u32::try_from(head.bytes / part).unwrap_or(u32::MAX);
    // With fewer fields than parts some would be empty.
    parts.min(head.fields).max(1)
}

/// The fields as a part.
fn run_of<'f>(fields: impl Iterator<Item = &'f Field<'f>> + Clone) -> Vec<u8> {
    write(None, fields)
}

#[cfg(test)]
#[path = "parts_test.rs"]
mod parts_test;
