//! Commands that wait for values of `disk` tables to be read back from the log.
//!
//! In:  commands that were suspended, values as they arrive. Out: reads to make, commands to run
//!      again.
//!
//! Invariants:
//! - Commands on a key run in the order in which they were parked; one that comes later parks
//!   behind them (so a pipelined SET does not overtake a GET that waits for its value).
//! - A value is read once, however many commands wait for it.
//! - A command keeps the values that were read for it until it is done, so that no eviction can
//!   make it start over for ever.

use crate::core::Core;
use crate::forward::{Origin, Work};
use crate::log::{KeyRef, KeyRefHasher, Writer};
use crate::replica::Placing;
use crate::stall::Lane;
use crate::view::ColdValue;
use crate::watch::Version;
use brickyard_table::LocalPartition;
use brickyard_types::{Op, Position};
use brickyard_wire::Protocol;
use hashbrown::HashMap;
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasherDefault;

/// A command that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) work: Work,
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    origin: Origin,
    pub(crate) writer: Writer,
    /// What it must not be overtaken in. (Not its keys: those are of a partition that may leave this brick meanwhile.)
    lane: Option<Lane>,
    /// The keys that it touches.
    keys: Vec<KeyRef>,
    pub(crate) values: Vec<ColdValue>,
    /// What it may take, counted from when it was asked for.
    pub(crate) placing: Placing,
    /// Reads that it waits for.
    missing: usize,
}

impl Parked {
    pub(crate) fn new(
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
        lane: Option<Lane>,
        placing: Placing,
    ) -> Self {
        Self {
            work,
            table,
            protocol,
            origin,
            writer,
            lane,
            keys: Vec::new(),
            values: Vec::new(),
            placing,
            missing: 0,
        }
    }

    pub(crate) fn touching(mut self, mut keys: Vec<KeyRef>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        self.keys = keys;
        self
    }
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
pub(crate) struct Cold {
    parked: Slab<Parked>,
    /// Who waits on each key, in order.
    queues: HashMap<KeyRef, VecDeque<usize>, BuildHasherDefault<KeyRefHasher>>,
    reads: BTreeMap<u64, Reading>,
    by_key: BTreeMap<(KeyRef, Op), u64>,
    token_next: u64,
    /// Commands that may run now.
    runnable: VecDeque<usize>,
}

impl Cold {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.parked.is_empty()
    }

    /// Whether a parked command touches the key.
    pub(crate) fn is_waited_for(&self, key: &KeyRef) -> bool {
        self.queues.contains_key(key)
    }

    /// Takes a command; it may run when its reads are in and those before it on its keys are done.
    pub(crate) fn park(&mut self, parked: Parked) -> usize {
        let id = self.parked.insert(parked);
        for key in &self.parked[id].keys {
            self.queues.entry(*key).or_default().push_back(id);
        }
        id
    }

    /// The command wants a value; the token of a read to make, unless it is under way already.
    pub(crate) fn want(
        &mut self,
        id: usize,
        key: KeyRef,
        name: &[u8],
        op: Op,
        position: Position,
    ) -> Option<u64> {
        assert!(op > Op(0), "a value that no operation wrote is wanted");
        self.parked[id].missing += 1;
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
            let parked = &mut self.parked[id];
            assert!(parked.missing > 0, "command {id} waits for no read");
            parked.missing -= 1;
            if let Some(value) = value {
                parked.values.push(ColdValue {
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

    /// Lists the command if it may run.
    pub(crate) fn check(&mut self, id: usize) {
        let Some(parked) = self.parked.get(id) else {
            return;
        };
        let is_first = parked.keys.iter().all(|key| {
            self.queues
                .get(key)
                .is_some_and(|queue| queue.front() == Some(&id))
        });
        if parked.missing == 0 && is_first && !self.runnable.contains(&id) {
            self.runnable.push_back(id);
        }
    }

    /// Whether a command of that lane waits.
    pub(crate) fn has_of(&self, lane: Lane) -> bool {
        self.parked.iter().any(|(_, it)| it.lane == Some(lane))
    }

    /// Whether any command on that partition waits.
    pub(crate) fn concerns(&self, table: usize, partition: LocalPartition) -> bool {
        let mut parked = self.parked.iter().map(|(_, it)| it);
        parked.any(|it| it.table == table && it.keys.iter().any(|key| key.partition == partition))
    }

    /// The commands on its keys that the same connection sent after it, in order.
    pub(crate) fn behind(&self, id: usize) -> Vec<usize> {
        let Some(first) = self.parked.get(id) else {
            return Vec::new();
        };
        let is_of_it = |other: &usize| {
            let other = self.parked.get(*other).map(|it| it.origin);
            other.is_some_and(|it| {
                (it.member, it.token.connection)
                    == (first.origin.member, first.origin.token.connection)
            })
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

    /// Op numbers will be used again: what a parked transaction watches no longer says what it was.
    pub(crate) fn forget_watches(&mut self) {
        for (_, parked) in &mut self.parked {
            if let Work::Transaction(transaction) = &mut parked.work {
                for watch in &mut transaction.watches {
                    watch.version = Version::Unknown;
                }
            }
        }
    }

    /// A command that may run now; [`Self::parked`] has it until [`Self::remove`].
    pub(crate) fn poll_runnable(&mut self) -> Option<usize> {
        let id = self.runnable.pop_front()?;
        let missing = self.parked.get(id).map(|parked| parked.missing);
        assert_eq!(missing, Some(0), "command {id} may run");
        Some(id)
    }

    /// Lends out a parked command.
    pub(crate) fn take(&mut self, id: usize) -> Option<(Work, Vec<ColdValue>, &Parked)> {
        let parked = self.parked.get_mut(id)?;
        let placeholder = Work::Transaction(Box::default());
        let work = std::mem::replace(&mut parked.work, placeholder);
        let mut values = std::mem::take(&mut parked.values);
        values.sort_unstable_by_key(ColdValue::order);
        Some((work, values, parked))
    }

    /// Gives back a command that could not run to its end.
    pub(crate) fn give_back(&mut self, id: usize, work: Work, values: Vec<ColdValue>) {
        if let Some(parked) = self.parked.get_mut(id) {
            parked.work = work;
            parked.values = values;
        }
    }

    /// The command is done; those behind it may run. Returns who waits for its outcome.
    pub(crate) fn remove(&mut self, id: usize) -> Option<Origin> {
        let parked = self.parked.try_remove(id)?;
        if parked.missing > 0 {
            // It failed before all that it waited for was there.
            for reading in self.reads.values_mut() {
                reading.waiting.retain(|waiting| *waiting != id);
            }
        }
        self.runnable.retain(|runnable| *runnable != id);
        for key in parked.keys {
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
        Some(parked.origin)
    }
}

impl Core {
    /// Whether the key that was read still has the record that was read for it.
    pub(crate) fn is_still_at(&self, reading: &Reading, position: Position) -> bool {
        let KeyRef {
            table,
            partition,
            hash,
        } = reading.key;
        let Some(state) = self.table(table as usize) else {
            return false;
        };
        let found = state.table.peek(partition, hash, &reading.name);
        found.is_some_and(|found| found.op == reading.op && found.position == position)
    }
}
