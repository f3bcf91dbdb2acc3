//! `struct`: numbers and strings in the layout of C structures, as Redis's library has them.
//!
//! | Letter | Meaning |
//! |---|---|
//! | `>` `<` `=` | big endian, little endian, this machine's |
//! | `!n` | align to n bytes, a power of two |
//! | `x` | a zero byte |
//! | `b` `B` `h` `H` `l` `L` `i`*n* `I`*n* `T` | whole numbers of 1, 2, 8, *n* (4) and 8 bytes, signed where small |
//! | `f` `d` | floats of 4 and 8 bytes |
//! | `s` | a string that ends with a zero byte |
//! | `c`*n* | n bytes of a string (1); `c0`: as many as the number before it said, or all when packing |

use crate::budget::{Budget, Meter};
use crate::raise::fail;
use crate::values::VALUES_MAX;
use mlua::{
    FromLua, IntoLuaMulti, Lua, LuaString, MultiValue, Number, Result, Table, Value, Variadic,
};
use std::sync::Arc;

/// Largest whole number, in bytes.
const INTEGER_BYTES_MAX: usize = 8;

/// Most that is aligned to where `!` says no number.
const ALIGN_DEFAULT: usize = 8;

pub(crate) fn install(lua: &Lua, native: &Table, budget: &Arc<Budget>) -> Result<()> {
    let table = lua.create_table()?;
    let shared = Arc::clone(budget);
    let pack =
        lua.create_function(move |lua, (format, values): (LuaString, Variadic<Value>)| {
            pack(lua, &format.as_bytes(), &values, &Meter::new(&shared))
        })?;
    table.set("pack", pack)?;
    let unpack = lua.create_function(
        |lua, (format, text, from): (LuaString, LuaString, Option<i64>)| {
            unpack(lua, &format.as_bytes(), &text.as_bytes(), from.unwrap_or(1))
        },
    )?;
    table.set("unpack", unpack)?;
    let size = lua.create_function(|lua, format: LuaString| size(lua, &format.as_bytes()))?;
    table.set("size", size)?;
    native.set("struct", table)
}

/// What a letter of a format asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Integer { len: usize, is_signed: bool },
    Float,
    Double,
    Zero,
    Text,
    Bytes(usize),
}

impl Item {
    const fn len(self) -> usize {
        match self {
            Self::Integer { len, .. } | Self::Bytes(len) => len,
            Self::Float => 4,
            Self::Double => 8,
            Self::Zero => 1,
            Self::Text => 0,
        }
    }
}

/// Reads a format, letter by letter.
struct Format<'a> {
    /// The function whose argument it is, for errors.
    function: &'static str,
    rest: &'a [u8],
    is_big: bool,
    align: usize,
}

impl<'a> Format<'a> {
    const fn new(function: &'static str, text: &'a [u8]) -> Self {
        Self {
            function,
            rest: text,
            is_big: cfg!(target_endian = "big"),
            align: 1,
        }
    }

    fn refusal(&self, text: &str) -> String {
        format!("bad argument #1 to '{}' ({text})", self.function)
    }

    fn count(&mut self, default: usize) -> std::result::Result<usize, String> {
        let digits = self
            .rest
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .count();
        if digits == 0 {
            return Ok(default);
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let number = String::from_utf8_lossy(number);
        let number: u32 = number
            .parse()
            .map_err(|_| "integral size overflow".to_owned())?;
        i32::try_from(number).map_err(|_| "integral size overflow".to_owned())?;
        Ok(number as usize)
    }

    fn integer_len(&mut self) -> std::result::Result<usize, String> {
        let len = self.count(4)?;
        if len == 0 || len > INTEGER_BYTES_MAX {
            return Err(format!(
                "integral size {len} is larger than limit of {INTEGER_BYTES_MAX}"
            ));
        }
        Ok(len)
    }

    /// The next item, with how many bytes stand before it so that it is aligned at `at`.
    fn next(&mut self, at: usize) -> std::result::Result<Option<(Item, usize)>, String> {
        while let Some((letter, rest)) = self.rest.split_first() {
            self.rest = rest;
            let integer = |len, is_signed| Item::Integer { len, is_signed };
            let item = match letter {
                b' ' => continue,
                b'>' => {
                    self.is_big = true;
                    continue;
                }
                b'<' => {
                    self.is_big = false;
                    continue;
                }
                b'=' => {
                    self.is_big = cfg!(target_endian = "big");
                    continue;
                }
                b'!' => {
                    self.align = self.count(ALIGN_DEFAULT)?;
                    if !self.align.is_power_of_two() {
                        return Err(self.refusal("alignment is not a power of 2"));
                    }
                    continue;
                }
                b'b' => integer(1, true),
                b'B' => integer(1, false),
                b'h' => integer(2, true),
                b'H' => integer(2, false),
                b'l' => integer(8, true),
                b'L' | b'T' => integer(8, false),
                b'i' => integer(self.integer_len()?, true),
                b'I' => integer(self.integer_len()?, false),
                b'f' => Item::Float,
                b'd' | b'n' => Item::Double,
                b'x' => Item::Zero,
                b's' => Item::Text,
                b'c' => Item::Bytes(self.count(1)?),
                other => {
                    let text = format!("invalid format option '{}'", char::from(*other));
                    return Err(self.refusal(&text));
                }
            };
            let aligned = match item {
                Item::Integer { .. } | Item::Float | Item::Double => item.len().min(self.align),
                _ => 1,
            };
            let before = match aligned.is_power_of_two() {
                true => at.wrapping_neg() & (aligned - 1),
                false => 0,
            };
            return Ok(Some((item, before)));
        }
        Ok(None)
    }
}

fn pack(lua: &Lua, format: &[u8], values: &[Value], meter: &Meter<'_>) -> Result<MultiValue> {
    let mut format = Format::new("pack", format);
    let mut values = values.iter();
    let mut out: Vec<u8> = Vec::new();
    loop {
        let (item, before) = match format.next(out.len()) {
            Ok(Some(next)) => next,
            Ok(None) => return lua.create_string(out)?.into_lua_multi(lua),
            Err(text) => return fail(lua, &text),
        };
        meter.take(before + INTEGER_BYTES_MAX)?;
        out.resize(out.len() + before, 0);
        if item == Item::Zero {
            out.push(0);
            continue;
        }
        let Some(value) = values.next() else {
            return fail(
                lua,
                "bad argument to 'pack' (too few values for the format)",
            );
        };
        match item {
            Item::Integer { len, .. } => {
                let number = Number::from_lua(value.clone(), lua)?;
                // As C has it, from the number's 64 bits.
                let bits = if number < 0.0 {
                    number as i64 as u64
                } else {
                    number as u64
                };
                put(&mut out, bits, len, format.is_big);
            }
            Item::Float => {
                let bits = (Number::from_lua(value.clone(), lua)? as f32).to_bits();
                put(&mut out, u64::from(bits), 4, format.is_big);
            }
            Item::Double => {
                let bits = Number::from_lua(value.clone(), lua)?.to_bits();
                put(&mut out, bits, 8, format.is_big);
            }
            Item::Text => {
                let text = LuaString::from_lua(value.clone(), lua)?;
                meter.take(text.as_bytes().len())?;
                out.extend_from_slice(&text.as_bytes());
                out.push(0);
            }
            Item::Bytes(len) => {
                let text = LuaString::from_lua(value.clone(), lua)?;
                let text = text.as_bytes();
                let len = if len == 0 { text.len() } else { len };
                let Some(taken) = text.get(..len) else {
                    return fail(lua, "bad argument to 'pack' (string too short)");
                };
                meter.take(taken.len())?;
                out.extend_from_slice(taken);
            }
            Item::Zero => {}
        }
    }
}

fn put(out: &mut Vec<u8>, bits: u64, len: usize, is_big: bool) {
    match is_big {
        true => out.extend_from_slice(&bits.to_be_bytes()[8 - len..]),
        false => out.extend_from_slice(&bits.to_le_bytes()[..len]),
    }
}

fn unpack(lua: &Lua, format: &[u8], text: &[u8], from: i64) -> Result<MultiValue> {
    let Some(mut at) = usize::try_from(from).ok().and_then(|it| it.checked_sub(1)) else {
        return fail(
            lua,
            "bad argument #3 to 'unpack' (offset must be 1 or greater)",
        );
    };
    let mut format = Format::new("unpack", format);
    let mut values: Vec<Value> = Vec::new();
    loop {
        let (item, before) = match format.next(at) {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(text) => return fail(lua, &text),
        };
        if values.len() >= VALUES_MAX {
            return fail(lua, "too many results to unpack");
        }
        at += before;
        let rest = text.get(at..).unwrap_or_default();
        let len = match item {
            Item::Text => match rest.iter().position(|it| *it == 0) {
                Some(len) => len,
                None => return fail(lua, "unfinished string in data"),
            },
            Item::Bytes(0) => {
                let said = values.pop().and_then(|it| it.as_f64());
                match said {
                    Some(said) if said >= 0.0 => said as usize,
                    _ => return fail(lua, "format 'c0' needs a previous size"),
                }
            }
            item => item.len(),
        };
        let Some(bytes) = rest.get(..len) else {
            return fail(lua, "bad argument #2 to 'unpack' (data string too short)");
        };
        at += len;
        let big_endian = || {
            let add = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
            match format.is_big {
                true => bytes.iter().fold(0, add),
                false => bytes.iter().rev().fold(0, add),
            }
        };
        match item {
            Item::Zero => {}
            Item::Integer { len, is_signed } => {
                let unused = 64 - 8 * len as u32;
                let number = match is_signed {
                    true => ((big_endian() << unused) as i64 >> unused) as f64,
                    false => big_endian() as f64,
                };
                values.push(Value::Number(number));
            }
            Item::Float => {
                let number = f32::from_bits(big_endian() as u32);
                values.push(Value::Number(f64::from(number)));
            }
            Item::Double => values.push(Value::Number(f64::from_bits(big_endian()))),
            Item::Text => {
                values.push(Value::String(lua.create_string(bytes)?));
                at += 1;
            }
            Item::Bytes(_) => values.push(Value::String(lua.create_string(bytes)?)),
        }
    }
    values.push(Value::Number(at as f64 + 1.0));
    Ok(values.into_iter().collect())
}

fn size(lua: &Lua, format: &[u8]) -> Result<MultiValue> {
    let mut format = Format::new("size", format);
    let mut at: usize = 0;
    loop {
        match format.next(at) {
            Ok(None) => return (at as f64).into_lua_multi(lua),
            Ok(Some((Item::Text, _))) => return fail(lua, "variable-size format in 'size' ('s')"),
            Ok(Some((Item::Bytes(0), _))) => {
                return fail(lua, "variable-size format in 'size' ('c0')");
            }
            Ok(Some((item, before))) => at = at.saturating_add(before + item.len()),
            Err(text) => return fail(lua, &text),
        }
    }
}
