//! Values of `disk` tables that are read back from the log for requests that wait for them.
//!
//! In:  requests by their numbers, values as they arrive. Out: reads to make, requests to run again.
//!
//! Invariants:
//! - Requests on a key run in the order in which they came to wait; one that comes later waits
//!   behind them (so a pipelined SET does not overtake a GET that waits for its value).
//! - A value is read once, however many requests wait for it.
//! - A request keeps the values that were read for it until it is done, so that no eviction can
//!   make it start over for ever.

use crate::accepted::ConnectionId;
use crate::log::{KeyRef, KeyRefHasher};
use crate::tables::Tables;
use brickyard_routing::Member;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::{Op, Position};
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasherDefault;

/// Which connection of which brick asks.
type Session = (Member, ConnectionId);

/// A value of a `disk` table that was read back for a request that waits for it.
#[derive(Debug, Clone)]
pub(crate) struct ColdValue {
    pub(crate) key: KeyRef,
    pub(crate) op: Op,
    pub(crate) value: Vec<u8>,
}

impl ColdValue {
    /// Values are lent to a command in this order.
    pub(crate) fn order(&self) -> (Op, KeyHash) {
        (self.op, self.key.hash)
    }
}

/// What is known of a request that waits.
#[derive(Debug)]
struct Suspended {
    session: Session,
    /// The keys that it touches.
    keys: Vec<KeyRef>,
    values: Vec<ColdValue>,
    /// Reads that it waits for.
    missing: usize,
}

/// One read that is under way.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) key: KeyRef,
    pub(crate) name: Vec<u8>,
    pub(crate) op: Op,
    position: Position,
    waiting: Vec<usize>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Values {
    waiting: BTreeMap<usize, Suspended>,
    /// Who waits on each key, in order.
    queues: HashMap<KeyRef, VecDeque<usize>, BuildHasherDefault<KeyRefHasher>>,
    reads: BTreeMap<u64, Reading>,
    by_key: BTreeMap<(KeyRef, Op), u64>,
    token_next: u64,
    /// Requests that may run now.
    runnable: VecDeque<usize>,
}

impl Values {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether a request that waits touches the key.
    pub(crate) fn is_waited_for(&self, key: &KeyRef) -> bool {
        self.queues.contains_key(key)
    }

    /// Takes a request; it may run when its reads are in and those before it on its keys are done.
    pub(super) fn suspend(&mut self, id: usize, session: Session, mut keys: Vec<KeyRef>) {
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.queues.entry(*key).or_default().push_back(id);
        }
        let suspended = Suspended {
            session,
            keys,
            values: Vec::new(),
            missing: 0,
        };
        let before = self.waiting.insert(id, suspended);
        assert!(before.is_none(), "request {id} waits for values already");
    }

    /// The request wants a value; the token of a read to make, unless it is under way already.
    pub(crate) fn want(
        &mut self,
        id: usize,
        key: KeyRef,
        name: &[u8],
        op: Op,
        position: Position,
    ) -> Option<u64> {
        assert!(op > Op(0), "a value that no operation wrote is wanted");
        let suspended = self.suspended(id);
        suspended.missing += 1;
        // Of a key that a script has not declared, or a part of a hash, for which nobody waits: who comes later waits behind this.
        // A hash can have very many parts, and a queue is short.
        let queue = self.queues.entry(key).or_default();
        if !queue.contains(&id) {
            queue.push_back(id);
            self.suspended(id).keys.push(key);
        }
        if let Some(token) = self.by_key.get(&(key, op)) {
            if let Some(reading) = self.reads.get_mut(token) {
                reading.waiting.push(id);
            }
            return None;
        }
        self.token_next += 1;
        let token = self.token_next;
        let reading = Reading {
            key,
            name: name.to_vec(),
            op,
            position,
            waiting: vec![id],
        };
        self.reads.insert(token, reading);
        self.by_key.insert((key, op), token);
        Some(token)
    }

    /// A read is done: its value goes to whoever waits. Returns what was read, and who waited.
    pub(crate) fn on_read(
        &mut self,
        token: u64,
        value: Option<&[u8]>,
    ) -> Option<(Reading, Position, Vec<usize>)> {
        let mut reading = self.reads.remove(&token)?;
        let listed = self.by_key.remove(&(reading.key, reading.op));
        assert_eq!(listed, Some(token), "the read of {:?}", reading.key);
        let waiting = std::mem::take(&mut reading.waiting);
        for &id in &waiting {
            let suspended = self.suspended(id);
            assert!(suspended.missing > 0, "request {id} waits for no read");
            suspended.missing -= 1;
            if let Some(value) = value {
                suspended.values.push(ColdValue {
                    key: reading.key,
                    op: reading.op,
                    value: value.to_vec(),
                });
            }
            self.check(id);
        }
        let position = reading.position;
        Some((reading, position, waiting))
    }

    fn suspended(&mut self, id: usize) -> &mut Suspended {
        let suspended = self.waiting.get_mut(&id);
        suspended.unwrap_or_else(|| panic!("request {id} waits for no value"))
    }

    /// Lists the request if it may run.
    pub(crate) fn check(&mut self, id: usize) {
        let Some(suspended) = self.waiting.get(&id) else {
            return;
        };
        if suspended.missing > 0 {
            return;
        }
        let is_first = suspended.keys.iter().all(|key| {
            self.queues
                .get(key)
                .is_some_and(|queue| queue.front() == Some(&id))
        });
        if is_first && !self.runnable.contains(&id) {
            self.runnable.push_back(id);
        }
    }

    /// Whether any request on that partition waits.
    pub(crate) fn concerns(&self, table: usize, partition: LocalPartition) -> bool {
        let mut keys = self.waiting.values().flat_map(|it| &it.keys);
        keys.any(|key| key.table as usize == table && key.partition == partition)
    }

    /// The requests on its keys that the same connection sent after it, in order.
    pub(crate) fn behind(&self, id: usize) -> Vec<usize> {
        let Some(first) = self.waiting.get(&id) else {
            return Vec::new();
        };
        let is_of_it = |other: &usize| {
            let other = self.waiting.get(other);
            other.is_some_and(|it| it.session == first.session)
        };
        let mut behind = Vec::new();
        for queue in first.keys.iter().filter_map(|key| self.queues.get(key)) {
            let later = queue.iter().copied().skip_while(|it| *it != id).skip(1);
            for other in later.filter(is_of_it) {
                if !behind.contains(&other) {
                    behind.push(other);
                }
            }
        }
        behind
    }

    /// A request that may run now.
    pub(crate) fn poll_runnable(&mut self) -> Option<usize> {
        let id = self.runnable.pop_front()?;
        let missing = self.waiting.get(&id).map(|it| it.missing);
        assert_eq!(missing, Some(0), "request {id} may run");
        Some(id)
    }

    /// Lends out the values that a request was read.
    pub(crate) fn lend(&mut self, id: usize) -> Vec<ColdValue> {
        let mut values = std::mem::take(&mut self.suspended(id).values);
        values.sort_unstable_by_key(ColdValue::order);
        values
    }

    /// Gives them back, for a request that could not run to its end.
    pub(crate) fn give_back(&mut self, id: usize, values: Vec<ColdValue>) {
        let suspended = self.suspended(id);
        assert!(suspended.values.is_empty(), "{id} got values while it ran");
        suspended.values = values;
    }

    /// The request waits no more; those behind it may run.
    pub(super) fn resume(&mut self, id: usize) {
        let Some(suspended) = self.waiting.remove(&id) else {
            return;
        };
        if suspended.missing > 0 {
            // It failed before all that it waited for was there.
            for reading in self.reads.values_mut() {
                reading.waiting.retain(|waiting| *waiting != id);
            }
        }
        self.runnable.retain(|runnable| *runnable != id);
        for key in suspended.keys {
            let Some(queue) = self.queues.get_mut(&key) else {
                continue;
            };
            if queue.front() == Some(&id) {
                queue.pop_front();
            } else {
                queue.retain(|waiting| *waiting != id);
            }
            let next = queue.front().copied();
            if queue.is_empty() {
                self.queues.remove(&key);
            }
            if let Some(next) = next {
                self.check(next);
            }
        }
    }
}

impl Reading {
    /// Whether the key that was read still has the record that was read for it.
    pub(crate) fn is_still_at(&self, tables: &Tables, position: Position) -> bool {
        let KeyRef {
            table,
            partition,
            hash,
        } = self.key;
        let Some(state) = tables.get(table as usize) else {
            return false;
        };
        if !state.table.has_number(partition) {
            return false;
        }
        let found = state.table.peek(partition, hash, &self.name);
        found.is_some_and(|found| found.op == self.op && found.position == position)
    }
}
