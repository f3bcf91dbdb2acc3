//! A lint is switched off by `expect`, with a reason: what it was for may go, and then the compiler says so.

use super::rust_file::RustFile;
use crate::{finding::Finding, rust_source::Token};

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    let tokens = &file.source.tokens;
    for (at, token) in tokens.iter().enumerate() {
        let is_attribute =
            token.is("[") && at > 0 && (tokens[at - 1].is("#") || tokens[at - 1].is("!"));
        let names = |it: &&Token| it.is("allow");
        if is_attribute && tokens.get(at + 1).filter(names).is_some() {
            let what = "switches a lint off for ever; use #[expect(lint, reason = \"...\")]";
            findings.push(Finding::new(file.path, token.line, what));
        }
    }
}
