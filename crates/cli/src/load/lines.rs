//! Reads a file line by line, with line numbers and a bound on the length of a line.
//!
//! In:  bytes. Out: lines without their line end, LF or CR LF.
//!
//! Invariant: memory is bounded by the longest line allowed; of a longer line only its number is
//! kept, and reading goes on behind it.

use super::record::Trouble;
use std::io::{self, BufRead};

/// The lines of a file.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    bytes_max: usize,
    line: u64,
    buffer: Vec<u8>,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its bytes, without the line end.
    pub(crate) bytes: &'a [u8],
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(reader: R, bytes_max: usize) -> Self {
        Self {
            reader,
            bytes_max,
            line: 0,
            buffer: Vec::new(),
        }
    }

    /// The next line, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Option<Result<Line<'_>, Trouble>> {
        self.buffer.clear();
        self.line += 1;
        let mut skipped = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok([]) if self.buffer.is_empty() && skipped == 0 => return None,
                Ok([]) => break,
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(Trouble::Unreadable(error))),
            };
            let newline = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..newline.unwrap_or(available.len())];
            if self.buffer.len() + piece.len() > self.bytes_max {
                skipped += self.buffer.len() + piece.len();
                self.buffer.clear();
            } else if skipped == 0 {
                self.buffer.extend_from_slice(piece);
            } else {
                skipped += piece.len();
            }
            let consumed = piece.len() + usize::from(newline.is_some());
            self.reader.consume(consumed);
            if newline.is_some() {
                break;
            }
        }
        if skipped > 0 {
            let reason = format!("the line has more than {} bytes", self.bytes_max);
            return Some(Err(Trouble::bad_line(self.line, reason)));
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        Some(Ok(Line {
            number: self.line,
            bytes: &self.buffer,
        }))
    }
}

#[cfg(test)]
#[path = "lines_test.rs"]
mod lines_test;
