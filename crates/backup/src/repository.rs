//! The backups that are at one place.
//!
//! ```text
//! PLACE/NAME.json             a manifest
//! PLACE/parts/NAME/3.part     a partition's file
//! ```

use crate::{
    manifest::{FORMAT, Manifest},
    place::{NewFile, Place},
};
use anyhow::{Context, bail, ensure};
use std::{fs::File, io::Write};

/// See the module.
#[derive(Clone, Debug)]
pub struct Repository {
    place: Place,
}

impl Repository {
    /// The one at `place`, which is made if there is none.
    ///
    /// # Errors
    /// If there can be none.
    pub fn create(place: &Place) -> anyhow::Result<Self> {
        place.make()?;
        Self::open(place)
    }

    /// The one at `place`.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(place: &Place) -> anyhow::Result<Self> {
        place.check()?;
        Ok(Self {
            place: place.clone(),
        })
    }

    /// All backups, oldest first.
    ///
    /// # Errors
    /// If they cannot be listed, or one cannot be read.
    pub fn manifests(&self) -> anyhow::Result<Vec<Manifest>> {
        let names = self.place.names()?;
        let names = names.iter().filter_map(|it| it.strip_suffix(".json"));
        let all: anyhow::Result<Vec<Manifest>> = names.map(|it| self.manifest(it)).collect();
        let mut all = all?;
        all.sort_by(|a, b| (a.begun_ms, &a.name).cmp(&(b.begun_ms, &b.name)));
        Ok(all)
    }

    /// The backup of that name.
    ///
    /// # Errors
    /// If there is none, or it is of another format.
    pub fn manifest(&self, name: &str) -> anyhow::Result<Manifest> {
        check_name(name)?;
        let file = format!("{name}.json");
        let bytes = self.place.read(&file)?;
        let path = self.place.full_name(&file);
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .with_context(|| format!("{path} is no manifest of a backup"))?;
        ensure!(
            manifest.format == FORMAT,
            "{path} has format {}, this program reads format {FORMAT}; use the program that wrote it",
            manifest.format
        );
        ensure!(
            manifest.name == name,
            "{path} calls itself {}",
            manifest.name
        );
        Ok(manifest)
    }

    /// The newest backup, of `table` if one is named.
    ///
    /// # Errors
    /// As [`Repository::manifests`].
    pub fn newest(&self, table: Option<&str>) -> anyhow::Result<Option<Manifest>> {
        let mut all = self.manifests()?.into_iter();
        Ok(all.rfind(|it| table.is_none_or(|table| it.table == table)))
    }

    /// The backup that is meant: the one of that name, or the newest.
    ///
    /// # Errors
    /// If there is none such.
    pub fn chosen(&self, name: Option<&str>) -> anyhow::Result<Manifest> {
        match name {
            Some(name) => self.manifest(name),
            None => match self.newest(None)? {
                Some(manifest) => Ok(manifest),
                None => bail!("{} holds no backup", self.place),
            },
        }
    }

    /// Checks that a backup may get that name.
    ///
    /// # Errors
    /// If it is no name, or taken.
    pub fn check_new(&self, name: &str) -> anyhow::Result<()> {
        check_name(name)?;
        self.place.check_free(&format!("{name}.json"))
    }

    /// A file to write a part into, and its name in the manifest.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new_part(&self, backup: &str, partition: u32) -> anyhow::Result<NewFile> {
        self.place
            .create(format!("parts/{backup}/{partition}.part"))
    }

    /// A part to read.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn part(&self, name: &str) -> anyhow::Result<File> {
        // A manifest may come from anywhere: it must not lead out of the repository.
        let is_ours = name.starts_with("parts/") && !name.split('/').any(|it| it == "..");
        ensure!(is_ours, "'{name}' is no name of a part");
        self.place.open(name)
    }

    /// Writes a manifest: from here on it is a backup.
    ///
    /// # Errors
    /// If it cannot be written, or the name is taken by now.
    pub fn publish(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut file = self.place.create(format!("{}.json", manifest.name))?;
        serde_json::to_writer_pretty(&mut file.out, manifest)?;
        file.out.write_all(b"\n")?;
        file.finish().map(|_| ())
    }
}

/// Whether a backup may be called that.
fn check_name(name: &str) -> anyhow::Result<()> {
    let is_good = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let is_good = name.chars().all(is_good) && !name.starts_with(['.', '-']);
    ensure!(
        is_good && (1..=100).contains(&name.len()),
        "'{name}' is no name for a backup: use up to 100 letters, digits, '_', '.' and '-', and begin with neither of \
         the last two"
    );
    Ok(())
}

#[cfg(test)]
#[path = "repository_test.rs"]
mod repository_test;
