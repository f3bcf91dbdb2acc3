//! What is to be done of each key, so that the target becomes what the source is.
//!
//! In:  records of the snapshot, commands of the stream by their meaning, what was read anew, and word of what the target has
//!      acknowledged. Out: [`PlannedAction`]s for the target, keys to be read at the source, and the resume point.
//!
//! A key of which the stream does not tell the outcome (INCR, APPEND, RENAME, ..) is *dirty*: it is read at the source, which
//! tells the value and, in the same moment, how far its stream is. Commands on the key up to there are in the value; later
//! ones come on top of it. Suppose `INCR k` ends at 100 and another at 140. A value read at 120 has the first one; it is
//! stored, and the key stays dirty for the second. A value read at 150 has both; when the stream comes to what is
//! between, on this key it passes it over.
//!
//! Invariants:
//! - Of one key one change is under way at a time, and changes go in the stream's order.
//! - [`Planner::low_water`] never passes a command whose outcome is not at the target.
//! - Going on from an earlier offset does no harm: values stand by themselves, and everything else is read anew.
//!
//! Not here: what a command means (`meaning`); sending and sending again.

pub use crate::place::{KeyChange, KeyPlace};
use crate::place::{State, Waiting};
use brickyard_rdb::RdbValue;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Something for the target to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedAction {
    /// A change of one key; told to be done by [`Planner::on_done`].
    Change(KeyPlace, KeyChange),
    /// All keys of the database go; told to be done by [`Planner::on_flushed`].
    Flush(u32),
}

/// What a key has at the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// A value of a type that there is here.
    Value {
        /// The value.
        value: RdbValue,
        /// When it is gone, in milliseconds since 1970; `None` means never.
        expires_at: Option<u64>,
    },
    /// Nothing, or something of another type.
    Absent,
}

/// A flush that waits for what was before it.
#[derive(Debug)]
struct Flush {
    start: u64,
    database: u32,
}

/// The state of all keys that something is to be done of.
#[derive(Debug)]
pub struct Planner {
    /// Databases that are copied.
    databases: BTreeSet<u32>,
    database: u32,
    processed: u64,
    keys: HashMap<KeyPlace, State>,
    ready: VecDeque<KeyPlace>,
    to_read: VecDeque<KeyPlace>,
    under_way: usize,
    flushes: VecDeque<Flush>,
    is_flushing: bool,
    /// Offsets whose outcome is not at the target, and how often.
    outstanding: BTreeMap<u64, usize>,
    /// Keys that were read ahead of the stream, by how far.
    fresh: BTreeMap<u64, Vec<KeyPlace>>,
    /// From which offset on commands are about which database.
    selections: VecDeque<(u64, u32)>,
    /// Commands that were passed over, by database that is not copied.
    unmapped: BTreeMap<u32, u64>,
}

impl Planner {
    /// A copy of these databases, whose stream goes on at `offset` in `database`.
    #[must_use]
    pub fn new(databases: impl IntoIterator<Item = u32>, offset: u64, database: u32) -> Self {
        Self {
            databases: databases.into_iter().collect(),
            database,
            processed: offset,
            keys: HashMap::new(),
            ready: VecDeque::new(),
            to_read: VecDeque::new(),
            under_way: 0,
            flushes: VecDeque::new(),
            is_flushing: false,
            outstanding: BTreeMap::new(),
            fresh: BTreeMap::new(),
            selections: [(offset, database)].into(),
            unmapped: BTreeMap::new(),
        }
    }

    /// The offset before which everything is at the target, acknowledged.
    #[must_use]
    pub fn low_water(&self) -> u64 {
        let first = self.outstanding.first_key_value();
        first.map_or(self.processed, |(offset, _)| *offset)
    }

    /// The offset up to which the stream was taken in.
    #[must_use]
    pub const fn processed(&self) -> u64 {
        self.processed
    }

    /// The database that commands are about at [`Self::low_water`].
    #[must_use]
    pub fn low_water_database(&self) -> u32 {
        let at = self.low_water();
        let before = self.selections.iter().rev().find(|(from, _)| *from <= at);
        before.map_or(self.database, |(_, database)| *database)
    }

    /// The database that the next command is about.
    #[must_use]
    pub const fn database(&self) -> u32 {
        self.database
    }

    /// How many keys have something to be done.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.keys.len() + self.flushes.len()
    }

    /// Commands and records that were passed over because their database is not copied.
    #[must_use]
    pub const fn unmapped(&self) -> &BTreeMap<u32, u64> {
        &self.unmapped
    }

    /// Whether the database is copied; one that is not is counted.
    fn is_copied(&mut self, database: u32) -> bool {
        let is_copied = self.databases.contains(&database);
        if !is_copied {
            *self.unmapped.entry(database).or_default() += 1;
        }
        is_copied
    }

    /// A record of the snapshot.
    pub fn on_record(
        &mut self,
        database: u32,
        key: Vec<u8>,
        value: RdbValue,
        expires_at: Option<u64>,
    ) {
        if self.is_copied(database) {
            let place = KeyPlace { database, key };
            self.put(place, self.processed, KeyChange::Set { value, expires_at });
        }
    }

    /// A command on no key. The same goes behind every other command.
    pub fn on_end(&mut self, end: u64) {
        assert!(
            end >= self.processed,
            "{end} comes after {}",
            self.processed
        );
        self.processed = end;
        while let Some(entry) = self.fresh.first_entry()
            && *entry.key() <= end
        {
            let until = *entry.key();
            for place in entry.remove() {
                if let Some(state) = self.keys.get_mut(&place)
                    && state.fresh_until == until
                {
                    state.fresh_until = 0;
                    self.forget_if_idle(&place);
                }
            }
        }
        let low = self.low_water();
        while self.selections.get(1).is_some_and(|(from, _)| *from <= low) {
            self.selections.pop_front();
        }
    }

    /// Later commands are about this database.
    pub fn on_select(&mut self, end: u64, database: u32) {
        self.database = database;
        self.selections.push_back((end, database));
        self.on_end(end);
    }

    /// A command changed a key of the present database in a way that its words tell.
    pub fn on_change(&mut self, start: u64, end: u64, key: Vec<u8>, change: KeyChange) {
        let database = self.database;
        if !self.is_copied(database) {
            return;
        }
        let place = KeyPlace { database, key };
        let state = self.keys.entry(place.clone()).or_default();
        if end <= state.fresh_until {
            return;
        }
        match change {
            KeyChange::Set { .. } | KeyChange::Delete => self.put(place, start, change),
            KeyChange::ExpireAt(_) | KeyChange::Persist if state.is_dirty() => {
                self.on_dirty(start, end, place);
            }
            KeyChange::ExpireAt(_) | KeyChange::Persist | KeyChange::Execute(_) => {
                self.add(place, start, change);
            }
        }
    }

    /// A command changed these keys in a way that its words do not tell; without a number, in the present database.
    pub fn on_changed(&mut self, start: u64, end: u64, keys: Vec<(Option<u32>, Vec<u8>)>) {
        for (database, key) in keys {
            let database = database.unwrap_or(self.database);
            if self.is_copied(database) {
                self.on_dirty(start, end, KeyPlace { database, key });
            }
        }
    }

    fn on_dirty(&mut self, start: u64, end: u64, place: KeyPlace) {
        let state = self.keys.entry(place.clone()).or_default();
        if end <= state.fresh_until {
            return;
        }
        state.touch(start, end);
        if state.held.is_none() {
            state.held = Some(start);
            hold(&mut self.outstanding, start);
        }
        self.line_up_to_be_read(place);
    }

    fn line_up_to_be_read(&mut self, place: KeyPlace) {
        let state = self.keys.entry(place.clone()).or_default();
        if state.is_dirty() && !state.is_read && !state.is_to_be_read {
            state.is_to_be_read = true;
            self.to_read.push_back(place);
        }
    }

    /// All keys of the present database are gone, or of every database.
    pub fn on_flush(&mut self, start: u64, end: u64, is_everything: bool) {
        let databases: Vec<u32> = if is_everything {
            self.databases.iter().copied().collect()
        } else if self.is_copied(self.database) {
            vec![self.database]
        } else {
            return;
        };
        let mut touched = Vec::new();
        for (place, state) in &mut self.keys {
            if !databases.contains(&place.database) {
                continue;
            }
            for waiting in state.waiting.drain(..) {
                release(&mut self.outstanding, waiting.start);
            }
            // A value that was read ahead goes with the flush, and so does one that is on its way and older; newer ones
            // cannot be told apart from here.
            if state.is_dirty() || state.is_read || state.fresh_until >= end {
                state.fresh_until = 0;
                touched.push(place.clone());
            }
        }
        for place in touched {
            self.on_dirty(start, end, place);
        }
        for database in databases {
            hold(&mut self.outstanding, start);
            self.flushes.push_back(Flush { start, database });
        }
    }

    /// Something was read at the source when its stream was at `offset`.
    pub fn on_read(&mut self, place: KeyPlace, offset: u64, outcome: ReadOutcome) {
        let Some(state) = self.keys.get_mut(&place) else {
            return;
        };
        state.is_read = false;
        let Some(held) = state.held else {
            self.forget_if_idle(&place);
            return;
        };
        let told = state
            .touches
            .iter()
            .take_while(|(_, end)| *end <= offset)
            .count();
        state.touches.drain(..told);
        if told == 0 {
            self.line_up_to_be_read(place);
            return;
        }
        // What is stored now holds what the key has held; what came since holds from its own beginning.
        let next = state.touches.front().map(|(start, _)| *start);
        state.held = next;
        if let Some(next) = next {
            hold(&mut self.outstanding, next);
        } else if offset > self.processed {
            state.fresh_until = offset;
            self.fresh.entry(offset).or_default().push(place.clone());
        }
        let change = match outcome {
            ReadOutcome::Value { value, expires_at } => KeyChange::Set { value, expires_at },
            ReadOutcome::Absent => KeyChange::Delete,
        };
        self.replace(&place, held, change);
        release(&mut self.outstanding, held);
        self.line_up_to_be_read(place);
    }

    /// A value by the stream's own words: it puts away whatever was not known, or waits.
    fn put(&mut self, place: KeyPlace, start: u64, change: KeyChange) {
        let state = self.keys.entry(place.clone()).or_default();
        state.touches.clear();
        if let Some(held) = state.held.take() {
            release(&mut self.outstanding, held);
        }
        self.replace(&place, start, change);
    }

    fn replace(&mut self, place: &KeyPlace, start: u64, change: KeyChange) {
        let state = self.keys.entry(place.clone()).or_default();
        for waiting in state.waiting.drain(..) {
            release(&mut self.outstanding, waiting.start);
        }
        hold(&mut self.outstanding, start);
        state.waiting.push_back(Waiting { start, change });
        self.line_up(place);
    }

    /// A change that rests on what is before it.
    fn add(&mut self, place: KeyPlace, start: u64, change: KeyChange) {
        let state = self.keys.entry(place.clone()).or_default();
        let last = state.waiting.back_mut().map(|it| &mut it.change);
        match (last, change) {
            (Some(KeyChange::Set { expires_at, .. }), KeyChange::ExpireAt(at)) => {
                *expires_at = Some(at)
            }
            (Some(KeyChange::Set { expires_at, .. }), KeyChange::Persist) => *expires_at = None,
            (Some(KeyChange::Delete), KeyChange::ExpireAt(_) | KeyChange::Persist) => {}
            (_, change) => {
                hold(&mut self.outstanding, start);
                state.waiting.push_back(Waiting { start, change });
            }
        }
        self.line_up(&place);
    }

    fn line_up(&mut self, place: &KeyPlace) {
        if let Some(state) = self.keys.get_mut(place)
            && state.under_way.is_none()
            && !state.is_ready
            && !state.waiting.is_empty()
        {
            state.is_ready = true;
            self.ready.push_back(place.clone());
        }
    }

    fn forget_if_idle(&mut self, place: &KeyPlace) {
        if self.keys.get(place).is_some_and(State::is_idle) {
            self.keys.remove(place);
        }
    }

    /// The next thing for the target.
    pub fn poll_action(&mut self) -> Option<PlannedAction> {
        if self.is_flushing {
            return None;
        }
        if let Some(flush) = self.flushes.front() {
            if self.under_way > 0 {
                return None;
            }
            self.is_flushing = true;
            return Some(PlannedAction::Flush(flush.database));
        }
        while let Some(place) = self.ready.pop_front() {
            let Some(state) = self.keys.get_mut(&place) else {
                continue;
            };
            state.is_ready = false;
            match state.waiting.pop_front() {
                Some(Waiting { start, change }) if state.under_way.is_none() => {
                    state.under_way = Some(start);
                    self.under_way += 1;
                    return Some(PlannedAction::Change(place, change));
                }
                Some(waiting) => state.waiting.push_front(waiting),
                None => self.forget_if_idle(&place),
            }
        }
        None
    }

    /// The target has acknowledged the change of this key.
    ///
    /// # Panics
    /// If none was under way (a caller bug).
    pub fn on_done(&mut self, place: &KeyPlace) {
        let state = self.keys.get_mut(place);
        let under_way = state.and_then(|it| it.under_way.take());
        let start = under_way.expect("only what is under way is done");
        self.under_way -= 1;
        release(&mut self.outstanding, start);
        self.line_up(place);
        self.forget_if_idle(place);
    }

    /// The target has acknowledged the flush.
    ///
    /// # Panics
    /// If none was under way (a caller bug).
    pub fn on_flushed(&mut self) {
        assert!(self.is_flushing, "only a flush under way is done");
        self.is_flushing = false;
        if let Some(flush) = self.flushes.pop_front() {
            release(&mut self.outstanding, flush.start);
        }
    }

    /// Up to so many dirty keys, which are to be read at the source now.
    pub fn poll_reads(&mut self, most: usize) -> Vec<KeyPlace> {
        let mut places = Vec::new();
        while places.len() < most
            && let Some(place) = self.to_read.pop_front()
        {
            let Some(state) = self.keys.get_mut(&place) else {
                continue;
            };
            state.is_to_be_read = false;
            if state.is_dirty() {
                state.is_read = true;
                places.push(place);
            } else {
                self.forget_if_idle(&place);
            }
        }
        places
    }
}

fn hold(outstanding: &mut BTreeMap<u64, usize>, offset: u64) {
    *outstanding.entry(offset).or_default() += 1;
}

fn release(outstanding: &mut BTreeMap<u64, usize>, offset: u64) {
    let count = outstanding
        .get_mut(&offset)
        .expect("what is released was held");
    *count -= 1;
    if *count == 0 {
        outstanding.remove(&offset);
    }
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod plan_test;
