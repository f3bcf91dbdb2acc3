//! `string.find`, `match`, `gmatch` and `gsub` over patterns that are bounded.

use crate::budget::Budget;
use crate::pattern::{Capture, Matcher, PatternError, Steps};
use crate::raise::fail;
use memchr::memmem;
use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Result, Table, Value};
use std::sync::Arc;

/// A capture that is opened, never closed, and asked for.
const UNFINISHED: &str = "unfinished capture";

/// Bytes that make a pattern one.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// The functions that the prelude makes Lua's of.
pub(crate) fn install(lua: &Lua, native: &Table, budget: &Arc<Budget>) -> Result<()> {
    let shared = Arc::clone(budget);
    let scan = lua.create_function(
        move |lua, (subject, pattern, from): (LuaString, LuaString, usize)| {
            scan(lua, &shared, &subject.as_bytes(), &pattern.as_bytes(), from)
        },
    )?;
    native.set("scan", scan)?;
    let plain = lua.create_function(
        |_, (subject, needle, from): (LuaString, LuaString, usize)| {
            let (subject, needle) = (subject.as_bytes(), needle.as_bytes());
            let rest = subject.get(from - 1..);
            let at = rest.and_then(|rest| memmem::find(rest, &needle));
            Ok(match at {
                Some(at) => (Some(from + at), Some(from + at + needle.len() - 1)),
                None => (None, None),
            })
        },
    )?;
    native.set("plain", plain)?;
    let is_plain = lua.create_function(|_, pattern: LuaString| {
        Ok(!pattern.as_bytes().iter().any(|it| SPECIAL.contains(it)))
    })?;
    native.set("is_plain", is_plain)?;
    let shared = Arc::clone(budget);
    let replace = lua.create_function(
        move |lua, (subject, pattern, by, max): (LuaString, LuaString, LuaString, usize)| {
            let (subject, pattern) = (subject.as_bytes(), pattern.as_bytes());
            match replace(&shared, &subject, &pattern, &by.as_bytes(), max) {
                Ok((text, count)) => (lua.create_string(text)?, count).into_lua_multi(lua),
                Err(error) => refuse(lua, &shared, error),
            }
        },
    )?;
    native.set("replace", replace)
}

fn refuse(lua: &Lua, budget: &Budget, error: PatternError) -> Result<MultiValue> {
    match error {
        PatternError::Malformed(text) => fail(lua, &text),
        PatternError::OutOfSteps => Err(budget.end()),
    }
}

/// The pattern without the mark that ties it to where the search begins, and whether it has that.
fn unanchored(pattern: &[u8]) -> (&[u8], bool) {
    match pattern.split_first() {
        Some((b'^', rest)) => (rest, true),
        _ => (pattern, false),
    }
}

/// The first match from a position on: its bounds, counted from 1, the end behind it; then the captures, if there are any.
fn scan(
    lua: &Lua,
    budget: &Budget,
    subject: &[u8],
    pattern: &[u8],
    from: usize,
) -> Result<MultiValue> {
    let (pattern, is_anchored) = unanchored(pattern);
    let mut more = || budget.more_steps();
    let mut matcher = Matcher::new(subject, pattern, Steps::new(&mut more));
    let searched = matcher.search(from - 1, is_anchored);
    let captures = matcher.captures().to_vec();
    match searched {
        Ok(Some((start, end))) => {
            let mut values = vec![
                Value::Integer(start as i64 + 1),
                Value::Integer(end as i64 + 1),
            ];
            for capture in captures {
                values.push(match capture {
                    Capture::Span(start, end) => {
                        Value::String(lua.create_string(&subject[start..end])?)
                    }
                    Capture::Position(at) => Value::Integer(at as i64),
                    Capture::Open(_) => return fail(lua, UNFINISHED),
                });
            }
            Ok(values.into_iter().collect())
        }
        Ok(None) => Ok(MultiValue::new()),
        Err(error) => refuse(lua, budget, error),
    }
}

/// `gsub` by a string.
fn replace(
    budget: &Budget,
    subject: &[u8],
    pattern: &[u8],
    by: &[u8],
    max: usize,
) -> std::result::Result<(Vec<u8>, usize), PatternError> {
    let (pattern, is_anchored) = unanchored(pattern);
    let mut more = || budget.more_steps();
    let mut matcher = Matcher::new(subject, pattern, Steps::new(&mut more));
    let (mut out, mut count, mut at) = (Vec::new(), 0, 0);
    let mut outcome = Ok(());
    while count < max {
        let found = match matcher.search(at, is_anchored) {
            Ok(found) => found,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        };
        let Some((start, end)) = found else { break };
        count += 1;
        out.extend_from_slice(&subject[at..start]);
        if let Err(error) = add(&mut out, subject, by, (start, end), matcher.captures()) {
            outcome = Err(error);
            break;
        }
        if out.len() > REPLACED_BYTES_MAX {
            outcome = Err(PatternError::Malformed(
                "resulting string too large".to_owned(),
            ));
            break;
        }
        at = end;
        if end == start {
            match subject.get(start) {
                Some(byte) => {
                    out.push(*byte);
                    at += 1;
                }
                None => {
                    at = subject.len() + 1;
                    break;
                }
            }
        }
        if is_anchored {
            break;
        }
    }
    outcome?;
    out.extend_from_slice(subject.get(at..).unwrap_or_default());
    Ok((out, count))
}

/// A few bytes of a script can ask for very many here, outside of Lua's memory.
const REPLACED_BYTES_MAX: usize = 64 << 20;

fn add(
    out: &mut Vec<u8>,
    subject: &[u8],
    by: &[u8],
    (start, end): (usize, usize),
    captures: &[Capture],
) -> std::result::Result<(), PatternError> {
    let mut bytes = by.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit) if digit.is_ascii_digit() => {
                let level = usize::from(digit - b'0');
                match level.checked_sub(1).map(|at| captures.get(at)) {
                    None => out.extend_from_slice(&subject[start..end]),
                    Some(None) if level == 1 => out.extend_from_slice(&subject[start..end]),
                    Some(None) => {
                        let text = "invalid capture index".to_owned();
                        return Err(PatternError::Malformed(text));
                    }
                    Some(Some(Capture::Span(start, end))) => {
                        out.extend_from_slice(&subject[*start..*end]);
                    }
                    Some(Some(Capture::Position(at))) => {
                        out.extend_from_slice(at.to_string().as_bytes());
                    }
                    Some(Some(Capture::Open(_))) => {
                        return Err(PatternError::Malformed(UNFINISHED.to_owned()));
                    }
                }
            }
            Some(other) => out.push(other),
            None => out.push(0),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "strings_test.rs"]
mod strings_test;
