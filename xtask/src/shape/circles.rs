//! Import circles: files of a crate that cannot be read one after the other, since each needs the other.
//!
//! In:  a crate. Out: its circles (strongly connected components of the imports between its files), largest first.
//!
//! An import is a `use`, or a path that begins with `crate`, `super`, `self` or a child module, outside of tests. It goes to the
//! file where the thing is defined, whatever re-exports it.

use super::{
    house::Crate,
    names::{Import, Names, flatten},
};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::{Visibility, visit::Visit};

/// The files that each file imports from.
pub(super) type Imports<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// All circles of a crate: those of more than one file.
pub(super) fn circles(krate: &Crate) -> Vec<Vec<&str>> {
    let mut circles: Vec<Vec<&str>> = components(&imports(krate))
        .into_iter()
        .filter(|it| it.len() > 1)
        .collect();
    circles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    circles
}

pub(super) fn imports(krate: &Crate) -> Imports<'_> {
    let names = Names::of(krate);
    let mut imports = Imports::new();
    for file in krate.modules().into_values() {
        let mut paths = Paths {
            module: file.module.clone(),
            found: BTreeSet::new(),
        };
        paths.visit_file(&file.ast);
        let targets = paths
            .found
            .iter()
            .filter_map(|(module, path)| names.resolve(module, path))
            .map(|found| found.file)
            .filter(|target| *target != file.path);
        imports.insert(&file.path, targets.collect());
    }
    imports
}

/// Every path of a file, with the module that it stands in.
struct Paths {
    module: Vec<String>,
    found: BTreeSet<(Vec<String>, Vec<String>)>,
}

impl Paths {
    fn note(&mut self, path: Vec<String>) {
        self.found.insert((self.module.clone(), path));
    }

    /// Paths among the arguments of a macro, which no parser knows.
    fn read(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 && !path.is_empty() {
                        self.note(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                token => {
                    if path.len() > 1 {
                        self.note(std::mem::take(&mut path));
                    }
                    path.clear();
                    colons = 0;
                    if let TokenTree::Group(group) = token {
                        self.read(group.stream());
                    }
                }
            }
        }
        if path.len() > 1 {
            self.note(path);
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        syn::visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A door that passes a name on needs it for nothing; who comes through it needs it from where it is defined.
        if !matches!(item.vis, Visibility::Inherited) {
            return;
        }
        let mut imports: Vec<Import> = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut imports);
        for import in imports {
            self.note(import.path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // One word alone is what an import above it, or the file itself, has named.
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.note(
                path.segments
                    .iter()
                    .map(|it| it.ident.to_string())
                    .collect(),
            );
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.read(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(in super::a)` imports nothing.
    }
}

/// Strongly connected components (Tarjan, 1972), without recursion: a crate's chain of imports may be long.
fn components<'a>(imports: &Imports<'a>) -> Vec<Vec<&'a str>> {
    let files: Vec<&str> = imports.keys().copied().collect();
    let place: BTreeMap<&str, usize> = files.iter().copied().zip(0..).collect();
    let next: Vec<Vec<usize>> = imports
        .values()
        .map(|targets| {
            targets
                .iter()
                .filter_map(|it| place.get(it).copied())
                .collect()
        })
        .collect();
    let mut search = Search {
        order: vec![None; files.len()],
        low: vec![0; files.len()],
        is_open: vec![false; files.len()],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for start in 0..files.len() {
        search.run(start, &next);
    }
    let named = |it: Vec<usize>| it.into_iter().map(|at| files[at]).collect();
    search.found.into_iter().map(named).collect()
}

struct Search {
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    is_open: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn run(&mut self, start: usize, next: &[Vec<usize>]) {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if self.order[start].is_none() {
            self.enter(start);
            path.push((start, 0));
        }
        while let Some((at, edge)) = path.pop() {
            if let Some(&target) = next[at].get(edge) {
                path.push((at, edge + 1));
                match self.order[target] {
                    None => {
                        self.enter(target);
                        path.push((target, 0));
                    }
                    Some(order) if self.is_open[target] => self.low[at] = self.low[at].min(order),
                    Some(_) => {}
                }
                continue;
            }
            if Some(self.low[at]) == self.order[at] {
                self.close(at);
            }
            if let Some(&(parent, _)) = path.last() {
                self.low[parent] = self.low[parent].min(self.low[at]);
            }
        }
    }

    fn enter(&mut self, at: usize) {
        self.order[at] = Some(self.count);
        self.low[at] = self.count;
        self.count += 1;
        self.is_open[at] = true;
        self.stack.push(at);
    }

    fn close(&mut self, at: usize) {
        let begin = self
            .stack
            .iter()
            .rposition(|it| *it == at)
            .unwrap_or_default();
        let mut component = self.stack.split_off(begin);
        for it in &component {
            self.is_open[*it] = false;
        }
        component.sort_unstable();
        self.found.push(component);
    }
}
