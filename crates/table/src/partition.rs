//! A partition's share of a table, and how much there is of it.
//!
//! In:  records that come and go. Out: an index, and counts.
//!
//! Invariant: [`Counts`] are kept record by record: what comes is added by the very number that is taken away when it goes.

use crate::index::Index;
use crate::record::{Expiry, Header, State};
use brickyard_types::part::is_part;
use brickyard_types::{Op, ValueType, record::encoded_len};
use std::ops::{AddAssign, SubAssign};

/// How many records there are, of one partition or of all: below 2^31, since a [`crate::arena::RecordRef`] counts units
/// of 8 bytes and no record takes less than two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Records other than tombstones and parts.
    pub(crate) keys: u32,
    /// Records that keep a part of a key's value.
    pub(crate) parts: u32,
    pub(crate) tombstones: u32,
    /// Keys that have an expiry.
    pub(crate) expiring: u32,
    /// The sum of those, in milliseconds.
    pub(crate) expires_at_sum: u128,
    /// Keys that hold an intent.
    pub(crate) intents: u32,
    /// Those of them that are to hold nothing: their expiry says so.
    pub(crate) leaving: u32,
}

impl Counts {
    pub(crate) const NONE: Self = Self {
        keys: 0,
        parts: 0,
        tombstones: 0,
        expiring: 0,
        expires_at_sum: 0,
        intents: 0,
        leaving: 0,
    };

    /// Those of one record.
    #[inline]
    pub(crate) fn of(header: Header, expiry: Option<Expiry>, name: &[u8]) -> Self {
        let is_tombstone = header.state() == State::Tombstone;
        let is_part = !is_tombstone && is_part(name);
        let is_intent = !is_tombstone && header.value_type() == ValueType::Intent;
        let leaving = u32::from(is_intent && expiry.is_some());
        let expiry = expiry.filter(|_| !is_intent);
        Self {
            keys: u32::from(!is_tombstone && !is_part),
            parts: u32::from(is_part),
            tombstones: u32::from(is_tombstone),
            expiring: u32::from(expiry.is_some()),
            expires_at_sum: expiry.map_or(0, |expiry| u128::from(expiry.at().0)),
            intents: u32::from(is_intent),
            leaving,
        }
    }

    /// All of them.
    #[inline]
    pub(crate) const fn records(&self) -> u32 {
        self.keys + self.parts + self.tombstones
    }
}

impl AddAssign for Counts {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.keys += other.keys;
        self.parts += other.parts;
        self.tombstones += other.tombstones;
        self.intents += other.intents;
        self.leaving += other.leaving;
        if other.expiring > 0 {
            self.expiring += other.expiring;
            self.expires_at_sum += other.expires_at_sum;
        }
    }
}

impl SubAssign for Counts {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.keys -= other.keys;
        self.parts -= other.parts;
        self.tombstones -= other.tombstones;
        self.intents -= other.intents;
        self.leaving -= other.leaving;
        if other.expiring > 0 {
            self.expiring -= other.expiring;
            self.expires_at_sum -= other.expires_at_sum;
        }
    }
}

/// One partition's share of the table.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    pub(crate) index: Index,
    pub(crate) counts: Counts,
    /// What its records take in a log, tombstones included.
    pub(crate) bytes: u64,
    /// Every op up to here that is not in the table was cleared away.
    pub(crate) cleared: Op,
    /// The highest op that was ever put.
    pub(crate) op_max: Op,
}

impl Partition {
    /// One without records.
    pub(crate) fn empty(cleared: Op, op_max: Op) -> Self {
        Self {
            cleared,
            op_max,
            ..Self::default()
        }
    }

    /// A record has come, which is yet to be counted.
    #[inline]
    pub(crate) fn gain_bytes(&mut self, header: Header) {
        self.op_max = self.op_max.max(header.op());
        self.bytes += log_len(header) as u64;
    }

    /// A record goes.
    #[inline]
    pub(crate) fn lose_bytes(&mut self, header: Header) {
        let log_len = log_len(header) as u64;
        assert!(self.bytes >= log_len, "a record that was not counted");
        self.bytes -= log_len;
    }
}

/// Length in the log of the record with this header.
#[inline]
pub(crate) fn log_len(header: Header) -> usize {
    encoded_len(header.key_len(), header.value_len())
}
