//! No promises in the source: work that is left becomes an issue, or is done.

use super::rust_file::RustFile;
use crate::finding::Finding;

const PROMISES: [&str; 3] = ["TODO", "FIXME", "XXX"];

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    for comment in &file.source.comments {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = comment.text.split(|c| !is_word(c));
        // A rule may be named where it is explained, in quotes of code.
        if let Some(word) = words.find(|word| PROMISES.contains(word))
            && !comment.text.contains(&format!("`{word}`"))
        {
            let what = format!("{word} in a comment: do it, or open an issue and say why it is so");
            findings.push(Finding::new(file.path, comment.line, what));
        }
    }
}
