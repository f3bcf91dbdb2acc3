//! Keeps what the cleaner moves apart from what clients write: the open segment is closed where one follows the other.
//!
//! In:  a pass begins, or has moved so much. Out: whether the open segment is closed first.
//!
//! What is moved has lived for long and lives on; what clients write dies soon, where some keys are written more often than
//! others. A segment that has both is never quite dead and never quite live, and is moved again and again.
//!
//! Source: Rosenblum & Ousterhout, "The Design and Implementation of a Log-Structured File System" (1992), section 3.5.

use crate::effect::Effect;
use crate::log::Log;
use crate::outside::Outside;
use crate::segments::Segments;

/// The checkpoint that closes the open segment; nobody waits for it.
pub(crate) const APART_TOKEN: u64 = u64::MAX - 3;

/// A segment is closed once it has this part of a full one: the fewer, the more files, each with a sync and a footer.
const PART: u64 = 4;

/// Clients' records stand in the open segment, and moved ones come.
pub(super) fn before_moved(segments: &Segments, log: &mut Log, outside: &mut Outside<'_>) {
    close(segments, segments.open_bytes(), log, outside);
}

/// A pass has moved so many bytes to the end of the log, and clients' records come.
pub(super) fn after_moved(
    segments: &Segments,
    moved: u64,
    log: &mut Log,
    outside: &mut Outside<'_>,
) {
    close(segments, moved, log, outside);
}

/// Closes the open segment if it has enough of one sort. On a full disk there is no room for another.
fn close(segments: &Segments, bytes: u64, log: &mut Log, outside: &mut Outside<'_>) {
    let is_worth_it = bytes >= segments.full_bytes() / PART;
    if is_worth_it && !segments.health.is_pressed(outside.now) {
        outside.hand_over_building(log);
        outside.effects.push_back(Effect::Checkpoint(APART_TOKEN));
    }
}
