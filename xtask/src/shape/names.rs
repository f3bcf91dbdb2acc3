//! What a path such as `crate::a::Name` or `super::b::f` means: the file in which it ends, through imports and re-exports.
//!
//! In:  the files of a crate. Out: [`Names`], which resolves the paths of any of its modules.
//!
//! Invariants:
//! - A re-export is followed to where the thing is defined, so a crate's door is no part of every circle.
//! - What belongs to another crate, or to the language, resolves to nothing.
//!
//! Not here: methods and fields; for those the compiler alone knows the type.

use super::house::Crate;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, UseTree};

/// Re-exports of re-exports; more than this is a circle of them.
const HOPS_MAX: usize = 16;

/// The names of each module.
pub(super) struct Names<'a> {
    modules: BTreeMap<Vec<String>, Module<'a>>,
}

struct Module<'a> {
    file: &'a str,
    items: BTreeSet<String>,
    imports: Vec<Import>,
}

/// One name that `use` brings in, or all names of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// `None`: all names.
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
}

/// Where a path ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) module: Vec<String>,
    pub(super) file: &'a str,
    /// The item in that module; `None`: the path names the module itself.
    pub(super) item: Option<String>,
}

impl<'a> Names<'a> {
    pub(super) fn of(krate: &'a Crate) -> Self {
        let mut names = Self {
            modules: BTreeMap::new(),
        };
        for file in krate.modules().values() {
            names.add(&file.module, &file.path, &file.ast.items);
        }
        names
    }

    fn add(&mut self, path: &[String], file: &'a str, items: &'a [Item]) {
        let mut module = Module {
            file,
            items: BTreeSet::new(),
            imports: Vec::new(),
        };
        for item in items {
            match item {
                Item::Use(it) => flatten(&it.tree, &mut Vec::new(), &mut module.imports),
                Item::Mod(it) => {
                    if let Some((_, inner)) = &it.content {
                        let path = [path, &[it.ident.to_string()]].concat();
                        self.add(&path, file, inner);
                    }
                }
                item => module.items.extend(name_of(item)),
            }
        }
        self.modules.insert(path.to_vec(), module);
    }

    /// Where `path`, written in `module`, ends; `None` if that is not in this crate.
    pub(super) fn resolve(&self, module: &[String], path: &[String]) -> Option<Found<'a>> {
        self.resolve_within(module, path, HOPS_MAX)
    }

    fn resolve_within(&self, module: &[String], path: &[String], hops: usize) -> Option<Found<'a>> {
        let hops = hops.checked_sub(1)?;
        let mut at: Vec<String> = match path.first()?.as_str() {
            "crate" => Vec::new(),
            _ => module.to_vec(),
        };
        let mut rest = path;
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => {
                    at.pop()?;
                }
                _ => break,
            }
            rest = tail;
        }
        while let Some((first, tail)) = rest.split_first() {
            let child = [at.as_slice(), std::slice::from_ref(first)].concat();
            if self.modules.contains_key(&child) {
                at = child;
                rest = tail;
                continue;
            }
            let here = self.modules.get(&at)?;
            if here.items.contains(first) {
                return Some(Found {
                    module: at,
                    file: here.file,
                    item: Some(first.clone()),
                });
            }
            return self.imported(&at, here, first, tail, hops);
        }
        let file = self.modules.get(&at)?.file;
        Some(Found {
            module: at,
            file,
            item: None,
        })
    }

    fn imported(
        &self,
        at: &[String],
        here: &Module<'a>,
        first: &str,
        tail: &[String],
        hops: usize,
    ) -> Option<Found<'a>> {
        let by_name = here
            .imports
            .iter()
            .find(|it| it.name.as_deref() == Some(first));
        if let Some(import) = by_name {
            // `use x::x` in the module `x` would ask itself for ever.
            let path = [import.path.as_slice(), tail].concat();
            return self.resolve_within(at, &path, hops);
        }
        let globs = here.imports.iter().filter(|it| it.name.is_none());
        globs
            .filter_map(|import| {
                let target = self.resolve_within(at, &import.path, hops)?;
                let name = [&[first.to_owned()], tail].concat();
                let is_module = target.item.is_none() && target.module != at;
                let found =
                    is_module.then(|| self.resolve_within(&target.module, &name, hops))??;
                found.item.is_some().then_some(found)
            })
            .next()
    }
}

/// The names that a `use` brings in.
pub(super) fn flatten(tree: &UseTree, before: &mut Vec<String>, imports: &mut Vec<Import>) {
    match tree {
        UseTree::Path(it) => {
            before.push(it.ident.to_string());
            flatten(&it.tree, before, imports);
            before.pop();
        }
        UseTree::Name(it) if it.ident == "self" => imports.push(Import {
            name: before.last().cloned(),
            path: before.clone(),
        }),
        UseTree::Name(it) => {
            let name = it.ident.to_string();
            imports.push(Import {
                path: [before.as_slice(), std::slice::from_ref(&name)].concat(),
                name: Some(name),
            });
        }
        UseTree::Rename(it) => {
            let mut path = before.clone();
            if it.ident != "self" {
                path.push(it.ident.to_string());
            }
            imports.push(Import {
                name: Some(it.rename.to_string()),
                path,
            });
        }
        UseTree::Glob(_) => imports.push(Import {
            name: None,
            path: before.clone(),
        }),
        UseTree::Group(it) => {
            for tree in &it.items {
                flatten(tree, before, imports);
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}
