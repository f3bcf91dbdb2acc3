//! docs/programs.md: its tables, and what it says of them.
//!
//! In:  the page's text, and rows that were seen. Out: the rows of a language; the page with others in their place.
//! Invariants: rows are numbered through from 1; the sentence above them counts them; what is needed is a command of a type of value
//! that is not served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// What a program said that did what it should.
pub(crate) const WORKS: &str = "works";
/// What one said that did not.
pub(crate) const FAILS: &str = "fails";
/// Before the command that a program needs.
const NEEDS: &str = "needs ";

/// So many there have to be (programs that are in use, by clients in their default modes, and calls).
const PROGRAMS_MIN: usize = 62;

/// The languages, in the order of the page.
const LANGUAGES: [&str; 5] = ["Python", "Node", "Go", "Java", "Rust"];

/// Types of values that Brickyard does not have, each with the commands of it that programs begin with.
const TYPES: [(&str, &[&str]); 4] = [
    (
        "lists",
        &[
            "LPUSH", "RPUSH", "LLEN", "LINDEX", "LRANGE", "BLPOP", "BRPOP",
        ],
    ),
    ("sets", &["SADD", "SMEMBERS", "SREM"]),
    ("sorted sets", &["ZADD", "ZRANGE", "ZREMRANGEBYSCORE"]),
    ("streams", &["XADD", "XREAD"]),
];

/// The line before the tables.
const COUNT: &str = "programs and calls: ";

/// One program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) client: String,
    pub(crate) does: String,
    pub(crate) outcome: String,
}

impl Row {
    pub(crate) fn new(client: &str, does: &str, outcome: &str) -> Self {
        let [client, does, outcome] = [client, does, outcome].map(str::to_owned);
        Self {
            client,
            does,
            outcome,
        }
    }

    /// The type of values whose command it needs; none of one that works.
    fn needs(&self) -> Option<&'static str> {
        let command = self.outcome.strip_prefix(NEEDS)?;
        let found = TYPES.iter().find(|(_, all)| all.contains(&command));
        let (name, _) =
            found.unwrap_or_else(|| panic!("{command} is of no type that is missing: {self:?}"));
        Some(name)
    }

    fn line(&self, number: usize) -> String {
        let outcome = match self.needs() {
            Some(name) => format!("{} ({name})", self.outcome),
            None => self.outcome.clone(),
        };
        let line = format!("| {number} | {} | {} | {outcome} |", self.client, self.does);
        assert_eq!(line.matches('|').count(), 5, "a cell has a bar: {line}");
        line
    }

    fn parse(line: &str) -> Option<(usize, Self)> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", number, client, does, outcome, ""] = cells[..] else {
            return None;
        };
        let outcome = outcome.split(" (").next().unwrap_or_default();
        Some((number.parse().ok()?, Self::new(client, does, outcome)))
    }
}

/// The page.
pub(crate) struct Page {
    /// Up to the line that counts.
    begin: String,
    tables: BTreeMap<String, Vec<Row>>,
}

impl Page {
    fn path() -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "../../docs/programs.md"]
            .iter()
            .collect()
    }

    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(Self::path()).expect("docs/programs.md");
        let count = text.find("\n\n## ").expect("a table");
        let begin = text[..count]
            .rfind('\n')
            .expect("something before the count");
        let mut tables = BTreeMap::<String, Vec<Row>>::new();
        let mut language = "";
        for line in text[count..].lines() {
            language = line.strip_prefix("## ").unwrap_or(language);
            if let Some((_, row)) = Row::parse(line) {
                tables.entry(language.to_owned()).or_default().push(row);
            }
        }
        Self {
            begin: text[..=begin].to_owned(),
            tables,
        }
    }

    pub(crate) fn rows(&self, language: &str) -> &[Row] {
        self.tables.get(language).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn replace(&mut self, language: &str, rows: &[Row]) {
        self.tables.insert(language.to_owned(), rows.to_owned());
    }

    pub(crate) fn write(&self) {
        fs::write(Self::path(), self.text()).expect("docs/programs.md can be written");
    }

    fn text(&self) -> String {
        let mut text = self.begin.clone();
        text.push_str(&self.count());
        let mut number = 0;
        for language in LANGUAGES {
            write!(text, "\n\n## {language}\n").unwrap();
            text.push_str("| | Client or program | What it does here | |\n|---|---|---|---|");
            for row in self.rows(language) {
                number += 1;
                write!(text, "\n{}", row.line(number)).unwrap();
            }
        }
        text.push('\n');
        text
    }

    /// The sentence that counts: all, those that work, and what the others need.
    fn count(&self) -> String {
        let rows = || self.tables.values().flatten();
        let works = rows().filter(|row| row.outcome == WORKS).count();
        let mut text = format!("{} {COUNT}**{works} work**", rows().count());
        for (name, _) in TYPES {
            let needing = rows().filter(|row| row.needs() == Some(name)).count();
            if needing > 0 {
                write!(text, ", {needing} need {name}").unwrap();
            }
        }
        text.push('.');
        text
    }
}

#[test]
fn programs_page_counts_what_it_lists() {
    let page = Page::read();
    let text = fs::read_to_string(Page::path()).unwrap();
    assert_eq!(text, page.text(), "docs/programs.md was changed by hand");
    let rows: Vec<&Row> = page.tables.values().flatten().collect();
    assert!(rows.len() >= PROGRAMS_MIN, "only {} programs", rows.len());
    for row in rows {
        assert!(
            row.outcome == WORKS || row.needs().is_some(),
            "neither works nor needs a type of value that is missing: {row:?}"
        );
    }
}
