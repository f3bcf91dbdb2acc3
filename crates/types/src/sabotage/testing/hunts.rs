//! What the judges of a room find, and how soon.
//!
//! In:  a room's schedule, and the bugs that it is known to show. Out: a panic that names those that it did not, and a
//! line for each hunt.
//!
//! ```text
//! SABOTAGE=BootStoredFirst,VoteBeforeSync   these bugs alone; `all`: whatever there is, also what others find
//! SABOTAGE_HUNTS=5                          so many hunts for each, with other seeds; the median counts
//! SABOTAGE_SEEDS=1000                       a hunt gives up after so many
//! ```

use super::{Bug, Hunt, hunt};
use std::fmt::Write;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, thread};

/// Each hunt for a bug begins so far from the one before.
const SEEDS_APART: u64 = 10_000;

/// The judges of a room, and what they are known to find.
#[derive(Clone, Copy, Debug)]
pub struct Judges<'a> {
    /// The room's name.
    pub room: &'a str,
    /// Found within a few seeds: a sample for every day.
    pub quick: &'a [Bug],
    /// What else they find, with patience.
    pub slow: &'a [Bug],
    /// A hunt that takes more seeds has failed.
    pub seeds_max: u64,
}

impl Judges<'_> {
    /// # Panics
    /// If one of the quick bugs is not found.
    pub fn must_find_quick(&self, schedule: impl Fn(u64) + Sync) {
        assert_eq!(self.missed(self.quick, schedule), []);
    }

    /// Hunts for what the environment names, or for all that these judges find.
    ///
    /// # Panics
    /// If one that they are known to find is not found.
    pub fn must_find_all(&self, schedule: impl Fn(u64) + Sync) {
        let wanted = env::var("SABOTAGE").ok();
        let is_known = |bug: &Bug| self.quick.contains(bug) || self.slow.contains(bug);
        let is_wanted = |bug: &Bug| match wanted.as_deref() {
            Some("all") => true,
            Some(names) => names.split(',').any(|name| name == format!("{bug:?}")),
            None => is_known(bug),
        };
        let bugs: Vec<Bug> = Bug::ALL.iter().copied().filter(is_wanted).collect();
        let mut missed = self.missed(&bugs, schedule);
        missed.retain(is_known);
        assert_eq!(missed, []);
    }

    /// Hunts for each of these bugs on all processors; those that were not found.
    fn missed(&self, bugs: &[Bug], schedule: impl Fn(u64) + Sync) -> Vec<Bug> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut missed = Vec::new();
            while let Some(bug) = bugs.get(next.fetch_add(1, Relaxed)) {
                if !self.is_found(*bug, &schedule) {
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
                .flat_map(|it| it.unwrap_or_else(|_| bugs.to_vec()))
                .collect()
        })
    }

    /// Whether most hunts find the bug.
    fn is_found(&self, bug: Bug, schedule: &impl Fn(u64)) -> bool {
        let count = number("SABOTAGE_HUNTS").unwrap_or(1).max(1);
        let most = number("SABOTAGE_SEEDS").unwrap_or(self.seeds_max);
        let firsts = (0..count).map(|at| 1 + at * SEEDS_APART);
        let hunts: Vec<Hunt> = firsts
            .map(|first| hunt(bug, first..first + most, schedule))
            .collect();
        println!("sabotage: {bug:?} {} {}", self.room, tell(&hunts));
        median(&hunts).is_some()
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Of seeds that it took; a hunt that failed took more than any other.
fn median(hunts: &[Hunt]) -> Option<u64> {
    let mut seeds: Vec<u64> = hunts
        .iter()
        .map(|it| it.seeds.unwrap_or(u64::MAX))
        .collect();
    seeds.sort_unstable();
    seeds
        .get(seeds.len() / 2)
        .copied()
        .filter(|it| *it < u64::MAX)
}

/// The words of a judge that are enough to know which one it is.
const WORDS_MAX: usize = 24;

/// One line about the hunts for a bug: median, each, seeds that showed it, what was said.
fn tell(hunts: &[Hunt]) -> String {
    let mut out = median(hunts).map_or_else(|| "-".to_owned(), |it| it.to_string());
    for hunt in hunts {
        let _ = match hunt.seeds {
            Some(seeds) => write!(out, " [{seeds}, seed {}]", hunt.seed),
            None => write!(out, " [-, reached {} times]", hunt.reached),
        };
    }
    if let Some(found) = hunts.iter().find(|it| it.seeds.is_some()) {
        let words: Vec<&str> = found.objection.split_whitespace().take(WORDS_MAX).collect();
        out += ": ";
        out += &words.join(" ");
    }
    out
}
