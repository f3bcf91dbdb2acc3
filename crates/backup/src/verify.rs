//! Whether a backup is whole, without restoring it.

use crate::{chain::each_row, manifest::Manifest, repository::Repository};
use anyhow::{Context, ensure};

/// What a whole backup has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its records.
    pub records: u64,
    /// The same for all backups of the same keys, values and times to live.
    pub digest: u64,
}

/// Reads all that a restore would read, and checks it.
///
/// # Errors
/// If it is not whole: with where, and what.
pub fn verify(
    repository: &Repository,
    manifest: &Manifest,
    mut on_part: impl FnMut(),
) -> anyhow::Result<Contents> {
    let mut contents = Contents::default();
    for part in &manifest.parts {
        let before = contents.records;
        each_row(repository, manifest, part, |row| {
            contents.records += 1;
            contents.digest = contents.digest.wrapping_add(row.content());
            Ok(())
        })
        .with_context(|| format!("partition {} of backup {}", part.partition, manifest.name))?;
        let records = contents.records - before;
        ensure!(
            records == part.rows,
            "partition {} of backup {} has {records} records, and had {} when it was made",
            part.partition,
            manifest.name,
            part.rows
        );
        on_part();
    }
    Ok(contents)
}
