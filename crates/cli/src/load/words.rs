//! Word lists: one key a line, its value the number of the line.

use super::{
    lines::Lines,
    record::{Record, Trouble},
};
use brickyard_types::limits::KEY_BYTES_MAX;
use std::io::BufRead;

/// The words of a list. Empty lines are passed over.
pub(crate) struct Words<R> {
    lines: Lines<R>,
}

impl<R: BufRead> Words<R> {
    pub(crate) const fn new(reader: R) -> Self {
        Self {
            lines: Lines::new(reader, KEY_BYTES_MAX),
        }
    }
}

impl<R: BufRead> Iterator for Words<R> {
    type Item = Result<Record, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) if line.bytes.is_empty() => continue,
                Ok(line) => line,
                Err(trouble) => return Some(Err(trouble)),
            };
            let record = Record {
                key: line.bytes.to_vec(),
                value: line.number.to_string().into_bytes(),
                expiry: None,
                line: line.number,
                is_payload: false,
            };
            return Some(record.checked());
        }
    }
}

#[cfg(test)]
#[path = "words_test.rs"]
mod words_test;
