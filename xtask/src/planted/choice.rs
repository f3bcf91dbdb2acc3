//! Edits put into code, each behind a question.
//!
//! In:  a file's text, and edits of it. Out: the text in which each edited piece is a choice, such as
//! `(if ::brickyard_sabotage::is_on(17) { true } else { now < lease })`.
//!
//! Invariant: with none on the code does what it did.

use std::borrow::Cow;
use std::ops::Range;

/// The word that asks whether the edit is on, in a text that is no expression and no statement.
const ASK: &str = "BUG";

/// What an edited piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Expression,
    Statements,
}

/// A piece of a file, and what stands there when the edit is on.
#[derive(Clone, Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) range: Range<usize>,
    /// Its place in the list of all.
    pub(crate) number: usize,
    pub(crate) after: Cow<'a, str>,
    pub(crate) form: Form,
}

impl Edit<'_> {
    /// A text that asks by itself replaces all that is there.
    fn asks(&self) -> bool {
        words(&self.after).any(|word| word == ASK)
    }
}

/// A piece of a file with all that changes it, or parts of it.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    range: Range<usize>,
    edits: Vec<Edit<'a>>,
    inner: Vec<Self>,
}

/// Where an edit has come to stand in the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) number: usize,
    /// What was put in.
    pub(crate) after: Range<usize>,
    /// The choice between that and what was there.
    pub(crate) whole: Range<usize>,
}

/// The choices of a file, and pairs of edits that cannot be together: numbers, and why.
pub(crate) fn choices<'a>(
    mut edits: Vec<Edit<'a>>,
    clashes: &mut Vec<(usize, Clash)>,
) -> Vec<Choice<'a>> {
    // An outer piece comes before those within it.
    edits.sort_by_key(|it| (it.range.start, std::cmp::Reverse(it.range.end), it.number));
    let mut choices = Vec::new();
    for edit in edits {
        let number = edit.number;
        if let Err(other) = insert(&mut choices, edit) {
            clashes.push((number, Clash::Overlaps(other)));
        }
    }
    for choice in &choices {
        check(choice, clashes);
    }
    choices
}

/// Why an edit does not go together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    Overlaps(usize),
    AsksForAll,
}

/// Puts an edit where it belongs among those before it, or says whose text it overlaps.
fn insert<'a>(choices: &mut Vec<Choice<'a>>, edit: Edit<'a>) -> Result<(), usize> {
    match choices.last_mut() {
        Some(last) if last.range == edit.range => last.edits.push(edit),
        Some(last) if edit.range.end <= last.range.end => return insert(&mut last.inner, edit),
        Some(last) if edit.range.start < last.range.end => return Err(last.edits[0].number),
        _ => choices.push(Choice {
            range: edit.range.clone(),
            edits: vec![edit],
            inner: Vec::new(),
        }),
    }
    Ok(())
}

/// A text that asks by itself replaces all that is there, so nothing else may change that.
fn check(choice: &Choice<'_>, clashes: &mut Vec<(usize, Clash)>) {
    let asking = choice.edits.iter().find(|it| it.asks());
    if let Some(edit) = asking
        && (choice.edits.len() > 1 || !choice.inner.is_empty())
    {
        clashes.push((edit.number, Clash::AsksForAll));
    }
    for inner in &choice.inner {
        check(inner, clashes);
    }
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

fn question(number: usize) -> String {
    format!("::brickyard_sabotage::is_on({number})")
}

/// The text with these choices, and where in it each edit is.
pub(crate) fn render(text: &str, choices: &[Choice<'_>]) -> (String, Vec<Spot>) {
    let mut writer = Writer {
        text,
        out: String::with_capacity(text.len() * 2),
        spots: Vec::new(),
    };
    writer.pieces(0..text.len(), choices);
    (writer.out, writer.spots)
}

struct Writer<'a> {
    text: &'a str,
    out: String,
    spots: Vec<Spot>,
}

impl Writer<'_> {
    fn pieces(&mut self, range: Range<usize>, choices: &[Choice<'_>]) {
        let mut at = range.start;
        for choice in choices {
            self.out += &self.text[at..choice.range.start];
            self.choice(choice);
            at = choice.range.end;
        }
        self.out += &self.text[at..range.end];
    }

    /// The code that chooses between what stands there and what would be wrong.
    fn choice(&mut self, choice: &Choice<'_>) {
        let start = self.out.len();
        let mut afters = Vec::new();
        let is_new = choice.range.is_empty();
        let form = choice.edits[0].form;
        let asking = choice.edits.iter().find(|it| it.asks());
        if let Some(edit) = asking {
            let ask = question(edit.number);
            let words = words(&edit.after).map(|word| if word == ASK { &ask } else { word });
            self.out.extend(words);
            afters.push((edit.number, start..self.out.len()));
        } else {
            if form == Form::Expression {
                self.out.push('(');
            }
            for edit in &choice.edits {
                self.out += &format!("if {} {{ ", question(edit.number));
                let first = self.out.len();
                self.out += &edit.after;
                afters.push((edit.number, first..self.out.len()));
                self.out += " } else ";
            }
            self.out += "{ ";
            self.pieces(choice.range.clone(), &choice.inner);
            self.out += " }";
            if form == Form::Expression {
                self.out.push(')');
            }
        }
        let whole = start..self.out.len();
        if is_new && (asking.is_some() || form == Form::Statements) {
            self.out.push(' ');
        }
        let spots = afters.into_iter().map(|(number, after)| Spot {
            number,
            after,
            whole: whole.clone(),
        });
        self.spots.extend(spots);
    }
}
