//! Bugs put into code, each behind a question.
//!
//! In:  a file's text, and the places of bugs in it. Out: the text in which each marked piece is a choice
//! (`planted::choice`), or what does not fit.
//!
//! Invariant: the code of a place is there as often as the table says, so a change of the code that a bug no longer fits fails the check.

use super::table::{Bug, Piece, Place};
use crate::finding::Finding;
use crate::planted::choice::{self, Clash, Edit, Form};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The files that bugs change, with all of them in.
pub(super) fn all(
    tree: &Tree,
    bugs: &[Bug],
    findings: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let places = bugs.iter().flat_map(|bug| &bug.places);
    let files: BTreeSet<&str> = places.map(|it| it.file.as_str()).collect();
    let planted = files.into_iter().map(|path| {
        let text = tree.text(path).unwrap_or_default();
        (path.to_owned(), plant(path, text, bugs, findings))
    });
    planted.collect()
}

/// The text of a file with all bugs that it has.
pub(super) fn plant(path: &str, text: &str, bugs: &[Bug], findings: &mut Vec<Finding>) -> String {
    let code = squeeze(text);
    let mut edits = Vec::new();
    for (number, bug) in bugs.iter().enumerate() {
        for place in bug.places.iter().filter(|it| it.file == path) {
            match edits_of(place, &code) {
                Ok(found) => {
                    let edit = |(range, after)| edit(number, range, after, text);
                    edits.extend(found.into_iter().map(edit));
                }
                Err(what) => {
                    let what = format!("{}: {what} in {path}", bug.name);
                    findings.push(Finding::new(&bug.file, place.line, what));
                }
            }
        }
    }
    let mut clashes = Vec::new();
    let choices = choice::choices(edits, &mut clashes);
    for (number, clash) in clashes {
        let what = match clash {
            Clash::Overlaps(other) => {
                format!("its text overlaps {}'s in {path}", bugs[other].name)
            }
            Clash::AsksForAll => {
                "its text has `BUG`, so no other bug may change what it replaces".to_owned()
            }
        };
        findings.push(bugs[number].finding(what));
    }
    choice::render(text, &choices).0
}

fn edit<'a>(number: usize, range: Range<usize>, after: &'a str, text: &str) -> Edit<'a> {
    let before = &text[range.clone()];
    let sample = if before.is_empty() { after } else { before };
    let is_statement = sample.ends_with([';', '}']);
    let form = if is_statement {
        Form::Statements
    } else {
        Form::Expression
    };
    Edit {
        range,
        number,
        after: after.into(),
        form,
    }
}

/// Code without white space and without commas before a closing bracket, and where each byte was.
struct Squeezed {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

fn squeeze(text: &str) -> Squeezed {
    let mut squeezed = Squeezed {
        bytes: Vec::new(),
        offsets: Vec::new(),
    };
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_whitespace() {
            continue;
        }
        // As rustfmt breaks lines.
        if b")]}".contains(&byte) && squeezed.bytes.last() == Some(&b',') {
            squeezed.bytes.pop();
            squeezed.offsets.pop();
        }
        squeezed.bytes.push(byte);
        squeezed.offsets.push(at);
    }
    squeezed
}

/// The pieces that a bug changes at a place, and to what.
fn edits_of<'a>(place: &'a Place, code: &Squeezed) -> Result<Vec<(Range<usize>, &'a str)>, String> {
    let mut text = String::new();
    let mut marked = Vec::new();
    for piece in &place.pieces {
        match piece {
            Piece::Context(context) => text += context,
            Piece::Edit { before, after } => {
                let start = text.len();
                text += before;
                marked.push((start..text.len(), after.as_str()));
            }
        }
    }
    // A comma at the end of the context may be one that does not count.
    let is_context = matches!(place.pieces.last(), Some(Piece::Context(_)));
    let text = text.trim_end();
    let wanted = squeeze(
        text.strip_suffix(',')
            .filter(|_| is_context)
            .unwrap_or(text),
    );
    let found = code.bytes.windows(wanted.bytes.len().max(1));
    let starts: Vec<usize> = found
        .enumerate()
        .filter(|it| it.1 == wanted.bytes)
        .map(|it| it.0)
        .collect();
    if starts.len() != place.times {
        let (count, times) = (starts.len(), place.times);
        return Err(format!("its text occurs {count} times, not {times},"));
    }
    let mut edits = Vec::new();
    for start in starts {
        for (range, after) in &marked {
            let index = |at| start + wanted.offsets.partition_point(|it| *it < at);
            let (first, end) = (index(range.start), index(range.end));
            let range = if first < end {
                code.offsets[first]..code.offsets[end - 1] + 1
            } else {
                // Before what follows: what comes before may be a comment.
                let end_of_file = || code.offsets.last().map_or(0, |it| it + 1);
                let at = code.offsets.get(first).copied();
                let at = at.unwrap_or_else(end_of_file);
                at..at
            };
            edits.push((range, *after));
        }
    }
    Ok(edits)
}
