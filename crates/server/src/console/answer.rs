//! Replies as JSON.
//!
//! In:  a reply. Out: JSON that says all of it: strings as text, or as `{"base64": ...}` where they are none; errors as
//! `{"error": ...}`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brickyard_wire::Value;
use serde_json::{Value as Json, json};

/// Integers that a browser's numbers hold.
const EXACT: i64 = (1 << 53) - 1;

/// A reply as JSON.
pub(super) fn json(reply: &Value) -> Json {
    match reply {
        Value::Null => Json::Null,
        Value::Simple(bytes) | Value::Bulk(bytes) | Value::BigNumber(bytes) => text(bytes),
        Value::Verbatim { bytes, .. } => text(bytes),
        Value::Error(line) => json!({ "error": String::from_utf8_lossy(line) }),
        Value::Integer(number) if (-EXACT..=EXACT).contains(number) => json!(number),
        Value::Integer(number) => json!(number.to_string()),
        Value::Double(number) => json!(number),
        Value::Boolean(is_true) => json!(is_true),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            elements.iter().map(json).collect()
        }
        // As RESP2 has it.
        Value::Map(pairs) => pairs
            .iter()
            .flat_map(|(name, value)| [json(name), json(value)])
            .collect(),
    }
}

fn text(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

#[cfg(test)]
mod answer_test {
    use super::*;

    #[test]
    fn what_is_no_text_is_told_as_base64() {
        let reply = Value::Array(vec![
            Value::Bulk(b"plain".to_vec()),
            Value::Bulk(vec![0xff, 0]),
            Value::Null,
            Value::Integer(7),
            Value::Integer(i64::MAX),
            Value::Error(b"ERR no".to_vec()),
        ]);
        let expected = json!([
            "plain",
            { "base64": "/wA=" },
            null,
            7,
            "9223372036854775807",
            { "error": "ERR no" },
        ]);
        assert_eq!(json(&reply), expected);
    }
}
