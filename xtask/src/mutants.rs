//! Mutants: `cargo xtask mutants` makes small errors by rule, all in one build, and sees which of them no test notices.
//!
//! ```text
//! cargo xtask mutants --crate store               100 mutants of a crate, in an order that hangs on --seed
//! cargo xtask mutants --sample 300 --seed 7       so many of each crate
//! cargo xtask mutants --file store/src/append.rs  those of files whose path ends so
//! cargo xtask mutants --mutant 5f2ab31c07         one of them (`--list` has their names)
//! cargo xtask mutants --list                      those that it would try, and nothing else
//! cargo xtask mutants --own                       only the tests of its own crate judge a mutant: a first look
//! cargo xtask mutants --page                      what was found goes into docs/mutants.md
//! ```
//!
//! In:  the tree, xtask/mutants.toml. Out: who survived without a reason there; findings about those reasons
//! ([`findings`]), which need no build.
//!
//! Invariants:
//! - A mutant's name hangs on its function and texts, so it stays the same when lines move; so does the order of a sample.
//! - Tests that fail without a mutant are no tests of one: they run first with none on.

mod build;
mod crates;
mod find;
mod page;
mod reasons;
mod trial;

use crate::{finding::Finding, tree::Tree};
use crates::{CRATES, Judges};
use find::Mutant;
use page::PAGE;
use reasons::REASONS;
use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs, io};
use trial::Outcome;

/// How many of each crate, unless more or fewer are asked for.
const SAMPLE: usize = 100;

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// So many mutants of each crate.
    pub sample: Option<usize>,
    /// Which ones.
    pub seed: u64,
    /// Of these crates alone.
    pub crates: Vec<String>,
    /// Of files whose path ends so alone.
    pub files: Vec<String>,
    /// These alone, by name.
    pub mutants: Vec<String>,
    /// Only the tests of its own crate judge a mutant.
    pub is_own: bool,
    /// Say which, and try none.
    pub is_list: bool,
    /// Write the page.
    pub is_page: bool,
}

impl Options {
    /// Reads arguments; `None`: there is one that this does not know.
    pub fn parse<'a>(mut arguments: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut options = Self {
            seed: 1,
            ..Self::default()
        };
        while let Some(argument) = arguments.next() {
            match argument {
                "--list" => options.is_list = true,
                "--own" => options.is_own = true,
                "--page" => options.is_page = true,
                "--sample" => options.sample = Some(arguments.next()?.parse().ok()?),
                "--seed" => options.seed = arguments.next()?.parse().ok()?,
                "--crate" => options.crates.push(arguments.next()?.to_owned()),
                "--file" => options.files.push(arguments.next()?.to_owned()),
                "--mutant" => options.mutants.push(arguments.next()?.to_owned()),
                _ => return None,
            }
        }
        Some(options)
    }

    /// The same sample of every crate.
    fn of_all_crates(&self) -> Self {
        Self {
            sample: self.sample,
            seed: self.seed,
            ..Self::default()
        }
    }

    /// The mutants that this asks for, crate by crate.
    fn choose(&self, all: Vec<Mutant>) -> Vec<Mutant> {
        let is_wanted = |it: &Mutant| {
            (self.crates.is_empty() || self.crates.iter().any(|name| name == it.krate()))
                && (self.files.is_empty() || self.files.iter().any(|end| it.file.ends_with(end)))
                && (self.mutants.is_empty() || self.mutants.contains(&it.name))
        };
        let mut wanted: Vec<Mutant> = all.into_iter().filter(is_wanted).collect();
        if self.mutants.is_empty() {
            wanted.sort_by_cached_key(|it| find::hash(&format!("{} {}", self.seed, it.name)));
        }
        let count = self.sample.unwrap_or(SAMPLE);
        let of = |name: &&str| {
            let of_crate = wanted.iter().filter(|it| it.krate() == *name);
            of_crate.take(count).cloned().collect::<Vec<_>>()
        };
        let mut chosen: Vec<Mutant> = CRATES.iter().flat_map(of).collect();
        chosen.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        chosen
    }
}

/// What is wrong with the reasons: one that is of no mutant, or says nothing.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A tree of a few files, in tests of other checks.
    if tree.text(REASONS).is_some() {
        match find::all(tree) {
            Ok(all) => drop(reasons::read(tree, &all, &mut findings)),
            Err(why) => findings.push(Finding::new(REASONS, 0, why)),
        }
    }
    findings
}

/// Tries mutants. The findings are about the reasons, or name the mutants that survived and have none.
///
/// # Errors
/// If the copy cannot be written, or cargo or the tests not be run.
pub fn run(root: &Path, tree: &Tree, options: &Options) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let all = find::all(tree).map_err(io::Error::other)?;
    let reasons = reasons::read(tree, &all, &mut findings);
    let count = all.len();
    // What a sample of every crate has is in the build whichever crate is tried, so that the next one needs no other build.
    let planted = options.of_all_crates().choose(all.clone());
    let chosen = options.choose(all);
    if options.is_list {
        for mutant in &chosen {
            println!("{} {mutant}", mutant.name);
        }
        println!("{} of {count} mutants", chosen.len());
        return Ok(findings);
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let more = chosen.iter().filter(|it| !planted.contains(it)).cloned();
    let planted: Vec<Mutant> = planted.iter().cloned().chain(more).collect();
    let crates: BTreeSet<&str> = chosen.iter().map(Mutant::krate).collect();
    let judges = Judges {
        is_own: options.is_own,
    };
    let built = build::build(root, tree, &target, &planted, &judges.of_all(&crates))?;
    let outcomes = trial::run(&built, &chosen, judges)?;
    for (mutant, outcome) in chosen.iter().zip(&outcomes) {
        if matches!(outcome, Outcome::Survived) && !reasons.contains_key(&mutant.name) {
            let Mutant {
                file, line, name, ..
            } = mutant;
            let what = format!("{name} survives: {}", mutant.change());
            findings.push(Finding::new(file, *line, what));
        }
    }
    let report = page::Report::of(&chosen, &outcomes, &reasons);
    print!("{}", report.table());
    if options.is_page {
        let path = root.join(PAGE);
        let text = fs::read_to_string(&path)?;
        fs::write(path, report.update(&text))?;
    }
    Ok(findings)
}

#[cfg(test)]
#[path = "mutants_test.rs"]
mod mutants_test;
