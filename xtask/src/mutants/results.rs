//! What is known of mutants from earlier runs: a file below the target directory, a line for each trial as it ends.
//!
//! In:  outcomes. Out: the same, in the next run: one that was interrupted goes on where it was.
//!
//! ```text
//! 5f2ab31c07 0a41cc92b3 caught sim
//! 7c90ee4112 91b3c0aa01 passed store sim
//! ```
//!
//! Invariants:
//! - A line is about a function's text (the second number): one that has changed since is tried again.
//! - The last line counts.

use super::find::Mutant;
use super::trial::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

/// What is known of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is no Rust.
    LeftOut,
    /// The tests of that name failed, or did not end.
    Caught(String),
    TimedOut(String),
    /// The tests of these names passed.
    Passed(BTreeSet<String>),
}

impl Known {
    fn parse(words: &[&str]) -> Option<Self> {
        Some(match *words {
            ["left-out"] => Self::LeftOut,
            ["caught", by] => Self::Caught(by.to_owned()),
            ["hung", by] => Self::TimedOut(by.to_owned()),
            ["passed", ref all @ ..] => Self::Passed(all.iter().map(|it| (*it).into()).collect()),
            _ => return None,
        })
    }

    fn words(&self) -> String {
        match self {
            Self::LeftOut => "left-out".to_owned(),
            Self::Caught(by) => format!("caught {by}"),
            Self::TimedOut(by) => format!("hung {by}"),
            Self::Passed(all) => {
                let all = all.iter().map(|it| format!(" {it}"));
                format!("passed{}", all.collect::<String>())
            }
        }
    }
}

/// The file, and what it had.
#[derive(Debug)]
pub(super) struct Results {
    known: BTreeMap<(String, String), Known>,
    file: Mutex<File>,
}

impl Results {
    /// Where it is below the target directory.
    pub(super) const PATH: &str = "mutants/results";

    /// Reads what earlier runs have left.
    pub(super) fn open(target: &Path) -> io::Result<Self> {
        let path = target.join(Self::PATH);
        fs::create_dir_all(path.parent().unwrap_or(target))?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let text = fs::read_to_string(path)?;
        // The last line may have been cut.
        let lines = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
        let known = lines.filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, function, ref words @ ..] = *words else {
                return None;
            };
            let key = (name.to_owned(), function.to_owned());
            Some((key, Known::parse(words)?))
        });
        Ok(Self {
            known: known.collect(),
            file: Mutex::new(file),
        })
    }

    fn key(mutant: &Mutant) -> (String, String) {
        (mutant.name.clone(), format!("{:010x}", mutant.body))
    }

    /// What earlier runs have said of a mutant.
    pub(super) fn of(&self, mutant: &Mutant) -> Option<&Known> {
        self.known.get(&Self::key(mutant))
    }

    /// What became of a mutant in earlier runs, if those of these names have all judged it.
    pub(super) fn outcome(&self, mutant: &Mutant, judges: &[&str]) -> Option<Outcome> {
        Some(match self.of(mutant)? {
            Known::LeftOut => Outcome::LeftOut,
            Known::Caught(by) => Outcome::Caught(by.clone()),
            Known::TimedOut(by) => Outcome::TimedOut(by.clone()),
            Known::Passed(all) if judges.iter().all(|it| all.contains(*it)) => Outcome::Survived,
            Known::Passed(_) => return None,
        })
    }

    /// Those who have passed it in earlier runs.
    pub(super) fn passed(&self, mutant: &Mutant) -> BTreeSet<String> {
        match self.of(mutant) {
            Some(Known::Passed(all)) => all.clone(),
            _ => BTreeSet::new(),
        }
    }

    /// Notes what became of one.
    pub(super) fn note(&self, mutant: &Mutant, known: &Known) -> io::Result<()> {
        let (name, function) = Self::key(mutant);
        let line = format!("{name} {function} {}\n", known.words());
        let mut file = self.file.lock().map_err(|_| io::Error::other("poisoned"))?;
        file.write_all(line.as_bytes())
    }

    /// Forgets, for this run, whom mutants have survived.
    pub(super) fn forget_survivors(&mut self) {
        self.known.retain(|_, it| !matches!(it, Known::Passed(_)));
    }
}

#[cfg(test)]
#[path = "results_test.rs"]
mod results_test;
