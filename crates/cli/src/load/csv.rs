//! CSV with a header line. A record is stored as a JSON object of its fields, or as one field.
//!
//! In:  bytes; the names of the key column (the first one unless told otherwise) and of the value
//!      column (all of them unless told otherwise).
//! Out: one record a row. Fields stay text: CSV does not say which ones are numbers.
//!
//! Invariant: memory is bounded. A quote that is never closed makes one row of the rest of the
//! file, so a row that grows past what can be stored ends the reading.
//! Source: RFC 4180.

use super::record::{Record, Trouble};
use anyhow::{Context, bail};
use brickyard_types::limits::VALUE_BYTES_MAX;
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use std::{
    cell::Cell,
    io::{self, Read},
    rc::Rc,
    str,
};

/// The rows of a CSV file.
pub(crate) struct Rows<R> {
    reader: Reader<Bounded<R>>,
    since_row: Rc<Cell<usize>>,
    row: ByteRecord,
    /// The column names, ready to stand in a JSON object.
    names: Vec<String>,
    key_column: usize,
    value_column: Option<usize>,
    is_over: bool,
}

impl<R: Read> Rows<R> {
    /// Reads the header line and finds the columns in it.
    pub(crate) fn new(
        reader: R,
        key_field: Option<&str>,
        value_field: Option<&str>,
    ) -> anyhow::Result<Self> {
        let since_row = Rc::new(Cell::new(0));
        let bounded = Bounded {
            reader,
            since_row: Rc::clone(&since_row),
        };
        let mut reader = ReaderBuilder::new().from_reader(bounded);
        let header = reader
            .headers()
            .context("cannot read the header line of the CSV file")?;
        if header.is_empty() {
            bail!("the CSV file is empty; its first line must name the columns");
        }
        let column = |name: &str| {
            header
                .iter()
                .position(|column| column.trim() == name)
                .with_context(|| {
                    let columns: Vec<_> = header.iter().collect();
                    format!(
                        "the CSV file has no column '{name}'; it has {}",
                        columns.join(", ")
                    )
                })
        };
        let key_column = key_field.map_or(Ok(0), column)?;
        let value_column = value_field.map(column).transpose()?;
        let names = header
            .iter()
            .map(|name| serde_json::to_string(name.trim()))
            .collect::<Result<_, _>>()
            .context("a column name cannot be written as JSON")?;
        Ok(Self {
            reader,
            since_row,
            row: ByteRecord::new(),
            names,
            key_column,
            value_column,
            is_over: false,
        })
    }

    fn record(&self) -> Result<Record, Trouble> {
        let line = self.row.position().map_or(0, csv::Position::line);
        let key = self.row.get(self.key_column).unwrap_or_default().to_vec();
        let value = match self.value_column {
            Some(column) => self.row.get(column).unwrap_or_default().to_vec(),
            None => self.object(line)?,
        };
        Record {
            key,
            value,
            expiry: None,
            line,
            is_payload: false,
        }
        .checked()
    }

    /// The row as a JSON object, in the order of the columns.
    fn object(&self, line: u64) -> Result<Vec<u8>, Trouble> {
        let mut object = Vec::with_capacity(self.row.as_slice().len() * 2);
        for (name, field) in self.names.iter().zip(&self.row) {
            let text = str::from_utf8(field).map_err(|_| {
                Trouble::bad_line(line, format!("the field {name} is not UTF-8 text"))
            })?;
            object.push(if object.is_empty() { b'{' } else { b',' });
            object.extend_from_slice(name.as_bytes());
            object.push(b':');
            serde_json::to_writer(&mut object, text)
                .map_err(|error| Trouble::bad_line(line, error.to_string()))?;
        }
        object.push(b'}');
        Ok(object)
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Record, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        self.since_row.set(0);
        match self.reader.read_byte_record(&mut self.row) {
            Ok(false) => None,
            Ok(true) => Some(self.record()),
            Err(error) => {
                let end = self.reader.position().line();
                Some(Err(match error.into_kind() {
                    ErrorKind::UnequalLengths {
                        pos,
                        expected_len,
                        len,
                    } => {
                        let begin = pos.map_or(end, |position| position.line());
                        Trouble::bad_line(begin, unequal(begin, end, expected_len, len))
                    }
                    ErrorKind::Io(error) => {
                        self.is_over = true;
                        Trouble::Unreadable(error)
                    }
                    other => Trouble::bad_line(end, format!("{other:?}")),
                }))
            }
        }
    }
}

fn unequal(begin: u64, end: u64, expected: u64, got: u64) -> String {
    let mut reason = format!("{got} fields, the header has {expected}");
    // A row ends where the next begins, so two lines of difference and more mean a quoted line end.
    if end > begin + 1 {
        let last = end - 1;
        reason += &format!("; it reaches to line {last}: is a quote left open?");
    }
    reason
}

/// Ends the reading when one row takes more bytes than a server would store.
struct Bounded<R> {
    reader: R,
    since_row: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.since_row.set(self.since_row.get() + read);
        if self.since_row.get() > VALUE_BYTES_MAX {
            return Err(io::Error::other(format!(
                "one row of the CSV file has more than {VALUE_BYTES_MAX} bytes: is a quote left open?"
            )));
        }
        Ok(read)
    }
}

#[cfg(test)]
#[path = "csv_test.rs"]
mod csv_test;
