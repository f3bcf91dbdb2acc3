//! A copy of the workspace with choices in it, below the target directory.
//!
//! In:  the workspace, and the files that have choices. Out: a workspace of its own that a `cargo test` builds.
//!
//! Invariants:
//! - A file that is as it should be is not written, so what has not changed is not built again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Crates of the workspace, by how the names of what cargo builds begin.
const OURS: [&str; 2] = ["brickyard", "xtask"];

/// What differs in the copy.
pub(crate) struct Changes {
    /// Files with choices in them, by path.
    pub(crate) files: BTreeMap<String, String>,
    /// The list of what can be on, as Rust.
    pub(crate) list: String,
}

/// Writes the copy.
pub(crate) fn write(root: &Path, copy: &Path, changes: &Changes) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    let files = files(root)?;
    let changed = changes.files.keys();
    let manifests: BTreeSet<String> = changed.filter_map(|path| manifest(path)).collect();
    for path in &files {
        let mut bytes = fs::read(root.join(path))?;
        let edited = match path.as_str() {
            "Cargo.toml" => Some(replace(
                &bytes,
                LINTS,
                &format!("{LINTS}warnings = \"allow\"\n"),
            )?),
            "sabotage/src/planted.rs" => Some(replace(&bytes, "&[];", &changes.list)?),
            path if manifests.contains(path) => {
                let with = format!("{DEPENDENCIES}brickyard-sabotage.workspace = true\n");
                Some(replace(&bytes, DEPENDENCIES, &with)?)
            }
            path => changes.files.get(path).cloned(),
        };
        if let Some(text) = edited {
            bytes = text.into_bytes();
        }
        let to = copy.join(path);
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().unwrap_or(copy))?;
            fs::write(&to, bytes)?;
        }
    }
    let wanted: BTreeSet<PathBuf> = files.iter().map(|it| copy.join(it)).collect();
    remove_others(copy, &wanted)
}

/// What is planted is not always as the lints want it.
const LINTS: &str = "[workspace.lints.rust]\n";
const DEPENDENCIES: &str = "[dependencies]\n";

fn replace(bytes: &[u8], before: &str, after: &str) -> io::Result<String> {
    let text = text(bytes)?;
    if text.matches(before).count() != 1 {
        let what = format!("{before:?} should be there once");
        return Err(io::Error::other(what));
    }
    Ok(text.replace(before, after))
}

fn text(bytes: &[u8]) -> io::Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(io::Error::other)
}

/// The manifest of the crate that a file is of.
fn manifest(path: &str) -> Option<String> {
    let (folder, _) = path.split_once("/src/")?;
    Some(format!("{folder}/Cargo.toml"))
}

/// What git has, and what it would add.
fn files(root: &Path) -> io::Result<Vec<String>> {
    let arguments = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
    }
    let paths = String::from_utf8(output.stdout).map_err(io::Error::other)?;
    let paths = paths.split_terminator('\0').map(str::to_owned);
    // One that was removed and not committed is still listed.
    Ok(paths.filter(|it| root.join(it).is_file()).collect())
}

fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Gives a target directory that is new what the workspace's own one has of other people's crates, which takes longer
/// to build than everything else. Cargo looks by itself whether it fits.
pub(crate) fn share_built(from: &Path, to: &Path) -> io::Result<()> {
    let fingerprints = from.join(".fingerprint");
    if to.exists() || !fingerprints.exists() {
        return Ok(());
    }
    let mut hashes = BTreeSet::new();
    for entry in fs::read_dir(&fingerprints)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some((krate, hash)) = name.rsplit_once('-')
            && !OURS.iter().any(|it| krate.starts_with(it))
        {
            hashes.insert(hash.to_owned());
        }
    }
    for folder in [".fingerprint", "build", "deps"] {
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = name.split('.').next().unwrap_or_default();
            if stem
                .rsplit_once('-')
                .is_some_and(|it| hashes.contains(it.1))
            {
                copy_with_times(&entry.path(), &to.join(folder).join(name))?;
            }
        }
    }
    Ok(())
}

/// Cargo compares times.
fn copy_with_times(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_with_times(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to)?;
    let time = fs::metadata(from)?.modified()?;
    fs::File::options().write(true).open(to)?.set_modified(time)
}
