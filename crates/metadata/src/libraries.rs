//! The libraries of functions that the cluster keeps.
//!
//! In:  libraries that are loaded, names of those that go. Out: all of them, by name.
//!
//! Invariants:
//! - A function's name is one function's, in upper or lower case, whatever the libraries are.
//! - A change that cannot be made as a whole changes nothing.
//! - All together are bounded in bytes: every catalog has them.
//! - A copy of the catalog shares them: it is made at each change, of whatever.

use crate::applied::Done;
use crate::library::Library;
use crate::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most bytes of all libraries together.
pub const LIBRARIES_BYTES_MAX: usize = 4 << 20;

/// What becomes of libraries that are there when others are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LibraryPolicy {
    /// They stay; none of the new ones has a name of theirs.
    Append,
    /// They stay, but for those whose name a new one has.
    Replace,
    /// They go.
    Flush,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    by_name: Arc<BTreeMap<String, Arc<Library>>>,
}

impl Libraries {
    /// Whether the cluster keeps none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The library of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Library>> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Library>> {
        self.by_name.values()
    }

    /// Whether these are certainly those, without looking at each.
    #[must_use]
    pub fn is_same(&self, others: &Self) -> bool {
        Arc::ptr_eq(&self.by_name, &others.by_name)
    }

    /// New libraries.
    pub(crate) fn add(
        &mut self,
        libraries: Vec<Library>,
        policy: LibraryPolicy,
    ) -> Result<Done, Refusal> {
        let mut all = match policy {
            LibraryPolicy::Flush => BTreeMap::new(),
            LibraryPolicy::Append | LibraryPolicy::Replace => (*self.by_name).clone(),
        };
        let mut added = BTreeSet::new();
        for library in libraries {
            let name = library.name.clone();
            let is_taken = policy != LibraryPolicy::Replace && all.contains_key(&name);
            if is_taken || !added.insert(name.clone()) {
                return Err(Refusal::LibraryTaken { name });
            }
            library.check().map_err(|why| Refusal::BadLibrary {
                name: name.escape_debug().take(NAME_SHOWN_MAX).collect(),
                why,
            })?;
            all.insert(name, Arc::new(library));
        }
        assert!(
            added.len() <= all.len(),
            "{} of {} libraries are new",
            added.len(),
            all.len()
        );
        check_all(&all, &added)?;
        let has_changed = *self.by_name != all;
        if has_changed {
            self.by_name = Arc::new(all);
        }
        Ok(Done::changed(has_changed))
    }

    /// A library goes.
    pub(crate) fn drop(&mut self, name: &str) -> Result<Done, Refusal> {
        if !self.by_name.contains_key(name) {
            return Err(Refusal::UnknownLibrary);
        }
        let gone = Arc::make_mut(&mut self.by_name).remove(name);
        assert!(gone.is_some(), "library '{name}' was there");
        Ok(Done::changed(true))
    }

    /// All of them go.
    pub(crate) fn clear(&mut self) -> Done {
        let has_changed = !self.is_empty();
        *self = Self::default();
        Done::changed(has_changed)
    }

    /// What is stored of them.
    pub(crate) fn stored(&self) -> Vec<&Library> {
        self.iter().map(Arc::as_ref).collect()
    }

    /// Those of a catalog that was read.
    pub(crate) fn read(stored: Vec<Library>) -> Result<Self, String> {
        let (mut libraries, count) = (Self::default(), stored.len());
        let added = libraries.add(stored, LibraryPolicy::Append);
        let _done = added.map_err(|refusal| refusal.to_string())?;
        assert_eq!(
            libraries.iter().len(),
            count,
            "each library has a name of its own"
        );
        Ok(libraries)
    }
}

/// Most of a name that is none which is shown.
const NAME_SHOWN_MAX: usize = 128;

/// What cannot be of all libraries together; of two functions of one name that of the library is told which is new.
fn check_all(
    all: &BTreeMap<String, Arc<Library>>,
    added: &BTreeSet<String>,
) -> Result<(), Refusal> {
    let bytes: usize = all.values().map(|it| it.bytes_len()).sum();
    if bytes > LIBRARIES_BYTES_MAX {
        return Err(Refusal::TooManyLibraries {
            bytes,
            most: LIBRARIES_BYTES_MAX,
        });
    }
    let mut names = BTreeSet::new();
    let (new, old): (Vec<_>, Vec<_>) = all.values().partition(|it| added.contains(&it.name));
    for function in old.into_iter().chain(new).flat_map(|it| &it.functions) {
        if !names.insert(function.name.to_ascii_lowercase()) {
            return Err(Refusal::FunctionTaken {
                name: function.name.clone(),
            });
        }
    }
    assert!(
        names.len() >= all.len(),
        "{} functions of {} libraries",
        names.len(),
        all.len()
    );
    Ok(())
}

#[cfg(test)]
#[path = "libraries_test.rs"]
mod libraries_test;
