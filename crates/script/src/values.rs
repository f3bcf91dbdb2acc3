//! Replies in Lua, and what Lua returns as a reply.
//!
//! | Reply | in Lua | and back |
//! |---|---|---|
//! | integer | number | its whole part |
//! | bulk string | string | bulk string |
//! | status | table with `ok` | status |
//! | error | table with `err` | error |
//! | array | table | array, up to the first `nil` |
//! | null | `false`; `nil` by RESP3 | null |

use crate::budget::Meter;
use brickyard_wire::{Reply, Value};
use mlua::{Lua, LuaString, Result, Table, Value as LuaValue};

/// Most values that a function returns: Lua has room for 8,000 on its stack.
pub(crate) const VALUES_MAX: usize = 7_000;

/// What any value takes in a reply, about.
const PIECE_BYTES: usize = 32;

/// How deep what a script returns may be nested.
const DEPTH_MAX: usize = 128;

/// A reply as the script sees it.
pub(crate) fn to_lua(lua: &Lua, value: &Value, is_resp3: bool) -> Result<LuaValue> {
    let text = |bytes: &[u8]| lua.create_string(bytes).map(LuaValue::String);
    let one = |name: &str, value: LuaValue| {
        let table = lua.create_table_with_capacity(0, 1)?;
        table.raw_set(name, value)?;
        Ok(LuaValue::Table(table))
    };
    match value {
        Value::Null if is_resp3 => Ok(LuaValue::Nil),
        Value::Null => Ok(LuaValue::Boolean(false)),
        Value::Simple(line) => one("ok", text(line)?),
        Value::Error(line) => one("err", text(line)?),
        Value::Integer(number) => Ok(LuaValue::Number(*number as f64)),
        Value::Bulk(bytes) => text(bytes),
        Value::Array(all) | Value::Push(all) => sequence(lua, all, is_resp3),
        Value::Set(all) => {
            let set = lua.create_table_with_capacity(0, all.len())?;
            for element in all {
                set.raw_set(to_lua(lua, element, is_resp3)?, true)?;
            }
            one("set", LuaValue::Table(set))
        }
        Value::Map(pairs) => {
            let map = lua.create_table_with_capacity(0, pairs.len())?;
            for (key, value) in pairs {
                map.raw_set(to_lua(lua, key, is_resp3)?, to_lua(lua, value, is_resp3)?)?;
            }
            one("map", LuaValue::Table(map))
        }
        Value::Double(number) => one("double", LuaValue::Number(*number)),
        Value::Boolean(it) => Ok(LuaValue::Boolean(*it)),
        Value::Verbatim { format, bytes } => {
            let verbatim = lua.create_table_with_capacity(0, 2)?;
            verbatim.raw_set("format", text(format)?)?;
            verbatim.raw_set("string", text(bytes)?)?;
            one("verbatim_string", LuaValue::Table(verbatim))
        }
        Value::BigNumber(digits) => one("big_number", text(digits)?),
    }
}

fn sequence(lua: &Lua, all: &[Value], is_resp3: bool) -> Result<LuaValue> {
    let table = lua.create_table_with_capacity(all.len(), 0)?;
    for (at, element) in all.iter().enumerate() {
        table.raw_set(at + 1, to_lua(lua, element, is_resp3)?)?;
    }
    Ok(LuaValue::Table(table))
}

/// What a script returned, as a reply.
pub(crate) fn to_reply(value: &LuaValue, is_resp3: bool, meter: &Meter<'_>) -> Result<Value> {
    let reader = Reader { is_resp3, meter };
    reader.nested(value, 0)
}

struct Reader<'m> {
    is_resp3: bool,
    meter: &'m Meter<'m>,
}

impl Reader<'_> {
    fn nested(&self, value: &LuaValue, depth: usize) -> Result<Value> {
        self.meter.take(PIECE_BYTES)?;
        if depth >= DEPTH_MAX {
            return Ok(Value::Error(b"ERR reached lua stack limit".to_vec()));
        }
        Ok(match value {
            LuaValue::String(text) => {
                self.meter.take(text.as_bytes().len())?;
                Value::Bulk(text.as_bytes().to_vec())
            }
            LuaValue::Integer(number) => Value::Integer(*number),
            LuaValue::Number(number) => Value::Integer(*number as i64),
            LuaValue::Boolean(it) if self.is_resp3 => Value::Boolean(*it),
            LuaValue::Boolean(true) => Value::Integer(1),
            LuaValue::Table(table) => return self.of_table(table, depth),
            _ => Value::Null,
        })
    }

    fn of_table(&self, table: &Table, depth: usize) -> Result<Value> {
        if let LuaValue::String(line) = table.raw_get("err")? {
            return Ok(Value::Error(one_line(&line)));
        }
        if let LuaValue::String(line) = table.raw_get("ok")? {
            return Ok(Value::Simple(one_line(&line)));
        }
        match table.raw_get("double")? {
            LuaValue::Number(number) => return Ok(Value::Double(number)),
            LuaValue::Integer(number) => return Ok(Value::Double(number as f64)),
            _ => {}
        }
        if let LuaValue::Table(map) = table.raw_get("map")? {
            let mut pairs = Vec::new();
            for pair in map.pairs::<LuaValue, LuaValue>() {
                let (key, value) = pair?;
                pairs.push((
                    self.nested(&key, depth + 1)?,
                    self.nested(&value, depth + 1)?,
                ));
            }
            return Ok(Value::Map(pairs));
        }
        if let LuaValue::Table(set) = table.raw_get("set")? {
            let mut all = Vec::new();
            for pair in set.pairs::<LuaValue, LuaValue>() {
                all.push(self.nested(&pair?.0, depth + 1)?);
            }
            return Ok(Value::Set(all));
        }
        if let LuaValue::String(digits) = table.raw_get("big_number")? {
            return Ok(Value::BigNumber(one_line(&digits)));
        }
        if let LuaValue::Table(verbatim) = table.raw_get("verbatim_string")?
            && let LuaValue::String(format) = verbatim.raw_get("format")?
            && let LuaValue::String(text) = verbatim.raw_get("string")?
            && let Ok(format) = <[u8; 3]>::try_from(&*format.as_bytes())
        {
            let bytes = text.as_bytes().to_vec();
            return Ok(Value::Verbatim { format, bytes });
        }
        let mut all = Vec::new();
        loop {
            match table.raw_get(all.len() + 1)? {
                LuaValue::Nil => return Ok(Value::Array(all)),
                element => all.push(self.nested(&element, depth + 1)?),
            }
        }
    }
}

/// A status or an error is a line.
fn one_line(text: &LuaString) -> Vec<u8> {
    let is_end = |it: &u8| matches!(it, b'\r' | b'\n');
    let bytes = text.as_bytes();
    let plain = bytes.iter().map(|it| if is_end(it) { b' ' } else { *it });
    plain.collect()
}

/// Writes a reply.
pub fn write_value(value: &Value, reply: &mut Reply<'_>) {
    match value {
        Value::Null => reply.null(),
        Value::Simple(line) => reply.simple(&String::from_utf8_lossy(line)),
        Value::Error(line) => reply.error_bytes(line),
        Value::Integer(number) => reply.integer(*number),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Array(all) | Value::Push(all) => {
            reply.array(all.len());
            all.iter().for_each(|it| write_value(it, reply));
        }
        Value::Set(all) => {
            reply.set(all.len());
            all.iter().for_each(|it| write_value(it, reply));
        }
        Value::Map(pairs) => {
            reply.map(pairs.len());
            for (key, value) in pairs {
                write_value(key, reply);
                write_value(value, reply);
            }
        }
        Value::Double(number) => reply.double(*number),
        Value::Boolean(it) => reply.boolean(*it),
        Value::Verbatim { format, bytes } => {
            reply.verbatim(&String::from_utf8_lossy(format), bytes);
        }
        Value::BigNumber(digits) => reply.big_number(&String::from_utf8_lossy(digits)),
    }
}
