//! `bit`: operations on numbers of 32 bits, as LuaJIT's BitOp has them.

use mlua::{Lua, Number, Result, Table, Variadic};

/// The low 32 bits of a number, rounded to the nearest.
fn bits(number: Number) -> i32 {
    if !number.is_finite() {
        return 0;
    }
    // Of a number beyond 64 bits nothing is left in the low ones that anybody could mean.
    number.round_ties_even() as i64 as i32
}

fn number(bits: i32) -> Number {
    Number::from(bits)
}

pub(crate) fn install(lua: &Lua, native: &Table) -> Result<()> {
    let table = lua.create_table()?;
    let one = |name: &str, f: fn(i32) -> i32| {
        let function = lua.create_function(move |_, a: Number| Ok(number(f(bits(a)))))?;
        table.set(name, function)
    };
    one("tobit", |a| a)?;
    one("bnot", |a| !a)?;
    one("bswap", i32::swap_bytes)?;
    let many = |name: &str, f: fn(i32, i32) -> i32| {
        let function = lua.create_function(move |_, (a, rest): (Number, Variadic<Number>)| {
            Ok(number(
                rest.iter().fold(bits(a), |all, it| f(all, bits(*it))),
            ))
        })?;
        table.set(name, function)
    };
    many("band", |a, b| a & b)?;
    many("bor", |a, b| a | b)?;
    many("bxor", |a, b| a ^ b)?;
    let shift = |name: &str, f: fn(i32, u32) -> i32| {
        let function = lua.create_function(move |_, (a, by): (Number, Number)| {
            Ok(number(f(bits(a), bits(by) as u32 & 31)))
        })?;
        table.set(name, function)
    };
    shift("lshift", |a, by| a << by)?;
    shift("rshift", |a, by| (a as u32 >> by) as i32)?;
    shift("arshift", |a, by| a >> by)?;
    shift("rol", i32::rotate_left)?;
    shift("ror", i32::rotate_right)?;
    let to_hex = lua.create_function(|_, (a, digits): (Number, Option<Number>)| {
        let wanted = digits.map_or(8, bits);
        let text = match wanted < 0 {
            true => format!("{:08X}", bits(a)),
            false => format!("{:08x}", bits(a)),
        };
        let shown = wanted.unsigned_abs().min(8) as usize;
        Ok(text[8 - shown..].to_owned())
    })?;
    table.set("tohex", to_hex)?;
    native.set("bit", table)
}
