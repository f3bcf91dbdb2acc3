//! Memory of what was removed, which is won back bit by bit: cleared and dropped partitions, dropped tables.
//!
//! In:  word that something was removed; what a dropped table leaves. Out: a turn's worth of freeing, and whether there is
//!      more.

use super::Tables;
use brickyard_table::LazyFree;

/// Bytes of each table that are compacted in a turn.
const COMPACTED_BYTES: usize = 1 << 20;

/// Bytes of dropped tables that are freed in a turn.
const FREED_BYTES: usize = 4 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// Tables may have something to compact.
    is_any: bool,
    /// Of tables that are not here any more.
    lazy_free: Vec<LazyFree>,
}

impl Tables {
    /// Whether there is memory to be won back.
    #[inline]
    pub(crate) fn has_removed(&self) -> bool {
        self.removed.is_any
    }

    /// Partitions were cleared or dropped.
    #[inline]
    pub(crate) fn note_removed(&mut self) {
        self.removed.is_any = true;
    }

    /// What a table leaves that is not here any more.
    pub(crate) fn leave_behind(&mut self, lazy_free: impl IntoIterator<Item = LazyFree>) {
        self.removed.lazy_free.extend(lazy_free);
        self.removed.is_any |= !self.removed.lazy_free.is_empty();
    }

    /// Wins back some memory. Of cleared partitions writes do that by themselves, but a full table takes none.
    pub(crate) fn free_removed(&mut self) {
        if !std::mem::take(&mut self.removed.is_any) {
            return;
        }
        let mut is_any = false;
        for state in self.slots.iter_mut().flatten() {
            is_any |= state.table.compact(COMPACTED_BYTES);
        }
        let Removed { lazy_free, .. } = &mut self.removed;
        if let Some(last) = lazy_free.last_mut()
            && !last.free(FREED_BYTES)
        {
            lazy_free.pop();
        }
        self.removed.is_any = is_any || !self.removed.lazy_free.is_empty();
        assert!(
            self.removed.is_any || self.removed.lazy_free.is_empty(),
            "leftovers of tables are forgotten"
        );
    }

    /// A table that lost its keys one by one has memory to give back as well.
    pub(crate) fn find_removed(&mut self) {
        let has_lazy_free = self.iter().any(|state| state.table.has_lazy_free());
        self.removed.is_any |= has_lazy_free;
    }

    /// Counts out what clears have removed.
    pub(crate) fn settle_clears(&mut self) {
        for state in self.iter_mut() {
            while state.table.poll_replaced().is_some() {}
        }
    }
}
