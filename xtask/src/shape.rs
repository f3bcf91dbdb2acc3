//! The shape of the crates in figures: how big structs are, what cannot be read alone, how much code there is and what for.
//!
//! In:  the repository's files. Out: a [`Shape`]: its table, and findings where a figure is worse than its limit (xtask/shape.toml).
//!
//! Invariant: what a figure counts is read from the syntax tree, outside of tests, and does not depend on how code is formatted
//! (lines apart, which `cargo fmt` breaks in one way).

mod circles;
pub(crate) mod house;
mod kind;
mod limits;
mod names;
mod prune;
mod structs;
mod table;
mod way;

use crate::{finding::Finding, tree::Tree};
use house::House;
use kind::Kind;
use limits::{Figure, Limits, Rounding, Sense};
use std::collections::{BTreeMap, BTreeSet};
use structs::Struct;
use syn::{Item, Visibility, visit::Visit};
use way::Way;

/// What was measured.
pub struct Shape {
    /// Without those that nothing would be said of: all outside of tests, the product's and the simulator's.
    structs: Vec<Struct>,
    /// The circles of each crate, largest first.
    circles: BTreeMap<String, Vec<Vec<String>>>,
    lines: BTreeMap<Kind, usize>,
    asserts: Vec<Asserts>,
    /// Names of public types that more than one place of the product has.
    twins: BTreeMap<String, Vec<String>>,
    way: Trace,
    /// Files of the product that ask for a deliberate bug, and how often.
    switches: Vec<(String, usize)>,
    limits: Limits,
    findings: Vec<Finding>,
}

/// A crate's assertions.
struct Asserts {
    name: String,
    lines: usize,
    asserts: usize,
    debug: usize,
}

impl Asserts {
    /// For 1,000 lines of code.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of lines are far below 2^52"
    )]
    fn density(&self) -> f64 {
        self.asserts as f64 * 1000.0 / self.lines.max(1) as f64
    }
}

/// The size of a replicated SET's way.
struct Trace {
    files: usize,
    crates: usize,
    visits: usize,
    /// How often the file that is entered most is.
    most: usize,
}

impl Shape {
    /// Measures the tree.
    ///
    /// # Errors
    /// If a file is not Rust, or xtask/shape.toml has no such limits; in words.
    pub fn measure(tree: &Tree) -> Result<Self, String> {
        let house = House::read(tree)?;
        let limits = Limits::parse(tree.text(limits::FILE).unwrap_or_default())?;
        let way = Way::parse(tree.text(way::LIST).unwrap_or_default());
        let mut shape = Self {
            structs: structs::structs(&house),
            circles: circles_of(&house),
            lines: kind::lines(&house.crates),
            asserts: asserts(&house),
            twins: twins(&house),
            way: Trace {
                files: way.files().len(),
                crates: way.crates().len(),
                visits: way.visits(),
                most: way.most_visits(),
            },
            switches: switches(&house),
            findings: way.findings(&house),
            limits,
        };
        shape
            .findings
            .extend(shape.limits.findings(&shape.figures()));
        Ok(shape)
    }

    /// The table, as Markdown.
    #[must_use]
    pub fn table(&self) -> String {
        table::render(self)
    }

    /// The files of each import circle.
    #[must_use]
    pub fn circles(&self) -> String {
        table::circle_files(self)
    }

    /// Each public type name that occurs twice, and where.
    #[must_use]
    pub fn twins(&self) -> String {
        table::twins(self)
    }

    /// What is worse than its limit, and steps of a replicated SET that are gone.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many limits `--lower` would change.
    #[must_use]
    pub fn slack(&self) -> usize {
        self.limits.slack(&self.figures())
    }

    /// The file of limits with those that are lower now.
    #[must_use]
    pub fn lowered_limits(&self) -> String {
        self.limits.lowered(&self.figures()).text()
    }

    /// The figures that have limits.
    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for it in &self.structs {
            figures.push(Figure::at_most("fields", &it.name, it.fields));
            figures.push(Figure::at_most("impl-files", &it.name, it.files));
        }
        for (name, circles) in &self.circles {
            let largest = circles.first().map_or(0, Vec::len);
            figures.push(Figure::at_most("circles", name, largest));
        }
        let rest: usize = Kind::ALL
            .iter()
            .filter(|kind| !kind.is_product())
            .filter_map(|kind| self.lines.get(kind))
            .sum();
        let of = |kind| self.lines.get(&kind).copied().unwrap_or_default();
        for (name, lines) in [
            ("server", of(Kind::Server)),
            ("commands", of(Kind::Commands)),
            ("client", of(Kind::Client)),
            ("not-product", rest),
        ] {
            let figure = Figure::at_most("lines", name, lines);
            figures.push(Figure {
                rounding: Rounding::Thousands,
                ..figure
            });
        }
        for it in &self.asserts {
            figures.push(Figure {
                group: "asserts",
                name: it.name.clone(),
                value: it.density(),
                rounding: Rounding::Tenths,
                sense: Sense::AtLeast,
            });
        }
        figures.push(Figure::at_most("names", "twice", self.twins.len()));
        figures.push(Figure::at_most("way", "files", self.way.files));
        figures.push(Figure::at_most("way", "visits", self.way.visits));
        figures.push(Figure::at_most("way", "visits-of-one-file", self.way.most));
        figures.push(Figure::at_most("switches", "files", self.switches.len()));
        figures
    }
}

fn circles_of(house: &House) -> BTreeMap<String, Vec<Vec<String>>> {
    let owned = |files: Vec<&str>| files.into_iter().map(str::to_owned).collect();
    let of = |it: &house::Crate| circles::circles(it).into_iter().map(owned).collect();
    house
        .crates
        .iter()
        .map(|it| (it.name.clone(), of(it)))
        .collect()
}

fn asserts(house: &House) -> Vec<Asserts> {
    let mut all = Vec::new();
    for krate in &house.crates {
        let mut it = Asserts {
            name: krate.name.clone(),
            lines: 0,
            asserts: 0,
            debug: 0,
        };
        for file in &krate.files {
            if Kind::of(krate, &file.path).is_product() {
                it.lines += file.lines.code;
                it.asserts += file.asserts;
                it.debug += file.debug_asserts;
            }
        }
        if it.lines > 0 {
            all.push(it);
        }
    }
    all
}

fn twins(house: &House) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for krate in &house.crates {
        structs::each_item(krate, &mut |file, _, item| {
            let public = match item {
                Item::Enum(it) => Some((&it.vis, &it.ident)),
                Item::Struct(it) => Some((&it.vis, &it.ident)),
                Item::Trait(it) => Some((&it.vis, &it.ident)),
                Item::Type(it) => Some((&it.vis, &it.ident)),
                Item::Union(it) => Some((&it.vis, &it.ident)),
                _ => None,
            };
            if let Some((Visibility::Public(_), name)) = public
                && Kind::of(krate, file).is_product()
            {
                places
                    .entry(name.to_string())
                    .or_default()
                    .push(file.to_owned());
            }
        });
    }
    places.retain(|_, places| places.len() > 1);
    places
}

/// Calls of `sabotage::is` in the product.
fn switches(house: &House) -> Vec<(String, usize)> {
    struct Calls(usize);
    impl<'ast> Visit<'ast> for Calls {
        fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
            if let syn::Expr::Path(it) = &*call.func {
                let names: BTreeSet<String> = it
                    .path
                    .segments
                    .iter()
                    .map(|it| it.ident.to_string())
                    .collect();
                self.0 += usize::from(names.contains("sabotage") && names.contains("is"));
            }
            syn::visit::visit_expr_call(self, call);
        }
    }
    let mut switches = Vec::new();
    for (krate, file) in house.files() {
        let mut calls = Calls(0);
        calls.visit_file(&file.ast);
        if calls.0 > 0 && Kind::of(krate, &file.path).is_product() {
            switches.push((file.path.clone(), calls.0));
        }
    }
    switches
}

#[cfg(test)]
#[path = "shape_test.rs"]
mod shape_test;
