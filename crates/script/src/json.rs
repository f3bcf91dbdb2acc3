//! `cjson`: JSON by the rules of Lua CJSON 2.1, as Redis sets them. What a script sets otherwise holds until it ends.

use crate::budget::{Budget, Meter};
use crate::raise::fail;
use mlua::{
    Function, IntoLuaMulti, LightUserData, Lua, LuaString, MultiValue, Result, Table, Value,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8};

/// How deep values may be nested, as the library for JSON has it. (Lua CJSON: 1,000.)
const DEPTH_MAX: usize = 127;

/// What scripts may set it to, and what it is without that. More than [`DEPTH_MAX`] counts for as much.
const DEPTHS: std::ops::RangeInclusive<i64> = 1..=i32::MAX as i64;
const DEPTH: i64 = 1_000;

/// A table with a larger index than this, of which most are missing, is refused.
const SPARSE_FROM: i64 = 10;
const SPARSE_RATIO: i64 = 2;

/// What `null` is in Lua.
const NULL: Value = Value::LightUserData(LightUserData(std::ptr::null_mut()));

/// What to make of numbers that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Invalid {
    Refused = 0,
    Written = 1,
    Null = 2,
}

/// What a script has set. It is reached from functions of Lua, which may not borrow.
#[derive(Debug)]
pub(crate) struct JsonSettings {
    encode_depth: AtomicI64,
    decode_depth: AtomicI64,
    invalid: AtomicU8,
    /// Nothing depends on it: memory for the next text is not kept.
    keeps_buffer: AtomicBool,
}

impl Default for JsonSettings {
    fn default() -> Self {
        let settings = Self {
            encode_depth: AtomicI64::new(0),
            decode_depth: AtomicI64::new(0),
            invalid: AtomicU8::new(0),
            keeps_buffer: AtomicBool::new(false),
        };
        settings.reset();
        settings
    }
}

impl JsonSettings {
    /// As for a script that has set nothing.
    pub(crate) fn reset(&self) {
        self.encode_depth.store(DEPTH, Relaxed);
        self.decode_depth.store(DEPTH, Relaxed);
        self.invalid.store(Invalid::Refused as u8, Relaxed);
        self.keeps_buffer.store(true, Relaxed);
    }
}

/// The depth that may be set; each returns what holds now.
fn set_depth(lua: &Lua, depth: &AtomicI64, wanted: Option<Value>) -> Result<i64> {
    if let Some(wanted) = wanted.filter(|it| !it.is_nil()) {
        match wanted.as_i64().filter(|it| DEPTHS.contains(it)) {
            Some(wanted) => depth.store(wanted, Relaxed),
            None => return fail(lua, "expected integer between 1 and 2147483647"),
        }
    }
    Ok(depth.load(Relaxed))
}

fn install_settings(lua: &Lua, table: &Table, budget: &Arc<Budget>) -> Result<()> {
    let shared = Arc::clone(budget);
    let encode_depth = lua.create_function(move |lua, wanted: Option<Value>| {
        set_depth(lua, &shared.json.encode_depth, wanted)
    })?;
    table.set("encode_max_depth", encode_depth)?;
    let shared = Arc::clone(budget);
    let decode_depth = lua.create_function(move |lua, wanted: Option<Value>| {
        set_depth(lua, &shared.json.decode_depth, wanted)
    })?;
    table.set("decode_max_depth", decode_depth)?;
    let shared = Arc::clone(budget);
    let keep = lua.create_function(move |_, wanted: Option<bool>| {
        let keeps = &shared.json.keeps_buffer;
        wanted.into_iter().for_each(|it| keeps.store(it, Relaxed));
        Ok(keeps.load(Relaxed))
    })?;
    table.set("encode_keep_buffer", keep)?;
    let shared = Arc::clone(budget);
    let invalid = lua.create_function(move |lua, wanted: Option<Value>| {
        let invalid = &shared.json.invalid;
        match wanted.filter(|it| !it.is_nil()) {
            None => {}
            Some(Value::Boolean(false)) => invalid.store(Invalid::Refused as u8, Relaxed),
            Some(Value::Boolean(true)) => invalid.store(Invalid::Written as u8, Relaxed),
            Some(Value::String(word)) if word.as_bytes() == *b"null" => {
                invalid.store(Invalid::Null as u8, Relaxed);
            }
            Some(_) => return fail(lua, "invalid option: expected true, false or 'null'"),
        }
        match invalid.load(Relaxed) {
            it if it == Invalid::Null as u8 => lua.create_string("null").map(Value::String),
            it => Ok(Value::Boolean(it == Invalid::Written as u8)),
        }
    })?;
    table.set("encode_invalid_numbers", invalid)
}

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
            settings: &shared.json,
        };
        match writer.encode(&value, 0)? {
            None => lua.create_string(writer.out)?.into_lua_multi(lua),
            Some(text) => fail(lua, &text),
        }
    })?;
    table.set("encode", encode)?;
    let shared = Arc::clone(budget);
    let decode = lua.create_function(move |lua, text: LuaString| {
        let depth = shared.json.decode_depth.load(Relaxed);
        let depth = DEPTH_MAX.min(depth as usize);
        decode(lua, &text.as_bytes(), &Meter::new(&shared), depth)
    })?;
    table.set("decode", decode)?;
    table.set("null", NULL)?;
    install_settings(lua, &table, budget)?;
    native.set("cjson", table)
}

/// Writes JSON.
struct Writer<'w> {
    out: Vec<u8>,
    number_text: &'w Function,
    meter: &'w Meter<'w>,
    settings: &'w JsonSettings,
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
                    return Ok(self.encode_invalid(*number));
                }
                let text: LuaString = self.number_text.call(*number)?;
                self.out.extend_from_slice(&text.as_bytes());
            }
            Value::String(text) => self.encode_text(&text.as_bytes())?,
            Value::Table(table) => {
                let depth_max = self.settings.encode_depth.load(Relaxed) as usize;
                if depth + 1 > DEPTH_MAX.min(depth_max) {
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

    /// Writes a number that JSON does not have; why it is not written, if so.
    fn encode_invalid(&mut self, number: f64) -> Option<String> {
        let invalid = self.settings.invalid.load(Relaxed);
        if invalid == Invalid::Refused as u8 {
            return Some("Cannot serialise number: must not be NaN or Inf".to_owned());
        }
        let text: &[u8] = match number {
            _ if invalid == Invalid::Null as u8 => b"null",
            number if number.is_nan() => b"nan",
            number if number < 0.0 => b"-inf",
            _ => b"inf",
        };
        self.out.extend_from_slice(text);
        None
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

fn decode(lua: &Lua, text: &[u8], meter: &Meter<'_>, depth_max: usize) -> Result<MultiValue> {
    let mut input = serde_json::Deserializer::from_slice(text);
    let element = Element {
        lua,
        meter,
        depth: 0,
        depth_max,
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
    depth_max: usize,
}

impl Element<'_> {
    fn inner<E: serde::de::Error>(self) -> std::result::Result<Self, E> {
        if self.depth >= self.depth_max {
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
