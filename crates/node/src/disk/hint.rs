//! Writes hint files of sealed segments, where they spare the next start something.
//!
//! Nothing waits for one: a hint file that is not written only makes the next start read that segment in full. A segment
//! with values that live in memory is read in full anyway, so it gets none.

use brickyard_metadata::Catalog;
use brickyard_store::{Disk, HintJob, PartitionRange};
use brickyard_types::Medium;

/// Writes a hint file, if that is of use by the catalog.
pub fn write_hint<D: Disk>(job: HintJob<D>, catalog: &Catalog) {
    let segment = job.segment();
    if !spares_reading(catalog, job.ranges()) {
        return;
    }
    match job.run() {
        Ok(true) => tracing::debug!(segment = segment.0, "hint file written"),
        Ok(false) => tracing::warn!(segment = segment.0, "no hint file: segment is damaged"),
        Err(error) => tracing::warn!(segment = segment.0, %error, "no hint file"),
    }
}

/// Whether a start with the segment's hint file would not read the segment: it has no value of a
/// table whose values live in memory. (A dropped table's records are not read either.)
fn spares_reading(catalog: &Catalog, ranges: &[PartitionRange]) -> bool {
    let mut valued = ranges.iter().filter(|range| range.has_values);
    valued.all(|range| {
        catalog
            .table_by_id(range.table)
            .is_none_or(|table| table.attributes.medium == Medium::Disk)
    })
}
