//! The mutants of the product: what is changed where, by rule.
//!
//! In:  the files of the crates that have mutants, without what tests alone compile. Out: [`Mutant`]s.
//!
//! | What | Becomes |
//! |---|---|
//! | `<` `<=` `>` `>=` `==` `!=` | the nearest other comparison |
//! | `&&` `\|\|`, `+` `-`, `+=` `-=`, `.min` `.max`, `.any` `.all`, `.is_some` `.is_none` | each other |
//! | `!x`; a guard of an arm | `x`; `true`, `false` |
//! | an integer, unless what is compared for order | one more |
//! | a call or an assignment that nothing takes the result of | nothing |
//! | the body of a function that returns `bool`, `Option<_>`, `Result<(), _>` | `true`, `false`; `None`; `Ok(())` |
//!
//! Invariants:
//! - Nothing within macros (so no assertion, no line of a log), patterns, types, constants, `const fn`, `Debug` and `Display`.
//! - Pieces of two mutants are apart, the same, or one a part of the other.
//!
//! Not here: whether the types allow it; the build leaves out what does not compile (`build`).

use super::crates::CRATES;
use crate::planted::choice::Form;
use crate::shape::house::House;
use crate::tree::Tree;
use proc_macro2::Span;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ReturnType, Signature, Stmt, Type, UnOp};

/// A small error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Of ten digits: hangs on the file, the function's name and the two texts.
    pub(super) name: String,
    pub(super) file: String,
    pub(super) function: String,
    /// Hangs on the function's text.
    pub(super) body: u64,
    pub(super) line: usize,
    pub(super) range: Range<usize>,
    pub(super) before: String,
    /// What stands there instead; empty: nothing.
    pub(super) after: String,
    pub(super) form: Form,
}

impl Mutant {
    /// The crate's folder.
    pub(super) fn krate(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }

    /// The two texts, short enough for a line.
    pub(super) fn change(&self) -> String {
        let after = match self.after.as_str() {
            "" => "nothing".to_owned(),
            after => format!("`{}`", short(after)),
        };
        format!("`{}` becomes {after}", short(&self.before))
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            function,
            ..
        } = self;
        write!(f, "{file}:{line} {function}: {}", self.change())
    }
}

/// Characters of a text that are shown.
const SHOWN_MAX: usize = 72;

fn short(text: &str) -> String {
    let text = squeeze(text);
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let begin: String = text.chars().take(SHOWN_MAX).collect();
    begin + "..."
}

/// A text without line breaks and indentation.
pub(super) fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// FNV-1a: the same everywhere and always.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Ten of them.
const DIGITS: u64 = 0xff_ffff_ffff;

/// All mutants, in the order of crates, files and places.
///
/// # Errors
/// If a file is not Rust; with its path.
pub(super) fn all(tree: &Tree) -> Result<Vec<Mutant>, String> {
    let house = House::read(tree)?;
    let mut all = Vec::new();
    for (krate, file) in house.files() {
        let is_fake = FAKES.iter().any(|it| file.path.ends_with(it));
        if file.is_test || is_fake || !CRATES.contains(&krate.name.as_str()) {
            continue;
        }
        let mut finder = Finder {
            path: &file.path,
            text: tree.text(&file.path).unwrap_or_default(),
            function: Vec::new(),
            body: 0,
            counts: BTreeMap::new(),
            found: Vec::new(),
        };
        finder.visit_file(&file.ast);
        finder.found.sort_by_key(|it| it.range.start);
        all.extend(finder.found);
    }
    Ok(all)
}

struct Finder<'a> {
    path: &'a str,
    text: &'a str,
    /// Where it is: types, functions.
    function: Vec<String>,
    body: u64,
    /// How often the same change was made in a function.
    counts: BTreeMap<String, usize>,
    found: Vec<Mutant>,
}

/// What only tests and the simulator use, although every build has it.
const FAKES: [&str; 1] = ["store/src/mem_disk.rs"];

/// Methods that stand for each other.
const TWINS: [(&str, &str); 3] = [("min", "max"), ("any", "all"), ("is_some", "is_none")];

/// Calls that are about memory alone.
const HINTS: [&str; 5] = [
    "with_capacity",
    "reserve",
    "reserve_exact",
    "shrink_to",
    "shrink_to_fit",
];

impl Finder<'_> {
    fn add(&mut self, range: Range<usize>, span: Span, after: impl Into<String>, form: Form) {
        let (before, after) = (self.text[range.clone()].to_owned(), after.into());
        let function = self.function.join("::");
        let texts = format!("{} {}", squeeze(&before), squeeze(&after));
        let key = format!("{} {function} {texts}", self.path);
        let count = self.counts.entry(key.clone()).or_default();
        *count += 1;
        let name = hash(&format!("{key} {count}")) & DIGITS;
        self.found.push(Mutant {
            name: format!("{name:010x}"),
            file: self.path.to_owned(),
            function,
            body: self.body,
            line: span.start().line,
            range,
            before,
            after,
            form,
        });
    }

    fn replace(&mut self, what: &impl Spanned, after: impl Into<String>) {
        let span = what.span();
        self.add(span.byte_range(), span, after, Form::Expression);
    }

    /// Leaves out a statement, or a call at the end of a block; assertions and hints stay.
    fn delete(&mut self, what: &impl Spanned, call: &Expr) {
        let is_kept = called(call).is_some_and(|it| is_hint(it) || is_assertion(it));
        if is_kept {
            return;
        }
        let span = what.span();
        let range = span.byte_range();
        let form = if self.text[range.clone()].ends_with(';') {
            Form::Statements
        } else {
            Form::Expression
        };
        self.add(range, span, "", form);
    }

    fn text(&self, what: &impl Spanned) -> &str {
        &self.text[what.span().byte_range()]
    }

    fn within(&mut self, name: String, work: impl FnOnce(&mut Self)) {
        self.function.push(name);
        work(self);
        self.function.pop();
    }

    fn body(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() {
            return;
        }
        let body = hash(&squeeze(self.text(block))) & DIGITS;
        let around = std::mem::replace(&mut self.body, body);
        self.within(signature.ident.to_string(), |it| {
            it.results(&signature.output, block);
            if matches!(signature.output, ReturnType::Default) {
                it.unit(block);
            }
            it.visit_block(block);
        });
        self.body = around;
    }

    /// Bodies that are a constant.
    fn results(&mut self, output: &ReturnType, block: &Block) {
        let (ReturnType::Type(_, kind), Some(first), Some(last)) =
            (output, block.stmts.first(), block.stmts.last())
        else {
            return;
        };
        let afters: &[&str] = match (name_of(kind), self.text(kind)) {
            (Some(name), _) if name == "bool" => &["true", "false"],
            (Some(name), _) if name == "Option" => &["None"],
            (Some(name), text) if name == "Result" && text.contains("Result<()") => &["Ok(())"],
            _ => return,
        };
        let range = first.span().byte_range().start..last.span().byte_range().end;
        let body = squeeze(&self.text[range.clone()]);
        for after in afters.iter().filter(|it| **it != body) {
            self.add(range.clone(), first.span(), *after, Form::Expression);
        }
    }

    /// A block of the type `()`: what stands at its end may be left out.
    fn unit(&mut self, block: &Block) {
        if let Some(Stmt::Expr(last, None)) = block.stmts.last() {
            self.unit_end(last);
        }
    }

    fn unit_end(&mut self, end: &Expr) {
        match end {
            Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => self.delete(end, end),
            Expr::Block(it) => self.unit(&it.block),
            Expr::If(it) => {
                self.unit(&it.then_branch);
                if let Some((_, other)) = &it.else_branch {
                    self.unit_end(other);
                }
            }
            Expr::Match(it) => it.arms.iter().for_each(|arm| self.unit_end(&arm.body)),
            // Loops look after their own bodies.
            _ => {}
        }
    }

    fn binary(&mut self, it: &syn::ExprBinary) {
        let after = match it.op {
            BinOp::Lt(_) => "<=",
            BinOp::Le(_) => "<",
            BinOp::Gt(_) => ">=",
            BinOp::Ge(_) => ">",
            BinOp::Eq(_) => "!=",
            BinOp::Ne(_) => "==",
            BinOp::Add(_) => "-",
            BinOp::Sub(_) => "+",
            BinOp::And(_) if !binds(&it.left) && !binds(&it.right) => "||",
            BinOp::Or(_) => "&&",
            BinOp::AddAssign(_) => "-=",
            BinOp::SubAssign(_) => "+=",
            _ => return,
        };
        let after = format!("{} {after} {}", self.text(&it.left), self.text(&it.right));
        self.replace(it, after);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_impl(&mut self, it: &'ast syn::ItemImpl) {
        let told = ["Debug", "Display"];
        let is_told = it.trait_.as_ref().is_some_and(|(_, path, _)| {
            let last = path.segments.last();
            last.is_some_and(|it| told.iter().any(|name| it.ident == name))
        });
        if !is_told {
            let name = name_of(&it.self_ty).unwrap_or_default();
            self.within(name, |finder| visit::visit_item_impl(finder, it));
        }
    }

    fn visit_item_mod(&mut self, it: &'ast syn::ItemMod) {
        self.within(it.ident.to_string(), |finder| {
            visit::visit_item_mod(finder, it);
        });
    }

    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.body(&it.sig, &it.block);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.body(&it.sig, &it.block);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(block) = &it.default {
            self.body(&it.sig, block);
        }
    }

    fn visit_block(&mut self, it: &'ast Block) {
        for (at, statement) in it.stmts.iter().enumerate() {
            match statement {
                Stmt::Expr(
                    call @ (Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Try(_)),
                    Some(_),
                ) => self.delete(statement, call),
                Stmt::Local(local) if matches!(local.pat, syn::Pat::Wild(_)) => {
                    if let Some(init) = local.init.as_ref().filter(|it| it.diverge.is_none()) {
                        self.delete(statement, &init.expr);
                    }
                }
                Stmt::Expr(end, None) if at + 1 < it.stmts.len() => self.unit_end(end),
                _ => {}
            }
        }
        visit::visit_block(self, it);
    }

    fn visit_expr_for_loop(&mut self, it: &'ast syn::ExprForLoop) {
        self.unit(&it.body);
        visit::visit_expr_for_loop(self, it);
    }

    fn visit_expr_while(&mut self, it: &'ast syn::ExprWhile) {
        self.unit(&it.body);
        visit::visit_expr_while(self, it);
    }

    fn visit_expr_loop(&mut self, it: &'ast syn::ExprLoop) {
        self.unit(&it.body);
        visit::visit_expr_loop(self, it);
    }

    fn visit_arm(&mut self, it: &'ast syn::Arm) {
        if let Some((_, guard)) = &it.guard
            && !binds(guard)
        {
            self.replace(guard, "true");
            self.replace(guard, "false");
        }
        visit::visit_arm(self, it);
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        self.binary(it);
        // One more of what is compared for order is what the other comparison says.
        let is_order = matches!(
            it.op,
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        );
        for side in [&it.left, &it.right] {
            if !(is_order && matches!(**side, Expr::Lit(_))) {
                self.visit_expr(side);
            }
        }
    }

    fn visit_expr_unary(&mut self, it: &'ast syn::ExprUnary) {
        if matches!(it.op, UnOp::Not(_)) {
            let after = self.text(&it.expr).to_owned();
            self.replace(it, after);
        }
        visit::visit_expr_unary(self, it);
    }

    fn visit_expr_lit(&mut self, it: &'ast syn::ExprLit) {
        if let syn::Lit::Int(number) = &it.lit {
            let after = format!("({} + 1)", self.text(number));
            self.replace(it, after);
        }
    }

    fn visit_expr_call(&mut self, it: &'ast syn::ExprCall) {
        if !name_of_function(&it.func).is_some_and(is_hint) {
            visit::visit_expr_call(self, it);
        }
    }

    fn visit_expr_method_call(&mut self, it: &'ast syn::ExprMethodCall) {
        if is_hint(&it.method) {
            return;
        }
        for (one, other) in TWINS.iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
            if it.method == one {
                let (whole, name) = (it.span().byte_range(), it.method.span().byte_range());
                let (begin, end) = (whole.start..name.start, name.end..whole.end);
                let after = format!("{}{other}{}", &self.text[begin], &self.text[end]);
                self.replace(it, after);
            }
        }
        visit::visit_expr_method_call(self, it);
    }

    fn visit_expr_repeat(&mut self, it: &'ast syn::ExprRepeat) {
        // What fills a buffer is written over.
        if !matches!(*it.expr, Expr::Lit(_)) {
            self.visit_expr(&it.expr);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        _: &'ast syn::AngleBracketedGenericArguments,
    ) {
    }
}

/// The name of what is called.
fn called(call: &Expr) -> Option<&syn::Ident> {
    match call {
        Expr::Call(it) => name_of_function(&it.func),
        Expr::MethodCall(it) => Some(&it.method),
        _ => None,
    }
}

fn name_of_function(function: &Expr) -> Option<&syn::Ident> {
    match function {
        Expr::Path(it) => it.path.segments.last().map(|it| &it.ident),
        _ => None,
    }
}

/// A function that asserts, by its name.
fn is_assertion(name: &syn::Ident) -> bool {
    name == "check" || name.to_string().starts_with("assert")
}

fn is_hint(name: &syn::Ident) -> bool {
    HINTS.iter().any(|hint| name == hint)
}

/// Whether a condition has a `let` of its own: such parts only stand side by side.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(it) => binds(&it.left) || binds(&it.right),
        _ => false,
    }
}

/// The last part of a type's path.
fn name_of(kind: &Type) -> Option<String> {
    match kind {
        Type::Path(it) => it.path.segments.last().map(|it| it.ident.to_string()),
        Type::Reference(it) => name_of(&it.elem),
        _ => None,
    }
}
