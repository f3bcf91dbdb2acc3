//! A library of functions: its first line, `#!lua name=mylib`, and what it registers.

use brickyard_wire::split_words;
use mlua::{LuaString, Result, Table};

/// Flags of functions, the first one for bit 0, in the order in which Redis shows them.
pub const FUNCTION_FLAGS: [&str; 5] = [
    "no-writes",
    "allow-oom",
    "allow-stale",
    "no-cluster",
    "allow-cross-slot-keys",
];

/// A function that a library has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredFunction {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// What the library says of it.
    pub description: Option<Vec<u8>>,
    /// A bit for each of [`FUNCTION_FLAGS`].
    pub flags: u8,
}

impl RegisteredFunction {
    /// One as the prelude lists it.
    pub(crate) fn read(listed: &Table) -> Result<Self> {
        let description: Option<LuaString> = listed.raw_get("description")?;
        Ok(Self {
            name: listed.raw_get("name")?,
            description: description.map(|it| it.as_bytes().to_vec()),
            flags: listed.raw_get("flags")?,
        })
    }
}

/// The name of a library.
///
/// # Errors
/// Redis's, for a text that does not begin as one, in its words.
pub fn library_name(body: &[u8]) -> std::result::Result<String, String> {
    if !body.starts_with(b"#!") {
        return Err("ERR Missing library metadata".to_owned());
    }
    let end = body.iter().position(|it| *it == b'\n');
    let words = end.and_then(|end| split_words(&body[..end]));
    let mut words = words.ok_or("ERR Invalid library metadata")?.into_iter();
    let first = words.next().unwrap_or_default();
    let language = first.get(2..).unwrap_or_default();
    let mut name = None;
    for word in words {
        let is_name = word
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case(b"name="));
        if !is_name {
            let word = String::from_utf8_lossy(&word);
            return Err(format!("ERR Invalid metadata value given: {word}"));
        }
        if name.replace(word[5..].to_vec()).is_some() {
            return Err(
                "ERR Invalid metadata value, name argument was given multiple times".to_owned(),
            );
        }
    }
    let name = name.ok_or("ERR Library name was not given")?;
    let is_fit = |it: &u8| it.is_ascii_alphanumeric() || *it == b'_';
    if name.is_empty() || !name.iter().all(is_fit) {
        return Err("ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long".to_owned());
    }
    if !language.eq_ignore_ascii_case(b"lua") {
        let language = String::from_utf8_lossy(language);
        return Err(format!("ERR Engine '{language}' not found"));
    }
    Ok(String::from_utf8_lossy(&name).into_owned())
}

#[cfg(test)]
#[path = "library_test.rs"]
mod library_test;
