//! Errors that functions in Rust raise. What they raise is an error of Rust, which says nothing to a script; what it is to the script, text
//! or a table, lies in the registry, where the prelude finds it.

use mlua::{Lua, Value};

/// Where the error is that a function in Rust has raised: it raises errors of Rust, and a script's are text or tables.
const RAISED: &str = "brickyard.raised";

/// Raises an error that says what is wrong with the arguments of a function in Rust, and where the script called it.
pub(crate) fn fail<R>(lua: &Lua, text: &str) -> mlua::Result<R> {
    let at = place(lua).map(|(source, line)| format!("{source}:{line}: "));
    let text = lua.create_string(at.unwrap_or_default() + text)?;
    raise(lua, Value::String(text))
}

/// Raises an error as Redis's own functions do: a table, which says nothing of where.
pub(crate) fn refuse<R>(lua: &Lua, text: &str) -> mlua::Result<R> {
    let raised = lua.create_table_with_capacity(0, 1)?;
    raised.raw_set("err", format!("ERR {text}"))?;
    raise(lua, Value::Table(raised))
}

/// What was raised last, once.
pub(crate) fn take_raised(lua: &Lua) -> mlua::Result<Value> {
    let raised = lua.named_registry_value(RAISED)?;
    lua.set_named_registry_value(RAISED, Value::Nil)?;
    Ok(raised)
}

/// Raises this value.
pub(crate) fn raise<R>(lua: &Lua, value: Value) -> mlua::Result<R> {
    lua.set_named_registry_value(RAISED, value)?;
    Err(mlua::Error::runtime(
        "a function in Rust has raised an error",
    ))
}

/// What texts of clients are called, as Redis calls them: a script, and a library of functions.
pub(crate) const SCRIPT: &str = "user_script";
pub(crate) const LIBRARY: &str = "user_function";

/// The text of a client that is being executed, and its line.
pub(crate) fn place(lua: &Lua) -> Option<(&'static str, usize)> {
    for level in 0..64 {
        let here = lua.inspect_stack(level, |frame| {
            let source = frame.source().source;
            let name = source.as_deref().and_then(|it| it.strip_prefix('@'));
            let is_it = |known: &&&str| name == Some(**known);
            let source = [SCRIPT, LIBRARY].iter().find(is_it).copied();
            (source, frame.current_line())
        });
        if let (Some(source), line) = here? {
            return line.map(|line| (source, line));
        }
    }
    None
}
