//! What is read from an experiment's data: figures, tables, and rules that hold or do not.
//!
//! In:  [`Data`], by an experiment's `judge`. Out: a [`Judgement`].
//!
//! Invariants:
//! - A rule about something that was not measured does not hold: comparisons with what is no number are false.
//! - A judgement without a rule holds nothing.

use crate::data::Point;
use crate::figure::Figure;
use crate::number::shown;
use crate::table::Table;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<Table>,
    pub(crate) checks: Vec<Check>,
    /// What a reader should know to understand it, such as why it differs from the original.
    pub(crate) remarks: Vec<String>,
}

/// A rule, and what it says of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// What should be.
    pub(crate) rule: String,
    /// What is.
    pub(crate) found: String,
    pub(crate) holds: bool,
}

impl Judgement {
    /// Whether there are rules, and all hold.
    pub(crate) fn holds(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }

    pub(crate) fn check(&mut self, rule: &str, found: String, holds: bool) {
        self.checks.push(Check {
            rule: rule.to_owned(),
            found,
            holds,
        });
    }

    /// The rule that a figure lies within bounds, both included.
    pub(crate) fn within(&mut self, rule: &str, value: f64, bounds: std::ops::RangeInclusive<f64>) {
        self.check(rule, shown(value), bounds.contains(&value));
    }

    /// The rule that a figure is at least so much.
    pub(crate) fn at_least(&mut self, rule: &str, value: f64, bound: f64) {
        self.check(rule, shown(value), value >= bound);
    }

    /// The rule that a figure is at most so much.
    pub(crate) fn at_most(&mut self, rule: &str, value: f64, bound: f64) {
        self.check(rule, shown(value), value <= bound);
    }

    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }
}

/// The slope of a curve between two logarithmic axes, by least squares: 1 is a straight proportion. No number for less than two points.
pub(crate) fn log_slope(points: &[Point]) -> f64 {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|point| point.x > 0.0 && point.median > 0.0)
        .map(|point| (point.x.ln(), point.median.ln()))
        .collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let both: f64 = logs.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let square: f64 = logs.iter().map(|it| (it.0 - x).powi(2)).sum();
    both / square
}

/// A curve by the most of all rounds: what others on the same machine took away is not in it.
pub(crate) fn undisturbed(points: &[Point]) -> Vec<Point> {
    let best = points.iter().map(|point| Point {
        median: point.max,
        ..*point
    });
    best.collect()
}

/// The most of a curve's medians; no number without points.
pub(crate) fn top(points: &[Point]) -> f64 {
    points.iter().map(|it| it.median).fold(f64::NAN, f64::max)
}

/// The least of a curve's medians; no number without points.
pub(crate) fn bottom(points: &[Point]) -> f64 {
    points.iter().map(|it| it.median).fold(f64::NAN, f64::min)
}

#[cfg(test)]
#[path = "judgement_test.rs"]
mod judgement_test;
