//! What people see of an import while it runs.
//!
//! In:  counts. Out: a bar on a terminal; else a line every few seconds, on standard error.

use brickyard_bench::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// So often a line is written where no terminal is.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Keys of one kind, by name.
pub(crate) type Named = BTreeMap<String, u64>;

/// What is shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) is_following: bool,
    /// Changes that the target has acknowledged.
    pub(crate) stored: u64,
    /// Records of the snapshot, as announced.
    pub(crate) announced: u64,
    /// How far the target is behind, in bytes of the stream and in time.
    pub(crate) lag_bytes: u64,
    pub(crate) lag: Duration,
}

pub(crate) struct Progress {
    bar: ProgressBar,
    /// When the import began.
    pub(crate) began: Instant,
    told: Instant,
    /// The rate is that of the time since then.
    since: (Instant, u64),
    rate: u64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            began: Instant::now(),
            told: Instant::now(),
            since: (Instant::now(), 0),
            rate: 0,
        }
    }

    pub(crate) fn show(&mut self, shown: &Shown, left_out: &Named) {
        let elapsed = self.since.0.elapsed();
        if elapsed >= Duration::from_secs(1) {
            let more = shown.stored.saturating_sub(self.since.1);
            self.rate = (more as f64 / elapsed.as_secs_f64()) as u64;
            self.since = (Instant::now(), shown.stored);
        }
        let text = text(shown, self.rate, left_out);
        if !self.bar.is_hidden() {
            self.bar.set_message(text);
            self.bar.tick();
        } else if self.told.elapsed() >= LINE_EVERY {
            self.told = Instant::now();
            eprintln!("{text}");
        }
    }

    /// A line that stays.
    pub(crate) fn tell(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn text(shown: &Shown, rate: u64, left_out: &Named) -> String {
    let stored = grouped(shown.stored);
    let rate = grouped(rate);
    let mut text = if shown.is_following {
        let (bytes, ms) = (grouped(shown.lag_bytes), shown.lag.as_millis());
        format!("following: {stored} changes stored, {rate}/s, behind by {bytes} bytes and {ms} ms")
    } else if shown.announced > 0 {
        format!(
            "copying: {stored} of {} records, {rate}/s",
            grouped(shown.announced)
        )
    } else {
        format!("copying: {stored} records, {rate}/s")
    };
    if !left_out.is_empty() {
        text.push_str(&format!("; left out: {}", named(left_out)));
    }
    text
}

/// Names with their counts.
pub(crate) fn named(counts: &Named) -> String {
    let each = counts
        .iter()
        .map(|(name, count)| format!("{} {name}", grouped(*count)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod progress_test {
    use super::{Named, Shown, text};
    use std::time::Duration;

    #[test]
    fn line_says_phase_rate_lag_and_what_is_left_out() {
        let mut shown = Shown {
            stored: 1500,
            announced: 2000,
            ..Shown::default()
        };
        let none = Named::new();
        assert_eq!(
            text(&shown, 1000, &none),
            "copying: 1,500 of 2,000 records, 1,000/s"
        );
        shown.is_following = true;
        shown.lag_bytes = 12;
        shown.lag = Duration::from_millis(3);
        let left_out = [("list".to_owned(), 2)].into();
        assert_eq!(
            text(&shown, 1000, &left_out),
            "following: 1,500 changes stored, 1,000/s, behind by 12 bytes and 3 ms; left out: 2 list"
        );
    }
}
