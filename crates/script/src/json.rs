//! `cjson`: JSON by the rules of Lua CJSON 2.1, as Redis sets them.

use crate::budget::{Budget, Meter};
use crate::raise::fail;
use mlua::{
    Function, IntoLuaMulti, LightUserData, Lua, LuaString, MultiValue, Result, Table, Value,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::sync::Arc;

/// How deep values may be nested, as the library for JSON has it. (Lua CJSON: 1,000.)
const DEPTH_MAX: usize = 127;

/// A table with a larger index than this, of which most are missing, is refused.
const SPARSE_FROM: i64 = 10;
const SPARSE_RATIO: i64 = 2;

/// What `null` is in Lua.
const NULL: Value = Value::LightUserData(LightUserData(std::ptr::null_mut()));

pub(crate) fn install(
    lua: &Lua,
    native: &Table,
    number_text: &Function,
    budget: &Arc<Budget>,
) -> Result<()> {
    let table = lua.create_table()?;
    let number_text = number_text.clone();
    let shared = Arc::clone(budget);
    let encode = lua.create_function(move |lua, value: Value| {
        let mut writer = Writer {
            out: Vec::new(),
            number_text: &number_text,
            meter: &Meter::new(&shared),
        };
        match writer.encode(&value, 0)? {
            None => lua.create_string(writer.out)?.into_lua_multi(lua),
            Some(text) => fail(lua, &text),
        }
    })?;
    table.set("encode", encode)?;
    let shared = Arc::clone(budget);
    let decode = lua.create_function(move |lua, text: LuaString| {
        decode(lua, &text.as_bytes(), &Meter::new(&shared))
    })?;
    table.set("decode", decode)?;
    table.set("null", NULL)?;
    native.set("cjson", table)
}

/// Writes JSON.
struct Writer<'w> {
    out: Vec<u8>,
    number_text: &'w Function,
    meter: &'w Meter<'w>,
}

impl Writer<'_> {
    /// Writes a value; why it cannot be, if so.
    fn encode(&mut self, value: &Value, depth: usize) -> Result<Option<String>> {
        self.meter.take(1)?;
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            it if *it == NULL => self.out.extend_from_slice(b"null"),
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            // Of more digits than are shown fewer are left.
            Value::Integer(number) if number.unsigned_abs() < 100_000_000_000_000 => {
                self.out.extend_from_slice(number.to_string().as_bytes());
            }
            Value::Integer(number) => {
                let text: LuaString = self.number_text.call(*number as f64)?;
                self.out.extend_from_slice(&text.as_bytes());
            }
            Value::Number(number) => {
                if !number.is_finite() {
                    let text = "Cannot serialise number: must not be NaN or Inf";
                    return Ok(Some(text.to_owned()));
                }
                let text: LuaString = self.number_text.call(*number)?;
                self.out.extend_from_slice(&text.as_bytes());
            }
            Value::String(text) => self.encode_text(&text.as_bytes())?,
            Value::Table(table) => {
                if depth + 1 > DEPTH_MAX {
                    return Ok(Some(format!(
                        "Cannot serialise, excessive depth ({})",
                        depth + 1
                    )));
                }
                return self.encode_table(table, depth + 1);
            }
            other => {
                let text = format!("Cannot serialise {}: type not supported", other.type_name());
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn encode_text(&mut self, text: &[u8]) -> Result<()> {
        self.meter.take(text.len())?;
        let out = &mut self.out;
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
        Ok(())
    }

    fn encode_table(&mut self, table: &Table, depth: usize) -> Result<Option<String>> {
        match array_len(table, self.meter)? {
            Err(text) => return Ok(Some(text)),
            Ok(Some(len)) => {
                self.out.push(b'[');
                for at in 1..=len {
                    if at > 1 {
                        self.out.push(b',');
                    }
                    let value: Value = table.raw_get(at)?;
                    if let Some(text) = self.encode(&value, depth)? {
                        return Ok(Some(text));
                    }
                }
                self.out.push(b']');
            }
            Ok(None) => {
                self.out.push(b'{');
                let mut is_first = true;
                for pair in table.pairs::<Value, Value>() {
                    let (key, value) = pair?;
                    if !std::mem::replace(&mut is_first, false) {
                        self.out.push(b',');
                    }
                    match &key {
                        Value::String(key) => self.encode_text(&key.as_bytes())?,
                        Value::Integer(_) | Value::Number(_) => {
                            self.out.push(b'"');
                            self.encode(&key, depth)?;
                            self.out.push(b'"');
                        }
                        _ => {
                            let text =
                                "Cannot serialise table: table key must be a number or string";
                            return Ok(Some(text.to_owned()));
                        }
                    }
                    self.out.push(b':');
                    if let Some(text) = self.encode(&value, depth)? {
                        return Ok(Some(text));
                    }
                }
                self.out.push(b'}');
            }
        }
        Ok(None)
    }
}

/// The largest index if the table is an array: all keys are whole and above zero. `Err`: it is too sparse for one.
fn array_len(table: &Table, meter: &Meter<'_>) -> Result<std::result::Result<Option<i64>, String>> {
    let (mut largest, mut count) = (0, 0);
    for pair in table.pairs::<Value, Value>() {
        meter.spend(0)?;
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

fn decode(lua: &Lua, text: &[u8], meter: &Meter<'_>) -> Result<MultiValue> {
    let mut input = serde_json::Deserializer::from_slice(text);
    let element = Element {
        lua,
        meter,
        depth: 0,
    };
    let decoded = element
        .deserialize(&mut input)
        .and_then(|value| input.end().map(|()| value));
    match decoded {
        Ok(value) => value.into_lua_multi(lua),
        // Whatever it says: the script has to end.
        Err(_) if meter.has_ended() => Err(meter.end()),
        Err(error) => fail(lua, &error.to_string()),
    }
}

/// Makes a value of Lua from what is read, without one in between.
#[derive(Clone, Copy)]
struct Element<'l> {
    lua: &'l Lua,
    meter: &'l Meter<'l>,
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
        self.meter.spend(0).map_err(serde::de::Error::custom)?;
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
        self.meter.spend(it.len()).map_err(E::custom)?;
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
