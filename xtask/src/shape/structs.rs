//! How much each struct holds and does: its fields, its methods, and the files in which they are written.
//!
//! In:  the crates. Out: a [`Struct`] for each struct outside of tests.
//!
//! A method is a function in an `impl` of the struct, of its own or of a trait; derived ones do not count.

use super::{
    house::{Crate, House},
    kind::Kind,
    names::Names,
};
use std::collections::{BTreeMap, BTreeSet};
use syn::{ImplItem, Item, Type};

/// A struct, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Struct {
    /// `brick::Core`, or with its module where its crate has two of that name.
    pub(super) name: String,
    pub(super) is_product: bool,
    pub(super) fields: usize,
    pub(super) methods: usize,
    /// Files with an `impl` of it.
    pub(super) files: usize,
}

/// Module and name.
type Id = (Vec<String>, String);

#[derive(Default)]
struct Body<'a> {
    fields: usize,
    methods: usize,
    files: BTreeSet<&'a str>,
    is_product: bool,
}

/// All structs.
pub(super) fn structs(house: &House) -> Vec<Struct> {
    house.crates.iter().flat_map(of_crate).collect()
}

fn of_crate(krate: &Crate) -> Vec<Struct> {
    let names = Names::of(krate);
    let mut bodies: BTreeMap<Id, Body<'_>> = BTreeMap::new();
    each_item(krate, &mut |file, module, item| {
        if let Item::Struct(it) = item {
            let body = bodies
                .entry((module.to_vec(), it.ident.to_string()))
                .or_default();
            body.fields = it.fields.len();
            body.is_product = Kind::of(krate, file).is_product();
        }
    });
    each_item(krate, &mut |file, module, item| {
        let Item::Impl(it) = item else { return };
        let Some(path) = self_path(&it.self_ty) else {
            return;
        };
        let Some(found) = names.resolve(module, &path) else {
            return;
        };
        let Some(name) = found.item else { return };
        if let Some(body) = bodies.get_mut(&(found.module, name)) {
            let is_method = |it: &&ImplItem| matches!(it, ImplItem::Fn(_));
            body.methods += it.items.iter().filter(is_method).count();
            body.files.insert(file);
        }
    });
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in bodies.keys() {
        *counts.entry(name).or_default() += 1;
    }
    bodies
        .iter()
        .map(|((module, name), body)| {
            let is_alone = counts[name.as_str()] == 1;
            let module = module.iter().filter(|_| !is_alone);
            let parts = std::iter::once(&krate.name).chain(module).chain([name]);
            Struct {
                name: parts.cloned().collect::<Vec<_>>().join("::"),
                is_product: body.is_product,
                fields: body.fields,
                methods: body.methods,
                files: body.files.len(),
            }
        })
        .collect()
}

/// Calls `visit` with every item of the crate that is not for tests: its file, its module, the item.
pub(super) fn each_item<'a>(
    krate: &'a Crate,
    visit: &mut impl FnMut(&'a str, &[String], &'a Item),
) {
    for file in krate.modules().into_values() {
        walk(&file.path, &file.module, &file.ast.items, visit);
    }
}

fn walk<'a>(
    file: &'a str,
    module: &[String],
    items: &'a [Item],
    visit: &mut impl FnMut(&'a str, &[String], &'a Item),
) {
    for item in items {
        visit(file, module, item);
        if let Item::Mod(it) = item
            && let Some((_, inner)) = &it.content
        {
            let module = [module, &[it.ident.to_string()]].concat();
            walk(file, &module, inner, visit);
        }
    }
}

fn self_path(of: &Type) -> Option<Vec<String>> {
    match of {
        Type::Path(it) => Some(
            it.path
                .segments
                .iter()
                .map(|it| it.ident.to_string())
                .collect(),
        ),
        Type::Reference(it) => self_path(&it.elem),
        Type::Paren(it) => self_path(&it.elem),
        _ => None,
    }
}
