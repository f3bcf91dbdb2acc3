//! The crates as the compiler sees them: which files each is made of, as which modules, and what of them only tests see.
//!
//! In:  the repository's files. Out: a [`House`]: parsed files without what tests alone compile, and how many lines that was.
//!
//! Invariants:
//! - A file is reached by `mod` declarations from a root (`lib.rs`, `main.rs`), as the compiler does it. What only
//!   `#[cfg(test)]` or a feature of tests (`testing`, `sabotage`) brings in is a test, whatever its name is.
//! - A line counts as code if it has a token that is no comment.

use super::prune;
use crate::tree::Tree;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;

/// All crates, in the order of their paths.
pub(crate) struct House {
    pub(crate) crates: Vec<Crate>,
}

/// A crate: its files, product and test.
pub(crate) struct Crate {
    /// The folder's name: `wire`, `xtask`.
    pub(crate) name: String,
    pub(crate) files: Vec<File>,
}

/// A file of Rust.
pub(crate) struct File {
    pub(crate) path: String,
    /// Its module, from the crate's root.
    pub(super) module: Vec<String>,
    /// What is compiled without tests; nothing of it, if only tests compile the file.
    pub(crate) ast: syn::File,
    pub(crate) is_test: bool,
    /// Lines of code that are compiled without tests, and those that are not.
    pub(super) lines: Lines,
    /// Calls of `assert!` and its like outside of tests.
    pub(super) asserts: usize,
    /// The same of `debug_assert!`.
    pub(super) debug_asserts: usize,
}

/// Lines of code, without blanks and comments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) code: usize,
    pub(super) test: usize,
}

impl House {
    /// Reads every crate.
    ///
    /// # Errors
    /// If a file is not Rust; with its path.
    pub(crate) fn read(tree: &Tree) -> Result<Self, String> {
        let mut crates = Vec::new();
        for (manifest, _) in tree.ending("Cargo.toml") {
            let folder = manifest.trim_end_matches("Cargo.toml");
            // The workspace itself is no crate.
            if !folder.is_empty() {
                crates.push(Crate::read(tree, folder)?);
            }
        }
        Ok(Self { crates })
    }

    /// All files, with their crates.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Crate, &File)> {
        let of = |it| move |file| (it, file);
        self.crates
            .iter()
            .flat_map(move |it: &Crate| it.files.iter().map(of(it)))
    }
}

impl Crate {
    fn read(tree: &Tree, folder: &str) -> Result<Self, String> {
        let mut krate = Self {
            name: folder
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned(),
            files: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        for root in ["src/lib.rs", "src/main.rs", "build.rs"] {
            let path = format!("{folder}{root}");
            if tree.text(&path).is_some() {
                krate.read_file(tree, &path, &Place::root(folder), false, &mut seen)?;
            }
        }
        // Tests, benchmarks and examples have roots of their own; none of them is in the product.
        for (path, _) in tree.ending(".rs") {
            if path.starts_with(folder) && !seen.contains(path) {
                let place = Place::root(folder);
                let is_program = path.starts_with(&format!("{folder}src/bin/"));
                let file = File::parse(tree, path, &place, !is_program)?;
                seen.insert(path.to_owned());
                krate.files.push(file);
            }
        }
        Ok(krate)
    }

    fn read_file(
        &mut self,
        tree: &Tree,
        path: &str,
        place: &Place,
        is_test: bool,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        // The product's view of a file counts where tests include it as well.
        if !seen.insert(path.to_owned()) {
            return Ok(());
        }
        let text = tree.text(path).unwrap_or_default();
        let whole = parse(path, text)?.1;
        self.files.push(File::parse(tree, path, place, is_test)?);
        self.read_children(tree, path, place, &whole.items, is_test, seen)
    }

    fn read_children(
        &mut self,
        tree: &Tree,
        path: &str,
        place: &Place,
        items: &[Item],
        is_test: bool,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        // Modules of the product first: a file that both name is the product's.
        let mut modules: Vec<(bool, &syn::ItemMod)> = items
            .iter()
            .filter_map(|item| match item {
                Item::Mod(module) => Some((is_test || prune::is_for_tests(&module.attrs), module)),
                _ => None,
            })
            .collect();
        modules.sort_by_key(|(is_test, _)| *is_test);
        for (is_test, module) in modules {
            let name = module.ident.to_string();
            let inner = place.child(&name);
            if let Some((_, items)) = &module.content {
                self.read_children(tree, path, &inner, items, is_test, seen)?;
            } else if let Some(found) = candidates(path, place, &name, module)
                .into_iter()
                .find(|it| tree.text(it).is_some())
            {
                let inner = inner.within(&found);
                self.read_file(tree, &found, &inner, is_test, seen)?;
            }
        }
        Ok(())
    }

    /// The files by module, those that tests alone compile left out.
    pub(super) fn modules(&self) -> BTreeMap<&[String], &File> {
        let product = self.files.iter().filter(|file| !file.is_test);
        product.map(|file| (file.module.as_slice(), file)).collect()
    }
}

/// Where a module is: its name, and the folder of its children.
struct Place {
    module: Vec<String>,
    folder: String,
}

impl Place {
    fn root(folder: &str) -> Self {
        Self {
            module: Vec::new(),
            folder: format!("{folder}src/"),
        }
    }

    fn child(&self, name: &str) -> Self {
        let mut module = self.module.clone();
        module.push(name.to_owned());
        Self {
            module,
            folder: format!("{}{name}/", self.folder),
        }
    }

    /// The same module, found in this file.
    fn within(mut self, path: &str) -> Self {
        self.folder = match path.strip_suffix("/mod.rs") {
            Some(folder) => format!("{folder}/"),
            None => format!("{}/", path.trim_end_matches(".rs")),
        };
        self
    }
}

fn candidates(path: &str, place: &Place, name: &str, module: &syn::ItemMod) -> Vec<String> {
    let given = module
        .attrs
        .iter()
        .find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
    match given {
        Some(given) => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            vec![format!("{folder}/{given}")]
        }
        None => vec![
            format!("{}{name}.rs", place.folder),
            format!("{}{name}/mod.rs", place.folder),
        ],
    }
}

fn parse(path: &str, text: &str) -> Result<(TokenStream, syn::File), String> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| format!("{path} is not Rust: {error}"))?;
    let file =
        syn::parse2(tokens.clone()).map_err(|error| format!("{path} is not Rust: {error}"))?;
    Ok((tokens, file))
}

impl File {
    fn parse(tree: &Tree, path: &str, place: &Place, is_test: bool) -> Result<Self, String> {
        let text = tree.text(path).unwrap_or_default();
        let (tokens, mut ast) = parse(path, text)?;
        let mut hidden = BTreeSet::new();
        if is_test {
            hidden.extend(1..=text.lines().count());
            ast.items.clear();
        } else {
            for span in prune::prune(&mut ast) {
                hidden.extend(span);
            }
        }
        let mut scan = Scan::default();
        scan.read(tokens, &hidden);
        let test = scan.lines.intersection(&hidden).count();
        Ok(Self {
            path: path.to_owned(),
            module: place.module.clone(),
            ast,
            is_test,
            lines: Lines {
                code: scan.lines.len() - test,
                test,
            },
            asserts: scan.asserts,
            debug_asserts: scan.debug_asserts,
        })
    }
}

/// What the tokens of a file tell.
#[derive(Default)]
struct Scan {
    lines: BTreeSet<usize>,
    asserts: usize,
    debug_asserts: usize,
}

impl Scan {
    fn read(&mut self, tokens: TokenStream, hidden: &BTreeSet<usize>) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if is_punct(&token, '#') {
                if is_punct_next(tokens.peek(), '!')
                    && is_doc(&token, tokens.clone().nth(1).as_ref())
                {
                    tokens.next();
                    tokens.next();
                    continue;
                }
                if is_doc(&token, tokens.peek()) {
                    tokens.next();
                    continue;
                }
            }
            let line = token.span().start().line;
            if let TokenTree::Ident(name) = &token
                && is_punct_next(tokens.peek(), '!')
                && !hidden.contains(&line)
            {
                let name = name.to_string();
                match name.strip_prefix("debug_").unwrap_or(&name) {
                    "assert" | "assert_eq" | "assert_ne" if name.starts_with("debug_") => {
                        self.debug_asserts += 1;
                    }
                    "assert" | "assert_eq" | "assert_ne" => self.asserts += 1,
                    _ => {}
                }
            }
            match token {
                TokenTree::Group(group) => {
                    if group.delimiter() != Delimiter::None {
                        self.lines.insert(group.span_open().start().line);
                        self.lines.insert(group.span_close().end().line);
                    }
                    self.read(group.stream(), hidden);
                }
                token => {
                    let span = token.span();
                    self.lines.extend(span.start().line..=span.end().line);
                }
            }
        }
    }
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_punct_next(token: Option<&TokenTree>, sign: char) -> bool {
    token.is_some_and(|token| is_punct(token, sign))
}

/// Whether `sign` and `group` are a comment: those of `///` both lie where the comment does.
fn is_doc(sign: &TokenTree, group: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = group else {
        return false;
    };
    let is_named = group
        .stream()
        .into_iter()
        .next()
        .is_some_and(|it| matches!(it, TokenTree::Ident(name) if name == "doc"));
    is_named && sign.span().start() == group.span().start()
}
