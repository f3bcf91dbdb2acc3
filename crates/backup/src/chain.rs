//! The rows of a backup, with what it leaves to earlier ones.

use crate::{
    manifest::{Manifest, PartEntry},
    part::PartReader,
    repository::Repository,
    row::Row,
};
use anyhow::{Context, bail, ensure};
use std::collections::HashMap;

/// Calls `f` with each row of a part, with its value, in no order.
///
/// - Memory: the keys of the part whose values are in earlier backups.
///
/// # Errors
/// Those of `f`; if a file is not there or damaged, or a value is in no earlier backup.
pub fn each_row(
    repository: &Repository,
    manifest: &Manifest,
    part: &PartEntry,
    mut f: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut wanted: HashMap<Vec<u8>, u64> = HashMap::new();
    read(repository, part, |row| {
        if row.value.is_some() {
            f(row)
        } else {
            wanted.insert(row.key, row.op);
            Ok(())
        }
    })?;
    let (mut base, mut file) = (manifest.base.clone(), part.file.clone());
    while !wanted.is_empty() {
        let Some(name) = base else {
            bail!(
                "{} values of partition {} are in none of the earlier backups",
                wanted.len(),
                part.partition
            );
        };
        let earlier = repository
            .manifest(&name)
            .with_context(|| format!("backup {} rests on backup {name}", manifest.name))?;
        if let Some(part) = earlier.part(part.partition).filter(|it| it.file != file) {
            file.clone_from(&part.file);
            read(repository, part, |row| {
                let is_it = row.value.is_some() && wanted.get(&row.key) == Some(&row.op);
                if is_it && wanted.remove(&row.key).is_some() {
                    f(row)?;
                }
                Ok(())
            })?;
        }
        base = earlier.base;
    }
    Ok(())
}

/// Calls `f` with each row of a part's file, which is checked against the manifest.
fn read(
    repository: &Repository,
    part: &PartEntry,
    mut f: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let file_name = || part.file.clone();
    let file = repository.part(&part.file)?;
    let len = file.metadata().with_context(file_name)?.len();
    ensure!(
        len == part.file_bytes,
        "{}: it has {len} bytes, and had {} when the backup was made",
        part.file,
        part.file_bytes
    );
    let mut reader = PartReader::begin(file, part.partition).with_context(file_name)?;
    while let Some(row) = reader.next_row().with_context(file_name)? {
        f(row)?;
    }
    ensure!(
        Some(reader.totals()) == part.totals(),
        "{}: it has {:?}, and the manifest says otherwise",
        part.file,
        reader.totals()
    );
    Ok(())
}

#[cfg(test)]
#[path = "chain_test.rs"]
mod chain_test;
