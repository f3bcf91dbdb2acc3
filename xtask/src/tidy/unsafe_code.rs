//! `unsafe` stands in the few files that are named here with their reason.

use super::rust_file::RustFile;
use crate::finding::Finding;

/// Files that may hold it, and why no safe code would do.
const ALLOWED: &[(&str, &str)] = &[
    (
        "crates/table/src/prefetch.rs",
        "prefetching has no safe form, and batched lookups are half as fast without it",
    ),
    (
        "crates/server/src/ring.rs",
        "io_uring is given addresses, and clients' small requests cost a fifth more without it",
    ),
    (
        "crates/server/src/ring_test.rs",
        "puts another file in the ring's place, so that the kernel refuses it",
    ),
];

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    if ALLOWED.iter().any(|(path, _)| *path == file.path) {
        return;
    }
    if let Some(token) = file.source.tokens.iter().find(|token| token.is("unsafe")) {
        let what = "unsafe code in a file that is not on the list; \
                    write it safely, or add it to xtask's list with the reason";
        findings.push(Finding::new(file.path, token.line, what));
    }
}
