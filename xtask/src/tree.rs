//! The repository's text files, read once.

use std::{collections::BTreeMap, fs, io, path::Path};

/// Files by their path from the repository's root, with `/` between folders.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// Folders that hold what was built, downloaded or drawn at random: none of it is source.
fn is_skipped(name: &str) -> bool {
    let is_hidden = name.starts_with('.') && ![".ci", ".cargo", ".github"].contains(&name);
    let is_made = [
        "artifacts",
        "corpus",
        "coverage",
        "node_modules",
        "__pycache__",
    ]
    .contains(&name);
    is_hidden || is_made || name == "target" || name.starts_with("brickyard-data")
}

impl Tree {
    /// Reads all files that are text.
    ///
    /// # Errors
    /// If a folder or file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = format!("{prefix}{name}");
            if kind.is_dir() && !is_skipped(name) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && name != ".git" {
                // In a worktree `.git` is a file, which says where the repository is.
                // What is not text has no lines to check: fixtures, images.
                if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                    self.files.insert(path, text);
                }
            }
        }
        Ok(())
    }

    /// A tree of these files, for tests of the checks.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Self {
            files: files.iter().map(owned).collect(),
        }
    }

    /// All files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// All files whose path ends so.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.ends_with(end))
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}
