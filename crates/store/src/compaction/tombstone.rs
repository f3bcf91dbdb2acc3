//! When a tombstone has done its work.

use brickyard_types::SegmentId;

/// Whether a delete or clear, found in segment `found_in`, may be dropped when that segment is cleaned.
///
/// An older record that it hides can only be in a segment that is not newer than the one in which
/// the tombstone was *first* written (`origin`, if it was moved since): what is moved later is
/// alive, and a hidden record is not. So it may go once no segment up to there is left but the one
/// being cleaned, which goes with it. `oldest_other` is the oldest of the other segments that still
/// exist (deleted for good, not just unlinked), the active one included.
///
/// Before the tombstone is dropped, a horizon record at or above its op must be in the log.
#[must_use]
pub fn is_droppable(
    found_in: SegmentId,
    origin: Option<SegmentId>,
    oldest_other: Option<SegmentId>,
) -> bool {
    let origin = origin.unwrap_or(found_in);
    oldest_other.is_none_or(|oldest| oldest > origin)
}

#[cfg(test)]
#[path = "tombstone_test.rs"]
mod tombstone_test;
