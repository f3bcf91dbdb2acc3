//! Draws figures as SVG, readable on paper and on a screen, light or dark.
//!
//! In:  [`Figure`]s. Out: one SVG, a panel above the other.
//!
//! Colours are those that Okabe and Ito chose so that everybody can tell them apart; what is of one thing has one colour, and each curve has a mark of its own, so that
//! a copy in black and white can be read. What the papers say is grey, open and dotted, what is modelled is dashed. A style sheet gives each colour another value where the
//! reader's screen is dark: so the drawing names colours, and [`STYLE`] says what they are.
//!
//! Source: M. Okabe and K. Ito, "Color Universal Design" (2008).

use crate::data::Point;
use crate::figure::{Axis, Curve, Figure, Look};
use crate::number::short;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

const WIDTH: u32 = 760;
const HEIGHT: u32 = 430;
/// Above the axes: the title, and a line of the legend.
const TITLE_HEIGHT: i32 = 44;
const LEGEND_LINE: i32 = 20;
/// Width of a letter, about, and of a mark of the legend with its gaps.
const LETTER: i32 = 8;
const LEGEND_MARK: i32 = 44;
/// Lines above the axes that tell what happened.
const EVENT_LINES: usize = 4;
const FONT: &str = "sans-serif";

const INK: RGBColor = RGBColor(0x1a, 0x1b, 0x1c);
const GRID: RGBColor = RGBColor(0xd8, 0xd9, 0xda);
/// Of what the papers say.
const BEFORE: RGBColor = RGBColor(0x6a, 0x6b, 0x6c);
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xb8, 0x86, 0x0b),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x7b, 0x3f, 0x9e),
];

/// What the drawing's colours are on a dark screen; on paper and on a light one they are as they are named.
pub(crate) const STYLE: &str = "\
@media screen and (prefers-color-scheme: dark) {
svg [fill='#1A1B1C'] { fill: #e6e6e6 } svg [stroke='#1A1B1C'] { stroke: #e6e6e6 }
svg [stroke='#D8D9DA'] { stroke: #3c3f42 }
svg [fill='#6A6B6C'] { fill: #a9adb1 } svg [stroke='#6A6B6C'] { stroke: #a9adb1 }
svg [fill='#0072B2'] { fill: #4db2f0 } svg [stroke='#0072B2'] { stroke: #4db2f0 }
svg [fill='#D55E00'] { fill: #ff9447 } svg [stroke='#D55E00'] { stroke: #ff9447 }
svg [fill='#009E73'] { fill: #2fd0a0 } svg [stroke='#009E73'] { stroke: #2fd0a0 }
svg [fill='#CC79A7'] { fill: #e79cc6 } svg [stroke='#CC79A7'] { stroke: #e79cc6 }
svg [fill='#B8860B'] { fill: #e0b040 } svg [stroke='#B8860B'] { stroke: #e0b040 }
svg [fill='#7B3F9E'] { fill: #bd8be0 } svg [stroke='#7B3F9E'] { stroke: #bd8be0 }
}
";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

/// Draws; nothing, if there is no figure with a curve.
///
/// # Errors
/// If the drawing crate refuses, which it does for no figure that we know of.
pub(crate) fn plot(figures: &[Figure]) -> anyhow::Result<String> {
    let figures: Vec<&Figure> = figures.iter().filter(|it| !it.curves.is_empty()).collect();
    let mut svg = String::new();
    if figures.is_empty() {
        return Ok(svg);
    }
    {
        let height = HEIGHT * figures.len() as u32;
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        for (area, figure) in root.split_evenly((figures.len(), 1)).iter().zip(figures) {
            panel(area, figure).map_err(|error| anyhow::anyhow!("cannot draw: {error}"))?;
        }
        root.present()
            .map_err(|error| anyhow::anyhow!("cannot draw: {error}"))?;
    }
    Ok(svg)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn panel(area: &Area<'_>, figure: &Figure) -> Drawn {
    let colours = colours(&figure.curves);
    area.draw(&Text::new(figure.title.clone(), (10, 18), text(19)))?;
    let lines = legend(area, figure, &colours)?;
    // What happened is told above the axes, one a line lower than the other.
    let top = TITLE_HEIGHT + lines * LEGEND_LINE;
    let events = LEGEND_LINE * (figure.marks.len().min(EVENT_LINES) as i32);
    let (_, below) = area.split_vertically(top + events);
    let bars = figure.curves.iter().filter(|it| it.look.is_bar()).count();
    let (x, y) = (Scale::of_x(figure, bars > 0), Scale::of_y(figure, bars > 0));
    let mut chart = ChartBuilder::on(&below)
        .margin_top(10)
        .margin_right(24)
        .x_label_area_size(50)
        .y_label_area_size(80)
        .build_cartesian_2d(x, y)?;
    mesh(&mut chart, figure, bars > 0)?;
    let pen = Pen {
        area,
        chart: &chart,
        figure,
    };
    let mut bar = 0;
    for (at, (curve, colour)) in figure.curves.iter().zip(&colours).enumerate() {
        if curve.look.is_bar() {
            pen.bars(curve, *colour, bar, bars)?;
            bar += 1;
        } else {
            pen.line(curve, *colour)?;
            pen.marks(curve, *colour, at)?;
        }
    }
    pen.events(top)
}

/// A colour a thing: what stands before the first comma of a curve's name.
fn colours(curves: &[Curve]) -> Vec<RGBColor> {
    let mut things: Vec<&str> = Vec::new();
    let mut colours = Vec::new();
    for curve in curves {
        if curve.look.is_published() {
            colours.push(BEFORE);
            continue;
        }
        let name = thing(&curve.name);
        let at = things.iter().position(|it| *it == name);
        let at = at.unwrap_or_else(|| {
            things.push(name);
            things.len() - 1
        });
        colours.push(COLOURS[at % COLOURS.len()]);
    }
    colours
}

fn thing(name: &str) -> &str {
    name.split(',').next().unwrap_or(name)
}

impl Look {
    fn is_bar(self) -> bool {
        matches!(self, Self::Bar | Self::PublishedBar)
    }

    fn is_published(self) -> bool {
        matches!(self, Self::Published | Self::PublishedBar)
    }
}

fn text(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// Draws which curve is what; says how many lines it takes.
fn legend(
    area: &Area<'_>,
    figure: &Figure,
    colours: &[RGBColor],
) -> Result<i32, Box<dyn std::error::Error>> {
    let (mut x, mut line) = (10, 0);
    for (at, (curve, colour)) in figure.curves.iter().zip(colours).enumerate() {
        let width = LEGEND_MARK + curve.name.chars().count() as i32 * LETTER;
        if x > 10 && x + width > WIDTH as i32 {
            (x, line) = (10, line + 1);
        }
        let y = TITLE_HEIGHT + line * LEGEND_LINE + 8;
        match curve.look {
            Look::Bar => {
                let corners = [(x + 6, y - 6), (x + 24, y + 6)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            Look::PublishedBar => {
                let corners = [(x + 6, y - 6), (x + 24, y + 6)];
                area.draw(&Rectangle::new(corners, colour.stroke_width(2)))?;
            }
            Look::Trace | Look::Measured => {
                area.draw(&PathElement::new(
                    [(x, y), (x + 30, y)],
                    colour.stroke_width(2),
                ))?;
            }
            Look::Modelled | Look::Published => {
                for begin in [x, x + 12, x + 24] {
                    let dash = [(begin, y), (begin + 6, y)];
                    area.draw(&PathElement::new(dash, colour.stroke_width(2)))?;
                }
            }
        }
        if matches!(curve.look, Look::Measured | Look::Published) {
            draw_mark(area, (x + 15, y), curve.look, at, *colour)?;
        }
        area.draw(&Text::new(
            curve.name.clone(),
            (x + 36, y + 1),
            text(15).pos(Pos::new(HPos::Left, VPos::Center)),
        ))?;
        x += width;
    }
    Ok(line + 1)
}

fn mesh(chart: &mut Chart<'_, '_>, figure: &Figure, has_bars: bool) -> Drawn {
    let label = |axis: &Axis, value: f64| {
        if axis.words.is_empty() {
            return short(value);
        }
        axis.words
            .get(value.round() as usize)
            .cloned()
            .unwrap_or_default()
    };
    let (x, y) = (&figure.x, &figure.y);
    let (of_x, of_y) = (
        |value: &f64| label(x, *value),
        |value: &f64| label(y, *value),
    );
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(x.name.clone())
        .y_desc(y.name.clone())
        .x_labels(40)
        .y_labels(40)
        .x_label_formatter(&of_x)
        .y_label_formatter(&of_y)
        .label_style(text(15))
        .axis_desc_style(text(16))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT);
    if has_bars {
        mesh.disable_x_mesh();
    }
    mesh.draw()?;
    Ok(())
}

/// Draws over the axes, in pixels: so a mark has the same size wherever it stands.
struct Pen<'a, 'b, 'c> {
    area: &'a Area<'b>,
    chart: &'a Chart<'c, 'b>,
    figure: &'a Figure,
}

impl Pen<'_, '_, '_> {
    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        let (left, top) = self.area.get_base_pixel();
        let (x, y) = self.chart.backend_coord(&(x, y));
        (x - left, y - top)
    }

    /// Points that can be shown on these axes.
    fn visible<'d>(&self, curve: &'d Curve) -> Vec<&'d Point> {
        let is_there = |axis: &Axis, value: f64| value.is_finite() && (!axis.is_log || value > 0.0);
        let points = curve.points.iter();
        points
            .filter(|point| {
                is_there(&self.figure.x, point.x) && is_there(&self.figure.y, point.median)
            })
            .collect()
    }

    fn line(&self, curve: &Curve, colour: RGBColor) -> Drawn {
        let points = self.visible(curve);
        let pixels: Vec<(i32, i32)> = points.iter().map(|it| self.at(it.x, it.median)).collect();
        let style = colour.stroke_width(2);
        let (dash, gap) = match curve.look {
            Look::Modelled => (9, 6),
            Look::Published => (2, 5),
            _ => {
                self.area.draw(&PathElement::new(pixels, style))?;
                return Ok(());
            }
        };
        let dashed = DashedPathElement::new(pixels, dash, gap, style);
        self.area.draw(&dashed)?;
        Ok(())
    }

    fn marks(&self, curve: &Curve, colour: RGBColor, number: usize) -> Drawn {
        if !matches!(curve.look, Look::Measured | Look::Published) {
            return Ok(());
        }
        for point in self.visible(curve) {
            let is_shown = !self.figure.y.is_log || point.min > 0.0;
            let least = if is_shown { point.min } else { point.median };
            self.bounds((point.x, least), point.max, colour)?;
            let place = self.at(point.x, point.median);
            draw_mark(self.area, place, curve.look, number, colour)?;
        }
        Ok(())
    }

    /// From the least to the most.
    fn bounds(&self, (x, least): (f64, f64), most: f64, colour: RGBColor) -> Drawn {
        if most <= least {
            return Ok(());
        }
        let (low, high) = (self.at(x, least), self.at(x, most));
        let style = colour.stroke_width(1);
        self.area.draw(&PathElement::new([low, high], style))?;
        for (x, y) in [low, high] {
            self.area
                .draw(&PathElement::new([(x - 4, y), (x + 4, y)], style))?;
        }
        Ok(())
    }

    fn bars(&self, curve: &Curve, colour: RGBColor, number: usize, of: usize) -> Drawn {
        let width = 0.8 / of as f64;
        let floor = self.chart.y_range().start;
        for point in self.visible(curve) {
            let left = point.x - 0.4 + width * number as f64;
            let corners = [
                self.at(left + width * 0.06, point.median),
                self.at(left + width * 0.94, floor),
            ];
            let style = match curve.look {
                Look::PublishedBar => colour.stroke_width(2),
                _ => colour.filled(),
            };
            self.area.draw(&Rectangle::new(corners, style))?;
            self.bounds((left + width / 2.0, point.min), point.max, INK)?;
        }
        Ok(())
    }

    /// What happened when: a line over the axes, its words above.
    fn events(&self, top: i32) -> Drawn {
        let y = self.chart.y_range();
        for (number, (x, words)) in self.figure.marks.iter().enumerate() {
            let (low, high) = (self.at(*x, y.start), self.at(*x, y.end));
            let line_y = top + LEGEND_LINE * (number % EVENT_LINES) as i32 + 10;
            let ends = [(low.0, line_y + 7), (low.0, high.1), low];
            let style = INK.stroke_width(1);
            let dashed = DashedPathElement::new(ends, 4, 4, style);
            self.area.draw(&dashed)?;
            // To the right of its line, unless it would leave the picture.
            let width = words.chars().count() as i32 * LETTER;
            let (side, gap) = if low.0 + width < WIDTH as i32 {
                (HPos::Left, -2)
            } else {
                (HPos::Right, 2)
            };
            let style = text(15).pos(Pos::new(side, VPos::Center));
            let place = (low.0 + gap, line_y);
            self.area.draw(&Text::new(words.clone(), place, style))?;
        }
        Ok(())
    }
}

/// The mark of a curve: one of five shapes, filled where it was measured and open where it was published.
fn draw_mark(
    area: &Area<'_>,
    (x, y): (i32, i32),
    look: Look,
    number: usize,
    colour: RGBColor,
) -> Drawn {
    let is_open = look == Look::Published;
    let style = if is_open {
        colour.stroke_width(2)
    } else {
        colour.filled()
    };
    let shape: &[(i32, i32)] = match number % 5 {
        0 => {
            area.draw(&Circle::new((x, y), 4, style))?;
            return Ok(());
        }
        1 => &[(0, -5), (5, 4), (-5, 4)],
        2 => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        3 => &[(0, -6), (5, 0), (0, 6), (-5, 0)],
        _ => &[(0, 5), (5, -4), (-5, -4)],
    };
    let mut corners: Vec<(i32, i32)> = shape.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    if is_open {
        corners.push(corners[0]);
        area.draw(&PathElement::new(corners, style))?;
    } else {
        area.draw(&Polygon::new(corners, style))?;
    }
    Ok(())
}

/// One axis' numbers: their range, how they are laid out, where there are ticks.
struct Scale {
    range: Range<f64>,
    is_log: bool,
    ticks: Vec<f64>,
}

/// Most ticks that are set where something was measured.
const PLACES_MAX: usize = 12;

impl Scale {
    fn of_x(figure: &Figure, has_bars: bool) -> Self {
        let axis = &figure.x;
        if !axis.words.is_empty() || has_bars {
            let count = axis.words.len().max(1);
            return Self {
                range: -0.5..count as f64 - 0.5,
                is_log: false,
                ticks: (0..count).map(|at| at as f64).collect(),
            };
        }
        let points = figure.curves.iter().flat_map(|it| &it.points);
        let mut places: Vec<f64> = points.map(|it| it.x).filter(|it| it.is_finite()).collect();
        places.extend(figure.marks.iter().map(|(x, _)| *x));
        let mut scale = Self::over(axis, places.iter().copied(), 1.15);
        places.sort_by(f64::total_cmp);
        places.dedup();
        if axis.is_log && places.len() <= PLACES_MAX {
            scale.ticks = places;
        }
        scale
    }

    fn of_y(figure: &Figure, has_bars: bool) -> Self {
        let points = figure.curves.iter().flat_map(|it| &it.points);
        let values = points.flat_map(|it| [it.min, it.median, it.max]);
        let mut scale = Self::over(&figure.y, values, 1.4);
        if has_bars && scale.is_log {
            // Bars of an axis that has no zero begin at a round number.
            scale.range.start = 10_f64.powf(scale.range.start.log10().floor());
            scale.ticks = log_ticks(&scale.range);
        }
        scale
    }

    fn over(axis: &Axis, values: impl Iterator<Item = f64>, room: f64) -> Self {
        let is_there = |value: &f64| value.is_finite() && (!axis.is_log || *value > 0.0);
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for value in values.chain(axis.least).filter(is_there) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 2.0);
        }
        if axis.is_log {
            let range = low / room..high * room;
            return Self {
                ticks: log_ticks(&range),
                range,
                is_log: true,
            };
        }
        if high - low < 1e-12 {
            high = low + 1.0;
        }
        let range = low..high + (high - low) * 0.06;
        Self {
            ticks: linear_ticks(&range),
            range,
            is_log: false,
        }
    }
}

/// About six round numbers.
fn linear_ticks(range: &Range<f64>) -> Vec<f64> {
    let rough = (range.end - range.start) / 6.0;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|it| it * magnitude);
    let step = steps.into_iter().find(|it| *it >= rough);
    let step = step.unwrap_or(rough);
    let first = (range.start / step).ceil() as i64;
    let last = (range.end / step).floor() as i64;
    (first..=last).map(|it| it as f64 * step).collect()
}

/// Powers of ten; with twos and fives between them, where those are few.
fn log_ticks(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (
        range.start.log10().floor() as i32,
        range.end.log10().ceil() as i32,
    );
    let factors: &[f64] = if last - first <= 3 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let decades = (first..=last).map(|power| 10_f64.powi(power));
    decades
        .flat_map(|decade| factors.iter().map(move |factor| factor * decade))
        .filter(|tick| range.contains(tick))
        .collect()
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (begin, end): (i32, i32)) -> i32 {
        let place = |value: f64| if self.is_log { value.ln() } else { value };
        let (low, high) = (place(self.range.start), place(self.range.end));
        let share = (place(*value) - low) / (high - low);
        begin + (share * f64::from(end - begin)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
#[path = "plot_test.rs"]
mod plot_test;
