//! Tables of what was measured.
//!
//! In:  [`Data`], the measures that are shown. Out: a [`Table`] of words, which `page` writes.

use crate::data::{Data, Point};
use crate::number::shown;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// What it is, if there are several.
    pub(crate) title: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            head: head.iter().map(|it| (*it).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// A row for each series and place, a column for each measure that any of them has: the median, and the bounds where there were several rounds.
    pub(crate) fn of(data: &Data, title: &str, x: &str, measures: &[(&str, &str)]) -> Self {
        Self::named(data, title, x, measures, &shown)
    }

    /// The same, with other words for places on the axis.
    pub(crate) fn named(
        data: &Data,
        title: &str,
        x: &str,
        measures: &[(&str, &str)],
        place: &dyn Fn(f64) -> String,
    ) -> Self {
        let measures: Vec<_> = measures
            .iter()
            .filter(|(measure, _)| !data.series_with(measure).is_empty())
            .collect();
        let mut head = vec!["", x];
        head.extend(measures.iter().map(|(_, words)| *words));
        let mut table = Self::new(title, &head);
        for series in data.series() {
            let mut places: Vec<f64> = measures
                .iter()
                .flat_map(|(measure, _)| data.line(series, measure))
                .map(|point| point.x)
                .collect();
            places.sort_by(f64::total_cmp);
            places.dedup_by(|a, b| a.total_cmp(b).is_eq());
            for at in places {
                let cells = measures.iter().map(|(measure, _)| {
                    let point = data.point(series, at, measure);
                    point.map_or_else(String::new, |point| bounded(&point))
                });
                let mut row = vec![series.to_owned(), place(at)];
                row.extend(cells);
                table.row(row);
            }
        }
        table
    }
}

/// A median with its bounds, unless they are the same to the eye.
pub(crate) fn bounded(point: &Point) -> String {
    let [median, min, max] = [point.median, point.min, point.max].map(shown);
    if min == max {
        median
    } else {
        format!("{median} ({min} – {max})")
    }
}
