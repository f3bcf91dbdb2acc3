//! A picture of throughput over time, as SVG.

use crate::recording::Sample;
use std::fmt::Write as _;

/// Something that happened, to be shown in the picture.
#[derive(Clone, Debug)]
pub struct Mark {
    /// When, in seconds since the load began.
    pub at: f64,
    /// What.
    pub text: String,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 90.0;
const BOTTOM: f64 = 50.0;
/// Ticks on an axis, about.
const TICKS: f64 = 6.0;
const TEXT: &str = "#3b3b3b";
const GRID: &str = "#dddddd";
const READS: &str = "#1f6fb4";
const WRITES: &str = "#c4501b";

/// Draws reads and writes a second over time, and marks what happened.
#[must_use]
pub fn plot(title: &str, samples: &[Sample], marks: &[Mark]) -> String {
    let end = samples.last().map_or(1.0, |sample| sample.at);
    let most = samples
        .iter()
        .flat_map(|sample| [sample.reads, sample.writes])
        .fold(1.0, f64::max);
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT - RIGHT);
    let y = |rate: f64| HEIGHT - BOTTOM - rate / (most * 1.05) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    text(
        &mut out,
        (LEFT, 24.0),
        "start",
        TEXT,
        &format!("<tspan font-size=\"16\">{}</tspan>", escaped(title)),
    );
    let step = round_step(most);
    let mut rate = 0.0;
    while rate <= most {
        line(&mut out, (LEFT, y(rate)), (WIDTH - RIGHT, y(rate)), GRID);
        text(
            &mut out,
            (LEFT - 8.0, y(rate) + 4.0),
            "end",
            TEXT,
            &format!("{rate:.0}"),
        );
        rate += step;
    }
    let step = round_step(end);
    let mut at = 0.0;
    while at <= end {
        text(
            &mut out,
            (x(at), HEIGHT - BOTTOM + 20.0),
            "middle",
            TEXT,
            &format!("{at:.0} s"),
        );
        at += step;
    }
    for (index, mark) in marks.iter().enumerate() {
        let top = TOP - 8.0 - (index % 3) as f64 * 16.0;
        line(
            &mut out,
            (x(mark.at), top),
            (x(mark.at), HEIGHT - BOTTOM),
            TEXT,
        );
        text(
            &mut out,
            (x(mark.at) + 4.0, top + 4.0),
            "start",
            TEXT,
            &escaped(&mark.text),
        );
    }
    for (color, name, rate, place) in [
        (
            READS,
            "reads/s",
            (|it: &Sample| it.reads) as fn(&Sample) -> f64,
            WIDTH - 180.0,
        ),
        (WRITES, "writes/s", |it: &Sample| it.writes, WIDTH - 90.0),
    ] {
        let points: Vec<String> = samples
            .iter()
            .map(|sample| format!("{:.1},{:.1}", x(sample.at), y(rate(sample))))
            .collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\" points=\"{}\"/>",
            points.join(" ")
        );
        text(&mut out, (place, 24.0), "start", color, name);
    }
    out.push_str("</svg>\n");
    out
}

/// A distance between ticks that people can count in.
fn round_step(most: f64) -> f64 {
    let rough = most / TICKS;
    let magnitude = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * magnitude >= rough)
        .unwrap_or(10.0);
    factor * magnitude
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), color: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, at: (f64, f64), anchor: &str, color: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>",
        at.0, at.1
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod plot_test {
    use super::*;

    #[test]
    fn picture_has_curves_ticks_and_marks() {
        let samples: Vec<Sample> = (0..10)
            .map(|at| Sample {
                at: f64::from(at),
                reads: 1000.0,
                writes: f64::from(at) * 50.0,
            })
            .collect();
        let marks = [Mark {
            at: 4.0,
            text: "kill <a>".to_owned(),
        }];
        let svg = plot("Throughput", &samples, &marks);
        for part in ["Throughput", "kill &lt;a>", "writes/s", ">1000<", ">8 s<"] {
            assert!(svg.contains(part), "{part} is not in\n{svg}");
        }
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(!svg.contains("NaN"));
    }
}
