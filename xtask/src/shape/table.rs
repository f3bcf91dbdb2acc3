//! The table of a [`Shape`]: what was measured, beside limits and goals.
//!
//! In:  a shape. Out: Markdown, aligned so that a terminal shows it as well.

use super::{Asserts, Shape, kind::Kind, structs::Struct};
use std::{collections::BTreeSet, fmt::Write};

/// How many structs of each ranking are shown.
const RANKS: usize = 10;

/// How many twins are named in full.
const TWINS: usize = 40;

pub(super) fn render(shape: &Shape) -> String {
    let mut out = String::new();
    for part in [structs, circles, lines, asserts, names, way, switches] {
        out += &part(shape);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn structs(shape: &Shape) -> String {
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    let product = || shape.structs.iter().filter(|it| it.is_product);
    let rankings: [fn(&Struct) -> usize; 3] = [|it| it.fields, |it| it.methods, |it| it.files];
    for size in rankings {
        let mut ranked: Vec<&Struct> = product().collect();
        ranked.sort_by_key(|it| (std::cmp::Reverse(size(it)), &it.name));
        shown.extend(ranked.iter().take(RANKS).map(|it| it.name.as_str()));
    }
    let is_over = |it: &Struct| {
        let over = |group, value: usize| {
            shape
                .limits
                .goal(group, &it.name)
                .is_some_and(|goal| exceeds(value, goal))
        };
        over("fields", it.fields) || over("impl-files", it.files)
    };
    let (over, all) = (
        product().filter(|it| is_over(it)).count(),
        product().count(),
    );
    let others = shape
        .structs
        .iter()
        .filter(|it| !it.is_product && is_over(it));
    let mut listed: Vec<&Struct> = product()
        .filter(|it| shown.contains(it.name.as_str()))
        .chain(others)
        .collect();
    listed.sort_by_key(|it| {
        (
            std::cmp::Reverse(it.is_product),
            std::cmp::Reverse(it.methods),
            &it.name,
        )
    });
    let rows = listed.iter().map(|it| {
        let kind = if it.is_product { "product" } else { "other" };
        let cells = [
            &it.name,
            kind,
            &it.fields.to_string(),
            &it.methods.to_string(),
            &it.files.to_string(),
        ];
        cells.map(str::to_owned).to_vec()
    });
    let goal = [
        "goal".to_owned(),
        String::new(),
        goal(shape, "fields", "any"),
        String::new(),
        goal(shape, "impl-files", "any"),
    ];
    let rows = rows.chain([goal.to_vec()]).collect();
    let mut out = section(
        "Structs",
        &["Struct", "Kind", "Fields", "Methods", "Files of `impl`"],
        rows,
    );
    let _ = writeln!(
        out,
        "The ten largest of the product by each figure, and what is over a goal elsewhere. Of {all} structs of the product {over} are over a goal.\n"
    );
    out
}

fn circles(shape: &Shape) -> String {
    let rows = shape
        .circles
        .iter()
        .filter(|(_, circles)| !circles.is_empty())
        .map(|(name, circles)| {
            let files: usize = circles.iter().map(Vec::len).sum();
            vec![
                name.clone(),
                circles.first().map_or(0, Vec::len).to_string(),
                circles.len().to_string(),
                files.to_string(),
                goal(shape, "circles", name),
            ]
        })
        .collect();
    section(
        "Import circles",
        &[
            "Crate",
            "Files of the largest",
            "Circles",
            "Files in any",
            "Goal",
        ],
        rows,
    )
}

fn lines(shape: &Shape) -> String {
    let of = |kind: &Kind| shape.lines.get(kind).copied().unwrap_or_default();
    let mut rows: Vec<Vec<String>> = Kind::ALL
        .iter()
        .map(|kind| {
            let goal = match kind {
                Kind::Server => goal(shape, "lines", "server"),
                Kind::Commands => goal(shape, "lines", "commands"),
                Kind::Client => goal(shape, "lines", "client"),
                _ => String::new(),
            };
            vec![kind.name().to_owned(), of(kind).to_string(), goal]
        })
        .collect();
    let rest: usize = Kind::ALL.iter().filter(|it| !it.is_product()).map(of).sum();
    rows.push(vec![
        "all that is not product".to_owned(),
        rest.to_string(),
        goal(shape, "lines", "not-product"),
    ]);
    section(
        "Lines of code, without blanks and comments",
        &["Kind", "Lines", "Goal"],
        rows,
    )
}

fn asserts(shape: &Shape) -> String {
    let mut rows: Vec<Vec<String>> = shape
        .asserts
        .iter()
        .map(|it| assert_row(shape, it))
        .collect();
    let sum = |part: fn(&Asserts) -> usize| shape.asserts.iter().map(part).sum();
    let all = Asserts {
        name: "all".to_owned(),
        lines: sum(|it| it.lines),
        asserts: sum(|it| it.asserts),
        debug: sum(|it| it.debug),
    };
    rows.push(assert_row(shape, &all));
    section(
        "Asserts of the product for 1,000 lines of code",
        &[
            "Crate",
            "Lines",
            "`assert`s",
            "For 1,000",
            "`debug_assert`s",
            "Goal",
        ],
        rows,
    )
}

fn assert_row(shape: &Shape, it: &Asserts) -> Vec<String> {
    vec![
        it.name.clone(),
        it.lines.to_string(),
        it.asserts.to_string(),
        format!("{:.2}", it.density()),
        it.debug.to_string(),
        goal(shape, "asserts", &it.name),
    ]
}

fn names(shape: &Shape) -> String {
    let mut out = String::from("### Names of public types that occur twice\n");
    let _ = writeln!(
        out,
        "{} names in the product (goal {}). `cargo xtask shape --names` says where.\n",
        shape.twins.len(),
        goal(shape, "names", "twice")
    );
    let twins = shape.twins.iter().take(TWINS);
    let named: Vec<String> = twins
        .map(|(name, places)| format!("`{name}` {}", places.len()))
        .collect();
    let left = shape.twins.len().saturating_sub(TWINS);
    let more = if left > 0 {
        format!(", and {left} more")
    } else {
        String::new()
    };
    if !named.is_empty() {
        let _ = writeln!(out, "{}{more}.\n", named.join(", "));
    }
    out
}

/// Each circle: its crate, its files.
pub(super) fn circle_files(shape: &Shape) -> String {
    let mut out = String::new();
    for (name, circles) in &shape.circles {
        for files in circles {
            let _ = writeln!(out, "{name}: {} files", files.len());
            for file in files {
                let _ = writeln!(out, "  {file}");
            }
        }
    }
    out
}

/// Each name that occurs twice, and the files in which it does.
pub(super) fn twins(shape: &Shape) -> String {
    let line = |(name, places): (&String, &Vec<String>)| format!("{name}: {}\n", places.join(", "));
    shape.twins.iter().map(line).collect()
}

fn way(shape: &Shape) -> String {
    let row = |what: &str, value: usize, name: &str| {
        vec![what.to_owned(), value.to_string(), goal(shape, "way", name)]
    };
    let rows = vec![
        row("files", shape.way.files, "files"),
        row("times a file is entered", shape.way.visits, "visits"),
        row(
            "most times that one file is entered",
            shape.way.most,
            "visits-of-one-file",
        ),
        row("crates", shape.way.crates, "crates"),
    ];
    section(
        "The way of a replicated SET (docs/replicated-set.txt)",
        &["What", "Count", "Goal"],
        rows,
    )
}

fn switches(shape: &Shape) -> String {
    let calls: usize = shape.switches.iter().map(|(_, calls)| calls).sum();
    let rows = vec![vec![
        shape.switches.len().to_string(),
        calls.to_string(),
        goal(shape, "switches", "files"),
    ]];
    section(
        "Switches of deliberate bugs in the product",
        &["Files", "Switches", "Goal"],
        rows,
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn exceeds(value: usize, goal: f64) -> bool {
    value as f64 > goal
}

fn goal(shape: &Shape, group: &str, name: &str) -> String {
    let goal = shape.limits.goal(group, name);
    goal.map_or_else(String::new, |goal| goal.to_string())
}

/// A heading and a table; its first column is text, the others are figures.
fn section(title: &str, heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells
            .chain([heads[at].chars().count(), 3])
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        format!("| {} |\n", padded.join(" | "))
    };
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| match at {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width - 1)),
        })
        .collect();
    let heads: Vec<String> = heads.iter().map(|it| (*it).to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("### {title}\n{}{}{body}\n", line(&heads), line(&rule))
}
