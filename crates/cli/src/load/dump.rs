//! Brickyard's own dump: JSON lines with key, value and time to live. `brickyard dump` writes it,
//! `brickyard load` reads it back.
//!
//! Format, one object a line: `key` or, where the bytes are not UTF-8, `key_base64`; in the same
//! way `value` or `value_base64`, or of what is no string `payload_base64`, as DUMP has it; `ttl_ms` if the key had a time
//! to live when it was dumped.
//!
//! Invariant: what is read back is what was written, for every sequence of bytes.

use super::{
    lines::Lines,
    record::{Expiry, Record, Trouble},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use serde::{Deserialize, Serialize};
use std::{io::BufRead, str};

/// A line holds a key and a value, and each byte of them may take six characters (`\u0000`).
pub(crate) const LINE_BYTES_MAX: usize = 6 * (KEY_BYTES_MAX + VALUE_BYTES_MAX) + 1024;

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DumpLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
}

impl DumpLine {
    pub(crate) fn new(key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> Self {
        let (key, key_base64) = text_or_base64(key);
        let (value, value_base64) = text_or_base64(value);
        Self {
            key,
            key_base64,
            value,
            value_base64,
            payload_base64: None,
            ttl_ms,
        }
    }

    /// A line of a value that is no string.
    pub(crate) fn of_payload(key: &[u8], payload: &[u8], ttl_ms: Option<u64>) -> Self {
        let (key, key_base64) = text_or_base64(key);
        Self {
            key,
            key_base64,
            payload_base64: Some(STANDARD.encode(payload)),
            ttl_ms,
            ..Self::default()
        }
    }

    /// Whether `line` is one of ours, as opposed to any other JSON object.
    pub(crate) fn matches(line: &[u8]) -> bool {
        serde_json::from_slice::<Self>(line).is_ok_and(|line| line.into_record(1).is_ok())
    }

    fn into_record(self, line: u64) -> Result<Record, Trouble> {
        let key = bytes("key", self.key, self.key_base64);
        let is_payload = self.payload_base64.is_some();
        let value = match self.payload_base64 {
            Some(_) if self.value.is_some() || self.value_base64.is_some() => {
                Err("both a value and 'payload_base64' are given".to_owned())
            }
            Some(payload) => bytes("payload", None, Some(payload)),
            None => bytes("value", self.value, self.value_base64),
        };
        match (key, value, self.ttl_ms) {
            (Err(reason), ..) | (_, Err(reason), _) => Err(Trouble::bad_line(line, reason)),
            (_, _, Some(0)) => Err(Trouble::bad_line(
                line,
                "ttl_ms is 0; leave it out or use 1",
            )),
            (Ok(key), Ok(value), ttl_ms) => Record {
                key,
                value,
                is_payload,
                expiry: ttl_ms.map(Expiry::In),
                line,
            }
            .storable(),
        }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

fn bytes(name: &str, text: Option<String>, base64: Option<String>) -> Result<Vec<u8>, String> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(base64)) => STANDARD
            .decode(base64)
            .map_err(|error| format!("{name}_base64: {error}")),
        (None, None) => Err(format!("neither '{name}' nor '{name}_base64' is given")),
        (Some(_), Some(_)) => Err(format!("both '{name}' and '{name}_base64' are given")),
    }
}

/// The records of a dump.
pub(crate) struct Dump<R> {
    lines: Lines<R>,
}

impl<R: BufRead> Dump<R> {
    pub(crate) const fn new(reader: R) -> Self {
        Self {
            lines: Lines::new(reader, LINE_BYTES_MAX),
        }
    }
}

impl<R: BufRead> Iterator for Dump<R> {
    type Item = Result<Record, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) if line.bytes.is_empty() => continue,
                Ok(line) => line,
                Err(trouble) => return Some(Err(trouble)),
            };
            return Some(match serde_json::from_slice::<DumpLine>(line.bytes) {
                Ok(parsed) => parsed.into_record(line.number),
                Err(error) => Err(Trouble::bad_line(
                    line.number,
                    format!("not a line of a dump: {error}"),
                )),
            });
        }
    }
}

#[cfg(test)]
#[path = "dump_test.rs"]
mod dump_test;
