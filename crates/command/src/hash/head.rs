//! The record of a key whose hash is in parts.
//!
//! In:  its value. Out: [`Head`], and the names of the parts.
//!
//! ```text
//! u8  form      2: the fields are in parts
//! u8  flags     1: some field has an expiry; 2: the key's own expiry stands here (only with 1)
//! u32 fields    how many there are
//! u64 value     which of the key's values this is, as the names of its parts have it
//! u32 parts     how many there are
//! u64 bytes     of all fields, as they stand in the parts, but for their expiries
//! flag 1:
//! u32 timed     how many fields have an expiry
//! u64 first     no field expires earlier
//! u64 last      when the last of them expires, 0: not known
//! u64 own       flag 2: when the key expires by itself, 2^64-1: never; else 0
//! u32 pruned    fields whose time was over are removed from the parts before this one
//! u64 kept      no field in those parts expires earlier, 2^64-1: none does
//! ```

use super::fields::{
    DAMAGED, EXPIRY_BYTES, Fields, Front, HAS_EXPIRIES, HAS_KEY_EXPIRY, NEVER, earlier,
};
use super::place::{part_of, place};
use crate::error::ErrorReply;
use brickyard_types::UnixMillis;
use brickyard_types::limits::VALUE_BYTES_MAX;
use brickyard_types::part::PartName;

/// The fields are in parts.
const PARTS: u8 = 2;

/// A hash has so many parts for each field, at most: it shrinks when half of them are too many.
const PARTS_A_FIELD: u64 = 2;

/// And so many at most while fields of it expire, which may be most of them before it shrinks.
const TIMED_PARTS_MAX: u32 = 1 << 18;

/// The lengths of its name and its value.
const FIELD_BYTES_MIN: u64 = 2;

/// What the record of a key says whose hash is in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many fields there are, those included whose time is over.
    pub fields: u32,
    /// Which of the key's values this is.
    pub value: u64,
    /// How many parts there are.
    pub parts: u32,
    /// Bytes of all fields without their expiries.
    pub bytes: u64,
    /// When fields expire; `None`: none does.
    pub times: Option<Times>,
}

/// When fields of a hash in parts expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How many fields have an expiry.
    fields: u32,
    /// None of them expires earlier.
    first: UnixMillis,
    /// When the last one expires, if that is known. It is where every field has an expiry, since the key expires with it.
    last: Option<UnixMillis>,
    /// The key's own expiry, where its record has that of the last field.
    own: Option<Option<UnixMillis>>,
    /// The parts before this one have been pruned, in a round that comes by all of them.
    pruned: u32,
    /// No field in those expires earlier.
    kept: Option<UnixMillis>,
}

/// What there is in some parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    fields: u32,
    bytes: u64,
    timed: u32,
    first: Option<UnixMillis>,
    last: Option<UnixMillis>,
}

impl Tally {
    /// One more part.
    pub(super) fn add(&mut self, part: &[u8]) -> Result<(), ErrorReply> {
        let fields = Fields::of_part(part)?;
        self.fields = u32::try_from(fields.count_max())
            .ok()
            .and_then(|fields| self.fields.checked_add(fields))
            .ok_or(DAMAGED)?;
        self.bytes += fields.plain_bytes()? as u64;
        if fields.has_expiries() {
            for at in fields.filter_map(|field| field.expires_at) {
                self.timed += 1;
                self.first = earlier(self.first, Some(at));
                self.last = self.last.max(Some(at));
            }
        }
        Ok(())
    }
}

impl Times {
    /// What becomes of them when `before` is replaced by `after`; `None`: no field has an expiry any more.
    fn exchanged(self, before: &Tally, after: &Tally) -> Result<Option<Self>, ErrorReply> {
        let left = self.fields.checked_sub(before.timed).ok_or(DAMAGED)?;
        let fields = left.checked_add(after.timed).ok_or(DAMAGED)?;
        let stays = |last: UnixMillis| before.last != Some(last) || after.last >= Some(last);
        let last = self.last.filter(|last| stays(*last));
        let times = Self {
            fields,
            first: after.first.map_or(self.first, |it| it.min(self.first)),
            last: last.map(|last| after.last.map_or(last, |it| it.max(last))),
            ..self
        };
        Ok((fields > 0).then_some(times))
    }

    /// Those of fields that are all in `tally`.
    fn exactly(tally: &Tally) -> Option<Self> {
        Some(Self {
            fields: tally.timed,
            first: tally.first?,
            last: tally.last,
            own: None,
            pruned: 0,
            kept: None,
        })
    }
}

impl Head {
    /// Bytes of a head; those of one with times.
    const BYTES: usize = 26;
    const TIMED_BYTES: usize = Self::BYTES + 40;

    /// Whether a value of that length may be a head.
    #[must_use]
    pub const fn may_have(len: usize) -> bool {
        len == Self::BYTES || len == Self::TIMED_BYTES
    }

    /// Reads a hash's value; `None`: it is no head.
    #[inline]
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        match value {
            [PARTS, flags, rest @ ..] => Self::decode(*flags, rest),
            _ => None,
        }
    }

    #[cold]
    fn decode(flags: u8, rest: &[u8]) -> Option<Self> {
        let (fields, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let (parts, rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let times = match flags {
            0 if rest.is_empty() => None,
            flags if flags & HAS_EXPIRIES != 0 => Some(Times::decode(flags, rest)?),
            _ => return None,
        };
        let head = Self {
            fields: u32::from_le_bytes(*fields),
            value: u64::from_le_bytes(*value),
            parts: u32::from_le_bytes(*parts),
            bytes: u64::from_le_bytes(*bytes),
            times,
        };
        head.is_sound().then_some(head)
    }

    /// Whether there may be such a hash: a disk or a peer may say anything, and who believes it may look for a long time.
    fn is_sound(&self) -> bool {
        let fields = u64::from(self.fields);
        let are_parts = match &self.times {
            None => u64::from(self.parts) <= fields * PARTS_A_FIELD,
            Some(times) => {
                let all_are_timed = times.fields == self.fields;
                self.parts <= TIMED_PARTS_MAX
                    && (1..=self.fields).contains(&times.fields)
                    && times.pruned <= self.parts
                    && (times.last.is_some() || !all_are_timed)
                    && (times.own.is_none() || all_are_timed)
            }
        };
        let are_bytes =
            fields * FIELD_BYTES_MIN <= self.bytes && self.bytes <= VALUE_BYTES_MAX as u64;
        self.parts > 0 && are_parts && are_bytes
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::TIMED_BYTES);
        let flags = match &self.times {
            None => 0,
            Some(Times { own: None, .. }) => HAS_EXPIRIES,
            Some(_) => HAS_EXPIRIES | HAS_KEY_EXPIRY,
        };
        out.extend_from_slice(&[PARTS, flags]);
        out.extend_from_slice(&self.fields.to_le_bytes());
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(&self.parts.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        if let Some(times) = &self.times {
            times.encode(&mut out);
        }
        out
    }

    /// The value to store for a key with that expiry of its own, and when its record is gone.
    pub(super) fn stored(&self, own: Option<UnixMillis>) -> (Vec<u8>, Option<UnixMillis>) {
        let mut head = *self;
        let fields = head.fields;
        let by_fields = head.times.as_mut().and_then(|times| {
            times.own = None;
            // When every field is gone, so is the key.
            let last = times.last.filter(|_| times.fields == fields);
            let last = last.filter(|last| own.is_none_or(|own| *last < own))?;
            times.own = Some(own);
            Some(last)
        });
        (head.encode(), by_fields.or(own))
    }

    /// When the key expires by itself; `expires_at` is its record's.
    pub(super) fn key_expiry(&self, expires_at: Option<UnixMillis>) -> Option<UnixMillis> {
        let own = self.times.and_then(|times| times.own);
        own.unwrap_or(expires_at)
    }

    /// No field expires earlier; `None`: none does.
    pub(super) fn first_expiry(&self) -> Option<UnixMillis> {
        self.times.map(|times| times.first)
    }

    /// Whether some field may be there whose time was over at `now`.
    pub(super) fn may_have_due(&self, now: UnixMillis) -> bool {
        self.first_expiry().is_some_and(|at| at < now)
    }

    /// Some parts are written anew: `before` was in them, `after` is.
    pub(super) fn exchange(&mut self, before: &Tally, after: &Tally) -> Result<(), ErrorReply> {
        let fields = self.fields.checked_sub(before.fields);
        let bytes = self.bytes.checked_sub(before.bytes);
        let (fields, bytes) = fields.zip(bytes).ok_or(DAMAGED)?;
        self.fields = fields + after.fields;
        self.bytes = bytes + after.bytes;
        self.times = match self.times {
            Some(times) => times.exchanged(before, after)?,
            None if before.timed > 0 => return Err(DAMAGED),
            None => Times::exactly(after),
        };
        Ok(())
    }

    /// Whether it is to be known when the last field expires, and is not.
    pub(super) fn lacks_last(&self) -> bool {
        let lacks = |times: Times| times.fields == self.fields && times.last.is_none();
        self.times.is_some_and(lacks)
    }

    /// This is in all parts together.
    pub(super) fn set_times(&mut self, all: &Tally) {
        self.times = Times::exactly(all);
    }

    /// The part that is to be pruned next.
    pub(super) fn pruned(&self) -> u32 {
        self.times.map_or(0, |times| times.pruned)
    }

    /// The parts from [`Self::pruned`] to this one were pruned, and `left` is what is in them now.
    pub(super) fn prune_to(&mut self, end: u32, left: &Tally) {
        let Some(times) = &mut self.times else {
            return;
        };
        times.kept = earlier(times.kept, left.first);
        times.pruned = end;
        if end == self.parts {
            // A round has come by all that have an expiry.
            times.first = times.kept.unwrap_or(times.first);
            (times.pruned, times.kept) = (0, None);
        }
    }

    /// A part has fields of which the first expires at that time.
    pub(super) fn note_first(&mut self, part: u32, first: Option<UnixMillis>) {
        if let Some(times) = &mut self.times {
            times.pruned = times.pruned.min(self.parts);
            if part < times.pruned {
                times.kept = earlier(times.kept, first);
            }
        }
    }

    /// What stands before the fields when they are one value.
    pub(super) fn front(&self) -> Front {
        Front {
            fields: self.fields,
            first: self.first_expiry(),
            key_expires_at: self.times.and_then(|times| times.own),
        }
    }

    /// Bytes that the value has when it is read as a whole.
    #[must_use]
    pub fn whole_len(&self) -> usize {
        let expiries = match self.times {
            Some(_) => self.fields as usize * EXPIRY_BYTES,
            None => 0,
        };
        self.front().len() + self.bytes as usize + expiries
    }

    /// A part of the hash at `key`.
    #[must_use]
    pub const fn part<'k>(&self, key: &'k [u8], number: u32) -> PartName<'k> {
        PartName {
            key,
            value: self.value,
            number,
        }
    }

    /// The part that has the field of that name, if it is there.
    pub(super) fn part_with<'k>(&self, key: &'k [u8], field: &[u8]) -> PartName<'k> {
        self.part(key, part_of(place(field), self.parts))
    }
}

impl Times {
    #[cold]
    fn decode(flags: u8, bytes: &[u8]) -> Option<Self> {
        let (fields, rest) = bytes.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (last, rest) = rest.split_first_chunk()?;
        let (own, rest) = rest.split_first_chunk()?;
        let (pruned, rest) = rest.split_first_chunk()?;
        let kept = u64::from_le_bytes(<[u8; 8]>::try_from(rest).ok()?);
        let last = u64::from_le_bytes(*last);
        let own = u64::from_le_bytes(*own);
        let own = match flags {
            HAS_EXPIRIES if own == 0 => None,
            _ if flags == HAS_EXPIRIES | HAS_KEY_EXPIRY => {
                Some((own != NEVER).then_some(UnixMillis(own)))
            }
            _ => return None,
        };
        Some(Self {
            fields: u32::from_le_bytes(*fields),
            first: UnixMillis(u64::from_le_bytes(*first)),
            last: (last != 0).then_some(UnixMillis(last)),
            own,
            pruned: u32::from_le_bytes(*pruned),
            kept: (kept != NEVER).then_some(UnixMillis(kept)),
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let own = match self.own {
            None => 0,
            Some(own) => own.map_or(NEVER, |at| at.0),
        };
        out.extend_from_slice(&self.fields.to_le_bytes());
        out.extend_from_slice(&self.first.0.to_le_bytes());
        out.extend_from_slice(&self.last.map_or(0, |at| at.0).to_le_bytes());
        out.extend_from_slice(&own.to_le_bytes());
        out.extend_from_slice(&self.pruned.to_le_bytes());
        out.extend_from_slice(&self.kept.map_or(NEVER, |at| at.0).to_le_bytes());
    }
}

#[cfg(test)]
#[path = "head_test.rs"]
mod head_test;
