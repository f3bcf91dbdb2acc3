//! A Rust file, as the rules look at it: taken apart, with its crate.

use crate::{arrows, rust_source::Source};

/// A Rust file of the tree, taken apart.
pub(super) struct RustFile<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) source: Source,
}

impl RustFile<'_> {
    /// The crate's folder, such as `crates/wire` or `xtask`.
    pub(super) fn package(&self) -> &str {
        let is_room = arrows::HALLS.iter().any(|hall| self.path.starts_with(hall));
        let mut slashes = self.path.match_indices('/').map(|(at, _)| at);
        let end = if is_room {
            slashes.nth(1)
        } else {
            slashes.next()
        };
        &self.path[..end.unwrap_or(self.path.len())]
    }

    /// Whether only tests or benchmarks use the file.
    pub(super) fn is_test(&self) -> bool {
        let folders = ["/tests/", "/benches/", "/examples/", "/testing/"];
        self.path.ends_with("_test.rs") || folders.iter().any(|folder| self.path.contains(folder))
    }
}
