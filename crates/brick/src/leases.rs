//! Leases of keys: what clients may keep of what they have read, and for how long.
//!
//! In:  reads of clients that want to keep what they get (`LEASE GET`); writes; what clients give back (`LEASE RETURN`); partitions that this brick comes to
//!      lead. Out: for how long each read may be kept; *recalls* for clients; whether a write may go on.
//!
//! ```text
//!  a client                                             the key's primary, whose client it is
//!    LEASE GET k ────────────────────────────────────►  it has a lease of k until now + LEASE
//!    ◄─────────────────────────────────────── recall n ── a write of k comes: it waits
//!    k is forgotten, then ── LEASE RETURN n ─────────►  nobody has one, or all have run out: the write runs
//! ```
//! So whoever serves a value from memory has one that nobody has overwritten: such reads are linearizable, whatever becomes of connections and bricks.
//!
//! Invariants:
//! - Rule `a write waits for leases`: no operation on a key is prepared here while a client has a lease of it that it has not given back and that
//!   has not run out by this brick's clock.
//! - Rule `leases end before another writes`: a partition that this brick comes to lead is written [`LEASE`] after all its members have voted in
//!   the view, at the earliest. Till they did a former primary among them may have given leases, of which nobody here knows.
//! - A lease ends with the brick's own, and [`LEASE`] after the read's bytes were here, at the latest. Its client counts from before it sent them.
//! - A key that is recalled gets no lease until it was written, or a while has passed: readers without end hold up no writer.
//!
//! A client that is gone has given back nothing: its last message may not have come. A lease is known on one brick, the one that has the connection and
//! leads the key; it is kept in memory.
//!
//! Not here: who asks, and when (`lease_gate`), what clients are told (`clients/trackers`), which partitions begin (`replica/carry`).

use crate::trackers::Client;
use brickyard_types::{Instant, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a client may keep what it has read, if it is not told otherwise before.
pub(crate) const LEASE: Duration = Duration::from_millis(100);

/// How long a key that was recalled gets no leases if nobody writes it after all.
const FREE_FOR: Duration = Duration::from_millis(100);

/// A key of a table.
type At = (TableId, Vec<u8>);

/// A client's lease of a key.
#[derive(Debug)]
struct Lease {
    client: Client,
    until: Instant,
    /// The number of the recall that it was told of; 0: of none.
    told: u64,
}

/// Who has leases of a key.
#[derive(Debug, Default)]
struct Leased {
    leases: Vec<Lease>,
    /// Since when a write waits, or did.
    recalled: Option<Instant>,
}

/// What a client is to be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) client: Client,
    pub(crate) table: TableId,
    pub(crate) key: Vec<u8>,
    /// What it gives back with the key, and all that was recalled from it before.
    pub(crate) number: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    by_key: BTreeMap<At, Leased>,
    /// Keys that were recalled, by the client that was told and the number.
    told: BTreeMap<(Client, u64), At>,
    last_number: u64,
    outgoing: Vec<Told>,
    /// Tables that are to be cleared, and since when.
    clearing: BTreeMap<TableId, Instant>,
    /// When writes may go on that wait.
    wakes: BTreeSet<Instant>,
}

impl Leases {
    /// Whether no write has anything to look for here.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Whether somebody is to be told something.
    #[inline]
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// What clients are to be told, in order.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.outgoing)
    }

    /// Keys of which anybody has a lease, or a write may come.
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// A client gets a lease of a key; false: it may not keep what it has read.
    pub(crate) fn grant(
        &mut self,
        (table, key): (TableId, &[u8]),
        client: Client,
        (now, until): (Instant, Instant),
        keys_max: u64,
    ) -> bool {
        assert!(until <= now + LEASE, "a lease from {now:?} to {until:?}");
        if self.clearing.contains_key(&table) {
            return false;
        }
        let at = (table, key.to_vec());
        let is_full = self.by_key.len() as u64 >= keys_max.max(1);
        if is_full && !self.by_key.contains_key(&at) {
            return false;
        }
        let leased = self.by_key.entry(at).or_default();
        if leased.recalled.is_some() {
            // A write is before it, whose client must not wait for readers without end.
            return false;
        }
        match leased.leases.iter_mut().find(|it| it.client == client) {
            Some(lease) => lease.until = lease.until.max(until),
            None => leased.leases.push(Lease {
                client,
                until,
                told: 0,
            }),
        }
        let (len, most) = (self.by_key.len() as u64, keys_max.max(1));
        assert!(is_full || len <= most, "{len} keys are leased of {most}");
        true
    }

    /// An operation on the key comes: whether it may go on. If not, leases are being recalled, and it may be tried again when they have been given back,
    /// or have run out.
    pub(crate) fn recall(&mut self, table: TableId, key: &[u8], now: Instant) -> bool {
        if self.by_key.is_empty() {
            return true;
        }
        let at = (table, key.to_vec());
        self.end_leases(&at, now);
        let Some(leased) = self.by_key.get_mut(&at) else {
            return true;
        };
        if leased.leases.is_empty() {
            // It stays free for the write that it was recalled for.
            return true;
        }
        if leased.recalled.is_none() {
            leased.recalled = Some(now);
            for lease in &mut leased.leases {
                assert_eq!(lease.told, 0, "it was recalled, and is again: {lease:?}");
                self.last_number += 1;
                lease.told = self.last_number;
                self.told.insert((lease.client, lease.told), at.clone());
                self.wakes.insert(lease.until);
                self.outgoing.push(Told {
                    client: lease.client,
                    table,
                    key: key.to_vec(),
                    number: lease.told,
                });
            }
        }
        false
    }

    /// Ends what has run out of a key's leases.
    fn end_leases(&mut self, at: &At, now: Instant) {
        let Some(leased) = self.by_key.get_mut(at) else {
            return;
        };
        let told = &mut self.told;
        leased.leases.retain(|lease| {
            let is_live = now < lease.until;
            if !is_live {
                told.remove(&(lease.client, lease.told));
            }
            is_live
        });
        let has_live = leased.leases.iter().any(|it| now < it.until);
        assert_eq!(has_live, !leased.leases.is_empty(), "leases at {now:?}");
        if leased.leases.is_empty() && leased.recalled.is_none() {
            self.by_key.remove(at);
        }
    }

    /// All keys of a table are about to go: whether that may be now. If not, no client gets a lease of any until it was, or a while has passed.
    pub(crate) fn recall_table(&mut self, table: TableId, now: Instant) -> bool {
        let from = (table, Vec::new());
        let all = self.by_key.range(from..);
        let keys: Vec<At> = all
            .map(|(at, _)| at.clone())
            .take_while(|at| at.0 == table)
            .collect();
        let free = keys.iter().filter(|at| self.recall(at.0, &at.1, now));
        let is_free = free.count() == keys.len();
        if !is_free {
            self.clearing.entry(table).or_insert(now);
        }
        is_free
    }

    /// The operation for which a key was recalled was prepared: who reads it now may keep it.
    pub(crate) fn note_written(&mut self, table: TableId, key: &[u8]) {
        let at = (table, key.to_vec());
        let is_free = |it: &Leased| it.recalled.is_some() && it.leases.is_empty();
        if self.by_key.get(&at).is_some_and(is_free) {
            self.by_key.remove(&at);
        }
    }

    /// The same for all keys of a table.
    pub(crate) fn note_cleared(&mut self, table: TableId) {
        self.clearing.remove(&table);
        let is_free = |it: &Leased| it.recalled.is_some() && it.leases.is_empty();
        self.by_key.retain(|at, it| at.0 != table || !is_free(it));
        assert!(!self.clearing.contains_key(&table), "{table} is cleared");
    }

    /// A client keeps nothing any more that was recalled from it, up to a number. Whether an operation may go on that could not.
    pub(crate) fn give_back(&mut self, client: Client, upto: u64) -> bool {
        let mut is_free = false;
        let given = self.told.range((client, 0)..=(client, upto));
        let given: Vec<u64> = given.map(|((_, number), _)| *number).collect();
        for number in given {
            assert!(number <= self.last_number, "nobody was told of {number}");
            let Some(at) = self.told.remove(&(client, number)) else {
                continue;
            };
            if let Some(leased) = self.by_key.get_mut(&at) {
                leased.leases.retain(|it| it.told != number);
                is_free |= leased.leases.is_empty();
            }
        }
        is_free
    }

    /// Something may go on at that time which waits.
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.wakes.insert(at);
    }

    /// When something may go on next.
    #[inline]
    pub(crate) fn wakes_next(&self) -> Option<Instant> {
        self.wakes.first().copied()
    }

    /// Whether something may go on by now that could not before.
    pub(crate) fn take_wakes(&mut self, now: Instant) -> bool {
        let before = self.wakes.len();
        while self.wakes.first().is_some_and(|it| *it <= now) {
            self.wakes.pop_first();
        }
        self.wakes.len() < before
    }

    /// Several times a second: forgets what has run out.
    pub(crate) fn tick(&mut self, now: Instant) {
        let is_over = |since: Instant| now - since >= LEASE + FREE_FOR;
        let told = &mut self.told;
        self.by_key.retain(|_, leased| {
            leased.leases.retain(|lease| {
                let is_live = now < lease.until;
                if !is_live {
                    told.remove(&(lease.client, lease.told));
                }
                is_live
            });
            !leased.leases.is_empty() || leased.recalled.is_some_and(|since| !is_over(since))
        });
        self.clearing.retain(|_, since| !is_over(*since));
        assert!(
            !self.by_key.is_empty() || self.told.is_empty(),
            "clients were told of leases that nobody has: {:?}",
            self.told
        );
    }
}

#[cfg(test)]
#[path = "leases_test.rs"]
mod leases_test;
