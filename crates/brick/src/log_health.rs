//! What is wrong with the brick's log: what of it cannot be read, and what it refused.
//!
//! In:  damage that recovery met; batches that were refused. Out: whether writes that need room are refused, and whether the
//!      disk is taken to be full.
//!
//! Not here: which partitions damage concerns (`tables/gaps`), what a refusal takes back (`events`).

use brickyard_types::Instant;
use std::time::Duration;

/// How long writes that need room are refused unseen after the log refused one. Longer than the
/// cleaner's tick, so that on a full disk under load it still gets on.
const REFUSAL_PAUSE: Duration = Duration::from_millis(250);

/// How long after the log refused a batch its disk is taken to be full.
const PRESSED: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LogHealth {
    /// What recovery could not read, for `INFO` and for errors.
    damages: Vec<String>,
    /// When a batch was refused last, and what clients are told of it.
    refused: Option<(Instant, String)>,
}

impl LogHealth {
    /// Something is unreadable, or has no room.
    pub(crate) fn note_damage(&mut self, text: String) {
        assert!(!text.is_empty(), "damage that nobody can look for");
        self.damages.push(text);
    }

    /// What recovery could not read.
    pub(crate) fn damages(&self) -> &[String] {
        &self.damages
    }

    /// A batch was refused: writes that need room are refused for a while, so that the cleaner's batches and deletes get
    /// through between them.
    pub(crate) fn on_refused(&mut self, now: Instant, text: String) {
        let before = self.refused.as_ref().map(|(at, _)| *at);
        assert!(
            before <= Some(now),
            "time went back from {before:?} to {now:?}"
        );
        self.refused = Some((now, text));
    }

    /// Why writes that need room are refused now.
    pub(crate) fn refusal(&self, now: Instant) -> Option<&str> {
        let refused = self.refused.as_ref();
        let refused = refused.filter(|(at, _)| now < *at + REFUSAL_PAUSE);
        refused.map(|(_, text)| text.as_str())
    }

    /// Whether the disk is taken to be full.
    pub(crate) fn is_pressed(&self, now: Instant) -> bool {
        let refused = self.refused.as_ref();
        refused.is_some_and(|(at, _)| now < *at + REFUSAL_PAUSE + PRESSED)
    }
}
