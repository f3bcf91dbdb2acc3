//! All mutants in one build.
//!
//! In:  mutants. Out: the test programs of their crates and of those that judge them, with each mutant behind a switch.
//!
//! Invariant: a mutant that does not compile is left out, and no other. The compiler says where an error is; what was put
//! there goes, and it is built again, until nothing is wrong.

use super::find::Mutant;
use super::results::{Known, Results};
use crate::planted::choice::{self, Edit, Spot};
use crate::planted::copy::{self, Changes};
use crate::planted::programs::{self, Program};
use crate::tree::Tree;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, io};

/// What was built.
pub(super) struct Built {
    /// The test programs, by crate.
    pub(super) programs: BTreeMap<String, Program>,
    /// The names of mutants that do not compile.
    pub(super) left_out: BTreeSet<String>,
}

/// Builds until all that is left compiles; the tests of these crates. What is known not to compile is left out from the
/// beginning.
pub(super) fn build(
    root: &Path,
    tree: &Tree,
    target: &Path,
    mutants: &[Mutant],
    crates: &BTreeSet<&str>,
    results: &Results,
) -> io::Result<Built> {
    let (copy, built) = (target.join("mutants/tree"), target.join("mutants/build"));
    copy::share_built(&target.join("debug"), &built.join("debug"))?;
    let is_known = |it: &usize| results.of(&mutants[*it]) == Some(&Known::LeftOut);
    let mut left_out: BTreeSet<usize> = (0..mutants.len()).filter(is_known).collect();
    loop {
        let planted = plant(tree, mutants, &left_out);
        let texts = planted
            .iter()
            .map(|(path, it)| (path.clone(), it.0.clone()));
        let changes = Changes {
            files: texts.collect(),
            list: list(mutants),
        };
        copy::write(root, &copy, &changes)?;
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--lib", "--no-run", "--message-format=json"]);
        for name in crates {
            cargo.args(["--package".to_owned(), format!("brickyard-{name}")]);
        }
        // Built once and run a thousand times.
        cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "2");
        cargo.env("CARGO_TARGET_DIR", &built).current_dir(&copy);
        let output = cargo.stderr(Stdio::inherit()).output()?;
        let messages = programs::messages(&output.stdout);
        if output.status.success() {
            let programs = programs::programs(&messages, &copy);
            let left_out = left_out.iter().map(|it: &usize| mutants[*it].name.clone());
            let left_out = left_out.collect();
            return Ok(Built { programs, left_out });
        }
        let before = left_out.clone();
        let errors = messages.iter().map(|it| &it["message"]);
        for error in errors.filter(|it| it["level"] == "error") {
            left_out.extend(blamed(error, &planted));
        }
        println!("{} mutants do not compile so far", left_out.len());
        for number in left_out.difference(&before) {
            results.note(&mutants[*number], &Known::LeftOut)?;
        }
        if left_out == before {
            let told = messages
                .iter()
                .filter_map(|it| it["message"]["rendered"].as_str());
            let told: String = told.collect();
            return Err(io::Error::other(format!(
                "the copy does not build:\n{told}"
            )));
        }
    }
}

/// The files that have mutants, and where in them each is.
type Planted = BTreeMap<String, (String, Vec<Spot>)>;

fn plant(tree: &Tree, mutants: &[Mutant], left_out: &BTreeSet<usize>) -> Planted {
    let mut edits: BTreeMap<&str, Vec<Edit<'_>>> = BTreeMap::new();
    for (number, mutant) in mutants.iter().enumerate() {
        let edits = edits.entry(&mutant.file).or_default();
        if !left_out.contains(&number) {
            edits.push(Edit {
                range: mutant.range.clone(),
                number,
                after: mutant.after.as_str().into(),
                form: mutant.form,
            });
        }
    }
    let planted = edits.into_iter().map(|(path, edits)| {
        let mut clashes = Vec::new();
        let choices = choice::choices(edits, &mut clashes);
        assert!(clashes.is_empty(), "pieces of a syntax tree: {clashes:?}");
        let text = tree.text(path).unwrap_or_default();
        (path.to_owned(), choice::render(text, &choices))
    });
    planted.collect()
}

/// The switch knows mutants by their names.
fn list(mutants: &[Mutant]) -> String {
    let mut out = String::from("&[\n");
    for Mutant { name, .. } in mutants {
        let _ = writeln!(
            out,
            "    Planted {{ name: {name:?}, quick: &[], slow: &[] }},"
        );
    }
    out += "];";
    out
}

/// Whose fault an error is.
fn blamed(error: &Value, planted: &Planted) -> BTreeSet<usize> {
    let mut spans = Vec::new();
    read_spans(error, &mut spans);
    let spans = spans.iter().filter_map(|(path, span)| {
        let (_, spots) = planted.get(path)?;
        Some((spots, span))
    });
    let spans: Vec<(&Vec<Spot>, &Range<usize>)> = spans.collect();
    // What was put in, else the closest choice around, else all choices within.
    let mut blamed = BTreeSet::new();
    for (spots, span) in &spans {
        let around = spots.iter().filter(|it| contains(&it.after, span));
        blamed.extend(around.min_by_key(|it| it.after.len()).map(|it| it.number));
    }
    if blamed.is_empty() {
        for (spots, span) in &spans {
            let around = spots.iter().filter(|it| contains(&it.whole, span));
            if let Some(least) = around.map(|it| &it.whole).min_by_key(|it| it.len()) {
                let all = spots.iter().filter(|it| it.whole == *least);
                blamed.extend(all.map(|it| it.number));
            }
        }
    }
    if blamed.is_empty() {
        for (spots, span) in &spans {
            let within = spots.iter().filter(|it| contains(span, &it.whole));
            blamed.extend(within.map(|it| it.number));
        }
    }
    blamed
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Where an error is, by file and bytes, and where its notes are.
fn read_spans(error: &Value, spans: &mut Vec<(String, Range<usize>)>) {
    let number = |it: &Value| it.as_u64().and_then(|it| usize::try_from(it).ok());
    for span in error["spans"].as_array().into_iter().flatten() {
        if let (Some(path), Some(start), Some(end)) = (
            span["file_name"].as_str(),
            number(&span["byte_start"]),
            number(&span["byte_end"]),
        ) {
            spans.push((path.to_owned(), start..end));
        }
    }
    for child in error["children"].as_array().into_iter().flatten() {
        read_spans(child, spans);
    }
}

#[cfg(test)]
#[path = "build_test.rs"]
mod build_test;
