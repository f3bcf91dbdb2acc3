//! The way of a replicated SET through the files, as docs/replicated-set.txt lists it.
//!
//! In:  the list, and the crates. Out: its [`Way`]; a finding for each step that the code no longer has.
//!
//! A line is a step: a file, a function of it, and what happens there. The order is that of the events.

use super::house::House;
use crate::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// Where the list is.
pub(super) const LIST: &str = "docs/replicated-set.txt";

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step<'a> {
    line: usize,
    file: &'a str,
    function: &'a str,
}

/// A list of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way<'a> {
    steps: Vec<Step<'a>>,
}

impl<'a> Way<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut steps = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let mut words = text.split_whitespace();
            if !text.starts_with('#')
                && let Some(file) = words.next()
            {
                let function = words.next().unwrap_or_default();
                steps.push(Step {
                    line,
                    file,
                    function,
                });
            }
        }
        Self { steps }
    }

    pub(super) fn files(&self) -> BTreeSet<&'a str> {
        self.steps.iter().map(|step| step.file).collect()
    }

    pub(super) fn crates(&self) -> BTreeSet<&'a str> {
        let of = |file: &'a str| file.split('/').next().unwrap_or_default();
        self.steps.iter().map(|step| of(step.file)).collect()
    }

    /// How often the way comes into a file from another one.
    pub(super) fn visits(&self) -> usize {
        self.each_visit().count()
    }

    /// How often the way comes into the file into which it comes most often.
    pub(super) fn most_visits(&self) -> usize {
        let mut visits: BTreeMap<&str, usize> = BTreeMap::new();
        for file in self.each_visit() {
            *visits.entry(file).or_default() += 1;
        }
        visits.into_values().max().unwrap_or_default()
    }

    fn each_visit(&self) -> impl Iterator<Item = &'a str> {
        let runs = self.steps.chunk_by(|one, two| one.file == two.file);
        runs.filter_map(|run| run.first()).map(|step| step.file)
    }

    /// Steps whose file or function is gone.
    pub(super) fn findings(&self, house: &House) -> Vec<Finding> {
        let product = house.files().filter(|(_, file)| !file.is_test);
        let functions: BTreeMap<&str, BTreeSet<String>> = product
            .map(|(_, file)| (file.path.as_str(), functions(&file.ast)))
            .collect();
        let mut findings = Vec::new();
        for Step {
            line,
            file,
            function,
        } in &self.steps
        {
            let what = match functions.get(format!("crates/{file}").as_str()) {
                None => {
                    format!("no file crates/{file}; trace the way again and list what is there")
                }
                Some(names) if !names.contains(*function) => {
                    format!("no function `{function}` in crates/{file}; trace the way again")
                }
                Some(_) => continue,
            };
            findings.push(Finding::new(LIST, *line, what));
        }
        if self.steps.is_empty() {
            findings.push(Finding::new(LIST, 0, "lists no step; trace the way"));
        }
        findings
    }
}

/// The names of all functions that a file defines.
fn functions(ast: &syn::File) -> BTreeSet<String> {
    struct Functions(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Functions {
        fn visit_signature(&mut self, it: &'ast syn::Signature) {
            self.0.insert(it.ident.to_string());
        }
    }
    let mut functions = Functions(BTreeSet::new());
    functions.visit_file(ast);
    functions.0
}
