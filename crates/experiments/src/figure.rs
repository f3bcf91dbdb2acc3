//! What is to be drawn: axes, curves with their bounds, marks.
//!
//! In:  points that were measured or published. Out: a [`Figure`], which `plot` draws.
//! Not here: colours, sizes, SVG (`plot`).

use crate::data::{Data, Point};

/// One panel.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) curves: Vec<Curve>,
    /// Times at which something happened.
    pub(crate) marks: Vec<(f64, String)>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What, in which unit.
    pub(crate) name: String,
    pub(crate) is_log: bool,
    /// Names of the places 0, 1, 2, ...; without, numbers are shown.
    pub(crate) words: Vec<String>,
    /// Shown even if nothing is there.
    pub(crate) least: Option<f64>,
}

/// A series of points.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
    pub(crate) look: Look,
}

/// How a curve is drawn, and so what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Measured: marks with bounds, joined by a line.
    Measured,
    /// Many points in time: a line alone.
    Trace,
    /// Follows from what was measured: a dashed line.
    Modelled,
    /// From the paper: open marks on a dotted line.
    Published,
    /// Measured, where places are names: a bar from zero with its bounds.
    Bar,
    /// From the paper, where places are names: an open bar.
    PublishedBar,
}

impl Axis {
    pub(crate) fn linear(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_log: false,
            words: Vec::new(),
            least: Some(0.0),
        }
    }

    pub(crate) fn log(name: &str) -> Self {
        Self {
            is_log: true,
            least: None,
            ..Self::linear(name)
        }
    }

    /// Names in place of numbers.
    pub(crate) fn words<T: ToString>(name: &str, words: &[T]) -> Self {
        Self {
            words: words.iter().map(ToString::to_string).collect(),
            ..Self::linear(name)
        }
    }
}

impl Figure {
    pub(crate) fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            curves: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Adds a curve, unless it has no point.
    pub(crate) fn curve(&mut self, name: &str, look: Look, points: Vec<Point>) {
        if !points.is_empty() {
            self.curves.push(Curve {
                name: name.to_owned(),
                points,
                look,
            });
        }
    }

    /// Adds a measure of every series that has it.
    pub(crate) fn measured(&mut self, data: &Data, measure: &str) {
        for series in data.series_with(measure) {
            self.curve(series, Look::Measured, data.line(series, measure));
        }
    }

    /// Adds figures of the paper.
    pub(crate) fn published(&mut self, name: &str, points: &[(f64, f64)]) {
        self.curve(name, Look::Published, exact(points));
    }
}

/// Points without bounds.
pub(crate) fn exact(points: &[(f64, f64)]) -> Vec<Point> {
    let point = |(x, y): &(f64, f64)| Point {
        x: *x,
        median: *y,
        min: *y,
        max: *y,
    };
    points.iter().map(point).collect()
}
