//! Takes out of a file what only tests compile.
//!
//! In:  a parsed file. Out: the same without those items, fields, variants, arms and statements; the lines they were on.
//!
//! Not here: files that a `#[cfg(test)] mod` names; the walk over modules (`house`) knows them.

use std::ops::RangeInclusive;
use syn::{
    Arm, Attribute, Field, FieldValue, ImplItem, Item, Meta, Stmt, Token, TraitItem, Variant,
    punctuated::Punctuated, spanned::Spanned, visit_mut::VisitMut,
};

/// Features that only tests turn on.
const TEST_FEATURES: [&str; 2] = ["testing", "sabotage"];

/// Takes out what is for tests; returns its lines.
pub(super) fn prune(file: &mut syn::File) -> Vec<RangeInclusive<usize>> {
    let mut pruner = Pruner::default();
    pruner.visit_file_mut(file);
    pruner.lines
}

/// Whether a `cfg` of these leaves the item out unless tests are built.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let is_test = attribute
            .path()
            .segments
            .last()
            .is_some_and(|it| it.ident == "test");
        let holds = || {
            attribute
                .parse_args::<Meta>()
                .ok()
                .and_then(|meta| holds(&meta))
        };
        is_test || (is_cfg && holds() == Some(false))
    })
}

/// Whether a condition holds in the product; `None`: it depends on the system or on a feature of users.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) if path.is_ident("test") => Some(false),
        Meta::NameValue(pair) if pair.path.is_ident("feature") => {
            let is_tests = match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(name),
                    ..
                }) => TEST_FEATURES.contains(&name.value().as_str()),
                _ => false,
            };
            is_tests.then_some(false)
        }
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()?;
            let mut parts = parts.iter().map(holds);
            if list.path.is_ident("not") {
                parts.next()?.map(|it| !it)
            } else if list.path.is_ident("all") {
                parts.any(|it| it == Some(false)).then_some(false)
            } else {
                parts.all(|it| it == Some(false)).then_some(false)
            }
        }
        _ => None,
    }
}

#[derive(Default)]
struct Pruner {
    lines: Vec<RangeInclusive<usize>>,
}

impl Pruner {
    fn keeps(&mut self, attributes: &[Attribute], what: &impl Spanned) -> bool {
        let is_kept = !is_for_tests(attributes);
        if !is_kept {
            self.lines.push(lines_of(what));
        }
        is_kept
    }

    fn filter<T: Spanned, P: Default>(
        &mut self,
        parts: &mut Punctuated<T, P>,
        attributes: impl Fn(&T) -> &[Attribute],
    ) {
        let all = std::mem::take(parts);
        let kept = all.into_iter().filter(|it| self.keeps(attributes(it), it));
        *parts = kept.collect();
    }
}

impl VisitMut for Pruner {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|it| self.keeps(of_item(it), it));
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|it| self.keeps(of_item(it), it));
        }
        syn::visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|it| self.keeps(of_impl_item(it), it));
        syn::visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        item.items.retain(|it| self.keeps(of_trait_item(it), it));
        syn::visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_item_enum_mut(&mut self, item: &mut syn::ItemEnum) {
        self.filter(&mut item.variants, |it: &Variant| &it.attrs);
        syn::visit_mut::visit_item_enum_mut(self, item);
    }

    fn visit_fields_named_mut(&mut self, fields: &mut syn::FieldsNamed) {
        self.filter(&mut fields.named, |it: &Field| &it.attrs);
        syn::visit_mut::visit_fields_named_mut(self, fields);
    }

    fn visit_expr_struct_mut(&mut self, value: &mut syn::ExprStruct) {
        self.filter(&mut value.fields, |it: &FieldValue| &it.attrs);
        syn::visit_mut::visit_expr_struct_mut(self, value);
    }

    fn visit_expr_match_mut(&mut self, value: &mut syn::ExprMatch) {
        value.arms.retain(|it: &Arm| self.keeps(&it.attrs, it));
        syn::visit_mut::visit_expr_match_mut(self, value);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|it| self.keeps(of_statement(it), it));
        syn::visit_mut::visit_block_mut(self, block);
    }
}

fn of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn of_impl_item(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(it) => &it.attrs,
        ImplItem::Fn(it) => &it.attrs,
        ImplItem::Type(it) => &it.attrs,
        ImplItem::Macro(it) => &it.attrs,
        _ => &[],
    }
}

fn of_trait_item(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(it) => &it.attrs,
        TraitItem::Fn(it) => &it.attrs,
        TraitItem::Type(it) => &it.attrs,
        TraitItem::Macro(it) => &it.attrs,
        _ => &[],
    }
}

fn of_statement(statement: &Stmt) -> &[Attribute] {
    match statement {
        Stmt::Local(it) => &it.attrs,
        Stmt::Item(it) => of_item(it),
        Stmt::Macro(it) => &it.attrs,
        Stmt::Expr(syn::Expr::Block(it), _) => &it.attrs,
        Stmt::Expr(syn::Expr::If(it), _) => &it.attrs,
        Stmt::Expr(syn::Expr::Return(it), _) => &it.attrs,
        Stmt::Expr(syn::Expr::MethodCall(it), _) => &it.attrs,
        Stmt::Expr(syn::Expr::Call(it), _) => &it.attrs,
        Stmt::Expr(..) => &[],
    }
}

/// The lines of something.
fn lines_of(what: &impl Spanned) -> RangeInclusive<usize> {
    let span = what.span();
    span.start().line..=span.end().line
}
