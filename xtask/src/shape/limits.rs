//! The ratchet: figures that may get better and not worse, and where they are to go.
//!
//! In:  figures, and xtask/shape.toml. Out: findings for those that are worse than their limit; the file with lower limits.
//!
//! Invariants:
//! - A figure without a limit is held to its goal; one without a goal either is free.
//! - Limits are only ever lowered here (those of asserts raised); a person who allows more writes so by hand.

use crate::finding::Finding;
use std::{collections::BTreeMap, fmt::Write};
use toml::{Table, Value};

/// Where limits and goals are.
pub(super) const FILE: &str = "xtask/shape.toml";

const HEADER: &str = "\
# Limits and goals of the crates' shape. `cargo xtask shape` explains each figure.
#
# `cargo xtask shape --check`, which `cargo test` runs too, fails on a figure that is worse than its limit. What is not
# under [limits] is held to its goal. Made it better? `cargo xtask shape --lower` writes the limits that are lower now.
# Lines are rounded up to thousands and asserts down to tenths: a test more must not fail the check.
";

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    AtMost,
    AtLeast,
}

/// How a limit is made of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Exact,
    Tenths,
    Thousands,
}

/// A measured figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// Its table in the file of limits.
    pub(super) group: &'static str,
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) rounding: Rounding,
    pub(super) sense: Sense,
}

impl Figure {
    pub(super) fn at_most(group: &'static str, name: &str, value: usize) -> Self {
        Self {
            group,
            name: name.to_owned(),
            #[expect(
                clippy::cast_precision_loss,
                reason = "counts of lines are far below 2^52"
            )]
            value: value as f64,
            rounding: Rounding::Exact,
            sense: Sense::AtMost,
        }
    }

    fn is_worse_than(&self, limit: f64) -> bool {
        match self.sense {
            Sense::AtMost => self.value > limit,
            Sense::AtLeast => self.value < limit,
        }
    }

    /// The limit that this value is within.
    fn limit(&self) -> f64 {
        let round = |value: f64| match self.sense {
            Sense::AtMost => value.ceil(),
            Sense::AtLeast => value.floor(),
        };
        match self.rounding {
            Rounding::Exact => self.value,
            Rounding::Tenths => round(self.value * 10.0) / 10.0,
            Rounding::Thousands => round(self.value / 1000.0) * 1000.0,
        }
    }
}

/// Limits and goals, by group and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    goals: Groups,
    limits: Groups,
}

type Groups = BTreeMap<String, BTreeMap<String, f64>>;

/// The goal of what has none by its own name.
const ANY: &str = "any";

impl Limits {
    /// # Errors
    /// If the text is no TOML of tables of numbers.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| format!("{FILE}: {error}"))?;
        let part = |name: &str| match table.get(name) {
            Some(Value::Table(groups)) => groups.iter().map(group).collect(),
            _ => Ok(Groups::new()),
        };
        Ok(Self {
            goals: part("goals")?,
            limits: part("limits")?,
        })
    }

    pub(super) fn goal(&self, group: &str, name: &str) -> Option<f64> {
        let group = self.goals.get(group)?;
        group.get(name).or_else(|| group.get(ANY)).copied()
    }

    fn limit(&self, figure: &Figure) -> Option<f64> {
        self.limits.get(figure.group)?.get(&figure.name).copied()
    }

    /// Figures that are worse than they may be.
    pub(super) fn findings(&self, figures: &[Figure]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for figure in figures {
            let goal = self.goal(figure.group, &figure.name);
            let Some(limit) = self.limit(figure).or(goal) else {
                continue;
            };
            if figure.is_worse_than(limit) {
                let Figure {
                    group, name, value, ..
                } = figure;
                let goal = goal.map_or_else(String::new, |goal| format!(", the goal {goal}"));
                let what = format!(
                    "{group} of {name}: {value} is worse than the limit {limit}{goal}; \
                     find a better cut, or say in your commit why the limit moves"
                );
                findings.push(Finding::new(FILE, 0, what));
            }
        }
        findings
    }

    /// How many limits could be lower, or are needed no longer.
    pub(super) fn slack(&self, figures: &[Figure]) -> usize {
        let lower = self.lowered(figures).limits;
        let differs = |group: &str, name: &str, limit: f64| {
            let new = lower.get(group).and_then(|names| names.get(name));
            new.is_none_or(|new| new.to_bits() != limit.to_bits())
        };
        self.limits
            .iter()
            .flat_map(|(group, names)| names.iter().map(move |(name, limit)| (group, name, limit)))
            .filter(|(group, name, limit)| differs(group, name, **limit))
            .count()
    }

    /// The same with limits that these figures are within, none worse than before. A file without limits gets today's.
    pub(super) fn lowered(&self, figures: &[Figure]) -> Self {
        let is_first = self.limits.is_empty();
        let mut limits = Groups::new();
        for figure in figures {
            let goal = self.goal(figure.group, &figure.name);
            let held = self.limit(figure).or_else(|| goal.filter(|_| !is_first));
            let now = figure.limit();
            let limit = match (held, figure.sense) {
                (Some(held), Sense::AtMost) => now.min(held),
                (Some(held), Sense::AtLeast) => now.max(held),
                (None, _) => now,
            };
            let is_at_goal = goal.is_some_and(|goal| match figure.sense {
                Sense::AtMost => limit <= goal,
                Sense::AtLeast => limit >= goal,
            });
            if !is_at_goal {
                let group = limits.entry(figure.group.to_owned()).or_default();
                group.insert(figure.name.clone(), limit);
            }
        }
        Self {
            goals: self.goals.clone(),
            limits,
        }
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        let mut out = HEADER.to_owned();
        for (part, groups) in [("goals", &self.goals), ("limits", &self.limits)] {
            for (group, names) in groups {
                let _ = write!(out, "\n[{part}.{group}]\n");
                for (name, value) in names {
                    let is_bare = name
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                    let quote = if is_bare { "" } else { "\"" };
                    let _ = writeln!(out, "{quote}{name}{quote} = {value}");
                }
            }
        }
        out
    }
}

fn group((name, value): (&String, &Value)) -> Result<(String, BTreeMap<String, f64>), String> {
    let Value::Table(values) = value else {
        return Err(format!("{FILE}: {name} is no table"));
    };
    let number = |(key, value): (&String, &Value)| {
        let number = match value {
            #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return Err(format!("{FILE}: {name}.{key} is no number")),
        };
        Ok((key.clone(), number))
    };
    Ok((
        name.clone(),
        values.iter().map(number).collect::<Result<_, _>>()?,
    ))
}
