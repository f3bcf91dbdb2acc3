//! Bugs put into code, each behind a question.
//!
//! In:  a file's text, and the places of bugs in it. Out: the text in which each marked piece is a choice, such as
//! `(if ::brickyard_sabotage::is_on(17) { true } else { now < lease })`; or what does not fit.
//!
//! Invariants:
//! - With no bug on the code does what it did.
//! - The code of a place is there as often as the table says, so a change of the code that a bug no longer fits fails the check.

use super::table::{Bug, Piece, Place};
use crate::finding::Finding;
use std::fmt::Write;
use std::ops::Range;

/// The word that asks whether the bug is on, in a wrong text that is no expression and no statement.
const ASK: &str = "BUG";

/// A piece of a file that a bug changes.
#[derive(Clone, Debug)]
struct Edit<'a> {
    range: Range<usize>,
    bug: usize,
    after: &'a str,
}

/// A piece of a file with all that changes it, or parts of it.
#[derive(Debug)]
struct Choice<'a> {
    range: Range<usize>,
    edits: Vec<Edit<'a>>,
    inner: Vec<Self>,
}

/// The text of a file with all bugs that it has.
pub(super) fn plant(path: &str, text: &str, bugs: &[Bug], findings: &mut Vec<Finding>) -> String {
    let code = squeeze(text);
    let mut edits = Vec::new();
    for (number, bug) in bugs.iter().enumerate() {
        for place in bug.places.iter().filter(|it| it.file == path) {
            match edits_of(place, &code) {
                Ok(found) => {
                    edits.extend(found.into_iter().map(|(range, after)| Edit {
                        range,
                        bug: number,
                        after,
                    }));
                }
                Err(what) => {
                    let what = format!("{}: {what} in {path}", bug.name);
                    findings.push(Finding::new(&bug.file, place.line, what));
                }
            }
        }
    }
    // An outer piece comes before those within it.
    edits.sort_by_key(|it| (it.range.start, std::cmp::Reverse(it.range.end), it.bug));
    let mut choices = Vec::new();
    for edit in edits {
        let number = edit.bug;
        if let Err(other) = insert(&mut choices, edit) {
            let other = &bugs[other].name;
            findings.push(bugs[number].finding(format!("its text overlaps {other}'s in {path}")));
        }
    }
    for choice in &choices {
        check(choice, bugs, findings);
    }
    render(text, 0..text.len(), &choices)
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

/// Puts an edit where it belongs among those before it, or says whose text it overlaps.
fn insert<'a>(choices: &mut Vec<Choice<'a>>, edit: Edit<'a>) -> Result<(), usize> {
    match choices.last_mut() {
        Some(last) if last.range == edit.range => last.edits.push(edit),
        Some(last) if edit.range.end <= last.range.end => return insert(&mut last.inner, edit),
        Some(last) if edit.range.start < last.range.end => return Err(last.edits[0].bug),
        _ => choices.push(Choice {
            range: edit.range.clone(),
            edits: vec![edit],
            inner: Vec::new(),
        }),
    }
    Ok(())
}

/// A text that asks by itself replaces all that is there, so nothing else may change that.
fn check(choice: &Choice<'_>, bugs: &[Bug], findings: &mut Vec<Finding>) {
    let asking = choice.edits.iter().find(|it| asks(it.after));
    if let Some(edit) = asking
        && (choice.edits.len() > 1 || !choice.inner.is_empty())
    {
        let what = format!("its text has `{ASK}`, so no other bug may change what it replaces");
        findings.push(bugs[edit.bug].finding(what));
    }
    for inner in &choice.inner {
        check(inner, bugs, findings);
    }
}

fn asks(after: &str) -> bool {
    words(after).any(|word| word == ASK)
}

/// Words, and what is between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    text.split_inclusive(move |it| !is_part(it))
        .flat_map(move |it| {
            let word = it.trim_end_matches(|it| !is_part(it));
            [word, &it[word.len()..]]
        })
}

fn question(bug: usize) -> String {
    format!("::brickyard_sabotage::is_on({bug})")
}

fn render(text: &str, range: Range<usize>, choices: &[Choice<'_>]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    for choice in choices {
        out += &text[at..choice.range.start];
        let before = render(text, choice.range.clone(), &choice.inner);
        out += &choose(choice, &text[choice.range.clone()], &before);
        at = choice.range.end;
    }
    out += &text[at..range.end];
    out
}

/// The code that chooses between what stands there and what would be wrong.
fn choose(choice: &Choice<'_>, plain: &str, before: &str) -> String {
    if let Some(edit) = choice.edits.iter().find(|it| asks(it.after)) {
        let ask = question(edit.bug);
        let words = words(edit.after).map(|word| if word == ASK { &ask } else { word });
        let text: String = words.collect();
        return if plain.is_empty() { text + " " } else { text };
    }
    let mut out = String::new();
    for edit in &choice.edits {
        let _ = write!(out, "if {} {{ {} }} else ", question(edit.bug), edit.after);
    }
    let _ = write!(out, "{{ {before} }}");
    let sample = if plain.is_empty() {
        choice.edits[0].after
    } else {
        plain
    };
    let is_statement = sample.ends_with([';', '}']);
    match (is_statement, plain.is_empty()) {
        (true, true) => out + " ",
        (true, false) => out,
        (false, _) => format!("({out})"),
    }
}
