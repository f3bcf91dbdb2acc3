//! Mutants: `cargo xtask mutants` makes small errors by rule, all in one build, and sees which of them no test notices.
//!
//! ```text
//! cargo xtask mutants --crate store               100 mutants of a crate, in an order that hangs on --seed
//! cargo xtask mutants --sample 300 --seed 7       so many of each crate
//! cargo xtask mutants --file store/src/append.rs  those of files whose path ends so
//! cargo xtask mutants --mutant 5f2ab31c07         one of them (`--list` has their names)
//! cargo xtask mutants --list                      those that it would try, and nothing else
//! cargo xtask mutants --own                       only the tests of its own crate judge a mutant: a first look
//! cargo xtask mutants --quick                     all but the slowest tests judge, those of bricks
//! cargo xtask mutants --again                     those that survived earlier runs are tried again: tests have come
//! cargo xtask mutants --known                     nothing is tried: what earlier runs have found
//! cargo xtask mutants --jobs 1                    so many at a time; as many as there are processors
//! cargo xtask mutants --page                      what was found goes into docs/mutants.md
//! ```
//!
//! In:  the tree, xtask/mutants.toml, what earlier runs have found (`results`). Out: who survived without a reason there;
//! findings about those reasons ([`findings`]), which need no build.
//!
//! Invariants:
//! - A mutant's name hangs on its function and texts, so it stays the same when lines move; so does the order of a sample.
//! - Tests that fail without a mutant are no tests of one: they run first with none on.
//! - What was judged is not judged again, unless its function has changed since.

mod build;
mod crates;
mod find;
mod page;
mod reasons;
mod results;
mod trial;

use crate::{finding::Finding, tree::Tree};
use crates::{CRATES, Judges};
use find::Mutant;
use page::PAGE;
use reasons::REASONS;
use results::Results;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::{env, fs, io, thread};
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
    /// The slowest tests, those of bricks, judge nothing.
    pub is_quick: bool,
    /// Survivors of earlier runs are tried again.
    pub is_again: bool,
    /// Try none: what earlier runs have found.
    pub is_known: bool,
    /// So many at a time.
    pub jobs: Option<usize>,
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
                "--quick" => options.is_quick = true,
                "--again" => options.is_again = true,
                "--known" => options.is_known = true,
                "--jobs" => options.jobs = Some(arguments.next()?.parse().ok()?),
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

    /// Where a mutant is in the order of samples.
    fn place(&self, mutant: &Mutant) -> u64 {
        find::hash(&format!("{} {}", self.seed, mutant.name))
    }

    /// What was asked for of a crate, for the page.
    fn sample_of(&self, krate: &str, total: Option<&usize>) -> String {
        let total = total.copied().unwrap_or_default();
        let count = self.sample.unwrap_or(SAMPLE);
        let mut asked = format!("`--crate {krate} --sample {count}");
        for (option, all) in [("--file", &self.files), ("--mutant", &self.mutants)] {
            asked.extend(all.iter().map(|it| format!(" {option} {it}")));
        }
        if self.seed != 1 {
            asked += &format!(" --seed {}", self.seed);
        }
        for (option, is_on) in [(" --own", self.is_own), (" --quick", self.is_quick)] {
            asked += if is_on { option } else { "" };
        }
        format!("{asked}` of {total}")
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
            wanted.sort_by_cached_key(|it| self.place(it));
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
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    for mutant in &all {
        *totals.entry(mutant.krate().to_owned()).or_default() += 1;
    }
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
    let judges = Judges {
        is_own: options.is_own,
        is_quick: options.is_quick,
    };
    let mut results = Results::open(&target)?;
    if options.is_again {
        results.forget_survivors();
    }
    let mut unknown: Vec<&Mutant> = chosen
        .iter()
        .filter(|it| outcome(&results, it, judges).is_none())
        .collect();
    // What is known of a run that was ended is a sample, too.
    unknown.sort_by_cached_key(|it| options.place(it));
    if !options.is_known && !unknown.is_empty() {
        // So is each test program: with fewer, cargo chooses other features of what they use, and builds that again.
        let programs = Judges::default().of_all(&CRATES.into());
        let programs = programs.iter().map(|it| it.krate).collect();
        let more = chosen.iter().filter(|it| !planted.contains(it)).cloned();
        let planted: Vec<Mutant> = planted.iter().cloned().chain(more).collect();
        let built = build::build(root, tree, &target, &planted, &programs, &results)?;
        let all = || thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = options.jobs.unwrap_or_else(all);
        trial::run(&built, &unknown, judges, jobs, &results)?;
        results = Results::open(&target)?;
    }
    let judged = chosen.iter().filter_map(|it| {
        let outcome = outcome(&results, it, judges);
        // Where a run was ended: what passed some judges has survived so far.
        let so_far = || (!results.passed(it).is_empty()).then_some(Outcome::Survived);
        Some((it.clone(), outcome.or_else(so_far)?))
    });
    let (chosen, outcomes): (Vec<Mutant>, Vec<Outcome>) = judged.unzip();
    for (mutant, outcome) in chosen.iter().zip(&outcomes) {
        if matches!(outcome, Outcome::Survived) && !reasons.contains_key(&mutant.name) {
            let Mutant {
                file, line, name, ..
            } = mutant;
            let what = format!("{name} survives: {}", mutant.change());
            findings.push(Finding::new(file, *line, what));
        }
    }
    let samples = CRATES.map(|name| (name, options.sample_of(name, totals.get(name))));
    let report = page::Report::of(&chosen, &outcomes, &reasons, &samples.into());
    print!("{}", report.table());
    if options.is_page {
        let path = root.join(PAGE);
        let text = fs::read_to_string(&path)?;
        fs::write(path, report.update(&text))?;
    }
    Ok(findings)
}

/// What earlier runs have said, if all who judge it have.
fn outcome(results: &Results, mutant: &Mutant, judges: Judges) -> Option<Outcome> {
    let names: Vec<&str> = judges.of(mutant.krate()).iter().map(|it| it.name).collect();
    results.outcome(mutant, &names)
}

#[cfg(test)]
#[path = "mutants_test.rs"]
mod mutants_test;
