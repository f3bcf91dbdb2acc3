use super::{COLOURS, INK, Scale, linear_ticks, log_ticks, plot};
use crate::figure::{Axis, Figure, Look, exact};
use plotters::coord::ranged1d::Ranged;
use quick_xml::events::Event;

fn figure() -> Figure {
    let mut figure = Figure::new("a < b & \"c\"", Axis::log("bricks"), Axis::log("ops/s"));
    let points = exact(&[(1.0, 100.0), (2.0, 200.0), (1024.0, 90_000.0)]);
    figure.curve("get", Look::Measured, points.clone());
    figure.curve("get, modelled", Look::Modelled, points.clone());
    figure.published("get, 2000", &[(128.0, 61_432.0)]);
    figure.marks.push((4.0, "something <happens>".to_owned()));
    figure
}

/// How often each element occurs; not well-formed is a panic.
fn elements(svg: &str, name: &str) -> usize {
    let mut reader = quick_xml::Reader::from_str(svg);
    let mut count = 0;
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return count,
            Event::Start(it) | Event::Empty(it) if it.name().as_ref() == name.as_bytes() => {
                count += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn a_figure_is_well_formed_and_has_its_curves_and_words() {
    let svg = plot(&[figure()]).unwrap();
    assert_eq!(elements(&svg, "svg"), 1);
    assert!(elements(&svg, "polyline") > 3);
    for words in [
        "a &lt; b",
        "get, modelled",
        "get, 2000",
        "something &lt;happens",
    ] {
        assert!(svg.contains(words), "no '{words}'");
    }
    let hex = |colour: plotters::prelude::RGBColor| {
        format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
    };
    for colour in [COLOURS[0], INK] {
        assert!(svg.contains(&hex(colour)), "no {}", hex(colour));
    }
}

#[test]
fn every_colour_has_another_on_a_dark_screen() {
    for colour in COLOURS.iter().chain([&INK, &super::GRID, &super::BEFORE]) {
        let hex = format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
        // Light enough for both.
        if hex != "#56B4E9" {
            assert!(super::STYLE.contains(&hex), "no {hex}");
        }
    }
}

#[test]
fn without_points_nothing_is_drawn() {
    let figure = Figure::new("empty", Axis::linear("x"), Axis::linear("y"));
    assert_eq!(plot(&[figure]).unwrap(), "");
}

#[test]
fn what_a_logarithm_does_not_have_is_left_out() {
    let mut figure = figure();
    figure.curve(
        "put",
        Look::Measured,
        exact(&[(0.0, 1.0), (1.0, 0.0), (2.0, f64::NAN)]),
    );
    let svg = plot(&[figure]).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn bars_stand_on_names() {
    let mut figure = Figure::new(
        "media",
        Axis::words("medium", &["ram", "disk"]),
        Axis::linear("us"),
    );
    figure.curve("ours", Look::Bar, exact(&[(0.0, 3.0), (1.0, 5.0)]));
    figure.curve(
        "theirs",
        Look::PublishedBar,
        exact(&[(0.0, 4.0), (1.0, 4.5)]),
    );
    let svg = plot(&[figure]).unwrap();
    assert!(svg.contains(">\nram") || svg.contains("ram"));
    assert!(elements(&svg, "rect") >= 4);
}

#[test]
fn ticks_are_round_and_few() {
    assert_eq!(
        linear_ticks(&(0.0..106.0)),
        [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    );
    assert_eq!(
        log_ticks(&(0.9..12_000.0)),
        [1.0, 10.0, 100.0, 1_000.0, 10_000.0]
    );
    assert_eq!(log_ticks(&(0.9..25.0)), [1.0, 2.0, 5.0, 10.0, 20.0]);
}

#[test]
fn logarithms_are_laid_out_evenly() {
    let scale = Scale {
        range: 1.0..100.0,
        is_log: true,
        ticks: Vec::new(),
    };
    assert_eq!(scale.map(&10.0, (0, 200)), 100);
}
