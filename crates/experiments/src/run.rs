//! What an experiment has while it measures: the program, a directory, its time, and a way to say how far it is.
//!
//! In:  [`Limits`]. Out: rounds, lengths of pieces, places for servers, and what was missing.
//!
//! Invariant: rounds go on while another one like those before fits into the time; there is at least one in a quick run and three otherwise.

use crate::progress::Progress;
use crate::record::Missing;
use anyhow::bail;
use brickyard_bench::peer::Found;
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rounds of a run that is no quick one.
const ROUNDS_MIN: u32 = 3;
const ROUNDS_MAX: u32 = 15;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Seconds an experiment: to see that all works.
    pub(crate) is_quick: bool,
    /// How long this experiment may take.
    pub(crate) time: Duration,
}

/// See the module.
pub(crate) struct Run<'a> {
    /// The program that serves.
    pub(crate) program: &'a Found,
    /// For data and logs of servers; it goes when the experiment has ended.
    pub(crate) dir: &'a Path,
    /// Where Maven has put what it fetched, if it has.
    pub(crate) java: &'a Path,
    limits: Limits,
    begin: Instant,
    progress: &'a Progress,
    is_over: &'a AtomicBool,
    missing: RefCell<Vec<Missing>>,
    peers: RefCell<Vec<String>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        program: &'a Found,
        dir: &'a Path,
        java: &'a Path,
        limits: Limits,
        progress: &'a Progress,
        is_over: &'a AtomicBool,
    ) -> Self {
        Self {
            program,
            dir,
            java,
            limits,
            begin: Instant::now(),
            progress,
            is_over,
            missing: RefCell::default(),
            peers: RefCell::default(),
        }
    }

    /// One of two: for a run of seconds, or for a real one.
    pub(crate) fn quick<T>(&self, quick: T, full: T) -> T {
        if self.limits.is_quick { quick } else { full }
    }

    /// How long one of so many measurements of a round may take, so that there are several rounds.
    pub(crate) fn piece(&self, of: usize) -> Duration {
        if self.limits.is_quick {
            return Duration::from_millis(200);
        }
        let share = self.limits.time.as_secs_f64() / (of.max(1) as f64 * 5.0);
        Duration::from_secs_f64(share.clamp(0.25, 3.0))
    }

    /// Says what is done, and ends here if it was told to.
    ///
    /// # Errors
    /// If it was.
    pub(crate) fn say(&self, what: &str) -> anyhow::Result<()> {
        self.progress.within(self.begin.elapsed(), what);
        if self.is_over.load(Ordering::Relaxed) {
            bail!("it was interrupted");
        }
        Ok(())
    }

    /// Runs rounds for as long as there is time.
    ///
    /// # Errors
    /// Those of a round, and the end of everything.
    pub(crate) fn rounds(
        &self,
        mut round: impl FnMut(u32) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let begin = Instant::now();
        let (least, most) = self.quick((1, 1), (ROUNDS_MIN, ROUNDS_MAX));
        for number in 0..most {
            let mean = begin.elapsed() / number.max(1);
            if number >= least && self.begin.elapsed() + mean > self.limits.time {
                break;
            }
            self.say(&format!("round {}", number + 1))?;
            round(number)?;
        }
        Ok(())
    }

    /// Takes note that something is not here.
    pub(crate) fn miss(&self, name: &str, remedy: &str) {
        let missing = Missing {
            name: name.to_owned(),
            remedy: remedy.to_owned(),
        };
        let mut all = self.missing.borrow_mut();
        if !all.contains(&missing) {
            all.push(missing);
        }
    }

    /// Takes note that somebody takes part.
    pub(crate) fn meet(&self, name: String) {
        let mut all = self.peers.borrow_mut();
        if !all.contains(&name) {
            all.push(name);
        }
    }

    /// Who took part, and who could not.
    pub(crate) fn into_peers(self) -> (Vec<String>, Vec<Missing>) {
        (self.peers.into_inner(), self.missing.into_inner())
    }
}

#[cfg(test)]
#[path = "run_test.rs"]
pub(crate) mod run_test;
