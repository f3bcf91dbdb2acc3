//! The table of deliberate bugs, as text: one file for a crate, in `sabotage/bugs`.
//!
//! ```text
//! bug CommitBeforeAllVotes
//! rule votes belong to a stream
//! wrong One vote is enough
//! quick replication, brick
//! slow sim
//! in crates/replication/src/commit.rs
//!     least = least.min(vote);
//!     [--]{+break;+}
//! ```
//! `quick` and `slow` name the checkers that find it, `tests` the other tests that do (`crate/test`, or a crate); a bug that nothing finds says
//! why with `unfound`. `in` may come
//! several times; the code is there once, or `2 times` after the path. The code below it is marked as word differences are: `[-` what stands there `-]{+` what would be
//! wrong `+}`; the rest says where that is. White space does not count. What is between the marks is an expression, or
//! one or more whole statements without `let`. Where that does not fit, the word `BUG` in the wrong text asks whether the bug is on.
//!
//! In:  the files' text. Out: [`Bug`]s, or what is wrong with the text.
//!
//! Not here: whether the code is there ([`plant`](super::plant)).

use crate::finding::Finding;

/// A deliberate bug.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bug {
    /// The name.
    pub(super) name: String,
    /// The name of the rule in docs/protocol.md that it breaks; empty: none of those.
    pub(super) rule: String,
    /// What is wrong.
    pub(super) wrong: String,
    /// The checkers that find it within a few seeds.
    pub(super) quick: Vec<String>,
    /// The checkers that find it with patience.
    pub(super) slow: Vec<String>,
    /// The unit tests that fail with it: `crate/test`, or a crate of whose tests some do.
    pub(super) tests: Vec<String>,
    /// Why nobody finds it.
    pub(super) unfound: String,
    /// The places in the code.
    pub(super) places: Vec<Place>,
    /// The file of the table.
    pub(super) file: String,
    /// The line where it begins there.
    pub(super) line: usize,
}

/// A place in the code that a bug changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The file.
    pub(super) file: String,
    /// The line in the table.
    pub(super) line: usize,
    /// How often the code is there.
    pub(super) times: usize,
    /// The code, in the order of the file.
    pub(super) pieces: Vec<Piece>,
}

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// It says where the place is.
    Context(String),
    /// It is changed.
    Edit {
        /// What stands there.
        before: String,
        /// What would be wrong.
        after: String,
    },
}

impl Bug {
    /// Checkers, quick ones first.
    pub(super) fn checkers(&self) -> impl Iterator<Item = &str> {
        self.quick.iter().chain(&self.slow).map(String::as_str)
    }

    pub(super) fn finding(&self, what: impl Into<String>) -> Finding {
        let what = format!("{}: {}", self.name, what.into());
        Finding::new(&self.file, self.line, what)
    }
}

/// Reads one file of the table.
pub(super) fn parse(file: &str, text: &str, findings: &mut Vec<Finding>) -> Vec<Bug> {
    let mut bugs: Vec<Bug> = Vec::new();
    let mut code = String::new();
    for (text, line) in text.lines().chain([""]).zip(1..) {
        if text.starts_with([' ', '\t']) || text.is_empty() {
            code += text;
            code.push('\n');
            continue;
        }
        end_of_code(&mut bugs, &mut code, findings);
        if text.starts_with('#') {
            continue;
        }
        let (key, value) = text.split_once(' ').unwrap_or((text, ""));
        let value = value.trim();
        if key == "bug" {
            bugs.push(Bug {
                name: value.to_owned(),
                file: file.to_owned(),
                line,
                ..Bug::default()
            });
            continue;
        }
        let Some(bug) = bugs.last_mut() else {
            findings.push(Finding::new(file, line, "before any `bug`"));
            continue;
        };
        let names = || value.split(',').map(|it| it.trim().to_owned()).collect();
        match key {
            "rule" => bug.rule = value.to_owned(),
            "wrong" => bug.wrong = value.to_owned(),
            "quick" => bug.quick = names(),
            "slow" => bug.slow = names(),
            "tests" => bug.tests = names(),
            "unfound" => bug.unfound = value.to_owned(),
            "in" => bug.places.push(place(value, line)),
            _ => {
                let what =
                    format!("`{key}` is none of bug, rule, wrong, quick, slow, tests, unfound, in");
                findings.push(Finding::new(file, line, what));
            }
        }
    }
    end_of_code(&mut bugs, &mut code, findings);
    bugs
}

/// A path, and maybe how often the code is there: `crates/store/src/disk.rs 2 times`.
fn place(value: &str, line: usize) -> Place {
    let mut words = value.split(' ');
    let file = words.next().unwrap_or_default().to_owned();
    let times = words.next().and_then(|it| it.parse().ok()).unwrap_or(1);
    Place {
        file,
        line,
        times,
        pieces: Vec::new(),
    }
}

/// Gives the code that was read to the place that it belongs to.
fn end_of_code(bugs: &mut [Bug], code: &mut String, findings: &mut Vec<Finding>) {
    let text = std::mem::take(code);
    if text.trim().is_empty() {
        return;
    }
    let Some(bug) = bugs.last_mut() else { return };
    let (name, file) = (bug.name.clone(), bug.file.clone());
    let mut wrong = |line, what: &str| {
        findings.push(Finding::new(&file, line, format!("{name}: {what}")));
    };
    match bug.places.last_mut() {
        Some(place) if place.pieces.is_empty() => {
            place.pieces = pieces(&text);
            let is_edit = |it: &Piece| matches!(it, Piece::Edit { .. });
            if !place.pieces.iter().any(is_edit) {
                wrong(place.line, "nothing is marked `[-...-]{+...+}`");
            }
        }
        _ => wrong(bug.line, "code without `in` before it"),
    }
}

/// Code, cut at its marks.
fn pieces(mut text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some((context, before, after, rest)) = first_edit(text) {
        if !context.trim().is_empty() {
            pieces.push(Piece::Context(context.to_owned()));
        }
        pieces.push(Piece::Edit {
            before: before.trim().to_owned(),
            after: after.trim().to_owned(),
        });
        text = rest;
    }
    if !text.trim().is_empty() {
        pieces.push(Piece::Context(text.to_owned()));
    }
    pieces
}

fn first_edit(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (head, tail) = text.split_once("-]{+")?;
    let (context, before) = head.rsplit_once("[-")?;
    let (after, rest) = tail.split_once("+}")?;
    Some((context, before, after, rest))
}
