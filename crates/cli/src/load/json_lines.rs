//! JSON lines: one object a line. The value stored is the line as it stands; the key is the text
//! of one of its fields.
//!
//! In:  lines; the name of the key field, or none for the first field of each object.
//! Invariant: what is stored is valid JSON, byte for byte what the file holds.

use super::{
    lines::Lines,
    record::{Record, Trouble},
};
use brickyard_types::limits::VALUE_BYTES_MAX;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::{fmt, io::BufRead};

/// The objects of a file of JSON lines. Empty lines are passed over.
pub(crate) struct JsonLines<R> {
    lines: Lines<R>,
    key_field: Option<String>,
}

impl<R: BufRead> JsonLines<R> {
    pub(crate) const fn new(reader: R, key_field: Option<String>) -> Self {
        Self {
            lines: Lines::new(reader, VALUE_BYTES_MAX),
            key_field,
        }
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<Record, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) if line.bytes.trim_ascii().is_empty() => continue,
                Ok(line) => line,
                Err(trouble) => return Some(Err(trouble)),
            };
            let number = line.number;
            let key = match key_of(line.bytes, self.key_field.as_deref()) {
                Ok(key) => key.into_bytes(),
                Err(reason) => return Some(Err(Trouble::bad_line(number, reason))),
            };
            let value = line.bytes.to_vec();
            return Some(
                Record {
                    key,
                    value,
                    expiry: None,
                    line: number,
                    is_payload: false,
                }
                .checked(),
            );
        }
    }
}

/// Reads the whole object, to be sure that it is one, but keeps only its key.
fn key_of(line: &[u8], field: Option<&str>) -> Result<String, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let key = deserializer
        .deserialize_map(KeyVisitor { field })
        .and_then(|key| deserializer.end().map(|()| key))
        .map_err(|error| describe(&error))?;
    match (key, field) {
        (Some(Value::String(text)), _) => Ok(text),
        (Some(Value::Number(number)), _) => Ok(number.to_string()),
        (Some(Value::Bool(truth)), _) => Ok(truth.to_string()),
        (Some(_), Some(field)) => Err(format!("the key field '{field}' is not text or a number")),
        (Some(_), None) => {
            Err("the first field is not text or a number; name the key field with --key".to_owned())
        }
        (None, Some(field)) => Err(format!("the object has no field '{field}'")),
        (None, None) => Err("the object has no fields".to_owned()),
    }
}

/// The parser counts lines within what it was given; only the column means something here.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    if error.is_data() {
        return format!("not a JSON object: {reason}");
    }
    format!("not JSON: {reason} at column {}", error.column())
}

/// Picks one field of an object and passes over the others.
struct KeyVisitor<'a> {
    field: Option<&'a str>,
}

impl<'de> Visitor<'de> for KeyVisitor<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut key = None;
        while let Some(name) = map.next_key::<String>()? {
            let is_key = self
                .field
                .map_or_else(|| key.is_none(), |field| field == name);
            if !is_key {
                map.next_value::<IgnoredAny>()?;
            } else if key.is_some() {
                return Err(A::Error::custom(format!("field '{name}' occurs twice")));
            } else {
                key = Some(map.next_value()?);
            }
        }
        Ok(key)
    }
}

#[cfg(test)]
#[path = "json_lines_test.rs"]
mod json_lines_test;
