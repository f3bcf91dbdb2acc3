//! A library of functions that the cluster keeps, as `FUNCTION LOAD` brings it.
//!
//! In:  a text in Lua, and what it has registered where it was loaded. Out: what every node knows of it.
//!
//! Invariants:
//! - A library is bounded in bytes, its functions' names among them: a text of three lines can register very many.
//! - Nothing here runs Lua: which functions a text registers was found out by the node that was asked, and is said with it.
//!
//! Not here: what a text has to look like, and what its functions do (`brickyard-script`).

use serde::{Deserialize, Serialize};

/// Longest library, with what it has registered: it is compiled in one go, and each catalog has it.
pub const LIBRARY_BYTES_MAX: usize = 512 << 10;

/// What a function takes beside its texts, about.
const FUNCTION_BYTES: usize = 32;

/// Flags that there are.
const FLAGS: u8 = 0b1_1111;

/// A function of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFunction {
    /// Its name, as it was registered. It is called by it in upper or lower case.
    pub name: String,
    /// What is said of it.
    pub description: Option<Vec<u8>>,
    /// What it asks for, a bit each: writes nothing, may run out of memory, stale, outside of a cluster, across slots.
    pub flags: u8,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Its name, as its first line says it.
    pub name: String,
    /// Its text, that line too.
    pub code: Vec<u8>,
    /// What it has registered, by name.
    pub functions: Vec<LibraryFunction>,
}

impl Library {
    /// Bytes of all its texts, about.
    #[must_use]
    pub fn bytes_len(&self) -> usize {
        let of_function = |it: &LibraryFunction| {
            FUNCTION_BYTES + it.name.len() + it.description.as_ref().map_or(0, Vec::len)
        };
        let functions: usize = self.functions.iter().map(of_function).sum();
        self.name.len() + self.code.len() + functions
    }

    /// Why there can be no such library.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bytes = self.bytes_len();
        if bytes > LIBRARY_BYTES_MAX {
            return Err(format!(
                "it has {bytes} bytes with the names of its functions, and {LIBRARY_BYTES_MAX} is the most there can be; \
                 make several libraries of it"
            ));
        }
        if self.functions.is_empty() {
            return Err("it has no functions".to_owned());
        }
        let names = self.functions.iter().map(|it| &it.name);
        match std::iter::once(&self.name)
            .chain(names)
            .find(|it| !is_name(it))
        {
            None => {}
            Some(name) => return Err(format!("'{}' is no name", name.escape_debug())),
        }
        let is_unknown = |it: &&LibraryFunction| it.flags & !FLAGS != 0;
        match self.functions.iter().find(is_unknown) {
            None => Ok(()),
            Some(it) => Err(format!(
                "its function {} has the flags {:#b}",
                it.name, it.flags
            )),
        }
    }
}

/// Letters, digits and underscores, as in Redis.
fn is_name(name: &str) -> bool {
    let is_fit = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    !name.is_empty() && name.bytes().all(is_fit)
}
