//! What a checker finds, and how soon.
//!
//! In:  a checker's name and schedule, and what is planted. Out: a panic that names the bugs that it missed; a line for
//! each hunt, on the standard output and at the end of the file `SABOTAGE_REPORT`.
//!
//! ```text
//! SABOTAGE_EVERY=1                          also the bugs that a checker finds with patience
//! SABOTAGE=BootStoredFirst,VoteBeforeSync   these bugs alone; `all`: all bugs, also those that others find
//! SABOTAGE_CHECKER=brick-reads,sim            these checkers alone
//! SABOTAGE_HUNTS=5                          so many hunts for each, with other seeds; the median counts
//! SABOTAGE_SEEDS=1000                       a hunt gives up after so many
//! ```

use crate::hunt::{Hunt, hunt, median, tell};
use crate::{PLANTED, Planted};
use std::fs::OpenOptions;
use std::io::Write;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, thread};

/// Each hunt for a bug begins so far from the one before.
const SEEDS_APART: u64 = 10_000;

/// A random schedule and what watches it, by the name that it has in the table of bugs.
#[derive(Clone, Copy, Debug)]
pub struct Checker<'a> {
    /// The name: the crate's, and after a `-` the scenario's.
    pub name: &'a str,
    /// A hunt that takes more seeds has failed.
    pub seeds_max: u64,
}

impl Checker<'_> {
    /// Hunts for the bugs that this checker finds within a few seeds, or for those that the environment names.
    ///
    /// # Panics
    /// If one that it is known to find is not found, and where no bug is planted: nothing could be found there.
    pub fn must_find(&self, schedule: impl Fn(u64) + Sync) {
        assert!(
            !PLANTED.is_empty(),
            "this build has no deliberate bugs: run `cargo xtask sabotage`"
        );
        if !names("SABOTAGE_CHECKER").is_none_or(|names| names.iter().any(|it| it == self.name)) {
            return;
        }
        self.must_find_of(PLANTED, schedule);
    }

    fn must_find_of(&self, bugs: &[Planted], schedule: impl Fn(u64) + Sync) {
        let wanted = self.wanted(bugs);
        let missed = self.missed(bugs, &wanted, schedule);
        let missed = missed.into_iter().map(|bug| &bugs[bug]);
        let missed: Vec<&str> = missed
            .filter(|bug| self.finds(bug))
            .map(|bug| bug.name)
            .collect();
        assert!(missed.is_empty(), "{} misses {missed:?}", self.name);
    }

    fn finds(&self, bug: &Planted) -> bool {
        [bug.quick, bug.slow].concat().contains(&self.name)
    }

    /// The bugs to hunt for, by their places in the list.
    fn wanted(&self, bugs: &[Planted]) -> Vec<usize> {
        let named = names("SABOTAGE");
        let is_every = env::var_os("SABOTAGE_EVERY").is_some();
        let is_wanted = |bug: &Planted| match &named {
            Some(names) => names.iter().any(|it| it == bug.name || it == "all"),
            None if is_every => self.finds(bug),
            None => bug.quick.contains(&self.name),
        };
        let bugs = bugs.iter().enumerate();
        bugs.filter(|it| is_wanted(it.1)).map(|it| it.0).collect()
    }

    /// Hunts for each of these bugs on all processors; those that were not found.
    fn missed(
        &self,
        bugs: &[Planted],
        wanted: &[usize],
        schedule: impl Fn(u64) + Sync,
    ) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut missed = Vec::new();
            while let Some(bug) = wanted.get(next.fetch_add(1, Relaxed)) {
                if !self.is_found(*bug, bugs[*bug].name, &schedule) {
                    missed.push(*bug);
                }
            }
            missed
        };
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
            let missed = workers.into_iter().map(|it| it.join());
            missed
                .flat_map(|it| it.unwrap_or_else(|_| wanted.to_vec()))
                .collect()
        })
    }

    /// Whether most hunts find the bug.
    fn is_found(&self, bug: usize, name: &str, schedule: &impl Fn(u64)) -> bool {
        let count = number("SABOTAGE_HUNTS").unwrap_or(1).max(1);
        let most = number("SABOTAGE_SEEDS").unwrap_or(self.seeds_max);
        let firsts = (0..count).map(|at| 1 + at * SEEDS_APART);
        let hunts: Vec<Hunt> = firsts
            .map(|first| hunt(bug, first..first + most, schedule))
            .collect();
        report(&format!(
            "sabotage: {name} {} {}\n",
            self.name,
            tell(&hunts)
        ));
        median(&hunts).is_some()
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn names(variable: &str) -> Option<Vec<String>> {
    let text = env::var(variable).ok()?;
    Some(text.split(',').map(str::to_owned).collect())
}

/// Several test programs write to the file at the same time: a line is one write.
fn report(line: &str) {
    print!("{line}");
    if let Some(path) = env::var_os("SABOTAGE_REPORT") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut it| it.write_all(line.as_bytes()));
        written.expect("the report can be written");
    }
}

#[cfg(test)]
#[path = "checker_test.rs"]
mod checker_test;
