//! A hash that is being changed.
//!
//! In:  the fields that there are, and changes. Out: the value to store.
//!
//! Invariant: finding a field costs the same however many there are, once a command has more than a few to find.

use super::HashRecord;
use super::fields::{Field, Fields, TOO_LARGE, write};
use super::head::Head;
use super::parts::{Loaded, PartsChange, is_for_parts, put_in_parts};
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, NewValue};
use brickyard_types::{UnixMillis, ValueType};
use std::collections::BTreeMap;

/// With fewer fields than this a walk over them is faster than a map.
const INDEXED_FROM: usize = 32;

/// See the module.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    /// `None`: it was removed.
    fields: Vec<Option<Field<'a>>>,
    /// Where each field is, once [`Self::expect`] has said that many will be asked for.
    places: Option<BTreeMap<&'a [u8], usize>>,
    /// The key's own expiry.
    pub(super) key_expires_at: Option<UnixMillis>,
    /// Whether a field was set or removed.
    is_changed: bool,
    /// The hash is in parts, and the fields are those of some of them.
    parts: Option<(Head, &'a Loaded)>,
}

/// What a draft does to its key.
#[derive(Debug)]
pub(super) enum Change {
    /// No field was set or removed.
    Nothing,
    Put(HashRecord),
    /// Some of its parts are changed.
    Parts(PartsChange),
    /// No field is left.
    Delete,
}

impl<'a> Draft<'a> {
    /// Nothing yet.
    pub(super) const fn new() -> Self {
        Self {
            fields: Vec::new(),
            places: None,
            key_expires_at: None,
            is_changed: false,
            parts: None,
        }
    }

    /// What there is at `now`.
    pub(super) fn of(fields: Fields<'a>, now: UnixMillis) -> Self {
        let key_expires_at = fields.key_expires_at;
        let mut all = Vec::with_capacity(fields.count_max().min(1 << 16) + 1);
        all.extend(fields.hiding_due(now).map(Some));
        Self {
            fields: all,
            places: None,
            key_expires_at,
            is_changed: false,
            parts: None,
        }
    }

    /// What there is in some parts of a hash. Only fields that these have, or would have, may be asked for.
    pub(super) fn of_parts(
        loaded: &'a Loaded,
        (head, key_expires_at): (Head, Option<UnixMillis>),
        now: UnixMillis,
    ) -> Result<Self, ErrorReply> {
        let fields = loaded.fields(&head, now)?.into_iter().map(Some).collect();
        Ok(Self {
            fields,
            places: None,
            key_expires_at,
            is_changed: false,
            parts: Some((head, loaded)),
        })
    }

    /// So many fields will be asked for.
    pub(super) fn expect(&mut self, fields: usize) {
        if fields < 4 || self.fields.len() + fields < INDEXED_FROM {
            return;
        }
        let there = self.fields.iter().enumerate();
        let places = there.filter_map(|(at, field)| Some((field.as_ref()?.name, at)));
        self.places = Some(places.collect());
    }

    /// Whether it has no field, as a key that is not there.
    pub(super) fn is_empty(&self) -> bool {
        // One that is in parts has a field in some.
        self.parts.is_none() && self.fields.iter().all(Option::is_none)
    }

    fn place(&self, name: &[u8]) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(name).copied(),
            None => {
                let is_it = |field: &Option<Field<'_>>| field.is_some_and(|it| it.name == name);
                self.fields.iter().position(is_it)
            }
        }
    }

    /// The field of that name.
    pub(super) fn find(&self, name: &[u8]) -> Option<Field<'a>> {
        self.fields[self.place(name)?]
    }

    /// Sets a field, whether it was there or not; says whether it was not.
    pub(super) fn set(&mut self, field: Field<'a>) -> bool {
        self.is_changed = true;
        if let Some(at) = self.place(field.name) {
            self.fields[at] = Some(field);
            return false;
        }
        if let Some(places) = &mut self.places {
            places.insert(field.name, self.fields.len());
        }
        self.fields.push(Some(field));
        true
    }

    /// Removes a field, and returns it.
    pub(super) fn remove(&mut self, name: &[u8]) -> Option<Field<'a>> {
        let at = self.place(name)?;
        if let Some(places) = &mut self.places {
            places.remove(name);
        }
        self.is_changed = true;
        self.fields[at].take()
    }

    /// The value to store, and its record's expiry; `None` if no field is left.
    pub(super) fn stored(&self) -> Option<HashRecord> {
        let fields = self.fields.iter().flatten();
        // When every field is gone, so is the key.
        let last = fields.clone().map(|field| field.expires_at);
        let last = last.reduce(|one, other| Some(one?.max(other?)))?;
        let own = self.key_expires_at;
        let by_fields = last.filter(|last| own.is_none_or(|own| *last < own));
        let value = write(by_fields.map(|_| own), fields);
        Some((value, by_fields.or(own)))
    }

    /// What to do to the key.
    pub(super) fn change(&self) -> Result<Change, ErrorReply> {
        if !self.is_changed {
            return Ok(Change::Nothing);
        }
        if let Some((head, loaded)) = self.parts {
            let fields = self.fields.iter().flatten();
            let changed = loaded.changed(head, self.key_expires_at, fields)?;
            return Ok(Change::Parts(changed));
        }
        Ok(self.stored().map_or(Change::Delete, Change::Put))
    }
}

impl Change {
    /// Does it to `key`.
    pub(super) fn apply<K: Keyspace>(self, keyspace: &mut K, key: &[u8]) -> Result<(), Failure> {
        let (value, expires_at) = match self {
            Self::Nothing => return Ok(()),
            Self::Delete => return keyspace.delete(key).map(|_| ()),
            Self::Parts(change) => {
                let max = keyspace.whole_bytes_max(key);
                return change.apply(keyspace, key, max).map(drop);
            }
            Self::Put(record) => record,
        };
        // A table has room for the length of a string that is as long as may be, and of others one byte less.
        if value.len() >= keyspace.value_bytes_max() {
            return Err(TOO_LARGE.into());
        }
        if let Some(max) = keyspace
            .whole_bytes_max(key)
            .filter(|max| value.len() > *max)
            && is_for_parts((&value, expires_at), keyspace.has_timed_parts())
        {
            return put_in_parts(keyspace, key, (&value, expires_at), max);
        }
        let put = NewValue {
            value: &[&value],
            expires_at,
            value_type: ValueType::Hash,
        };
        keyspace.put(key, put)
    }
}
