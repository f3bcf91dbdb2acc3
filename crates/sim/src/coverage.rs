//! Which transitions of the protocol runs have come through: what happened to whom, as who it was then.
//!
//! In:  frames between bricks, messages of the control plane, changes of the catalog, ends and starts of processes.
//! Out: how often each met each state.
//!
//! Observed from outside, and only on demand: a run is the same with it and without.

mod control;
mod frames;
mod lives;
mod views;

use std::collections::BTreeMap;
use std::fmt;

/// A table of events and of the states in which they may come.
#[derive(Debug)]
pub struct Table {
    /// What it is about.
    pub name: &'static str,
    /// What happens: the rows.
    pub events: &'static [&'static str],
    /// To whom: the columns.
    pub states: &'static [&'static str],
}

/// All tables.
pub const TABLES: &[&Table] = &[
    &frames::TABLE,
    &frames::MESSAGES,
    &control::TABLE,
    &views::TABLE,
    &lives::ENDS,
    &lives::STARTS,
];

/// How often which event came in which state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<(&'static str, &'static str, &'static str), u64>);

impl Coverage {
    fn hit(&mut self, table: &'static Table, event: &'static str, state: &'static str) {
        debug_assert!(table.events.contains(&event), "{event} is a row");
        debug_assert!(table.states.contains(&state), "{state} is a column");
        *self.0.entry((table.name, event, state)).or_insert(0) += 1;
    }

    /// Together with what another run has come through.
    pub fn add(&mut self, other: &Self) {
        for (cell, count) in &other.0 {
            *self.0.entry(*cell).or_insert(0) += count;
        }
    }

    /// How often an event came in a state.
    #[must_use]
    pub fn count(&self, table: &Table, event: &'static str, state: &'static str) -> u64 {
        let cell = (table.name, event, state);
        self.0.get(&cell).copied().unwrap_or(0)
    }

    /// What never came: table, event, state.
    pub fn unreached(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> + '_ {
        let cells = TABLES.iter().flat_map(|table| {
            let events = table.events.iter();
            events.flat_map(|event| {
                let states = table.states.iter();
                states.map(|state| (table.name, *event, *state))
            })
        });
        cells.filter(|cell| !self.0.contains_key(cell))
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in TABLES {
            let widest = |names: &[&str]| names.iter().map(|it| it.len()).max().unwrap_or(0);
            let first = widest(table.events).max(table.name.len());
            write!(f, "{:first$}", table.name)?;
            let width = widest(table.states).max(9);
            for state in table.states {
                write!(f, "  {state:>width$}")?;
            }
            writeln!(f)?;
            for event in table.events {
                write!(f, "{event:first$}")?;
                for state in table.states {
                    match self.count(table, event, state) {
                        0 => write!(f, "  {:>width$}", "-")?,
                        count => write!(f, "  {count:>width$}")?,
                    }
                }
                writeln!(f)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
