//! The page: all experiments that have been measured, in one file of HTML that needs nothing else.
//!
//! In:  what each experiment left. Out: HTML that is well-formed XML too, with the drawings in it.
//!
//! Invariant: it names no address that a browser would fetch.

use crate::experiment::Experiment;
use crate::judgement::{Check, Judgement};
use crate::number::shown;
use crate::plot;
use crate::record::Record;
use crate::table::Table;
use std::fmt::Write as _;

/// An experiment with what it left.
pub(crate) struct Part {
    pub(crate) experiment: &'static Experiment,
    pub(crate) state: State,
}

/// What became of it.
pub(crate) enum State {
    Measured {
        record: Box<Record>,
        judgement: Judgement,
        svg: String,
    },
    /// It has not been run, or did not come to its end.
    Absent,
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1a1b1c; --soft: #55585b; --paper: #fff; --line: #d8d9da; --good: #00684c; --bad: #a63c00 }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; line-height: 1.25 } h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem }
h3 { font-size: 1rem; margin-bottom: .3rem } a { color: inherit }
.question { font-size: 1.1rem } .soft, figcaption { color: var(--soft) } .small { font-size: .85rem; color: var(--soft) }
dl { display: grid; grid-template-columns: 8.5rem 1fr; gap: .4rem 1rem } dt { color: var(--soft) } dd { margin: 0 }
figure { margin: 1rem 0 } svg { width: 100%; height: auto; display: block }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .5rem 0 }
td { white-space: nowrap } td.long { white-space: normal; text-align: left } th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid var(--line); vertical-align: bottom } th { font-weight: 600 }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
.checks { list-style: none; padding: 0 } .good { color: var(--good) } .bad { color: var(--bad) } .badge { font-size: .95rem; font-weight: 600 }
.all td { text-align: left } .all td:first-child { white-space: nowrap }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a9adb1; --paper: #16181a; --line: #3c3f42; --good: #4fd1a5; --bad: #ff9d66 } }
@media print { body { max-width: none; margin: 0; font-size: 11pt } h2 { break-before: page } figure, table, .checks { break-inside: avoid } .wide { overflow: visible } }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr } dd { margin-bottom: .6rem } }
";

/// Cells with more letters than this are sentences, and may be broken.
const LONG: usize = 44;

/// Writes the page.
pub(crate) fn render(parts: &[Part]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>The papers' experiments on Brickyard</title>\n<style>\n{STYLE}{}</style></head><body>\n\
         <h1>The papers’ experiments on Brickyard</h1>\n",
        plot::STYLE
    );
    intro(&mut out, parts);
    for part in parts {
        section(&mut out, part);
    }
    out.push_str("</body></html>\n");
    out
}

fn intro(out: &mut String, parts: &[Part]) {
    out.push_str(
        "<p>Brickyard was built after five documents. Each experiment in them is repeated here on one machine: what was asked and found then, \
         what is found now, and a rule that says whether the shape is the same. The originals’ figures are theirs, each with its place; \
         everything else is read from the raw data beside this page, <code>e01.csv</code> and so on.</p>\n\
         <p class=\"small\">How to read it: <em>CPU µs/op</em> is processor time of the servers for one operation, user and system, and does not \
         depend on how fast the client is. Where there were several rounds the median is shown, the least and the most in brackets and as bars. Rounds \
         are interleaved: everything that is compared takes turns. Grey, open and dotted is what was published; dashed is modelled from what was \
         measured in the same run.</p>\n<div class=\"wide\"><table class=\"all\"><tbody>\n",
    );
    for part in parts {
        let it = part.experiment;
        let (verdict, class) = match &part.state {
            State::Absent => ("not measured".to_owned(), "soft"),
            State::Measured { judgement, .. } => (verdict(it, judgement), class(judgement)),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#e{}\">{}</a></td><td>{}</td><td class=\"{class}\">{verdict}</td></tr>",
            it.number,
            it.name(),
            escaped(it.title),
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn class(judgement: &Judgement) -> &'static str {
    if judgement.holds() { "good" } else { "bad" }
}

/// The verdict in words.
pub(crate) fn verdict(experiment: &Experiment, judgement: &Judgement) -> String {
    let holding = judgement.checks.iter().filter(|it| it.holds).count();
    if judgement.holds() {
        return format!("✓ {}", experiment.expected.word());
    }
    format!("✗ {holding} of {} rules hold", judgement.checks.len())
}

fn section(out: &mut String, part: &Part) {
    let it = part.experiment;
    let badge = match &part.state {
        State::Absent => String::new(),
        State::Measured { judgement, .. } => format!(
            " <span class=\"badge {}\">{}</span>",
            class(judgement),
            verdict(it, judgement)
        ),
    };
    let _ = writeln!(
        out,
        "<section id=\"e{}\"><h2>{} · {}{badge}</h2>\n<p class=\"question\">{}</p>\n<dl>\
         <dt>Published in</dt><dd>{}, {}</dd>\n<dt>Set up then</dt><dd>{}</dd>\n<dt>Found then</dt><dd>{}</dd>\n\
         <dt>Expected here</dt><dd>{}: {}</dd>\n<dt>Scaled down</dt><dd>{}</dd></dl>",
        it.number,
        it.name(),
        escaped(it.title),
        escaped(it.question),
        escaped(it.original.paper.citation()),
        escaped(it.original.place),
        escaped(it.original.setup),
        escaped(it.original.found),
        it.expected.word(),
        escaped(it.shape),
        escaped(it.scaled),
    );
    match &part.state {
        State::Absent => {
            let _ = writeln!(
                out,
                "<p class=\"soft\">Not measured yet: <code>brickyard experiments run {}</code></p>",
                it.name()
            );
        }
        State::Measured {
            record,
            judgement,
            svg,
        } => measured(out, it, record, judgement, svg),
    }
    out.push_str("</section>\n");
}

fn measured(
    out: &mut String,
    experiment: &Experiment,
    record: &Record,
    judgement: &Judgement,
    svg: &str,
) {
    if !svg.is_empty() {
        let _ = writeln!(out, "<figure>{svg}</figure>");
    }
    out.push_str("<ul class=\"checks\">\n");
    for Check { rule, found, holds } in &judgement.checks {
        let (sign, class) = if *holds {
            ("✓", "good")
        } else {
            ("✗", "bad")
        };
        let _ = writeln!(
            out,
            "<li><span class=\"{class}\">{sign}</span> {}: <strong>{}</strong></li>",
            escaped(rule),
            escaped(found)
        );
    }
    out.push_str("</ul>\n");
    for remark in &judgement.remarks {
        let _ = writeln!(out, "<p>{}</p>", escaped(remark));
    }
    for table in &judgement.tables {
        write_table(out, table);
    }
    for missing in &record.missing {
        let _ = writeln!(
            out,
            "<p class=\"soft\">Without {}: {}</p>",
            escaped(&missing.name),
            escaped(&missing.remedy)
        );
    }
    let mut line = format!(
        "{}. Brickyard {}",
        record.machine.sentence(),
        record.program
    );
    if let Some(commit) = &record.commit {
        let _ = write!(line, ", commit {commit}");
    }
    for peer in &record.peers {
        let _ = write!(line, "; {peer}");
    }
    let _ = write!(
        line,
        ". {} in {} s{}. Raw data: {}.csv",
        match record.rounds {
            1 => "One round".to_owned(),
            rounds => format!("{rounds} rounds"),
        },
        shown(record.seconds),
        if record.is_quick {
            ", a quick run that only shows that all works"
        } else {
            ""
        },
        experiment.stem()
    );
    let _ = writeln!(out, "<p class=\"small\">{}</p>", escaped(&line));
}

fn write_table(out: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    if !table.title.is_empty() {
        let _ = writeln!(out, "<h3>{}</h3>", escaped(&table.title));
    }
    out.push_str("<div class=\"wide\"><table><thead><tr>");
    for cell in &table.head {
        let _ = write!(out, "<th>{}</th>", escaped(cell));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = if cell.chars().count() > LONG {
                " class=\"long\""
            } else {
                ""
            };
            let _ = write!(out, "<td{class}>{}</td>", escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
