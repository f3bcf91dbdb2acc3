//! Hashes in parts: too large for one record, so that a command costs what the fields cost that it touches.
//!
//! In:  a key, changed fields. Out: the records of the parts that have them, and of the *head*, the record of the key itself.
//!
//! A part is a run of fields, as a whole hash is one ([`super::fields`]); which field is in which says [`super::place`]. The head is
//! written by every command that changes the hash, so its version is that of the hash. What a head does not speak of any more,
//! the keyspace removes when it comes to it.
//!
//! A field whose time is over is not there, for readers and for writers. It goes when its part is written next, when a reader has
//! met it ([`drop_due`]), or when the parts are pruned, some at a time ([`prune`]).
//!
//! Invariants:
//! - A head and the parts that it speaks of are written in one operation.
//! - A field of a hash in parts has an expiry only where the keyspace lets it ([`Keyspace::has_timed_parts`]): such a hash is one
//!   record elsewhere, however large.
//! - All parts together would be one value of a length that is allowed: what is about the whole hash reads it as that.

use super::fields::{DAMAGED, Field, Fields, TOO_LARGE, earlier, first_of, put_field, write};
use super::head::{Head, Tally};
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
    first: Option<UnixMillis>,
    /// The value without what stands before the fields.
    run: Vec<u8>,
}

impl Whole {
    /// Nothing of it yet.
    #[must_use]
    pub fn new(head: Head) -> Self {
        // What a head says is not believed before it was read.
        const RESERVED: usize = 1 << 20;
        Self {
            head,
            fields: 0,
            first: None,
            run: Vec::with_capacity(head.whole_len().min(RESERVED)),
        }
    }

    /// The next part.
    ///
    /// # Errors
    /// It is none.
    pub fn add(&mut self, part: &[u8]) -> Result<(), ErrorReply> {
        let fields = Fields::of_part(part)?;
        self.fields += fields.count_max();
        if self.head.times.is_some() {
            self.first = earlier(self.first, first_of(part));
            fields.for_each(|field| put_field(&mut self.run, &field, true));
        } else if fields.has_expiries() {
            return Err(DAMAGED);
        } else {
            self.run.extend_from_slice(fields.run());
        }
        if self.run.len() > self.head.whole_len() {
            return Err(DAMAGED);
        }
        Ok(())
    }

    /// The value, when all parts are in.
    ///
    /// # Errors
    /// The parts are not those of the head.
    pub fn finish(self) -> Result<Vec<u8>, ErrorReply> {
        let mut front = self.head.front();
        let is_timed = front.first.is_some();
        let len = front.len() + self.run.len();
        if len != self.head.whole_len()
            || self.fields != self.head.fields as usize
            || self.first.is_some() != is_timed
        {
            return Err(DAMAGED);
        }
        front.first = self.first;
        let mut value = Vec::with_capacity(len);
        front.write(&mut value);
        value.extend_from_slice(&self.run);
        Ok(value)
    }
}

/// The head of the hash at `key` and the key's own expiry, if it is in parts.
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
    Ok(head.map(|head| (head, head.key_expiry(entry.expires_at))))
}

/// Gives one field of a hash in parts the value that `next` makes of it, where nothing else changes; what `next` made, and whether the
/// field is new. `None`: more changes than this, and nothing was done.
pub(super) fn set_one<K: Keyspace, T: AsRef<[u8]>>(
    keyspace: &mut K,
    key: &[u8],
    (mut head, key_expires_at): (Head, Option<UnixMillis>),
    name: &[u8],
    next: impl Fn(Option<Field<'_>>) -> Result<T, ErrorReply>,
) -> Result<Option<(T, bool)>, Failure> {
    let Some(whole_bytes_max) = keyspace.whole_bytes_max(key) else {
        return Ok(None);
    };
    let part = head.part_with(key, name);
    let before = keyspace.read_part(part)?;
    let Some((run, made, is_new)) = Fields::of_part(before)?.with_one(name, next)? else {
        return Ok(None);
    };
    let (mut there, mut then) = (Tally::default(), Tally::default());
    there.add(before)?;
    then.add(&run)?;
    head.exchange(&there, &then)?;
    let stays = Next::of(&head, whole_bytes_max) == Next::Stays;
    if !stays || head.whole_len() >= keyspace.value_bytes_max() {
        return Ok(None);
    }
    keyspace.put_part(part, &run)?;
    put_head(keyspace, key, &head, key_expires_at)?;
    Ok(Some((made, is_new)))
}

/// How many fields of a hash in parts there are.
pub(super) fn len<K: Keyspace>(keyspace: &mut K, key: &[u8], head: &Head) -> Result<u64, Failure> {
    let now = keyspace.now();
    if !head.may_have_due(now) {
        return Ok(u64::from(head.fields));
    }
    let (mut len, mut is_suspended) = (0, false);
    for number in 0..head.parts {
        match keyspace.read_part(head.part(key, number)) {
            Ok(part) => len += Fields::of_part(part)?.hiding_due(now).len() as u64,
            // All that it needs is read at once.
            Err(Failure::Suspend) => is_suspended = true,
            Err(error) => return Err(error),
        }
    }
    match is_suspended {
        true => Err(Failure::Suspend),
        false => Ok(len),
    }
}

/// Removes the fields of these parts whose time is over, where the key has a hash in parts; the form of the hash stays. It reads nothing
/// but the head and those parts.
///
/// # Errors
/// As of any command.
pub fn drop_due<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    parts: impl Iterator<Item = u32>,
) -> Result<(), Failure> {
    let now = keyspace.now();
    let Some((head, key_expires_at)) = head_of(keyspace, key)? else {
        return Ok(());
    };
    let mut loaded = Loaded::default();
    loaded.load_parts(keyspace, key, &head, parts.filter(|it| *it < head.parts))?;
    let change = {
        let fields = loaded.fields(&head, now)?;
        loaded.changed(head, key_expires_at, fields.iter())?
    };
    if !change.runs.values().any(|run| run.is_changed) {
        return Ok(());
    }
    change.apply(keyspace, key, None).map(drop)
}

/// Removes the fields whose time is over from so many parts of the hash at `key`; whether there are more to be looked at in this round.
///
/// # Errors
/// As of any command.
pub fn prune<K: Keyspace>(keyspace: &mut K, key: &[u8], parts_max: u32) -> Result<bool, Failure> {
    let now = keyspace.now();
    let Some((head, key_expires_at)) = head_of(keyspace, key)? else {
        return Ok(false);
    };
    let whole_bytes_max = keyspace.whole_bytes_max(key);
    if !head.may_have_due(now) || whole_bytes_max.is_none() {
        return Ok(false);
    }
    let from = head.pruned();
    let end = head.parts.min(from.saturating_add(parts_max));
    let mut loaded = Loaded::default();
    loaded.load_parts(keyspace, key, &head, from..end)?;
    let mut change = {
        let fields = loaded.fields(&head, now)?;
        loaded.changed(head, key_expires_at, fields.iter())?
    };
    change.prunes_to = Some(end);
    let left = change.apply(keyspace, key, whole_bytes_max)?;
    // Of parts that were joined meanwhile some may have been ahead, which takes another round.
    Ok(left.is_some_and(|head| head.may_have_due(now)))
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

    /// The fields of all of them that are there at `now`, each of which is where it belongs.
    pub(super) fn fields(
        &self,
        head: &Head,
        now: UnixMillis,
    ) -> Result<Vec<Field<'_>>, ErrorReply> {
        let mut all = Vec::new();
        for (&number, run) in &self.0 {
            for field in Fields::of_part(run)?.hiding_due(now) {
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
        key_expires_at: Option<UnixMillis>,
        fields: impl Iterator<Item = &'f Field<'f>>,
    ) -> Result<PartsChange, ErrorReply> {
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
            key_expires_at,
            runs: BTreeMap::new(),
            before: Tally::default(),
            after: Tally::default(),
            prunes_to: None,
        };
        for (&number, before) in &self.0 {
            let fields = dealt.remove(&number).unwrap_or_default();
            let bytes = run_of(fields.iter().copied());
            change.before.add(before)?;
            change.after.add(&bytes)?;
            let is_changed = bytes != *before;
            change.runs.insert(number, Run { bytes, is_changed });
        }
        Ok(change)
    }
}

/// What a command makes of a hash in parts.
#[derive(Debug)]
pub(super) struct PartsChange {
    head: Head,
    key_expires_at: Option<UnixMillis>,
    /// The parts that were read.
    runs: BTreeMap<u32, Run>,
    /// What was in them, and what is.
    before: Tally,
    after: Tally,
    /// All from the last one that was pruned to this one have been.
    prunes_to: Option<u32>,
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
    /// Does it to `key`, and returns its head, if it is still in parts; `whole_bytes_max` is the keyspace's, or `None`: the form stays
    /// as it is.
    pub(super) fn apply<K: Keyspace>(
        mut self,
        keyspace: &mut K,
        key: &[u8],
        whole_bytes_max: Option<usize>,
    ) -> Result<Option<Head>, Failure> {
        self.head.exchange(&self.before, &self.after)?;
        if self.head.fields == 0 {
            return keyspace.delete(key).map(|_| None);
        }
        if self.head.whole_len() >= keyspace.value_bytes_max() {
            return Err(TOO_LARGE.into());
        }
        if let Some(end) = self.prunes_to {
            self.head.prune_to(end, &self.after);
        }
        let before = self.head;
        if before.lacks_last() {
            self.load(keyspace, key, 0..before.parts)?;
            let mut all = Tally::default();
            for run in self.runs.values() {
                all.add(&run.bytes)?;
            }
            self.head.set_times(&all);
        }
        match whole_bytes_max.map_or(Next::Stays, |max| Next::of(&before, max)) {
            Next::Stays => {}
            Next::Parts(wanted) if wanted > before.parts => self.grow(keyspace, key, wanted)?,
            Next::Parts(wanted) => self.shrink(keyspace, key, wanted)?,
            Next::Whole => return self.become_whole(keyspace, key).map(|()| None),
        }
        for (&number, run) in &self.runs {
            if run.is_changed {
                self.head.note_first(number, first_of(&run.bytes));
                keyspace.put_part(self.head.part(key, number), &run.bytes)?;
            }
        }
        for number in self.head.parts..before.parts {
            keyspace.delete_part(self.head.part(key, number))?;
        }
        put_head(keyspace, key, &self.head, self.key_expires_at)?;
        Ok(Some(self.head))
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
        let (_, expires_at) = head.stored(self.key_expires_at);
        let value = whole.finish()?;
        for number in 0..head.parts {
            keyspace.delete_part(head.part(key, number))?;
        }
        let put = NewValue {
            value: &[&value],
            expires_at,
            value_type: ValueType::Hash,
        };
        keyspace.put(key, put)
    }
}

/// Whether a whole hash can have parts; `are_timed`: fields with an expiry may be in some.
pub(super) fn is_for_parts(
    (value, expires_at): (&[u8], Option<UnixMillis>),
    are_timed: bool,
) -> bool {
    // Of one field there is nothing to part.
    value.len() <= SPLIT_BYTES_MAX
        && Fields::read(value, expires_at)
            .is_ok_and(|fields| fields.count_max() > 1 && (are_timed || !fields.has_expiries()))
}

/// Stores a whole hash in parts; `expires_at` is its record's.
pub(super) fn put_in_parts<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    (value, expires_at): (&[u8], Option<UnixMillis>),
    whole_bytes_max: usize,
) -> Result<(), Failure> {
    let fields = Fields::read(value, expires_at)?;
    let mut head = Head {
        fields: fields.count_max() as u32,
        value: keyspace.next_value(),
        parts: 1,
        bytes: fields.plain_bytes()? as u64,
        times: None,
    };
    head.parts = parts_for(&head, whole_bytes_max);
    let mut dealt: Vec<Vec<Field<'_>>> = vec![Vec::new(); head.parts as usize];
    for field in fields {
        dealt[part_of(place(field.name), head.parts) as usize].push(field);
    }
    let mut all = Tally::default();
    for (number, fields) in dealt.iter().enumerate() {
        let part = head.part(key, number as u32);
        let run = run_of(fields.iter());
        all.add(&run)?;
        keyspace.put_part(part, &run)?;
    }
    head.set_times(&all);
    put_head(keyspace, key, &head, fields.key_expires_at)
}

fn put_head<K: Keyspace>(
    keyspace: &mut K,
    key: &[u8],
    head: &Head,
    key_expires_at: Option<UnixMillis>,
) -> Result<(), Failure> {
    let (value, expires_at) = head.stored(key_expires_at);
    let put = NewValue {
        value: &[&value],
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
