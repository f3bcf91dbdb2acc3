//! What Prometheus' own tool says of metrics and rules, and what rules say of pages that nodes have shown.
//!
//! In:  pages, rules, what is recorded of live nodes. Out: what the tool said; which alerts fire at the end of each phase.
//!
//! A [`RuleTrial`] becomes a unit test of the rules themselves (`promtool test rules`): each phase's pages are scraped again and
//! again, every [`SCRAPE_SECONDS`], as if the nodes had stayed so.

use crate::deadline::PATIENCE;
use crate::process::run;
use crate::scrape::Scrape;
use crate::{binary::installed, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How often the nodes of a [`RuleTrial`] are scraped.
pub const SCRAPE_SECONDS: usize = 15;

/// Where rules and dashboards are.
#[must_use]
pub fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The tool, if it is installed; otherwise says that `what` is skipped.
#[must_use]
pub fn promtool(what: &str) -> Option<PathBuf> {
    let tool = installed("promtool");
    if tool.is_none() {
        let why = "no promtool on the PATH; on Debian: apt-get install --no-install-recommends prometheus";
        skip::announce(what, why);
    }
    tool
}

/// Has the tool look at something; its words, if it finds fault.
///
/// # Errors
/// What it said.
///
/// # Panics
/// If it cannot be started.
pub fn check(tool: &Path, arguments: &[&str], input: &str) -> Result<(), String> {
    let mut command = Command::new(tool);
    // Rules name one another's files from where they are.
    command
        .args(arguments)
        .current_dir(deploy().join("prometheus"));
    let finished = run(&mut command, input.as_bytes(), PATIENCE).expect("promtool runs");
    if finished.status.success() {
        Ok(())
    } else {
        Err(finished.text())
    }
}

/// What nodes showed, phase after phase; none: the node did not answer.
#[derive(Debug, Default)]
pub struct RuleTrial {
    phases: Vec<Phase>,
}

#[derive(Debug)]
struct Phase {
    pages: Vec<Option<Scrape>>,
    scrapes: usize,
    fire: Vec<&'static str>,
}

impl RuleTrial {
    /// The nodes stay as on these pages for so many scrapes; at the end of that these alerts fire, and no other one.
    pub fn add(&mut self, pages: Vec<Option<Scrape>>, scrapes: usize, fire: &[&'static str]) {
        assert!(scrapes > 1, "a phase has a beginning and an end");
        self.phases.push(Phase {
            pages,
            scrapes,
            fire: fire.to_vec(),
        });
    }

    /// The unit test of what is recorded, of these alerts.
    #[must_use]
    pub fn unit_test(&self, watched: &[&str]) -> String {
        let rules = deploy().join("prometheus/alerts.yml");
        let mut out = format!(
            "rule_files: [{}]\nevaluation_interval: 15s\ntests:\n  - interval: {SCRAPE_SECONDS}s\n    input_series:\n",
            rules.display()
        );
        for (series, values) in self.series() {
            let _ = writeln!(out, "      - {{series: '{series}', values: '{values}'}}");
        }
        out += "    promql_expr_test:\n";
        let mut scrapes = 0;
        for phase in &self.phases {
            scrapes += phase.scrapes;
            let watched = watched.join("|");
            let _ = writeln!(
                out,
                "      - expr: 'count by (alertname) (ALERTS{{alertstate=\"firing\", alertname=~\"{watched}\"}}) > bool 0'\n        \
                 eval_time: {}s\n        exp_samples:",
                (scrapes - 1) * SCRAPE_SECONDS
            );
            for alert in &phase.fire {
                let _ = writeln!(
                    out,
                    "          - {{labels: '{{alertname=\"{alert}\"}}', value: 1}}"
                );
            }
        }
        out
    }

    /// Every series of every node, and what it is in all phases.
    fn series(&self) -> BTreeMap<String, String> {
        let nodes = self.phases.iter().map(|phase| phase.pages.len());
        let nodes = nodes.max().unwrap_or(0);
        let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for node in 0..nodes {
            for (at, phase) in self.phases.iter().enumerate() {
                let mut note = |series: String, value: f64| {
                    let all = values.entry(series);
                    let all = all.or_insert_with(|| vec![None; self.phases.len()]);
                    all[at] = Some(value);
                };
                let target = format!("instance=\"node{node}\", job=\"brickyard\"");
                let page = phase.pages.get(node).and_then(Option::as_ref);
                note(
                    format!("up{{{target}}}"),
                    f64::from(u8::from(page.is_some())),
                );
                for (name, labels, value) in page.iter().flat_map(|page| page.series()) {
                    let own = labels
                        .iter()
                        .map(|(name, value)| format!(", {name}=\"{value}\""));
                    let own: String = own.collect();
                    note(format!("{name}{{{target}{own}}}"), value);
                }
            }
        }
        let all = values.into_iter();
        all.map(|(series, values)| (series, self.notation(&values)))
            .collect()
    }

    fn notation(&self, values: &[Option<f64>]) -> String {
        let mut was_there = false;
        let phases = self.phases.iter().zip(values);
        let phases = phases.map(|(phase, value)| {
            let more = phase.scrapes - 1;
            let is_gone = std::mem::replace(&mut was_there, value.is_some());
            match value {
                // The value, and as often again.
                Some(value) => format!("{value}x{more}"),
                None if is_gone => format!("stale _x{more}"),
                None => format!("_x{}", phase.scrapes),
            }
        });
        phases.collect::<Vec<_>>().join(" ")
    }
}

/// The names of this project's metrics in a text, without the endings of histograms.
#[must_use]
pub fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let words = text.split(|it| !is_part(it));
    words
        // Packages have names of two parts.
        .filter(|word| word.starts_with("brickyard_") && word.matches('_').count() > 1)
        .map(|word| family_of(word).to_owned())
        .collect()
}

fn family_of(name: &str) -> &str {
    let endings = ["_seconds_bucket", "_seconds_sum", "_seconds_count"];
    for ending in endings {
        if let Some(start) = name.strip_suffix(ending) {
            return &name[..start.len() + "_seconds".len()];
        }
    }
    name
}

#[cfg(test)]
#[path = "promtool_test.rs"]
mod promtool_test;
