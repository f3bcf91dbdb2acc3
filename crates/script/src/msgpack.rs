//! `cmsgpack`: MessagePack, by the choices of Redis's library.
//!
//! Whole numbers become integers of the fewest bytes, others floats of four bytes where these say the same; a table whose keys are
//! 1, 2, 3 and so on becomes an array, any other one a map. What is nested deeper than [`DEPTH_MAX`] becomes nil.

use crate::budget::{Budget, Meter};
use crate::raise::fail;
use crate::values::VALUES_MAX;
use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Result, Table, Value, Variadic};
use rmp::{Marker, encode};
use std::sync::Arc;

/// Most bytes of a number.
const NUMBER_BYTES: usize = 9;

/// How deep tables may be nested, in what is packed and in what is unpacked.
const DEPTH_MAX: usize = 16;

pub(crate) fn install(lua: &Lua, native: &Table, budget: &Arc<Budget>) -> Result<()> {
    let table = lua.create_table()?;
    let shared = Arc::clone(budget);
    let pack = lua.create_function(move |lua, values: Variadic<Value>| {
        let meter = Meter::new(&shared);
        if values.is_empty() {
            return fail(
                lua,
                "bad argument #0 to 'pack' (MessagePack pack needs input.)",
            );
        }
        let mut out = Vec::new();
        for value in values.iter() {
            pack(&mut out, value, 0, &meter)?;
        }
        lua.create_string(out)?.into_lua_multi(lua)
    })?;
    table.set("pack", pack)?;
    let shared = Arc::clone(budget);
    let unpack = lua.create_function(move |lua, text: LuaString| {
        let meter = Meter::new(&shared);
        unpack(lua, &text.as_bytes(), usize::MAX, 0, &meter).map(|(values, _)| values)
    })?;
    table.set("unpack", unpack)?;
    let shared = Arc::clone(budget);
    let unpack_limit = lua.create_function(
        move |lua, (text, limit, from): (LuaString, i64, Option<i64>)| {
            some(lua, &text, limit, from, &Meter::new(&shared))
        },
    )?;
    table.set("unpack_limit", unpack_limit)?;
    let shared = Arc::clone(budget);
    let unpack_one = lua.create_function(move |lua, (text, from): (LuaString, Option<i64>)| {
        some(lua, &text, 1, from, &Meter::new(&shared))
    })?;
    table.set("unpack_one", unpack_one)?;
    native.set("cmsgpack", table)
}

/// So many values from a position on, behind the position of the next one, or -1.
fn some(
    lua: &Lua,
    text: &LuaString,
    limit: i64,
    from: Option<i64>,
    meter: &Meter<'_>,
) -> Result<MultiValue> {
    let text = text.as_bytes();
    let from = from.unwrap_or(0);
    let (Ok(most), Ok(start)) = (usize::try_from(limit), usize::try_from(from)) else {
        let text = format!("Invalid request to unpack with offset of {from} and limit of {limit}.");
        return fail(lua, &text);
    };
    if start > text.len() {
        return fail(
            lua,
            &format!(
                "Start offset {from} greater than input length {}.",
                text.len()
            ),
        );
    }
    let most = if most == 0 { usize::MAX } else { most };
    let (values, at) = unpack(lua, &text, most, start, meter)?;
    let next = if at < text.len() { at as i64 } else { -1 };
    let mut all = vec![Value::Integer(next)];
    all.extend(values);
    Ok(all.into_iter().collect())
}

fn pack(out: &mut Vec<u8>, value: &Value, depth: usize, meter: &Meter<'_>) -> Result<()> {
    meter.take(NUMBER_BYTES)?;
    match value {
        Value::Boolean(it) => put(encode::write_bool(out, *it)),
        Value::Integer(number) => put(encode::write_sint(out, *number).map(|_| ())),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9.2e18 => {
            let whole = *number as i64;
            match u64::try_from(whole) {
                Ok(whole) => put(encode::write_uint(out, whole).map(|_| ())),
                Err(_) => put(encode::write_sint(out, whole).map(|_| ())),
            }
        }
        Value::Number(number) if f64::from(*number as f32) == *number => {
            put(encode::write_f32(out, *number as f32))
        }
        Value::Number(number) => put(encode::write_f64(out, *number)),
        Value::String(text) => {
            let bytes = text.as_bytes();
            meter.take(bytes.len())?;
            put(encode::write_str_len(out, bytes.len() as u32).map(|_| ()))?;
            out.extend_from_slice(&bytes);
            Ok(())
        }
        Value::Table(table) if depth < DEPTH_MAX => pack_table(out, table, depth + 1, meter),
        _ => put(encode::write_nil(out)),
    }
}

/// Writing into memory does not fail.
fn put<E: std::fmt::Display>(written: std::result::Result<(), E>) -> Result<()> {
    written.map_err(mlua::Error::runtime)
}

fn pack_table(out: &mut Vec<u8>, table: &Table, depth: usize, meter: &Meter<'_>) -> Result<()> {
    let (mut count, mut largest, mut is_array) = (0_u32, 0_i64, true);
    for pair in table.pairs::<Value, Value>() {
        meter.spend(0)?;
        let key = match pair?.0 {
            Value::Integer(key) => key,
            Value::Number(key) if key.fract() == 0.0 => key as i64,
            _ => 0,
        };
        is_array &= key > 0;
        largest = largest.max(key);
        count += 1;
    }
    if is_array && largest == i64::from(count) {
        put(encode::write_array_len(out, count).map(|_| ()))?;
        for at in 1..=largest {
            pack(out, &table.raw_get(at)?, depth, meter)?;
        }
        return Ok(());
    }
    put(encode::write_map_len(out, count).map(|_| ()))?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        pack(out, &key, depth, meter)?;
        pack(out, &value, depth, meter)?;
    }
    Ok(())
}

/// Values and where they end.
fn unpack(
    lua: &Lua,
    text: &[u8],
    limit: usize,
    from: usize,
    meter: &Meter<'_>,
) -> Result<(MultiValue, usize)> {
    let mut input = Input {
        text,
        at: from,
        meter,
    };
    let mut values = Vec::new();
    while input.at < text.len() && values.len() < limit {
        match input.value(lua, 0)? {
            Some(_) if values.len() >= VALUES_MAX => {
                return fail(lua, "too many results to unpack");
            }
            Some(value) => values.push(value),
            None => {
                let why = match input.at > text.len() {
                    true => "Missing bytes in input.",
                    false => "Bad data format in input.",
                };
                return fail(lua, why);
            }
        }
    }
    Ok((values.into_iter().collect(), input.at))
}

struct Input<'a> {
    text: &'a [u8],
    at: usize,
    meter: &'a Meter<'a>,
}

impl Input<'_> {
    /// `None`: there are not so many; `at` is then behind the end.
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let start = self.at;
        self.at = start.saturating_add(len);
        let taken = self.text.get(start..self.at);
        if taken.is_none() {
            self.at = usize::MAX;
        }
        taken
    }

    fn number(&mut self, len: usize) -> Option<u64> {
        let bytes = self.take(len)?;
        Some(
            bytes
                .iter()
                .fold(0, |all, byte| all << 8 | u64::from(*byte)),
        )
    }

    fn text(&mut self, lua: &Lua, len: Option<u64>) -> Result<Option<Value>> {
        let meter = self.meter;
        let bytes = len.and_then(|len| self.take(len as usize));
        meter.spend(bytes.map_or(0, <[u8]>::len))?;
        bytes
            .map(|it| lua.create_string(it).map(Value::String))
            .transpose()
    }

    fn value(&mut self, lua: &Lua, depth: usize) -> Result<Option<Value>> {
        self.meter.spend(0)?;
        let Some(first) = self.take(1).map(|it| it[0]) else {
            return Ok(None);
        };
        let number = |it: Option<f64>| Ok(it.map(Value::Number));
        match Marker::from_u8(first) {
            Marker::FixPos(it) => number(Some(f64::from(it))),
            Marker::FixNeg(it) => number(Some(f64::from(it))),
            Marker::U8 => number(self.number(1).map(|it| it as f64)),
            Marker::U16 => number(self.number(2).map(|it| it as f64)),
            Marker::U32 => number(self.number(4).map(|it| it as f64)),
            Marker::U64 => number(self.number(8).map(|it| it as f64)),
            Marker::I8 => number(self.number(1).map(|it| f64::from(it as i8))),
            Marker::I16 => number(self.number(2).map(|it| f64::from(it as i16))),
            Marker::I32 => number(self.number(4).map(|it| f64::from(it as i32))),
            Marker::I64 => number(self.number(8).map(|it| it as i64 as f64)),
            Marker::F32 => number(
                self.number(4)
                    .map(|it| f64::from(f32::from_bits(it as u32))),
            ),
            Marker::F64 => number(self.number(8).map(f64::from_bits)),
            Marker::Null => Ok(Some(Value::Nil)),
            Marker::True => Ok(Some(Value::Boolean(true))),
            Marker::False => Ok(Some(Value::Boolean(false))),
            Marker::FixStr(len) => self.text(lua, Some(u64::from(len))),
            Marker::Str8 | Marker::Bin8 => {
                let len = self.number(1);
                self.text(lua, len)
            }
            Marker::Str16 | Marker::Bin16 => {
                let len = self.number(2);
                self.text(lua, len)
            }
            Marker::Str32 | Marker::Bin32 => {
                let len = self.number(4);
                self.text(lua, len)
            }
            Marker::FixArray(len) => self.array(lua, Some(u64::from(len)), depth),
            Marker::Array16 => {
                let len = self.number(2);
                self.array(lua, len, depth)
            }
            Marker::Array32 => {
                let len = self.number(4);
                self.array(lua, len, depth)
            }
            Marker::FixMap(len) => self.map(lua, Some(u64::from(len)), depth),
            Marker::Map16 => {
                let len = self.number(2);
                self.map(lua, len, depth)
            }
            Marker::Map32 => {
                let len = self.number(4);
                self.map(lua, len, depth)
            }
            _ => Ok(None),
        }
    }

    fn array(&mut self, lua: &Lua, len: Option<u64>, depth: usize) -> Result<Option<Value>> {
        let Some(len) = len.filter(|_| depth < DEPTH_UNPACKED_MAX) else {
            return Ok(None);
        };
        let table = lua.create_table()?;
        for at in 1..=len {
            match self.value(lua, depth + 1)? {
                Some(value) => table.raw_set(at, value)?,
                None => return Ok(None),
            }
        }
        Ok(Some(Value::Table(table)))
    }

    fn map(&mut self, lua: &Lua, len: Option<u64>, depth: usize) -> Result<Option<Value>> {
        let Some(len) = len.filter(|_| depth < DEPTH_UNPACKED_MAX) else {
            return Ok(None);
        };
        let table = lua.create_table()?;
        for _ in 0..len {
            let (Some(key), Some(value)) =
                (self.value(lua, depth + 1)?, self.value(lua, depth + 1)?)
            else {
                return Ok(None);
            };
            if !matches!(key, Value::Nil) {
                table.raw_set(key, value)?;
            }
        }
        Ok(Some(Value::Table(table)))
    }
}

/// What others have packed may be nested deeper than what is packed here; each level takes some of our stack.
const DEPTH_UNPACKED_MAX: usize = 512;
