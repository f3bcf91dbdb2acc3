//! A view as the steps of a transaction use it.
//!
//! In:  commands that begin, or fail. Out: what is theirs of what is staged.

use super::View;
use crate::keyed::StepView;
use crate::keyspace_events::Cause;
use crate::log::KeyRef;
use crate::stats::Stats;
use brickyard_command::{Args, Spec, table::flag};
use brickyard_table::KeyHash;

impl StepView for View<'_> {
    fn has(&self, key: &[u8]) -> bool {
        let (is, known) = (self.locate(key), self.known.1);
        is.slot == known.slot && is.leaf == known.leaf
    }

    fn must_wait_for(&mut self, key: &[u8]) -> bool {
        let values = &self.core.requests.values;
        if values.is_idle() {
            return false;
        }
        let key = KeyRef {
            table: self.place.table as u32,
            partition: self.partition().local,
            hash: KeyHash(self.locate(key).key_hash),
        };
        let is_own = self.values.iter().any(|value| value.key == key);
        let waits = !is_own && values.is_waited_for(&key);
        self.is_unsettled |= waits;
        waits
    }

    fn stats(&self) -> &Stats {
        self.core.stats()
    }

    fn begin_command(&mut self, spec: &Spec, args: Args<'_>) {
        let only_reads = spec.has(flag::READONLY);
        self.reads.bounded_from = only_reads.then_some(self.reads.bytes);
        self.because(|| Cause::of(spec.id, args));
    }

    fn staged(&self) -> usize {
        self.core.workshop.staging.len()
    }

    fn take_back(&mut self, staged: usize) {
        self.core.workshop.staging.truncate(staged);
        self.core.workshop.notices.take_back(staged);
    }
}
