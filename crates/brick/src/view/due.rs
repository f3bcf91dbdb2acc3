//! Fields of a hash in parts whose time is over, removed by the brick itself.
//!
//! In:  a view; what is to be removed. Out: parts and their head, staged without it.
//!
//! Invariants:
//! - What a command has answered to be gone is gone: its answer waits for the removal (rule `only the primary expires keys`).
//! - As when a key expires, nobody waits for clients that keep copies: they are told.

use super::View;
use super::write::NOTHING;
use crate::keyspace_events::Cause;
use crate::request::UNBOUNDED;
use brickyard_command::{Failure, KeyValue, Keyspace, NewValue, Probe};
use brickyard_types::UnixMillis;
use brickyard_types::part::PartName;
use brickyard_types::record::Kind;

/// Has `f` stage something, or nothing if it fails.
pub(super) fn removing<R>(
    view: &mut View<'_>,
    f: impl FnOnce(&mut Removing<'_, '_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    assert!(
        view.partition().is_primary(),
        "a backup removes what is over of a hash"
    );
    view.context.writes_many = true;
    // It answers nobody.
    view.context.values_max = UNBOUNDED;
    view.reads.bounded_from = None;
    let staged = view.core.workshop.staging.len();
    let done = f(&mut Removing(view));
    if done.is_err() {
        view.core.workshop.staging.truncate(staged);
        view.core.workshop.notices.take_back(staged);
    }
    done
}

/// A view in which something goes by itself.
pub(super) struct Removing<'v, 'c>(&'v mut View<'c>);

impl Keyspace for Removing<'_, '_> {
    fn now(&self) -> UnixMillis {
        self.0.now()
    }

    fn value_bytes_max(&self) -> usize {
        self.0.value_bytes_max()
    }

    fn read_any(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        self.0.read_any(key)
    }

    fn read_stored(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        self.0.read_stored(key)
    }

    fn whole_bytes_max(&self, key: &[u8]) -> Option<usize> {
        self.0.whole_bytes_max(key)
    }

    fn has_timed_parts(&self) -> bool {
        self.0.has_timed_parts()
    }

    fn next_value(&self) -> u64 {
        self.0.next_value()
    }

    fn read_part(&mut self, part: PartName<'_>) -> Result<&[u8], Failure> {
        self.0.read_part(part)
    }

    fn put_part(&mut self, part: PartName<'_>, value: &[u8]) -> Result<(), Failure> {
        self.0.put_part(part, value)
    }

    fn delete_part(&mut self, part: PartName<'_>) -> Result<(), Failure> {
        self.0.delete_part(part)
    }

    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        self.0.probe(key)
    }

    fn put(&mut self, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        let bytes = put.value.iter().map(|piece| piece.len()).sum();
        self.0.check_put(key, bytes)?;
        self.go(Kind::Put, key, &put);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let is_there = self.0.probe(key)?.is_some();
        if is_there {
            self.go(Kind::Delete, key, &NOTHING);
        }
        Ok(is_there)
    }

    fn reserve(&mut self, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn random(&mut self) -> u64 {
        self.0.random()
    }
}

impl Removing<'_, '_> {
    /// The key, or some of its value, goes by itself.
    fn go(&mut self, kind: Kind, key: &[u8], put: &NewValue<'_>) {
        let view = &mut *self.0;
        view.note_gone(key);
        let location = view.locate(key);
        view.core.workshop.staging.push(location, kind, key, put);
        view.because(|| Cause::Expired);
        view.tell(kind, key, false);
    }
}
