//! The configuration file: TOML with flat keys and `[[user]]` tables.
//!
//! In: the file's path. Out: [`Setting`]s and [`UserEntry`]s with their lines. An unknown key is a
//! problem that names the nearest known one: a misspelt bound must not be ignored in silence.

use super::fields::Field;
use super::source::{Origin, Problem, Setting, nearest, nearest_of};
use super::text::{ByteSize, ConfigValue};
use super::users::UserEntry;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct FileSettings {
    pub(crate) settings: Vec<Setting>,
    pub(crate) users: Vec<UserEntry>,
}

/// Reads the file at `path`, adding what is wrong with it to `problems`.
pub(crate) fn read(path: &Path, problems: &mut Vec<Problem>) -> FileSettings {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text, problems),
        Err(error) => {
            problems.push(Problem {
                field: format!("configuration file {}", path.display()),
                value: None,
                origin: None,
                why: format!("it cannot be read: {error}"),
                remedy: "check the path and its permissions".to_owned(),
            });
            FileSettings::default()
        }
    }
}

pub(crate) fn parse(path: &Path, text: &str, problems: &mut Vec<Problem>) -> FileSettings {
    let reader = Reader { path, text };
    let mut out = FileSettings::default();
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            problems.push(Problem {
                field: "configuration file".to_owned(),
                value: None,
                origin: Some(reader.origin(at)),
                why: format!("it is not TOML: {}", error.message().trim()),
                remedy: "correct that line; `brickyard config print` shows a whole file".to_owned(),
            });
            return out;
        }
    };
    for (key, value) in table.get_ref() {
        let name: &str = key.get_ref();
        if name == "user" {
            reader.users(value, &mut out.users, problems);
        } else if let Some(field) = Field::find(name) {
            match reader.text_of(value) {
                Some(text) => out.settings.push(Setting {
                    name: field.name,
                    text,
                    origin: reader.origin(key.span().start),
                }),
                None => problems.push(reader.problem(
                    name,
                    key.span().start,
                    "it is a table, or a list of something else than text".to_owned(),
                    format!("give one value ({})", field.unit),
                )),
            }
        } else {
            problems.push(reader.unknown(name, key.span().start, nearest(name)));
        }
    }
    // The parser sorts keys by name; problems and users are told in the file's order.
    out.settings.sort_by_key(|setting| match setting.origin {
        Origin::File { line, .. } => line,
        _ => 0,
    });
    out
}

fn limit<T: ConfigValue>(text: Option<String>) -> Option<T> {
    T::parse(&text?).ok()
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn origin(&self, offset: usize) -> Origin {
        let before = self.text.get(..offset).unwrap_or(self.text);
        Origin::File {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
        }
    }

    /// A single value as the text that an environment variable would hold.
    fn text_of(&self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .map(|number| number.to_string()),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Datetime(value) => Some(value.to_string()),
            DeValue::Array(_) => Some(self.words_of(value)?.join(",")),
            DeValue::Table(_) => None,
        }
    }

    fn words_of(&self, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
        match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect(),
            DeValue::String(text) => Some(vec![text.to_string()]),
            _ => None,
        }
    }

    fn users(
        &self,
        value: &Spanned<DeValue<'_>>,
        users: &mut Vec<UserEntry>,
        problems: &mut Vec<Problem>,
    ) {
        let entries = match value.get_ref() {
            DeValue::Array(entries) => entries,
            _ => {
                problems.push(self.problem(
                    "user",
                    value.span().start,
                    "users are written as [[user]]".to_owned(),
                    "put each user under a [[user]] heading of its own".to_owned(),
                ));
                return;
            }
        };
        for entry in entries.iter() {
            if let DeValue::Table(table) = entry.get_ref() {
                users.push(self.user(table, entry.span().start, problems));
            } else {
                problems.push(self.problem(
                    "user",
                    entry.span().start,
                    "it is not a table".to_owned(),
                    "put each user under a [[user]] heading of its own".to_owned(),
                ));
            }
        }
    }

    fn user(&self, table: &DeTable<'_>, start: usize, problems: &mut Vec<Problem>) -> UserEntry {
        let mut user = UserEntry::at(self.origin(start));
        for (key, value) in table {
            let name: &str = key.get_ref();
            let at = key.span().start;
            let text = || self.text_of(value);
            let words = || self.words_of(value);
            let fits = match name {
                "name" => text().map(|text| user.name = text).is_some(),
                "password_hash" => text().map(|text| user.password_hash = Some(text)).is_some(),
                "table" => text().map(|text| user.table = Some(text)).is_some(),
                "read" => words().map(|words| user.read = words).is_some(),
                "write" => words().map(|words| user.write = words).is_some(),
                "admin" => words().map(|words| user.admin = words).is_some(),
                "max_connections" => limit::<u64>(text())
                    .map(|it| user.limits.connections = it)
                    .is_some(),
                "max_ops" => limit::<u64>(text())
                    .map(|it| user.limits.operations = it)
                    .is_some(),
                "max_bytes" => limit::<ByteSize>(text())
                    .map(|it| user.limits.bytes = it.0)
                    .is_some(),
                _ => {
                    let near = nearest_of(UserEntry::KEYS.iter().copied(), name);
                    problems.push(self.unknown(&format!("user.{name}"), at, near));
                    continue;
                }
            };
            if !fits {
                problems.push(
                    self.problem(
                        &format!("user.{name}"),
                        at,
                        "it has the wrong type".to_owned(),
                        "write text, a list of table names such as [\"orders\", \"cart*\"], or for a limit a whole number, of \
                         max_bytes a size such as 10MiB; 0 is no limit"
                            .to_owned(),
                    ),
                );
            }
        }
        user
    }

    fn problem(&self, field: &str, offset: usize, why: String, remedy: String) -> Problem {
        Problem {
            field: field.to_owned(),
            value: None,
            origin: Some(self.origin(offset)),
            why,
            remedy,
        }
    }

    fn unknown(&self, name: &str, offset: usize, near: Option<&str>) -> Problem {
        let remedy = near.map_or_else(
            || "remove it; `brickyard config print` shows every key".to_owned(),
            |near| format!("did you mean '{near}'?"),
        );
        self.problem(name, offset, "there is no such key".to_owned(), remedy)
    }
}
