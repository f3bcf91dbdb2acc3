//! What an experiment has measured: rows of one shape for all of them, kept as CSV.
//!
//! In:  figures as they are measured, or a file of before. Out: a file; medians with the least and the most of all rounds.
//!
//! A row is one figure: of which *series* (a server, a kind of operation), at which *x* (bricks, bytes, seconds), of which *measure*
//! (`ops_per_s`, `cpu_us`), in which round. So any spreadsheet reads all of them alike, and what is drawn and judged is read from
//! the very file that is left behind.
//!
//! Invariant: what is written and read again is equal, figure by figure.

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Whose.
    pub(crate) series: String,
    /// Where on the axis.
    pub(crate) x: f64,
    /// Of what.
    pub(crate) measure: String,
    /// In which round, from 0.
    pub(crate) round: u32,
    /// The figure.
    pub(crate) value: f64,
}

/// All figures of an experiment, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    rows: Vec<Row>,
}

/// What the rounds say of one place on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Where on the axis.
    pub(crate) x: f64,
    /// The median of the rounds.
    pub(crate) median: f64,
    /// The least of them.
    pub(crate) min: f64,
    /// The most of them.
    pub(crate) max: f64,
}

impl Data {
    /// Takes note of what one measurement found.
    pub(crate) fn add(&mut self, series: &str, x: f64, round: u32, measures: &[(&str, f64)]) {
        for (measure, value) in measures {
            self.rows.push(Row {
                series: series.to_owned(),
                x,
                measure: (*measure).to_owned(),
                round,
                value: *value,
            });
        }
    }

    /// How many rounds there were of what had the most.
    #[must_use]
    pub(crate) fn rounds(&self) -> u32 {
        let rounds = self.rows.iter().map(|row| row.round + 1);
        rounds.max().unwrap_or(0)
    }

    /// The series, in the order in which they came.
    #[must_use]
    pub(crate) fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.series.as_str()) {
                names.push(&row.series);
            }
        }
        names
    }

    /// The series that have this measure, in the order in which they came.
    #[must_use]
    pub(crate) fn series_with(&self, measure: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.measure == measure) {
            if !names.contains(&row.series.as_str()) {
                names.push(&row.series);
            }
        }
        names
    }

    /// A measure of a series, from the least `x` to the most.
    #[must_use]
    pub(crate) fn line(&self, series: &str, measure: &str) -> Vec<Point> {
        let rows = self.rows.iter();
        let mut found: Vec<(f64, f64)> = rows
            .filter(|row| row.series == series && row.measure == measure)
            .map(|row| (row.x, row.value))
            .collect();
        // By place, then by value: the middle of each run is its median.
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        found
            .chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq())
            .map(|run| Point {
                x: run[0].0,
                median: median(run),
                min: run[0].1,
                max: run[run.len() - 1].1,
            })
            .collect()
    }

    /// One place of it.
    #[must_use]
    pub(crate) fn point(&self, series: &str, x: f64, measure: &str) -> Option<Point> {
        let line = self.line(series, measure);
        line.into_iter().find(|point| point.x.total_cmp(&x).is_eq())
    }

    /// The median at one place; not a number where nothing was measured, which no rule holds for.
    #[must_use]
    pub(crate) fn median(&self, series: &str, x: f64, measure: &str) -> f64 {
        self.point(series, x, measure)
            .map_or(f64::NAN, |point| point.median)
    }

    /// Writes all rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        let mut writer = csv::Writer::from_path(path).with_context(cannot)?;
        for row in &self.rows {
            writer.serialize(row).with_context(cannot)?;
        }
        writer.flush().with_context(cannot)
    }

    /// Reads rows that were written.
    ///
    /// # Errors
    /// If the file is not there or is something else.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let cannot = || {
            format!(
                "{} is no data of an experiment; run it again with --again",
                path.display()
            )
        };
        let mut reader = csv::Reader::from_path(path).with_context(cannot)?;
        let rows: Result<Vec<Row>, csv::Error> = reader.deserialize().collect();
        let rows = rows.with_context(cannot)?;
        if rows.is_empty() {
            bail!("{}", cannot());
        }
        Ok(Self { rows })
    }
}

fn median(run: &[(f64, f64)]) -> f64 {
    let middle = run.len() / 2;
    if run.len() % 2 == 1 {
        run[middle].1
    } else {
        f64::midpoint(run[middle - 1].1, run[middle].1)
    }
}

#[cfg(test)]
#[path = "data_test.rs"]
mod data_test;
