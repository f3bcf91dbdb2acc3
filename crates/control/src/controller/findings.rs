//! What one pass over all partitions has found.

use brickyard_metadata::Decisions;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) decisions: Decisions,
    /// A change is under way, or a copy is missing: not the time to even out primaries. Nor is it while there are decisions.
    pub(super) is_busy: bool,
    /// A copy is missing, or a member does not answer: not the time to move anything.
    pub(super) is_impaired: bool,
}
