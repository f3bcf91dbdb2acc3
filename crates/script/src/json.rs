//! `cjson`: JSON by the rules of Lua CJSON 2.1, as Redis sets them.

use crate::raise::fail;
use mlua::{
    Function, IntoLuaMulti, LightUserData, Lua, LuaString, MultiValue, Result, Table, Value,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// How deep values may be nested, as the library for JSON has it. (Lua CJSON: 1,000.)
const DEPTH_MAX: usize = 127;

/// A table with a larger index than this, of which most are missing, is refused.
const SPARSE_FROM: i64 = 10;
const SPARSE_RATIO: i64 = 2;

/// What `null` is in Lua.
const NULL: Value = Value::LightUserData(LightUserData(std::ptr::null_mut()));

pub(crate) fn install(lua: &Lua, native: &Table, number_text: &Function) -> Result<()> {
    let table = lua.create_table()?;
    let number_text = number_text.clone();
    let encode = lua.create_function(move |lua, value: Value| {
        let mut out = Vec::new();
        match encode(&mut out, &value, &number_text, 0)? {
            None => lua.create_string(out)?.into_lua_multi(lua),
            Some(text) => fail(lua, &text),
        }
    })?;
    table.set("encode", encode)?;
    let decode = lua.create_function(|lua, text: LuaString| decode(lua, &text.as_bytes()))?;
    table.set("decode", decode)?;
    table.set("null", NULL)?;
    native.set("cjson", table)
}

/// Writes a value; why it cannot be, if so.
fn encode(
    out: &mut Vec<u8>,
    value: &Value,
    number_text: &Function,
    depth: usize,
) -> Result<Option<String>> {
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        it if *it == NULL => out.extend_from_slice(b"null"),
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        // Of more digits than are shown fewer are left.
        Value::Integer(number) if number.unsigned_abs() < 100_000_000_000_000 => {
            out.extend_from_slice(number.to_string().as_bytes());
        }
        Value::Integer(number) => {
            let text: LuaString = number_text.call(*number as f64)?;
            out.extend_from_slice(&text.as_bytes());
        }
        Value::Number(number) => {
            if !number.is_finite() {
                let text = "Cannot serialise number: must not be NaN or Inf";
                return Ok(Some(text.to_owned()));
            }
            let text: LuaString = number_text.call(*number)?;
            out.extend_from_slice(&text.as_bytes());
        }
        Value::String(text) => encode_text(out, &text.as_bytes()),
        Value::Table(table) => {
            if depth + 1 > DEPTH_MAX {
                return Ok(Some(format!(
                    "Cannot serialise, excessive depth ({})",
                    depth + 1
                )));
            }
            return encode_table(out, table, number_text, depth + 1);
        }
        other => {
            let text = format!("Cannot serialise {}: type not supported", other.type_name());
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn encode_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'/' => out.extend_from_slice(b"\\/"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            other => out.push(*other),
        }
    }
    out.push(b'"');
}

/// The largest index if the table is an array: all keys are whole and above zero. `Err`: it is too sparse for one.
fn array_len(table: &Table) -> Result<std::result::Result<Option<i64>, String>> {
    let (mut largest, mut count) = (0, 0);
    for pair in table.pairs::<Value, Value>() {
        let key = match pair?.0 {
            Value::Integer(key) => key,
            Value::Number(key) if key.fract() == 0.0 => key as i64,
            _ => return Ok(Ok(None)),
        };
        if key < 1 {
            return Ok(Ok(None));
        }
        largest = largest.max(key);
        count += 1;
    }
    if largest > SPARSE_FROM && largest > count * SPARSE_RATIO {
        return Ok(Err(
            "Cannot serialise table: excessively sparse array".to_owned()
        ));
    }
    Ok(Ok((count > 0).then_some(largest)))
}

fn encode_table(
    out: &mut Vec<u8>,
    table: &Table,
    number_text: &Function,
    depth: usize,
) -> Result<Option<String>> {
    match array_len(table)? {
        Err(text) => return Ok(Some(text)),
        Ok(Some(len)) => {
            out.push(b'[');
            for at in 1..=len {
                if at > 1 {
                    out.push(b',');
                }
                let value: Value = table.raw_get(at)?;
                if let Some(text) = encode(out, &value, number_text, depth)? {
                    return Ok(Some(text));
                }
            }
            out.push(b']');
        }
        Ok(None) => {
            out.push(b'{');
            let mut is_first = true;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                if !std::mem::replace(&mut is_first, false) {
                    out.push(b',');
                }
                match &key {
                    Value::String(key) => encode_text(out, &key.as_bytes()),
                    Value::Integer(_) | Value::Number(_) => {
                        out.push(b'"');
                        encode(out, &key, number_text, depth)?;
                        out.push(b'"');
                    }
                    _ => {
                        let text = "Cannot serialise table: table key must be a number or string";
                        return Ok(Some(text.to_owned()));
                    }
                }
                out.push(b':');
                if let Some(text) = encode(out, &value, number_text, depth)? {
                    return Ok(Some(text));
                }
            }
            out.push(b'}');
        }
    }
    Ok(None)
}

fn decode(lua: &Lua, text: &[u8]) -> Result<MultiValue> {
    let mut input = serde_json::Deserializer::from_slice(text);
    let element = Element { lua, depth: 0 };
    let decoded = element
        .deserialize(&mut input)
        .and_then(|value| input.end().map(|()| value));
    match decoded {
        Ok(value) => value.into_lua_multi(lua),
        Err(error) => fail(lua, &error.to_string()),
    }
}

/// Makes a value of Lua from what is read, without one in between.
#[derive(Clone, Copy)]
struct Element<'l> {
    lua: &'l Lua,
    depth: usize,
}

impl Element<'_> {
    fn inner<E: serde::de::Error>(self) -> std::result::Result<Self, E> {
        if self.depth >= DEPTH_MAX {
            let depth = self.depth + 1;
            return Err(E::custom(format!(
                "Found too many nested data structures ({depth})"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(NULL)
    }

    fn visit_bool<E>(self, it: bool) -> std::result::Result<Value, E> {
        Ok(Value::Boolean(it))
    }

    fn visit_i64<E>(self, it: i64) -> std::result::Result<Value, E> {
        Ok(Value::Number(it as f64))
    }

    fn visit_u64<E>(self, it: u64) -> std::result::Result<Value, E> {
        Ok(Value::Number(it as f64))
    }

    fn visit_f64<E>(self, it: f64) -> std::result::Result<Value, E> {
        Ok(Value::Number(it))
    }

    fn visit_str<E: serde::de::Error>(self, it: &str) -> std::result::Result<Value, E> {
        self.visit_bytes(it.as_bytes())
    }

    fn visit_bytes<E: serde::de::Error>(self, it: &[u8]) -> std::result::Result<Value, E> {
        self.lua
            .create_string(it)
            .map(Value::String)
            .map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> std::result::Result<Value, A::Error> {
        use serde::de::Error;
        let inner = self.inner()?;
        let table = self.lua.create_table().map_err(A::Error::custom)?;
        let mut at = 0;
        while let Some(value) = input.next_element_seed(inner)? {
            at += 1;
            table.raw_set(at, value).map_err(A::Error::custom)?;
        }
        Ok(Value::Table(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> std::result::Result<Value, A::Error> {
        use serde::de::Error;
        let inner = self.inner()?;
        let table = self.lua.create_table().map_err(A::Error::custom)?;
        while let Some(key) = input.next_key_seed(inner)? {
            let value = input.next_value_seed(inner)?;
            table.raw_set(key, value).map_err(A::Error::custom)?;
        }
        Ok(Value::Table(table))
    }
}
