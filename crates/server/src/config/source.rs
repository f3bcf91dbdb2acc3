//! Where a setting came from, and what can be wrong with it.

use super::fields::{FIELDS, Field};
use std::fmt;
use std::path::PathBuf;

/// Where a value came from; later ones win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The configuration file.
    File {
        /// Its path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag on the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// One field as some source gave it, not yet typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Which field.
    pub name: &'static str,
    /// Its value as text.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

/// One thing that is wrong with the configuration: what, where, why, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, or the file.
    pub field: String,
    /// The value, where there is one.
    pub value: Option<String>,
    /// Where the value came from.
    pub origin: Option<Origin>,
    /// What is wrong with it.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        if let Some(origin) = &self.origin {
            write!(f, " ({origin})")?;
        }
        write!(f, ": {}; {}", self.why, self.remedy)
    }
}

/// Everything that is wrong with the configuration, told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("the configuration has a problem:")?,
            count => write!(f, "the configuration has {count} problems:")?,
        }
        for problem in &self.0 {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The setting whose name is nearest to `name`, if any is near enough to be meant.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let known = FIELDS.iter().map(|field: &Field| field.name);
    nearest_of(known.chain(["user"]), name)
}

/// The one of `known` that is nearest to `name`, if any is near enough to be meant.
pub(crate) fn nearest_of(
    known: impl Iterator<Item = &'static str>,
    name: &str,
) -> Option<&'static str> {
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .map(|(_, candidate)| candidate)
}

/// Edit distance (Levenshtein), one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
