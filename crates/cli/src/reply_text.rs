//! A reply as text for people: one element a line, pairs side by side, nesting indented.

use brickyard_wire::Value;
use std::{fmt::Write, iter};

/// The whole reply, with a line end.
pub(crate) fn render(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

/// What an array of names and values stands for in RESP2, which has no maps. An array does not tell whether it
/// is one; whoever asked for it knows.
pub(crate) fn as_map(value: Value) -> Value {
    match value {
        Value::Array(elements) if elements.len().is_multiple_of(2) => {
            let mut elements = elements.into_iter();
            let pairs = iter::from_fn(|| elements.next().zip(elements.next()));
            Value::Map(pairs.collect())
        }
        other => other,
    }
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            write_elements(out, elements, depth);
        }
        Value::Map(pairs) => pairs.iter().for_each(|(name, value)| {
            write_pair(out, &scalar(name).unwrap_or_default(), value, depth);
        }),
        _ => line(out, &scalar(value).unwrap_or_default(), depth),
    }
}

fn write_elements(out: &mut String, elements: &[Value], depth: usize) {
    for (position, element) in elements.iter().enumerate() {
        let is_block = scalar(element).is_none();
        // Blocks of one list are kept apart by an empty line.
        if is_block && position > 0 {
            out.push('\n');
        }
        write_value(out, element, depth);
    }
}

fn write_pair(out: &mut String, name: &str, value: &Value, depth: usize) {
    match scalar(value) {
        Some(text) => line(out, &format!("{name}: {text}"), depth),
        None => {
            line(out, &format!("{name}:"), depth);
            write_value(out, value, depth + 1);
        }
    }
}

fn line(out: &mut String, text: &str, depth: usize) {
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}

/// The text of a value without parts; `None` for one with parts.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "(none)".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Error(text) => format!("error: {}", String::from_utf8_lossy(text)),
        Value::Array(_) | Value::Map(_) | Value::Set(_) | Value::Push(_) => return None,
        _ => String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned(),
    })
}

#[cfg(test)]
#[path = "reply_text_test.rs"]
mod reply_text_test;
