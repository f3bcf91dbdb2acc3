//! Where backups are: a directory.
//!
//! ```text
//! DIR/NAME.json             a manifest
//! DIR/parts/NAME/3.part     a partition's file
//! ```
//! Invariant: a file is written under another name, synced, and then given its own: one that is there is whole.

use super::manifest::{FORMAT, Manifest};
use anyhow::{Context, bail, ensure};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    dir: PathBuf,
}

impl Repository {
    /// The one at `dir`, which is made if there is none.
    pub(crate) fn create(dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Self::open(dir)
    }

    /// The one at `dir`.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        ensure!(
            dir.is_dir(),
            "{} is no directory; name the one that holds the backups",
            dir.display()
        );
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// All backups, oldest first.
    pub(crate) fn manifests(&self) -> anyhow::Result<Vec<Manifest>> {
        let mut all = Vec::new();
        let dir = &self.dir;
        let entries =
            fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "json")
                && let Some(name) = path.file_stem().and_then(|it| it.to_str())
            {
                all.push(self.manifest(name)?);
            }
        }
        all.sort_by(|a, b| (a.begun_ms, &a.name).cmp(&(b.begun_ms, &b.name)));
        Ok(all)
    }

    /// The backup of that name.
    pub(crate) fn manifest(&self, name: &str) -> anyhow::Result<Manifest> {
        check_name(name)?;
        let path = self.dir.join(format!("{name}.json"));
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no manifest of a backup", path.display()))?;
        ensure!(
            manifest.format <= FORMAT,
            "{} has format {}, this version reads up to {FORMAT}; use a newer one",
            path.display(),
            manifest.format
        );
        ensure!(
            manifest.name == name,
            "{} calls itself {}",
            path.display(),
            manifest.name
        );
        Ok(manifest)
    }

    /// The newest backup, of `table` if one is named.
    pub(crate) fn newest(&self, table: Option<&str>) -> anyhow::Result<Option<Manifest>> {
        let mut all = self.manifests()?.into_iter();
        Ok(all.rfind(|it| table.is_none_or(|table| it.table == table)))
    }

    /// The backup that is meant: the one of that name, or the newest.
    pub(crate) fn chosen(&self, name: Option<&str>) -> anyhow::Result<Manifest> {
        match name {
            Some(name) => self.manifest(name),
            None => match self.newest(None)? {
                Some(manifest) => Ok(manifest),
                None => bail!("{} holds no backup", self.dir.display()),
            },
        }
    }

    /// A file to write a part into, and its name in the manifest.
    pub(crate) fn new_part(&self, backup: &str, partition: u32) -> anyhow::Result<NewFile> {
        let name = format!("parts/{backup}/{partition}.part");
        NewFile::create(&self.dir, name)
    }

    /// A part to read.
    pub(crate) fn part(&self, name: &str) -> anyhow::Result<File> {
        // A manifest may come from anywhere: it must not lead out of the repository.
        let is_ours = name.starts_with("parts/") && !name.split('/').any(|it| it == "..");
        ensure!(is_ours, "'{name}' is no name of a part");
        let path = self.dir.join(name);
        File::open(&path).with_context(|| format!("cannot open {}", path.display()))
    }

    /// Writes a manifest: from here on it is a backup.
    pub(crate) fn publish(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut file = NewFile::create(&self.dir, format!("{}.json", manifest.name))?;
        serde_json::to_writer_pretty(&mut file.out, manifest)?;
        file.out.write_all(b"\n")?;
        file.finish().map(|_| ())
    }
}

/// Whether a backup may be called that.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    let is_good = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let is_good = name.chars().all(is_good) && !name.starts_with(['.', '-']);
    ensure!(
        is_good && (1..=100).contains(&name.len()),
        "'{name}' is no name for a backup: use up to 100 letters, digits, '_', '.' and '-', and begin with neither of \
         the last two"
    );
    Ok(())
}

/// A file that is being written; gone again unless it is finished.
pub(crate) struct NewFile {
    pub(crate) out: BufWriter<File>,
    /// Its name in the repository.
    name: String,
    path: PathBuf,
    path_now: PathBuf,
}

impl NewFile {
    fn create(dir: &Path, name: String) -> anyhow::Result<Self> {
        let path = dir.join(&name);
        let path_now = dir.join(format!("{name}.unfinished"));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
        }
        ensure!(
            !path.exists(),
            "{} is there already; give the backup another name",
            path.display()
        );
        let file = File::create(&path_now)
            .with_context(|| format!("cannot make {}", path_now.display()))?;
        Ok(Self {
            out: BufWriter::new(file),
            name,
            path,
            path_now,
        })
    }

    /// It is complete: syncs it and gives it its name, which is returned.
    pub(crate) fn finish(mut self) -> anyhow::Result<String> {
        let mut write = || {
            self.out.flush()?;
            self.out.get_ref().sync_all()?;
            fs::rename(&self.path_now, &self.path)?;
            match self.path.parent() {
                Some(parent) => File::open(parent)?.sync_all(),
                None => Ok(()),
            }
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(std::mem::take(&mut self.name))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Under its own name by now, or not wanted.
        let _ = fs::remove_file(&self.path_now);
    }
}

#[cfg(test)]
#[path = "repository_test.rs"]
mod repository_test;
