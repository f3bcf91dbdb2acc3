//! The functions that the cluster keeps, as bricks call them: by name, in upper or lower case.
//!
//! In:  the libraries of a catalog. Out: functions, each with the text of its library.
//!
//! Invariant: a function that is called is that of the newest catalog which its brick has heard of, and its text goes along wherever it runs: a
//! brick that has not heard of it yet runs it all the same.

use super::text::ScriptText;
use brickyard_metadata::{Libraries, Library, LibraryFunction};
use brickyard_script::FUNCTION_FLAGS;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A function as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CalledFunction {
    /// Its name in its library.
    pub(crate) name: Box<str>,
    /// It may make a table grow that is at its bound.
    pub(crate) allow_oom: bool,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) called: CalledFunction,
    /// It writes nothing.
    pub(crate) no_writes: bool,
    /// Its library's.
    pub(crate) text: Arc<ScriptText>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    libraries: Libraries,
    /// By name in lower case.
    by_name: BTreeMap<Vec<u8>, Function>,
    /// By name of the library.
    texts: BTreeMap<String, Arc<ScriptText>>,
}

impl Functions {
    /// Those of these libraries. Texts that are as they were are shared with `before`.
    pub(super) fn of(libraries: &Libraries, before: &Self) -> Self {
        let mut functions = Self {
            libraries: libraries.clone(),
            ..Self::default()
        };
        for library in libraries.iter() {
            let known = before.texts.get(&library.name);
            let known = known.filter(|it| *it.body == *library.code);
            let text = known.map_or_else(|| Arc::new(ScriptText::new(&library.code)), Arc::clone);
            functions.add(library, &text);
            functions.texts.insert(library.name.clone(), text);
        }
        functions
    }

    fn add(&mut self, library: &Library, text: &Arc<ScriptText>) {
        for function in &library.functions {
            let name = function.name.to_ascii_lowercase().into_bytes();
            let function = Function {
                called: CalledFunction {
                    name: function.name.as_str().into(),
                    allow_oom: has(function, "allow-oom"),
                },
                no_writes: has(function, "no-writes"),
                text: Arc::clone(text),
            };
            let before = self.by_name.insert(name, function);
            assert!(
                before.is_none(),
                "two functions have the name of {before:?}"
            );
        }
    }

    /// The function of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Function> {
        self.by_name.get(&name.to_ascii_lowercase())
    }

    /// Whether these are certainly those of the libraries.
    pub(super) fn is_of(&self, libraries: &Libraries) -> bool {
        self.libraries.is_same(libraries)
    }

    /// The libraries.
    pub(crate) const fn libraries(&self) -> &Libraries {
        &self.libraries
    }

    /// How many functions there are.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }
}

/// The flags of a function, in the order in which Redis shows them.
pub(crate) fn flags_of(function: &LibraryFunction) -> impl Iterator<Item = &'static str> {
    let flags = function.flags;
    let each = FUNCTION_FLAGS.iter().enumerate();
    each.filter_map(move |(bit, name)| (flags & 1 << bit != 0).then_some(*name))
}

fn has(function: &LibraryFunction, flag: &str) -> bool {
    flags_of(function).any(|it| it == flag)
}

#[cfg(test)]
#[path = "functions_test.rs"]
mod functions_test;
