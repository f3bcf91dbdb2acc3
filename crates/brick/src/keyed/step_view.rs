//! What the steps of a transaction ask of the view that they run against: one partition's, or what was fetched of several.

use crate::stats::Stats;
use brickyard_command::{Args, Keyspace, Spec};

/// A view as the steps of a transaction use it.
pub(crate) trait StepView: Keyspace {
    /// Whether a script may touch the key.
    fn has(&self, key: &[u8]) -> bool;

    /// Whether another request waits for a value of the key: who has not said before that it touches the key waits until
    /// that has ended.
    fn must_wait_for(&mut self, key: &[u8]) -> bool;

    /// A command of the transaction begins.
    fn begin_command(&mut self, spec: &Spec, args: Args<'_>);

    /// How much has been staged, for [`Self::take_back`].
    fn staged(&self) -> usize;

    /// Takes back what a command staged before it failed.
    fn take_back(&mut self, staged: usize);

    /// This brick's statistics.
    fn stats(&self) -> &Stats;
}
