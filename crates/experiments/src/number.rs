//! Numbers as people read them.
//!
//! In:  a figure. Out: three digits that count, thousands apart, no more.

use brickyard_bench::grouped;

/// A figure with three digits that count; whole from a hundred on.
pub(crate) fn shown(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if size >= 99.95 {
        return format!("{sign}{}", grouped(size.round() as u64));
    }
    let decimals: usize = match size {
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.0095 => 3,
        _ if size == 0.0 => 0,
        _ => return format!("{sign}{size:.1e}"),
    };
    let text = format!("{size:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{sign}{text}")
}

/// A figure at an axis, where there is little room.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", shown(scaled))
}

#[cfg(test)]
#[path = "number_test.rs"]
mod number_test;
