//! Debian control files, such as a package index: paragraphs of `Field: value` lines, kept apart by
//! empty lines.
//!
//! In:  lines; the name of the key field (`Package` unless told otherwise).
//! Out: one record a paragraph; the value stored is the paragraph as it stands.
//! Source: Debian Policy Manual, section 5.1 "Syntax of control files".

use super::{
    lines::Lines,
    record::{Record, Trouble},
};
use brickyard_types::limits::VALUE_BYTES_MAX;
use std::io::BufRead;

/// The field that names a paragraph of a package index.
pub(crate) const KEY_FIELD: &str = "Package";

/// The paragraphs of a control file.
pub(crate) struct Paragraphs<R> {
    lines: Lines<R>,
    key_field: String,
}

impl<R: BufRead> Paragraphs<R> {
    pub(crate) const fn new(reader: R, key_field: String) -> Self {
        Self {
            lines: Lines::new(reader, VALUE_BYTES_MAX),
            key_field,
        }
    }
}

impl<R: BufRead> Iterator for Paragraphs<R> {
    type Item = Result<Record, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut paragraph = Paragraph::default();
        loop {
            let line = match self.lines.next() {
                None if paragraph.record.line == 0 => return None,
                None => break,
                Some(Err(Trouble::BadLine(bad))) => {
                    if paragraph.record.line == 0 {
                        paragraph.record.line = bad.line;
                    }
                    paragraph.fail(bad.line, bad.reason);
                    continue;
                }
                Some(Err(unreadable)) => return Some(Err(unreadable)),
                Some(Ok(line)) => line,
            };
            let is_blank = line.bytes.trim_ascii().is_empty();
            if is_blank && paragraph.record.line == 0 {
                continue;
            }
            if is_blank {
                break;
            }
            if line.bytes.first() != Some(&b'#') {
                paragraph.add(line.number, line.bytes, &self.key_field);
            }
        }
        Some(paragraph.finish(&self.key_field))
    }
}

/// A paragraph that is being read.
#[derive(Default)]
struct Paragraph {
    /// Its line is 0 until the first line has been seen.
    record: Record,
    has_key: bool,
    trouble: Option<Trouble>,
}

impl Paragraph {
    fn add(&mut self, number: u64, line: &[u8], key_field: &str) {
        let is_first = self.record.line == 0;
        if is_first {
            self.record.line = number;
        }
        let is_continuation = matches!(line.first(), Some(b' ' | b'\t'));
        let field = line
            .iter()
            .position(|byte| *byte == b':')
            .map(|colon| line.split_at(colon));
        match field {
            _ if is_continuation && is_first => {
                self.fail(
                    number,
                    "a continuation line without a field before it".to_owned(),
                );
            }
            _ if is_continuation => {}
            Some((name, rest)) if is_field_name(name) => {
                if name.eq_ignore_ascii_case(key_field.as_bytes()) {
                    self.set_key(number, rest[1..].trim_ascii(), key_field);
                }
            }
            _ => self.fail(
                number,
                format!(
                    "'{}' is neither 'Field: value' nor a continuation line",
                    start_of(line)
                ),
            ),
        }
        // A failed paragraph is only read to find its end.
        if self.trouble.is_none() {
            if !is_first {
                self.record.value.push(b'\n');
            }
            self.record.value.extend_from_slice(line);
            if self.record.value.len() > VALUE_BYTES_MAX {
                self.fail(
                    number,
                    format!("the paragraph has more than {VALUE_BYTES_MAX} bytes"),
                );
            }
        }
    }

    fn set_key(&mut self, number: u64, key: &[u8], key_field: &str) {
        if self.has_key {
            self.fail(number, format!("field '{key_field}' occurs twice"));
        }
        self.has_key = true;
        self.record.key = key.to_vec();
    }

    /// Keeps the first thing that is wrong, and gives the memory back.
    fn fail(&mut self, number: u64, reason: String) {
        if self.trouble.is_none() {
            self.record.value = Vec::new();
            let reason = if self.record.line == number {
                reason
            } else {
                format!(
                    "{reason} (in the paragraph that starts on line {})",
                    self.record.line
                )
            };
            self.trouble = Some(Trouble::bad_line(number, reason));
        }
    }

    fn finish(self, key_field: &str) -> Result<Record, Trouble> {
        match self.trouble {
            Some(trouble) => Err(trouble),
            None if !self.has_key => Err(Trouble::bad_line(
                self.record.line,
                format!("the paragraph has no field '{key_field}'"),
            )),
            None => self.record.checked(),
        }
    }
}

fn is_field_name(name: &[u8]) -> bool {
    // Printable, no space and no colon; not starting like a comment or an option.
    !name.is_empty()
        && name.iter().all(u8::is_ascii_graphic)
        && !matches!(name.first(), Some(b'#' | b'-'))
}

fn start_of(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(40)]);
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
#[path = "control_test.rs"]
mod control_test;
