//! How far the experiments are, and how long they will take.
//!
//! In:  what each is expected to take, and what is done meanwhile. Out: a bar on the terminal; a line an experiment where there is none.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::time::Duration;

const TEMPLATE: &str = "{bar:30} {elapsed_precise}  {msg}";

/// See the module.
pub(crate) struct Progress {
    bar: ProgressBar,
    name: std::cell::RefCell<String>,
    /// Expected seconds of experiments that have ended, of the one under way, and of all.
    done: Cell<f64>,
    current: Cell<f64>,
    all: f64,
}

impl Progress {
    /// Of experiments that are expected to take so long together.
    pub(crate) fn new(all: Duration) -> Self {
        let bar = ProgressBar::new(1_000);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_secs(1));
        Self::over(bar, all)
    }

    /// Nothing is shown.
    #[cfg(test)]
    pub(crate) fn hidden() -> Self {
        Self::over(ProgressBar::hidden(), Duration::from_secs(1))
    }

    fn over(bar: ProgressBar, all: Duration) -> Self {
        Self {
            bar,
            name: std::cell::RefCell::default(),
            done: Cell::new(0.0),
            current: Cell::new(0.0),
            all: all.as_secs_f64().max(1e-3),
        }
    }

    /// The next experiment.
    pub(crate) fn begin(&self, name: String, expected: Duration) {
        self.done.set(self.done.get() + self.current.get());
        self.current.set(expected.as_secs_f64());
        self.name.replace(name);
        self.within(Duration::ZERO, "starts");
    }

    /// The experiment under way has taken so long, and does this.
    pub(crate) fn within(&self, taken: Duration, what: &str) {
        let done = self.done.get() + taken.as_secs_f64().min(self.current.get());
        self.bar.set_position((done / self.all * 1_000.0) as u64);
        let minutes = (self.all - done).max(0.0) / 60.0;
        let left = if minutes < 1.0 {
            "less than a minute left".to_owned()
        } else {
            format!("about {minutes:.0} min left")
        };
        self.bar
            .set_message(format!("{left}  {}: {what}", self.name.borrow()));
    }

    /// A line that stays, above the bar; without a terminal it is a line like any other.
    pub(crate) fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
