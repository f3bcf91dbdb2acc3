//! Which formats can be loaded, and how one is recognised.
//!
//! In:  a file's name and first bytes. Out: a [`Format`], and its reader.

use super::{
    control::{KEY_FIELD, Paragraphs},
    csv::Rows,
    dump::{Dump, DumpLine},
    json_lines::JsonLines,
    record::Records,
    source::Source,
    words::Words,
};
use anyhow::bail;
use clap::ValueEnum;
use std::{fmt, path::Path};

/// How the records of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values with a header line; stored as JSON objects
    Csv,
    /// One JSON object a line; stored as it stands
    Jsonl,
    /// Debian control paragraphs, such as a package index; stored as they stand
    Control,
    /// One key a line; its line number is the value
    Words,
    /// What `brickyard dump` writes
    Dump,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Jsonl => "JSON lines",
            Self::Control => "control paragraphs",
            Self::Words => "a word list",
            Self::Dump => "a dump",
        })
    }
}

/// Which fields of a record are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    /// The field that is the key.
    pub(crate) key: Option<String>,
    /// The field that is the value (CSV only).
    pub(crate) value: Option<String>,
}

impl Format {
    /// Guesses from the name, and where that says nothing from the first bytes.
    ///
    /// Words are what is left: any text is a list of lines.
    pub(crate) fn detect(path: &Path, start: &[u8]) -> Self {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        let plain = [".gz", ".lz4"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        if plain.ends_with("packages") || plain.ends_with("sources") || plain.ends_with("control") {
            return Self::Control;
        }
        match plain
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension)
        {
            "csv" => return Self::Csv,
            "words" | "dict" => return Self::Words,
            _ => {}
        }
        let mut lines = start
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii_end);
        let Some(first) = lines.find(|line| has_content(line)) else {
            return Self::Words;
        };
        if first.trim_ascii_start().starts_with(b"{") {
            return if DumpLine::matches(first) {
                Self::Dump
            } else {
                Self::Jsonl
            };
        }
        if is_control_field(first) {
            return Self::Control;
        }
        if first.contains(&b',') {
            Self::Csv
        } else {
            Self::Words
        }
    }

    /// The records of `source`.
    pub(crate) fn read(self, source: Source, fields: &Fields) -> anyhow::Result<Records> {
        if fields.value.is_some() && self != Self::Csv {
            bail!(
                "--value names a column of a CSV file, but {} is {self}",
                source.name
            );
        }
        if fields.key.is_some() && matches!(self, Self::Words | Self::Dump) {
            bail!(
                "--key names a field, but {} is {self}, whose keys are fixed",
                source.name
            );
        }
        let reader = source.reader;
        let key = fields.key.clone();
        Ok(match self {
            Self::Csv => Box::new(Rows::new(reader, key.as_deref(), fields.value.as_deref())?),
            Self::Jsonl => Box::new(JsonLines::new(reader, key)),
            Self::Control => Box::new(Paragraphs::new(
                reader,
                key.unwrap_or_else(|| KEY_FIELD.to_owned()),
            )),
            Self::Words => Box::new(Words::new(reader)),
            Self::Dump => Box::new(Dump::new(reader)),
        })
    }
}

/// Whether a line says something about the format; empty ones and comments do not.
pub(crate) fn has_content(line: &[u8]) -> bool {
    !line.trim_ascii_end().is_empty() && !line.starts_with(b"#")
}

fn is_control_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return false;
    };
    let is_name = line[..colon]
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    colon > 0 && is_name && line.get(colon + 1).is_none_or(|byte| *byte == b' ')
}

#[cfg(test)]
#[path = "format_test.rs"]
mod format_test;
