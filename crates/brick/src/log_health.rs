//! What is wrong with the brick's log: what of it cannot be read, and what it refused.
//!
//! In:  damage that recovery met; batches that were refused. Out: whether writes that need room are refused, and whether the
//!      disk is taken to be full.
//!
//! Not here: what partitions may lack (`tables/gaps`), when damage has healed (`heal`), what a refusal takes back (`events`).

use brickyard_types::{Instant, PartitionId, SegmentId};
use std::time::Duration;

/// How long writes that need room are refused unseen after the log refused one. Longer than the
/// cleaner's tick, so that on a full disk under load it still gets on.
const REFUSAL_PAUSE: Duration = Duration::from_millis(250);

/// How long after the log refused a batch its disk is taken to be full.
const PRESSED: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LogHealth {
    /// What recovery could not read, and has not healed since; for `INFO` and for errors.
    damages: Vec<LogScar>,
    /// What does not fit into this machine.
    lacks_room: Option<String>,
    /// When a batch was refused last, and what clients are told of it.
    refused: Option<(Instant, String)>,
}

/// Something that recovery could not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogScar {
    /// Where.
    pub(crate) segment: SegmentId,
    /// Of which partitions there can have been records.
    pub(crate) partitions: Vec<PartitionId>,
    /// For people.
    pub(crate) text: String,
}

impl LogHealth {
    /// Something is unreadable.
    pub(crate) fn note_damage(&mut self, scar: LogScar) {
        assert!(!scar.text.is_empty(), "damage that nobody can look for");
        self.damages.push(scar);
    }

    /// What recovery could not read, and has not healed.
    pub(crate) fn damages(&self) -> impl ExactSizeIterator<Item = &str> {
        self.damages.iter().map(|scar| scar.text.as_str())
    }

    /// Whether there is nothing that could heal.
    pub(crate) fn has_healed(&self) -> bool {
        self.damages.is_empty()
    }

    /// Whether nothing of a segment is left that has not healed.
    pub(crate) fn is_well(&self, segment: SegmentId) -> bool {
        self.damages.iter().all(|scar| scar.segment != segment)
    }

    /// Takes out what has healed: all partitions are whole that it can have touched.
    pub(crate) fn heal(&mut self, is_whole: impl Fn(PartitionId) -> bool) -> Vec<LogScar> {
        let has_healed = |scar: &mut LogScar| scar.partitions.iter().all(|it| is_whole(*it));
        self.damages.extract_if(.., has_healed).collect()
    }

    /// A table does not fit into this machine: the process is about to stop. Whether that is news.
    pub(crate) fn note_lack_of_room(&mut self, text: &str) -> bool {
        self.lacks_room.replace(text.to_owned()).as_deref() != Some(text)
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
